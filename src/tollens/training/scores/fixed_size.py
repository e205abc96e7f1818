"""Bounds that are valid for one number of canaries, fixed before looking at any of them.

They are what most audits of training report. Each says what it assumes. None of them is part of a
verdict: their errors are not controlled together, and taking the largest of several, or looking
again after more canaries, spends their error probability more than once.

Scores are higher where the canary seems to be in. A difference in the other direction is no leak
here: the size of a difference without its sign would show one where there is only noise. And no
threshold is ever picked on the scores that are then counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, log_ndtr, nctdtr, ndtr, ndtri
from scipy.stats import binom, chi2
from scipy.stats import t as student

from tollens.claim import gaussian
from tollens.errors import UsageError
from tollens.rounding import down

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]

EPSILONS = np.geomspace(0.01, 16.0, 320)
"""The values of epsilon that a bound may take."""

MUS = np.geomspace(0.01, 16.0, 320)
"""The values of mu that a bound may take."""

GUESSED = 0.25
"""The share of the canaries that is guessed at: half of it as in, half as out."""

FEWEST = 4
"""Scores a side below which nothing is computed."""

_THRESHOLDS = 200
_HALVINGS = 60


@dataclass(frozen=True)
class FixedBound:
    """A lower bound for a leak with error probability `alpha`, valid at `size` canaries only.

    Those of a confidence sequence, which says so, are valid at every size.

    `epsilon` is stated at `delta`, and 0 where nothing was shown; `mu` is in units of the standard
    deviation of Gaussian DP, None where the method has no such form. `assumes` is in words.
    """

    name: str
    epsilon: float
    delta: float
    mu: float | None
    alpha: float
    size: int
    assumes: str

    def words(self) -> str:
        """The bound and what it assumes, as one sentence.

        >>> FixedBound("binomial", 1.5, 0.0, None, 0.05, 100, "fair coins").words()
        'binomial: epsilon >= 1.5 at delta = 0 with error probability 0.05; assumes fair coins'
        """
        shown = [f"epsilon >= {down(self.epsilon)} at delta = {self.delta:g}"]
        if self.mu is not None:
            shown.insert(0, f"mu >= {down(self.mu)}")
        if self.epsilon == 0 and not self.mu:
            shown = [f"no leak shown at delta = {self.delta:g}"]
        return (
            f"{self.name}: {', '.join(shown)} with error probability {self.alpha:g}; "
            f"assumes {self.assumes}"
        )


# One training run, guesses at the membership of its canaries


def guesses(scores: Array, included: Bits, share: float = GUESSED) -> tuple[int, int]:
    """(guesses, correct ones) if the highest scores are guessed in and the lowest out.

    `share` of the canaries is guessed at, rounded to an even number; it must not depend on the
    bits. Equal scores are taken in the order of the rows.

    >>> guesses(np.arange(8.0), np.arange(8) > 3, share=0.5)
    (4, 4)
    """
    side = round(share * len(scores) / 2)
    order = np.argsort(np.asarray(scores), kind="stable")
    bits = np.asarray(included, dtype=np.bool_)[order]
    return 2 * side, int((~bits[:side]).sum() + bits[len(bits) - side :].sum())


def binomial_p_value(
    canaries: int, made: int, correct: int, epsilon: float, delta: float = 0.0
) -> float:
    """The chance of so many correct guesses or more if the run keeps (epsilon, delta).

    With W ~ Binomial(r, e^eps / (1 + e^eps)), r guesses made and v correct of m canaries, it is at
    most P(W >= v) + 2 m delta max_i P(v - i <= W < v) / i (Steinke, Nasr, Jagielski 2023, theorem
    on guesses with abstention: correct guesses exceed W by at most F with E F <= 2 m delta).

    >>> round(binomial_p_value(100, 100, 75, 0.5), 4), binomial_p_value(100, 10, 10, 0.0)
    (0.0048, 0.0009765625)
    """
    _check_counts(canaries, made, correct)
    p0 = float(expit(epsilon))
    tail = float(binom.sf(correct - 1, made, p0))
    if delta <= 0 or correct == 0:
        return min(1.0, tail)
    reach = min(correct, 64 + int(40 * math.sqrt(made)))
    below = np.cumsum(binom.pmf(np.arange(correct - 1, correct - 1 - reach, -1), made, p0))
    worst = float((below / np.arange(1, reach + 1)).max())
    if reach < correct:  # further terms are at most 1 / i
        worst = max(worst, 1.0 / (reach + 1))
    return min(1.0, tail + 2 * canaries * delta * worst)


def binomial_bound(
    canaries: int, made: int, correct: int, *, delta: float = 0.0, alpha: float = 0.05
) -> FixedBound:
    """The largest epsilon that `binomial_p_value` refutes with all smaller ones of a grid.

    >>> binomial_bound(1000, 250, 250).epsilon > 4 > binomial_bound(1000, 250, 200).epsilon > 1
    True
    """
    low = 0.0
    for epsilon in EPSILONS.tolist():
        if binomial_p_value(canaries, made, correct, epsilon, delta) > alpha:
            break
        low = epsilon
    return FixedBound(
        f"one-run binomial, {correct:,} of {made:,} guesses right",
        low, delta, None, alpha, canaries,
        "a fair coin for each canary, and guesses that looked at no coin",
    )  # fmt: skip


class _Curve(Protocol):
    """A trade-off curve f."""

    def least(self, mass: float) -> float:
        """The least q with 1 - f(q) >= mass."""


@dataclass(frozen=True)
class _Gaussian:
    mu: float

    def least(self, mass: float) -> float:
        if mass <= 0:
            return 0.0
        return 1.0 if mass >= 1 else float(ndtr(ndtri(mass) - self.mu))


@dataclass(frozen=True)
class _Approx:
    epsilon: float
    delta: float

    def least(self, mass: float) -> float:
        first = (mass - self.delta) * math.exp(-self.epsilon)
        second = 1 - self.delta - math.exp(self.epsilon) * (1 - mass)
        return max(0.0, first, second)


def curve_p_value(canaries: int, made: int, correct: int, *, mu: float) -> float:
    """The chance of so many correct guesses or more if the run keeps mu-Gaussian DP.

    Let c be the number of correct guesses of r made on m canaries, p_k = P(c = k), and 1 - f(q) =
    Phi(Phi^-1(q) + mu). For every i (Mahloujifar, Melis, Chaudhuri 2024)

        sum_{k >= i} (k/m) p_k <= (1 - f)( sum_{k >= i-1} ((r - k)/m) p_k ):

    the left is the mean over canaries of P(guess right, c >= i), and if the bit of that canary
    alone is flipped, the guess is wrong and c >= i - 1; 1 - f is concave, so means may be taken
    inside. If P(c >= v) were tau, these inequalities for i = v, ..., 1 would force more and more
    mass below v; the least mass is got by putting tau on v itself and at each i just what the
    inequality needs. The p-value is the tau at which the total is 1.

    >>> curve_p_value(100, 100, 50, mu=1.0), curve_p_value(100, 100, 95, mu=1.0) < 0.05
    (1.0, True)
    """
    _check_counts(canaries, made, correct)
    return _recursion(canaries, made, correct, _Gaussian(mu))


def curve_p_value_approx(
    canaries: int, made: int, correct: int, *, epsilon: float, delta: float
) -> float:
    """The same for (epsilon, delta)-DP, with its trade-off curve in place of the Gaussian one.

    >>> p = curve_p_value_approx(100, 100, 75, epsilon=0.5, delta=0.0)
    >>> binomial_p_value(100, 100, 75, 0.5) < p < 0.0055
    True
    """
    _check_counts(canaries, made, correct)
    return _recursion(canaries, made, correct, _Approx(epsilon, delta))


def _recursion(m: int, r: int, v: int, curve: _Curve) -> float:
    """The largest tau of P(c >= v) = tau whose least total mass is at most 1.

    The state is a = sum_{k >= i} (k/m) p_k and h = sum_{k >= i} ((r - k)/m) p_k. More mass at or
    above i than needed never helps: of two states with a' >= a and a' - a >= (h' - h) i / (r - i),
    both relations are kept by every step, whatever it adds to the second state.
    """
    if v == 0 or r == 0:
        return 1.0
    if _mass(m, r, v, 1.0, curve) <= 1.0:
        return 1.0
    low, high = -60.0, 0.0  # log10 of tau: low is possible, high is not
    if _mass(m, r, v, float(10.0**low), curve) > 1.0:
        return float(10.0**low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _mass(m, r, v, float(10.0**middle), curve) > 1.0:
            high = middle
        else:
            low = middle
        if high - low < 1e-4:
            break
    return float(10.0**high)


def _mass(m: int, r: int, v: int, tau: float, curve: _Curve) -> float:
    """The least total mass if P(c >= v) = tau; stops as soon as it is above 1."""
    right, wrong, room = v / m * tau, (r - v) / m * tau, r / m
    for i in range(v, 0, -1):
        needed = curve.least(right)
        if needed > wrong:
            right += (i - 1) / (r - i + 1) * (needed - wrong)
            wrong = needed
        if right + wrong > room * (1 + 1e-12):
            return math.inf
    return (right + wrong) / room


def curve_bound(
    canaries: int, made: int, correct: int, *, delta: float = 1e-5, alpha: float = 0.05
) -> FixedBound:
    """The largest mu that `curve_p_value` refutes, and the epsilon of that mu at delta.

    >>> curve_bound(200, 50, 50).mu > 1 > curve_bound(200, 50, 30).mu
    True
    """
    _check_counts(canaries, made, correct)

    def refuted(mu: float) -> bool:
        return _mass(canaries, made, correct, alpha, _Gaussian(mu)) > 1.0

    mu = _last(refuted, MUS) if correct else 0.0
    return FixedBound(
        f"one-run f-DP, {correct:,} of {made:,} guesses right",
        _epsilon(mu, delta), delta, mu, alpha, canaries,
        "a fair coin for each canary, guesses that looked at no coin, and that the leak is that "
        "of a Gaussian mechanism",
    )  # fmt: skip


def _last(refuted: Callable[[float], bool], grid: Array) -> float:
    """The last of a grid of nested claims that is refuted; monotone by nesting of the curves."""
    low, high = -1, len(grid)
    while high - low > 1:
        middle = (low + high) // 2
        if refuted(float(grid[middle])):
            low = middle
        else:
            high = middle
    return float(grid[low]) if low >= 0 else 0.0


def _epsilon(mu: float, delta: float) -> float:
    """The epsilon of mu-GDP at delta; 0 at delta = 0 means that none is stated."""
    if mu <= 0:
        return 0.0
    return math.inf if delta <= 0 else gaussian(mu).epsilon(delta)


def _check_counts(canaries: int, made: int, correct: int) -> None:
    if not 0 <= correct <= made <= canaries:
        raise UsageError(
            f"{correct} correct of {made} guesses on {canaries} canaries; "
            "0 <= correct <= guesses <= canaries is needed"
        )


# Independent scores with and without the canary


def gaussian_fit(
    inside: Array,
    outside: Array,
    *,
    delta: float = 1e-5,
    alpha: float = 0.05,
    spread: str = "shared",
) -> FixedBound:
    """Lower bounds for mu and epsilon if both sides are normal.

    `spread="shared"`: one standard deviation on both sides; mu = (mean in - mean out) / sd. Its
    exact lower limit is the mu at which the t statistic, then of a noncentral t law with shift
    mu / sqrt(1/n + 1/k), would be as large with probability alpha; epsilon is that of this mu.
    `spread="separate"`: means and spreads lie in a box with probability
    1 - alpha (alpha / 6 for each of its ends), and every threshold c gives a bound that holds all
    over the box: mu >= Phi^-1(P(in > c)) - Phi^-1(P(out > c)), epsilon >= log((P(in > c) - delta)
    / P(out > c)); the largest are taken. `UsageError` below 4 scores a side.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(2.0, size=500), rng.normal(size=500)
    >>> 1.6 < gaussian_fit(a, b).mu < 2, gaussian_fit(b, a).mu
    (True, 0.0)
    """
    x, y = _sides(inside, outside)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UsageError("the Gaussian fit needs finite scores")
    shared = spread == "shared"
    if not shared and spread != "separate":
        raise UsageError(f"spread is {spread!r}; it must be one of shared, separate")
    mu, epsilon = (_fit_shared if shared else _fit_separate)(x, y, delta, alpha)
    own = "the same spread" if shared else "spreads of their own"
    return FixedBound(
        f"Gaussian fit, {spread} spread", epsilon, delta, mu, alpha, len(x) + len(y),
        f"independent normal scores with {own} on both sides",
    )  # fmt: skip


def _fit_shared(x: Array, y: Array, delta: float, alpha: float) -> tuple[float, float]:
    n, k = len(x), len(y)
    free = n + k - 2
    pooled = ((n - 1) * float(x.var(ddof=1)) + (k - 1) * float(y.var(ddof=1))) / free
    difference = float(x.mean() - y.mean())
    if difference <= 0 or pooled == 0:
        return (0.0, 0.0) if difference <= 0 else (math.inf, math.inf)
    unit = math.sqrt(1 / n + 1 / k)
    mu = unit * _least_shift(difference / (math.sqrt(pooled) * unit), free, alpha)
    return mu, _epsilon(mu, delta) if mu < 100 else math.inf


def _least_shift(t: float, free: int, alpha: float) -> float:
    """The shift of a noncentral t law that is exceeded by t with probability alpha; 0 if none."""
    high, low = t, max(0.0, t - 12 * math.sqrt(1 + t * t / (2 * free)))
    if not float(nctdtr(free, 0.0, t)) > 1 - alpha:
        return 0.0
    for _ in range(_HALVINGS):  # larger shifts make t less surprising
        middle = (low + high) / 2
        below = float(nctdtr(free, middle, t))
        low, high = (middle, high) if below > 1 - alpha else (low, middle)
    return low


def _fit_separate(x: Array, y: Array, delta: float, alpha: float) -> tuple[float, float]:
    part = alpha / 6
    (m1, sd1), (m0, sd0) = ((float(z.mean()), float(z.std(ddof=1))) for z in (x, y))
    low = m1 - float(student.ppf(1 - part, len(x) - 1)) * sd1 / math.sqrt(len(x))
    high = m0 + float(student.ppf(1 - part, len(y) - 1)) * sd0 / math.sqrt(len(y))
    if sd1 == 0 or sd0 == 0:
        raise UsageError("the Gaussian fit needs scores that vary on both sides")
    (a1, b1), (a0, b0) = (_spread(sd, len(z), part) for sd, z in ((sd1, x), (sd0, y)))
    cuts = np.linspace(min(low, high) - 8 * max(b1, b0), max(low, high) + 8 * max(b1, b0), 4001)
    # the least z-value of "in above the cut", the most of "out above the cut", over the box
    up = np.where(cuts < low, (low - cuts) / b1, (low - cuts) / a1)
    out = np.where(cuts > high, (high - cuts) / b0, (high - cuts) / a0)
    mu = max(0.0, float((up - out).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(np.maximum(ndtr(up) - delta, 0.0)) - log_ndtr(out)
        back = np.log(np.maximum(ndtr(-out) - delta, 0.0)) - log_ndtr(-up)
    return mu, max(0.0, float(np.nanmax(gain)), float(np.nanmax(back)))


def _spread(sd: float, n: int, part: float) -> tuple[float, float]:
    """The ends of the interval for a standard deviation, each missed with probability `part`."""
    ends = chi2.ppf([1 - part, part], n - 1)
    return sd * math.sqrt((n - 1) / float(ends[0])), sd * math.sqrt((n - 1) / float(ends[1]))


def threshold_bound(
    inside: Array,
    outside: Array,
    *,
    delta: float = 1e-5,
    alpha: float = 0.05,
    form: str = "epsilon",
    seed: int = 0,
) -> FixedBound:
    """Clopper-Pearson at a threshold chosen on a half of the scores and counted on the other.

    Of the chosen half (by the seed) the threshold is taken that would bound most; on the other
    half P(in above it) and P(out above it) get ends that fail with probability alpha / 2 each.
    `form="epsilon"`: epsilon >= log((P(in) - delta) / P(out)), or the same of scores below the
    threshold with the sides exchanged, whichever the chosen half preferred. `form="mu"`:
    mu >= Phi^-1(P(in)) - Phi^-1(P(out)), and the epsilon of that mu.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(3.0, size=1000), rng.normal(size=1000)
    >>> threshold_bound(a, b).epsilon > 1.5, threshold_bound(a, b, form="mu").mu > 2
    (True, True)
    >>> threshold_bound(b, a, form="mu").mu
    0.0
    """
    x, y = _sides(inside, outside)
    if form not in ("epsilon", "mu"):
        raise UsageError(f"form is {form!r}; it must be one of epsilon, mu")
    order = np.random.default_rng(seed).permutation(max(len(x), len(y)))
    (x1, x2), (y1, y2) = _halves(x, order), _halves(y, order)  # a row stays in one half
    values = np.unique(np.concatenate([x1, y1]))
    if len(values) > _THRESHOLDS:
        values = values[np.linspace(0, len(values) - 1, _THRESHOLDS).astype(int)]

    def bound(x: Array, y: Array, cut: float, above: bool) -> float:
        k, j = int((x >= cut).sum()), int((y >= cut).sum())
        if form == "mu":
            return _shift(k, len(x), j, len(y), alpha)
        return _ratio(k, len(x), j, len(y), delta, alpha, above=above)

    tried = [(value, above) for value in values.tolist() for above in (True, False)]
    gains = [bound(x1, y1, *each) for each in tried]
    found = max(0.0, bound(x2, y2, *tried[int(np.argmax(gains))]))
    counted = f"held-out half ({len(x2):,} + {len(y2):,} counted)"
    mu = found if form == "mu" else None
    return FixedBound(
        f"Clopper-Pearson at a threshold from a {counted}",
        found if mu is None else _epsilon(mu, delta), delta, mu, alpha, len(x) + len(y),
        "independent scores of the same law on each side"
        + (" and a leak like that of a Gaussian mechanism" if form == "mu" else ""),
    )  # fmt: skip


def _shift(k: int, n: int, j: int, r: int, alpha: float) -> float:
    """Phi^-1(P(in)) - Phi^-1(P(out)) at the ends."""
    low, high = _low(k, n, alpha / 2), _high(j, r, alpha / 2)
    return float(ndtri(low) - ndtri(high)) if low > 0 and high < 1 else -math.inf


def _ratio(k: int, n: int, j: int, r: int, delta: float, alpha: float, *, above: bool) -> float:
    """log((P(in) - delta) / P(out)) at the ends, of the event or of its complement."""
    if above:
        top, bottom = _low(k, n, alpha / 2), _high(j, r, alpha / 2)
    else:
        top, bottom = _low(r - j, r, alpha / 2), _high(n - k, n, alpha / 2)
    return math.log((top - delta) / bottom) if top > delta else -math.inf


def _low(k: int, n: int, part: float) -> float:
    """The lower Clopper-Pearson end of k of n."""
    return 0.0 if k == 0 else float(betaincinv(k, n - k + 1, part))


def _high(k: int, n: int, part: float) -> float:
    """The upper Clopper-Pearson end of k of n."""
    return 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - part))


def _halves(values: Array, order: NDArray[np.intp]) -> tuple[Array, Array]:
    own = order[order < len(values)]
    return values[own[: len(values) // 2]], values[own[len(values) // 2 :]]


def _sides(inside: Array, outside: Array) -> tuple[Array, Array]:
    x, y = np.asarray(inside, dtype=np.float64), np.asarray(outside, dtype=np.float64)
    if min(len(x), len(y)) < FEWEST:
        raise UsageError(f"{len(x)} and {len(y)} scores; at least {FEWEST} a side are needed")
    if np.isnan(x).any() or np.isnan(y).any():
        raise UsageError("scores that are no number cannot be compared")
    return x, y
