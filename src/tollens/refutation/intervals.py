"""The interval of one number in which the leak is largest, from its laws on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.patterns import Between, Pattern
from tollens.refutation.laws import Tail
from tollens.refutation.shapes import found_at, placed
from tollens.refutation.sides import Side

Array = NDArray[np.float64]

_MULTIPLES = tuple(Fraction(m) for m in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24))
_FINE = 1024
_LEAST = 1e-30
_MOST = 400
_EVERY = 2


def interval(
    sides: tuple[Side, Side], pattern: Pattern, at: tuple[int, ...], *, boxes: bool
) -> Between | None:
    """The best interval at a place of a pattern: likely on the first side, not on the second.

    Half-lines, boxes and the cells between marks are tried; None where none is better than all
    numbers.
    """
    marks = _marks(sides, pattern, at)
    if not marks:
        return None
    width = max(spread for _, spread in marks)
    places = sorted({place for place, _ in marks})
    if len(places) > _MOST:
        places = places[:: len(places) // _MOST + 1]
    small = width / _FINE
    tried = [Between(None, place) for place in places] + [Between(place, None) for place in places]
    tried += [Between(place, place + small) for place in places]
    tried += [Between(a, b) for a, b in pairwise(places)]
    tried = [Between(None, None), *tried]
    try:
        p, q = (_probabilities(side.laws(pattern, at), tried) for side in sides)
    except CertificateError:  # no forest with the cut left open
        tried = [tried[0], *(each for each in tried[1:] if _plain(each, places[::_EVERY]))]
        p, q = (np.array([side.mass(placed(pattern, at, t)) for t in tried]) for side in sides)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > _LEAST, p / np.maximum(q, _LEAST / 1e6), 0.0)
    best = float(ratio.max())
    if not best > ratio[0] * (1 + 1e-9):
        return None
    center = min(places, key=lambda place: abs(place - _center(sides, at, pattern)))
    near = [i for i in range(1, len(ratio)) if ratio[i] >= best * (1 - 1e-9)]
    return min((tried[i] for i in near), key=lambda each: _order(each, center, boxes=boxes))


def _plain(interval: Between, places: Sequence[Fraction]) -> bool:
    """Whether an interval is a half-line or a box at one of these places."""
    return (interval.low if interval.low is not None else interval.high) in places


def _order(interval: Between, center: Fraction, *, boxes: bool) -> tuple[bool, Fraction]:
    """Which of equally good intervals to take: the kind that is wanted, nearest to the center."""
    bounded = interval.low is not None and interval.high is not None
    end = interval.low if interval.low is not None else interval.high
    assert end is not None  # noqa: S101 - what was tried has an end
    return bounded != boxes, abs(end - center)


def _probabilities(laws: list[tuple[float, Tail | float]], tried: Sequence[Between]) -> Array:
    """The probability of each interval."""
    lows = np.array([-np.inf if each.low is None else float(each.low) for each in tried])
    highs = np.array([np.inf if each.high is None else float(each.high) for each in tried])
    found = np.zeros(len(tried))
    for mass, law in laws:
        if isinstance(law, float):
            found += mass * ((lows <= law) & (law <= highs))
            continue
        ends = np.concatenate([lows, highs])
        finite = np.isfinite(ends)
        tails = np.zeros(len(ends))
        tails[finite] = law(ends[finite])
        tails[ends == -np.inf] = law(np.array([-1e6]))[0]
        found += mass * (tails[: len(lows)] - tails[len(lows) :])
    return np.maximum(found, 0.0)


def _marks(
    sides: tuple[Side, Side], pattern: Pattern, at: tuple[int, ...]
) -> set[tuple[Fraction, Fraction]]:
    """(place, spread) at which to cut: around the centers, and where uniform draws end."""
    found: set[tuple[Fraction, Fraction]] = set()
    for side in sides:
        for path in side.near(pattern):
            number = found_at(path.output, at)
            if isinstance(number, Form):
                spread = _spread(number, path.draws)
                ends = {number.constant}
                for i, c in number.terms:
                    if path.draws[i].kind == "uniform":
                        ends = {end + c * p for end in ends for p in path.draws[i].parameters}
                for m in _MULTIPLES:
                    ends |= {number.constant + m * spread, number.constant - m * spread}
                found |= {(end, spread) for end in ends}
    return found


def _center(sides: tuple[Side, Side], at: tuple[int, ...], pattern: Pattern) -> Fraction:
    for path in sides[0].near(pattern):
        number = found_at(path.output, at)
        if isinstance(number, Form):
            return number.constant
    return Fraction(0)


def _spread(number: Form, draws: Sequence[Draw]) -> Fraction:
    """The size of the noise in a number."""
    total = Fraction(0)
    for i, c in number.terms:
        parameters = draws[i].parameters
        size = parameters[-1] - parameters[0] if len(parameters) > 1 else parameters[0]
        total = max(total, abs(c) * size)
    return total
