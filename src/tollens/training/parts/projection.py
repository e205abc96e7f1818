"""Bets on one number a step: the noisy sum's projection on the canary, with and without it.

For a function f into [0, 1] that is fixed before the step, and the largest total variation d that
the claim allows (its delta at epsilon 0), the factor

    1 + l (f(X) - f(Y) - d),      0 <= l <= 1 / (1 + d),                                     (*)

has expectation at most 1 if the step keeps the claim, *whatever the dependence of X and Y*: only
their two laws enter. So the step may be replayed with the same noise. The noise cancels, f(X) -
f(Y) hardly varies, and then the inequality at epsilon 0 is the best of all (mu from .3 to 5).

The functions are ramps: 0 below a cut, 1 above, linear over a width. What the claim says about
the scale is used: a canary of norm C moves the projection by 1 / sigma standard deviations, and
the cut in the middle of that is the best whatever the spread of the noise truly is. One cut is
learned: the mean of all projections of the steps before, which lies between the two worlds even
where the noise is the same in every step.

The same bets are made against mu-GDP for mu on a grid. These claims are nested, so that the
largest mu up to which all are rejected is a lower bound at any time (a confidence sequence, no
correction needed): the first true one has to be rejected for it to be too large. What it shows is
a total variation; an epsilon at a small delta follows from it only for Gaussian mechanisms.

Everything is kept as arrays of log wealths: a step costs the same however many there were. Those
against the grid are brought up to date in blocks, which is only a matter of cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tollens.claim import Claim
from tollens.training.parts.reading import Reading

Array = NDArray[np.float64]

CUTS = {0.5: 0.5, 1.5: 0.1, 4.0: 0.1}
"""Where the ramps stand, in units of the canary's own shift, and their shares of the stake."""

LEARNED = 0.3
"""The share of the ramps whose cut is the mean of the past (at first the middle, as above)."""

WIDTHS = (0.0, 0.5, 1.0)
"""Widths of the ramps at the two cuts that have most of the stake, in claimed standard deviations.

The others, for canaries that are not clipped, are plain thresholds.
"""

STRENGTHS = np.geomspace(1 / 16, 1.0, 5) * 0.98
"""The grid of l (1 + d) in (*)."""

BLOCK = 16
"""Steps after which the wealths against the grid are brought up to date, at the latest."""

MU_GRID = np.geomspace(0.05, 12.0, 160)
"""The values of mu that the lower bound may take (and that of a Gaussian claim)."""


