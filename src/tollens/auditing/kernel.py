"""The kernel audit: bet on the mean of a smooth function (González et al., NeurIPS 2025).

A claim bounds the total variation of the two output laws by `T = support(1, 1)`, which is
`1 - 2 (1 - delta) / (1 + e^eps)` for (eps, delta). A function f that varies by at most c,
`|f(x) - f(y)| <= c` for all x and y, is `min f + c u` with u in [0, 1], so that

    E f(X) - E f(Y) = c (E u(X) - E u(Y)) <= c T = tau                                   (*)

under the claim. Hence `1 + l (f(X) - f(Y) - tau)` has expectation at most 1 for any f and any
l >= 0 that are fixed before the pair, *whatever the dependence of X and Y*, and for
`l <= 1 / (2 (c + tau))` it is at least 1/2. The running product is a nonnegative supermartingale,
and by Ville's inequality it ever reaches 1/alpha with probability at most alpha.

A function of norm r has `|f(x) - f(y)| = |<f, k(x, .) - k(y, .)>| <= r sqrt(2 - 2 k(x, y))`. The
Gaussian kernel lies in [0, 1], so c = sqrt(2) r; for random features c = 2 r, as proved in
`tollens.auditing.rff`.

f follows online gradient ascent and l an online Newton step. Only the bandwidth looks at the
first `BURN_IN` pairs, which are not bet on. The method sees one smooth function at a time and
has a ceiling (`ceiling`); the projection bets of `tollens.auditing.projection` have none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.rff import ExactFunction, FeatureFunction, Function
from tollens.claim import Claim, Promise
from tollens.errors import UsageError
from tollens.streams import SearchStream

Array = NDArray[np.float64]

BURN_IN = 20
"""Pairs that set the bandwidth and are not bet on."""

ROUNDING = 1e-9
"""Added to tau: more than floating-point errors in the norm of f could be worth."""

FARTHEST = 1e9
"""Bandwidths from the centre at which finite outputs are cut off."""

NOISELESS = math.exp(-0.5)
"""The kernel of two different constant outputs, whose distance becomes the bandwidth."""

_NEWTON = 2.0 / (2.0 - math.log(3.0))


class Setting(NamedTuple):
    """A choice of constants: the radius of f, tau / T, and the largest stake as a function of tau.

    `variation` is the c of (*) that the stakes must survive; `margin` is tau / T, at least c.
    """

    radius: float
    variation: float
    margin: float
    published: bool
    features: bool

    def tau(self, total_variation: float) -> float:
        """What f may gain under the claim, rounded up."""
        return self.margin * total_variation + ROUNDING

    def largest_stake(self, tau: float) -> float:
        """The largest l; every factor `1 + l (f(X) - f(Y) - tau)` is then at least 1/2."""
        return 1.0 / (8.0 + 4.0 * tau) if self.published else 0.5 / (self.variation + tau)


SETTINGS = {
    "paper": Setting(0.5, math.sqrt(0.5), math.sqrt(2.0), published=True, features=False),
    "better": Setting(1.0, math.sqrt(2.0), math.sqrt(2.0), published=False, features=False),
    "features": Setting(1.0, 2.0, 2.0, published=False, features=True),
}
"""`paper` is the published one; its f has half the radius that its tau allows. `better` uses the
whole radius and larger stakes. `features` does so in constant memory, at a larger tau."""


def total_variation(claim: Claim | Promise) -> float:
    """The largest total variation of a pair of laws that keeps the claim, T in (*).

    >>> import tollens
    >>> round(total_variation(tollens.pure("ln 3")), 6)
    0.5
    >>> total_variation(Promise(0.0, 0.25, 0))
    0.25
    """
    if isinstance(claim, Claim):
        return claim.support(1.0, 1.0)
    kept = math.exp(-claim.epsilon) * (1.0 - claim.delta)
    if claim.order == 0:
        return 1.0 - 2.0 * kept / (1.0 + math.exp(-claim.epsilon))
    return 1.0 - kept


def ceiling(setting: str, *, delta: float = 0.0, similarity: float = NOISELESS) -> float:
    """The epsilon from which on (epsilon, delta)-DP cannot be rejected, not even without noise.

    For outputs x and y that give the input away, the best f gains `r sqrt(2 - 2 k(x, y))`; where
    that is at most tau nobody can win. `similarity` is k(x, y): with the median bandwidth it is
    e^(-1/2) if both are constant, and 0 for the worst laws of all. Infinity where there is no
    ceiling, 0 where delta alone is too much.

    >>> [round(ceiling(setting), 3) for setting in ("paper", "better", "features")]
    [0.649, 1.474, 0.953]
    >>> [round(ceiling(setting, similarity=0), 3) for setting in ("paper", "better", "features")]
    [1.099, inf, 1.763]
    """
    chosen = _setting(setting)
    best = chosen.radius * math.sqrt(2.0 - 2.0 * similarity) / chosen.margin
    if best >= 1.0 - 1e-12:
        return math.inf
    return math.log(max(1.0, (1.0 + best - 2.0 * delta) / (1.0 - best)))


def fewest_pairs(claim: Claim | Promise, alpha: float, setting: str = "better") -> int | None:
    """Pairs, burn-in included, without which no outputs whatever refute; None if none ever do.

    The largest stake on the largest gap, from the first pair on: a bound that is not reached.

    >>> import tollens
    >>> fewest_pairs(tollens.pure(0.1), 0.05, "paper"), fewest_pairs(tollens.pure(2), 0.05, "paper")
    (61, None)
    """
    chosen = _setting(setting)
    tau = chosen.tau(total_variation(claim))
    if chosen.variation <= tau:
        return None
    most = math.log1p(chosen.largest_stake(tau) * (chosen.variation - tau))
    return BURN_IN + math.ceil(math.log(1.0 / alpha) / most)


class Stake:
    """l, learned by an online Newton step on the log wealth; it stays in [0, largest].

    >>> stake = Stake(largest=0.1)
    >>> [round(math.exp(stake.play(payoff)), 3) for payoff in (0.5, 0.5, 0.5)]
    [1.0, 1.05, 1.05]
    """

    def __init__(self, largest: float) -> None:
        self.largest = largest
        self.value = 0.0
        self._curvature = 1.0

    def play(self, payoff: float) -> float:
        """The log return of the standing stake on a payoff; the stake learns from it after."""
        gain = self.value * payoff
        slope = -payoff / (1.0 + gain)
        self._curvature += slope * slope
        moved = self.value - _NEWTON * slope / self._curvature
        self.value = min(max(moved, 0.0), self.largest)
        return math.log1p(gain)


class Standard:
    """Outputs as points: centred, in bandwidths, and finite.

    The bandwidth is the median distance of the burn-in's outputs, or of those that differ if most
    are equal. Numbers beyond `FARTHEST` bandwidths are cut off there; infinities and NaN become
    three values of their own, farther away, so that their kernel with all others is 0 and with
    themselves 1. This is a function of one output, fixed before the bets: the claim survives it.

    >>> standard = Standard(np.array([[1.0], [3.0], [np.nan]]))
    >>> standard.center.tolist(), standard.bandwidth
    ([2.0], 2.0)
    >>> standard(np.array([[4.0], [np.inf], [-np.inf], [np.nan]])).ravel().tolist()
    [1.0, 2000000000.0, -2000000000.0, 4000000000.0]
    """

    def __init__(self, outputs: Array) -> None:
        columns = (column[np.isfinite(column)] for column in outputs.T)
        self.center = np.array([2.0 * np.median(c / 2.0) if len(c) else 0.0 for c in columns])
        distances, unit = _distances(outputs)
        differ = distances[distances > 0.0]
        self.bandwidth = 1.0
        if len(differ):
            median = float(np.median(distances)) or float(np.median(differ))
            limits = np.finfo(np.float64)
            self.bandwidth = min(max(median * unit, float(limits.tiny)), float(limits.max))

    def __call__(self, outputs: Array) -> Array:
        """Points of outputs, both (n, d)."""
        with np.errstate(over="ignore", invalid="ignore"):
            points = np.clip((outputs - self.center) / self.bandwidth, -FARTHEST, FARTHEST)
        points[np.isposinf(outputs)] = 2.0 * FARTHEST
        points[np.isneginf(outputs)] = -2.0 * FARTHEST
        points[np.isnan(outputs)] = 4.0 * FARTHEST
        return np.asarray(points)


def _distances(outputs: Array) -> tuple[Array, float]:
    """The finite distances of all pairs of rows, and their unit, so that they do not overflow.

    NaN and infinities are near their like only.
    """
    first, second = np.triu_indices(len(outputs), 1)
    a, b = outputs[first], outputs[second]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(a - b)
    apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    apart = apart[np.all(np.isfinite(apart), axis=1)]
    unit = float(apart.max(initial=0.0)) or 1.0
    return np.asarray(np.sqrt(np.square(apart / unit).sum(axis=1))), unit


class KernelBettor:
    """Bets against a claim, or one (epsilon, delta) promise of it, pair by pair.

    `setting` is a key of `SETTINGS`; `seed` draws the frequencies of "features" and steers nothing
    else. Pairs must be independent of one another; within a pair the outputs may depend on each
    other (common random numbers).

    >>> import tollens
    >>> rng = np.random.default_rng(0)
    >>> bettor = KernelBettor(tollens.pure(0.1), setting="better")
    >>> path = bettor.update(1 + rng.laplace(size=400), rng.laplace(size=400))   # epsilon = 1
    >>> bool(path[-1] == bettor.log_value > math.log(20)), bettor.pairs
    (True, 400)
    """

    def __init__(self, claim: Claim | Promise, *, setting: str = "better", seed: int = 0) -> None:
        self.setting = _setting(setting)
        self.tau = self.setting.tau(total_variation(claim))
        self.stake = Stake(self.setting.largest_stake(self.tau))
        self.pairs = 0
        self.log_value = 0.0
        self._seed = seed
        self._burnt: list[Array] = []
        self._standard: Standard | None = None
        self._function: Function | None = None
        self._width: int | None = None

    def update(self, x: Array, y: Array) -> Array:
        """Score n pairs in their order; returns the log wealth after each, (n,).

        x and y are floats of shape (n, d), or (n,) for d = 1. The first `BURN_IN` pairs ever only
        set the bandwidth: their log wealth is 0. The result does not depend on how a stream is cut
        into calls. NaN and infinities are values like others, see `Standard`. `UsageError` if the
        shapes do not fit each other or earlier ones.
        """
        x, y = self._checked(x, y)
        path = np.zeros(len(x))
        burnt = min(len(x), max(0, BURN_IN - self.pairs))
        if burnt:
            self._burnt += [x[:burnt], y[:burnt]]
        self.pairs += len(x)
        if self._function is None and self.pairs >= BURN_IN:
            self._start(x.shape[1])
        if self._function is not None and self._standard is not None and burnt < len(x):
            gaps = self._function.gaps(self._standard(x[burnt:]), self._standard(y[burnt:]))
            for i, gap in enumerate(gaps.tolist(), start=burnt):
                self.log_value += self.stake.play(gap - self.tau)
                path[i] = self.log_value
        return path

    def _start(self, width: int) -> None:
        """Fix the bandwidth and begin with f = 0."""
        self._standard = Standard(np.concatenate(self._burnt))
        self._burnt = []
        if self.setting.features:
            rng = SearchStream(self._seed).generator(0)
            self._function = FeatureFunction(width, self.setting.radius, rng)
        else:
            self._function = ExactFunction(width, self.setting.radius)

    def _checked(self, x: Array, y: Array) -> tuple[Array, Array]:
        x, y = (np.asarray(z, dtype=np.float64) for z in (x, y))
        x, y = (z[:, None] if z.ndim == 1 else z for z in (x, y))
        if x.ndim != 2 or x.shape != y.shape:
            raise UsageError(f"outputs of shapes {x.shape} and {y.shape}; give two (n, d) arrays")
        if self._width is None:
            self._width = x.shape[1]
        if x.shape[1] != self._width:
            raise UsageError(f"outputs of {x.shape[1]} numbers after some of {self._width}")
        return x, y


def _setting(name: str) -> Setting:
    if name not in SETTINGS:
        raise UsageError(f"setting is {name!r}; it must be one of {', '.join(SETTINGS)}")
    return SETTINGS[name]
