"""A claim as a picture: what it allows for the probabilities of an event, and the witness.

A claim allows a convex set of pairs (P(S) on x, P(S) on x') for every set S of outputs. A pair
outside of it breaks the claim.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.claim import Claim
from tollens.report.figures.canvas import Panel, Scale, figure, heading, swatches, text, ticks
from tollens.verdict import Verdict
from tollens.witness import ProvedWitness, Witness

Array = NDArray[np.float64]

WIDTH, HEIGHT = 360, 414
"""Size of the picture in pixels."""

CONFIDENCE = 0.95
"""Of the interval of each frequency."""

_CORNER = 0.25
_NOT_CORRECTED = "not corrected for its choice: the evidence is the wealth"
_RATIOS = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 121)])


@dataclass(frozen=True, slots=True)
class _Found:
    """A witness in the square: its place, its box (None where runs were not counted), its words."""

    x: float
    x_prime: float
    box: tuple[tuple[float, float], tuple[float, float]] | None
    meaning: tuple[str, ...]


def region_svg(verdict: Verdict, *, styled: bool = True) -> str | None:
    """The pairs of probabilities that the claim allows, with the witness and its box.

    A proof gives the box of all pairs that its bounds leave. Of runs there is an interval for
    each frequency (Clopper and Pearson 1934, 95 %), which is that of the event alone. None where
    there is no witness whose values lie in [0, 1].

    >>> import tollens
    >>> audit = tollens.Audit(tollens.pure(1.0), alpha=0.01)
    >>> audit.update([1] * 60, [0] * 60)
    >>> "what the claim allows" in region_svg(audit.verdict())
    True
    """
    found = _found(verdict) if verdict.refuted else None
    if found is None:
        return None
    low, high = _window(found)
    panel = Panel(Scale(low, high, 56, 328), Scale(low, high, 326, 54))
    marks = [mark for mark in ticks(low, high, 4) if low <= mark <= high]
    named = [(mark, f"{mark:g}") for mark in marks]
    claim, corner = str(verdict.claim), "" if high - low == 1 else " (a corner)"
    body = [
        heading("Witness S", f"and what the claim allows{corner}", top=22),
        panel.up_axis(named, "P(S) on x'"),
        panel.area(_outline(verdict.claim, low, high), "allowed"),
        panel.across_axis(named, "P(S) on x"),
        panel.rectangle(*found.box, "box") if found.box else "",
        panel.dot(found.x, found.x_prime),
        swatches([(("allowed",), f"allowed by {claim}")], left=16, height=HEIGHT - 38),
        *(text(16, HEIGHT - 22 + 15 * i, said, "soft") for i, said in enumerate(found.meaning)),
    ]
    return figure(
        body,
        width=WIDTH,
        height=HEIGHT,
        title=f"The pairs (P(S) on x, P(S) on x') that {claim} allows, and the witness",
        description=f"The witness has {_spoken(found)}. {' '.join(found.meaning)}.",
        styled=styled,
    )


def allowed(claim: Claim, q: Array) -> tuple[Array, Array]:
    """The least and the largest P(S) on x that a claim allows beside each P(S) on x'.

    The largest is min over r of `support(1, r) + r q`, over the ratios of the claim's own
    inequalities and a grid of others; the least that of the event that S does not happen.

    >>> import tollens
    >>> low, high = allowed(tollens.pure("ln 3"), np.array([0.25]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.083333, 0.75)
    """
    ratios, heights = _lines(claim)

    def largest(q: Array) -> Array:
        found: Array = (heights[:, None] + ratios[:, None] * q).min(axis=0)
        return np.clip(found, 0.0, 1.0)

    return 1.0 - largest(1.0 - q), largest(q)


@functools.lru_cache(maxsize=256)
def _lines(claim: Claim) -> tuple[Array, Array]:
    own = np.exp([min(promise.epsilon, 700.0) for promise in claim.promises()])
    ratios = np.unique(np.concatenate([_RATIOS, own, 1.0 / own]))
    return ratios, np.array([claim.support(1.0, ratio) for ratio in ratios.tolist()])


def _outline(claim: Claim, low: float, high: float) -> list[tuple[float, float]]:
    """The corners of the region within a window, those of curves close to each other."""
    t = np.linspace(0.0, 1.0, 61)
    q = low + (high - low) * np.unique(np.concatenate([t, t**3, 1.0 - t**3]))
    least, largest = (np.clip(side, low, high) for side in allowed(claim, q))
    right = list(zip(largest.tolist(), q.tolist(), strict=True))
    left = list(zip(least.tolist(), q.tolist(), strict=True))
    return [*right, *reversed(left)]


def _window(found: _Found) -> tuple[float, float]:
    """The whole square, or the corner of it that holds the witness and its box."""
    ends = [found.x, found.x_prime, *(found.box[0] if found.box else ())]
    ends += list(found.box[1]) if found.box else []
    if max(ends) <= _CORNER:
        return 0.0, _above(max(ends))
    if min(ends) >= 1 - _CORNER:
        return 1.0 - _above(1 - min(ends)), 1.0
    return 0.0, 1.0


def _above(value: float) -> float:
    """A round number a third or more above a value."""
    return ticks(0.0, max(1.3 * value, 1e-9), 4)[-1]


def _found(verdict: Verdict) -> _Found | None:
    if isinstance(verdict.witness, ProvedWitness):
        return _proved(verdict.witness)
    if isinstance(verdict.witness, Witness):
        return _counted(verdict.witness, verdict)
    return None


def _proved(witness: ProvedWitness) -> _Found | None:
    """The corner of the box that is nearest to the claim."""
    if witness.kind != "proved event":
        return None  # the mean of a function may exceed 1
    lower, upper = min(float(witness.lower), 1.0), float(witness.upper)
    meaning = ("proved: P(S) lies in the box",)
    if witness.likely_under == "x":
        return _Found(lower, upper, ((lower, 1.0), (0.0, upper)), meaning)
    return _Found(upper, lower, ((0.0, upper), (lower, 1.0)), meaning)


def _counted(witness: Witness, verdict: Verdict) -> _Found | None:
    x, x_prime = witness.frequency_x, witness.frequency_x_prime
    if not (0 <= x <= 1 and 0 <= x_prime <= 1):
        return None
    tally = verdict.tally
    box = None
    of = "frequencies"
    if tally is not None and tally.x.total and tally.x_prime.total:
        box = interval(x, tally.x.total), interval(x_prime, tally.x_prime.total)
        of = f"{100 * CONFIDENCE:.0f} % intervals"
    return _Found(x, x_prime, box, (f"{of} of this event alone,", _NOT_CORRECTED))


def interval(frequency: float, runs: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a probability, of a frequency in so many runs.

    >>> low, high = interval(0.0, 20)
    >>> low, round(high, 4)
    (0.0, 0.1684)
    """
    from scipy.special import betaincinv

    seen, tail = round(frequency * runs), (1 - CONFIDENCE) / 2
    low = float(betaincinv(seen, runs - seen + 1, tail)) if seen else 0.0
    high = float(betaincinv(seen + 1, runs - seen, 1 - tail)) if seen < runs else 1.0
    return low, high


def _spoken(found: _Found) -> str:
    def number(value: float) -> str:
        return f"{value:.3g}" if math.isfinite(value) else "no number"

    return f"P(S) = {number(found.x)} on x and {number(found.x_prime)} on x'"