class Projection:
    """Whether the projections of the two worlds lie further apart than the claim allows.

    `scale` is the claimed standard deviation of the noise in units of the clipping norm, sigma.
    `alpha` is the level of the lower bound; the claim is one of those that it goes through.

    >>> import numpy as np
    >>> from tollens.claim import gaussian
    >>> part, rng = Projection(gaussian(1.0), scale=1.0), np.random.default_rng(0)
    >>> for noise in rng.normal(0.0, 0.5, 60):             # half of the noise that was claimed
    ...     part.update(Reading(with_canary=1.0 + noise, without_canary=noise))
    >>> bool(part.log_e_value > np.log(1000)), part.mu_lower(0.05) > 1.0
    (True, True)
    """

    name = "projection"
    assumes = "nothing but that the canary's step is one run of the mechanism on a neighbour"

    def __init__(self, claim: Claim, *, scale: float) -> None:
        self.claim = claim
        self.scale = scale
        self.pairs = 0
        own = claim.support(1.0, 1.0)
        self._allowed = np.concatenate([[own], 2.0 * ndtr(MU_GRID / 2.0) - 1.0])
        ramps = [(0.5, width, LEARNED / len(WIDTHS)) for width in WIDTHS]
        for cut, share in CUTS.items():
            widths = WIDTHS if cut == 0.5 else (0.0,)
            ramps += [(cut, width, share / len(widths)) for width in widths]
        cuts, spans, shares = np.array(ramps).T
        self._cuts = cuts[:, None] / scale
        self._widths = spans[:, None].copy()
        started = np.log(shares)[:, None] - np.log(len(STRENGTHS))
        shape = (len(self._allowed), len(shares), len(STRENGTHS))
        self._logs: Array = np.broadcast_to(started, shape).copy()
        self._stakes = STRENGTHS / (1.0 + self._allowed[:, None, None])
        self._kept = 1.0 - self._stakes[1:] * self._allowed[1:, None, None]
        self._most: Array = np.zeros(len(MU_GRID))
        self._waiting: list[Array] = []
        self._sums = np.zeros((2, len(shares)))
        self._total = 0.0

    def update(self, reading: Reading) -> None:
        """Score one step; passed over where a projection is missing or not finite."""
        x, y = reading.with_canary, reading.without_canary
        if x is None or y is None or not (np.isfinite(x) and np.isfinite(y)):
            return
        values = np.array([x, y], dtype=np.float64) / self.scale
        both = self._ramps(values)
        self.pairs += 1
        self._total += float(values.mean())
        self._cuts[: len(WIDTHS)] = self._total / self.pairs
        self._sums += both.T
        gain = (both[:, 0] - both[:, 1])[:, None]
        self._logs[0] += np.log1p(self._stakes[0] * (gain - self._allowed[0]))
        self._waiting.append(gain)
        if len(self._waiting) >= BLOCK:
            self._catch_up()

    def _catch_up(self) -> None:
        """Pay the bets against the grid on the steps that wait."""
        if self._waiting:
            factors, factor = np.ones(self._logs[1:].shape), np.empty(self._logs[1:].shape)
            for gain in self._waiting:
                np.multiply(self._stakes[1:], gain, out=factor)
                factor += self._kept
                factors *= factor
            self._waiting = []
            self._logs[1:] += np.log(factors)
            self._most = np.maximum(self._most, _log_sum(self._logs[1:]))

    def _ramps(self, values: Array) -> Array:
        """All ramps at both values, shape (ramps, 2)."""
        above = values - self._cuts
        width = np.maximum(self._widths, 1e-300)
        return np.asarray(np.clip(above / width + 0.5, 0.0, 1.0))

    @property
    def log_e_value(self) -> float:
        """The natural log of the wealth against the claim, now."""
        return float(_log_sum(self._logs[:1])[0])

    def mu_lower(self, alpha: float) -> float:
        """A lower bound for mu, valid at every time at once with error probability alpha.

        0 as long as nothing is rejected, or if alpha is 0. It never decreases.
        """
        if alpha <= 0:
            return 0.0
        self._catch_up()
        rejected = self._most >= -np.log(alpha)
        reached = len(rejected) if rejected.all() else int(np.argmin(rejected))
        return float(MU_GRID[reached - 1]) if reached else 0.0

    def words(self) -> str:
        """What the richest bet says: a threshold, and how often it was passed."""
        ramp = int(np.argmax(_log_sum(self._logs[0])))
        p, q = self._sums[:, ramp] / max(self.pairs, 1)
        cut, width = float(self._cuts[ramp, 0]) * self.scale, float(self._widths[ramp, 0])
        soft = f", a ramp over {width * self.scale:.3g}" if width else ""
        mean = ", the mean of the past" if ramp < len(WIDTHS) else ""
        hint = f" ({(mean + soft)[2:]})" if mean or soft else ""
        return (
            f"the noisy sum's projection on the canary is above {cut:.3g} C{hint} in {p:.3f} of "
            f"the steps with the canary and in {q:.3f} without; the claim allows a difference of "
            f"{self._allowed[0]:.3f}"
        )


def _log_sum(logs: Array) -> Array:
    """log(sum(exp(logs))) over all but the first axis."""
    flat = logs.reshape(len(logs), -1)
    top = flat.max(axis=1, keepdims=True)
    return np.asarray((top + np.log(np.exp(flat - top).sum(axis=1, keepdims=True)))[:, 0])
