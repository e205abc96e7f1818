"""Scores of a canary under the *assertion* that they are normal, with equal spread in both worlds.

X is the score with the canary, Y without; mu is the difference of their means in standard
deviations, and the claim `mu <= mu0` is one of Gaussian differential privacy. All evidence is
for all sample sizes at once: if the claim and the assertion hold, it ever reaches 1/alpha with
probability at most alpha. Only sums are kept, so the cost does not grow with what was seen.

* `KnownSpread`: likelihood ratios of mu0 + h to mu0 for h > 0, averaged over half-normal h
  (Robbins 1970); each has expectation at most 1 if mu <= mu0.
* `UnknownSpread`: the same ratio for what is left when neither origin nor unit of the scores
  mean anything. It is a likelihood ratio of the t-statistics (Lai 1976; Pérez-Ortiz et al. 2024),

      int p(v) K(v) dv / int p(v) dv,   p(v) = v^(2n-2) exp(-W v^2/2 - n (d v - mu0)^2/4),

  with d the difference of the means of n pairs, W their sum of squares within X and within Y,
  v = 1/sd, and K the evidence for a known spread 1/v. `p` is log-concave in (v, mu0), so by
  Prékopa's theorem the ratio decreases in mu0: it is fair to all claims that hold.
* `UniversalInference` (Wasserman, Ramdas, Balakrishnan 2020): what the scores so far predict
  for the next ones, over the largest likelihood under the claim. Weaker, but its expectation is
  at most 1 at *any* stopping time, so it may be averaged with other evidence.
* `CommonNumbers`: X - Y is known, so that mu is a statement about the spread of Y. The distance
  of Y from the mean of the earlier ones, over X - Y, has a standard deviation of at least 1/mu0
  if mu <= mu0, and noise that is at least so large is what `noise_scale` bets against; a mean
  that differs only makes the bet lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

from tollens.errors import UsageError
from tollens.training.parts.noise_scale import ALTERNATIVES, LOG_SHARES, log_ratios

Array = NDArray[np.float64]

SCALES = np.array([0.1, 0.3, 1.0])
"""Standard deviations of the half-normal h, in units of mu; equal shares."""

BURN_IN = 2
"""Pairs from which universal inference predicts the first that it bets on."""

STEADY = 1e-3
"""By how much (of itself) X - Y may vary where both were made with the same noise."""


class Evidence(Protocol):
    """What is known against claims about mu."""

    def update(self, x: Array, y: Array) -> None:
        """Take pairs of scores, arrays of one length."""

    def log_e_value(self, mu0: float) -> float:
        """The log of the evidence against `mu <= mu0`."""


class GaussianScores:
    """Lower bounds of mu for pairs of scores that are asserted to be normal with equal spread.

    Pairs are independent of each other; so are the two scores of a pair, unless `coupling` is
    "common": then X is Y plus a known number, up to rounding. `sd` is the standard deviation of
    the scores where it is known. Pairs with a score that is not finite are passed over.

    >>> rng = np.random.default_rng(0)
    >>> scores = GaussianScores(sd=1.0)
    >>> scores.update(1.0 + rng.normal(size=250), rng.normal(size=250))
    >>> scores.mu_lower(0.05) < 1.0, scores.log_e_value(0.5) > math.log(20)
    (True, True)
    """

    assumes = "normal noise of equal spread in both worlds"

    def __init__(
        self, *, sd: float | None = None, coupling: str = "independent", universal: bool = False
    ) -> None:
        """`universal` chooses the weaker evidence that may be averaged with other evidence."""
        self.pairs = 0
        self._evidence = _chosen(sd, coupling, universal)

    def update(self, x: Array, y: Array) -> None:
        """Take the scores of some pairs, arrays of shape (n,)."""
        x, y = (np.asarray(z, dtype=np.float64).ravel() for z in (x, y))
        if len(x) != len(y):
            raise UsageError(f"{len(x)} scores with the canary, {len(y)} without; give pairs")
        finite = np.isfinite(x) & np.isfinite(y)
        if np.any(finite):
            self._evidence.update(x[finite], y[finite])
            self.pairs += int(finite.sum())

    def log_e_value(self, mu0: float) -> float:
        """The log of the evidence against `mu <= mu0`, for mu0 >= 0."""
        return self._evidence.log_e_value(mu0)

    def mu_lower(self, alpha: float) -> float:
        """A lower bound of mu, right at all sample sizes at once with probability 1 - alpha.

        The largest one seen so far is right as well.
        """
        return largest_rejected(self._evidence.log_e_value, -math.log(alpha))


class Sums:
    """Of pairs: their number, the means and the sum of squares within X and within Y.

    >>> sums = Sums()
    >>> sums.add(np.array([1.0, 3.0]), np.array([0.0, 0.0]))
    >>> sums.add(np.array([5.0]), np.array([3.0]))
    >>> sums.pairs, sums.gap, sums.within
    (3, 2.0, 14.0)
    """

    def __init__(self) -> None:
        self.pairs = 0
        self.within = 0.0
        self._means = np.zeros(2)

    @property
    def gap(self) -> float:
        """The difference of the means."""
        return float(self._means[0] - self._means[1])

    def add(self, x: Array, y: Array) -> None:
        """Add pairs (the sums of two groups are joined as by Chan, Golub and LeVeque 1979)."""
        if not len(x):
            return
        both = np.stack([x, y])
        means = both.mean(axis=1)
        change, total = means - self._means, self.pairs + len(x)
        self.within += float(np.sum((both - means[:, None]) ** 2))
        self.within += float(np.sum(change**2)) * self.pairs * len(x) / total
        self._means = self._means + change * len(x) / total
        self.pairs = total

    def certain(self) -> bool:
        """Whether X and Y do not vary and X is larger, which no normal noise would bring about."""
        return self.pairs >= BURN_IN and self.within == 0.0 and self.gap > 0.0


class KnownSpread:
    """Averaged likelihood ratios of mu0 + h to mu0, for scores of a known standard deviation.

    >>> evidence = KnownSpread(2.0)
    >>> evidence.update(np.full(8, 4.0), np.zeros(8))
    >>> round(evidence.log_e_value(0.0), 3), round(evidence.log_e_value(2.0), 3)
    (5.219, -0.272)
    """

    def __init__(self, sd: float) -> None:
        self.sd = sd
        self._sums = Sums()

    def update(self, x: Array, y: Array) -> None:
        """Take pairs of scores."""
        self._sums.add(x, y)

    def log_e_value(self, mu0: float) -> float:
        """The log of the evidence against `mu <= mu0`."""
        if not self._sums.pairs:
            return 0.0
        excess = np.array([self._sums.gap / self.sd - mu0])
        return float(_log_average_ratio(self._sums.pairs, excess)[0])


class UnknownSpread:
    """The same for what remains of the scores when their origin and unit mean nothing.

    >>> evidence, rng = UnknownSpread(), np.random.default_rng(0)
    >>> evidence.update(1.0 + rng.normal(size=250), rng.normal(size=250))
    >>> evidence.log_e_value(0.3) > math.log(20) > evidence.log_e_value(0.9)
    True
    """

    def __init__(self) -> None:
        self._sums = Sums()

    def update(self, x: Array, y: Array) -> None:
        """Take pairs of scores."""
        self._sums.add(x, y)

    def log_e_value(self, mu0: float) -> float:
        """The log of the evidence against `mu <= mu0`."""
        n, d, within = self._sums.pairs, self._sums.gap, self._sums.within
        if self._sums.certain():
            return math.inf
        if n < BURN_IN or within == 0.0:
            return 0.0
        unit = math.sqrt(within / (2 * n - 2))
        d, within = d / unit, 2.0 * n - 2.0
        log_v = _nodes(n, d, mu0)
        v = np.exp(log_v)
        excess = d * v - mu0
        log_p = (2 * n - 1) * log_v - within * v * v / 2.0 - n * excess * excess / 4.0
        log_k = _log_average_ratio(n, excess)
        return float(np.logaddexp.reduce(log_p + log_k) - np.logaddexp.reduce(log_p))


class UniversalInference:
    """Predictions by all earlier pairs, over the largest likelihood with `mu <= mu0`.

    The density predicted for the pairs after the first two is that of Student's t (the prior
    density of means and sd is proportional to 1/sd); all of them together are a ratio of

        m_n = (2 pi)^-(n-1) / (2 n) Gamma(n - 1) (W/2)^-(n-1).
    """

    def __init__(self) -> None:
        self._all, self._rest, self._first = Sums(), Sums(), Sums()

    def update(self, x: Array, y: Array) -> None:
        """Take pairs of scores; the first ones, until they differ, are only learned from."""
        start = 0
        while start < len(x) and (self._first.pairs < BURN_IN or self._first.within == 0.0):
            self._first.add(x[start : start + 1], y[start : start + 1])
            start += 1
        self._all.add(x, y)
        self._rest.add(x[start:], y[start:])

    def log_e_value(self, mu0: float) -> float:
        """The log of the evidence against `mu <= mu0`."""
        if self._first.certain():
            return math.inf
        if not self._rest.pairs:
            return 0.0
        predicted = _log_marginal(self._all) - _log_marginal(self._first)
        return predicted - log_largest_likelihood(self._rest, mu0)


class CommonNumbers:
    """For X = Y + a number: is the spread of Y at least that number over mu0.

    >>> evidence, rng = CommonNumbers(), np.random.default_rng(0)
    >>> y = rng.normal(size=250)
    >>> evidence.update(y + 1.0, y)
    >>> evidence.log_e_value(0.7) > math.log(20) > evidence.log_e_value(1.0)
    True
    """

    def __init__(self) -> None:
        self._gap: float | None = None
        self._first = self._sum = self._squares = 0.0
        self._seen = self._numbers = 0

    def update(self, x: Array, y: Array) -> None:
        """Take pairs of scores; `UsageError` if X - Y is not the same in all of them."""
        gaps = x - y
        if self._gap is None:
            self._gap, self._first = float(gaps[0]), float(y[0])
        rounding = 4e-7 * float(np.max(np.abs([x, y])))
        if np.max(np.abs(gaps - self._gap)) > STEADY * abs(self._gap) + rounding:
            raise UsageError(
                "coupling is 'common', but X - Y is not the same in all pairs; use 'independent' "
                "for scores that were not made with the same noise"
            )
        y = y - self._first
        before = self._sum + np.concatenate([[0.0], np.cumsum(y[:-1])])
        seen = self._seen + np.arange(len(y))
        usable = (seen > 0) & (gaps > 0.0)
        distances = (y - before / np.maximum(seen, 1))[usable] / gaps[usable]
        self._squares += float(np.sum(distances * distances))
        self._numbers += len(distances)
        self._sum += float(np.sum(y))
        self._seen += len(y)

    def log_e_value(self, mu0: float) -> float:
        """The log of the evidence against `mu <= mu0`."""
        if not self._numbers:
            return 0.0
        if self._squares == 0.0:
            return math.inf
        ratios = log_ratios(ALTERNATIVES, self._numbers, self._squares * mu0 * mu0)
        return float(np.logaddexp.reduce(LOG_SHARES + ratios))


def largest_rejected(log_e_value: Callable[[float], float], threshold: float) -> float:
    """The largest mu0 >= 0 at which a decreasing evidence reaches the threshold; 0 if none.

    >>> round(largest_rejected(lambda mu0: 5.0 - mu0, 3.0), 9)
    2.0
    >>> largest_rejected(lambda mu0: 1.0, 3.0), largest_rejected(lambda mu0: math.inf, 3.0)
    (0.0, inf)
    """
    low, high = 0.0, 1.0
    if not log_e_value(low) >= threshold:
        return 0.0
    while log_e_value(high) >= threshold:
        low, high = high, 2.0 * high
        if high > 1e12:
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if log_e_value(middle) >= threshold else (low, middle)
    return low


def log_largest_likelihood(sums: Sums, mu0: float) -> float:
    """The log of the largest normal likelihood with `mean X - mean Y <= mu0 sd`.

    Without the constraint sd^2 = W / 2n. On its boundary the means are d - mu0 sd closer together
    than those of the scores, and v = 1/sd is the root of a quadratic equation.

    >>> sums = Sums()
    >>> sums.add(np.array([1.0, 3.0]), np.array([0.0, 0.0]))
    >>> round(log_largest_likelihood(sums, 9.0), 6)                 # sd^2 = 1/2
    -4.28946
    """
    n, d, within = sums.pairs, sums.gap, sums.within
    constant = -n * math.log(2.0 * math.pi)
    if d <= mu0 * math.sqrt(within / (2 * n)):
        if within == 0.0:
            return math.inf
        return constant - n * math.log(within / (2 * n)) - n
    a, b = within + n * d * d / 2.0, n * d * mu0 / 2.0
    v = (b + math.sqrt(b * b + 8.0 * n * a)) / (2.0 * a)
    squares = within * v * v + n * (d * v - mu0) ** 2 / 2.0
    return constant + 2 * n * math.log(v) - squares / 2.0


def _log_marginal(sums: Sums) -> float:
    n = sums.pairs
    constant = -(n - 1) * math.log(2.0 * math.pi) - math.log(2.0 * n) + float(gammaln(n - 1))
    return constant - (n - 1) * math.log(sums.within / 2.0)


def _log_average_ratio(n: int, excess: Array) -> Array:
    """The log of the average over h of `exp(h u - h^2 n/4)`, u = n excess / 2.

    For h half-normal of scale s this is 2 q^(-1/2) exp(z^2/2) Phi(z), with q = 1 + s^2 n/2 and
    z = s u / q^(1/2).
    """
    q = 1.0 + SCALES[:, None] ** 2 * n / 2.0
    z = SCALES[:, None] * (n / 2.0 * excess) / np.sqrt(q)
    logs = math.log(2.0) - np.log(q) / 2.0 + z * z / 2.0 + log_ndtr(z)
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - math.log(len(SCALES)))


def _nodes(n: int, d: float, mu0: float) -> Array:
    """Equally spaced log v (the unit being the pooled sd) that hold both integrands.

    Their modes lie between that of p and 1; the trapezoidal rule on the logarithm of v converges
    faster than any power of the step.
    """
    a, b = 2.0 * n - 2.0 + n * d * d / 2.0, n * d * mu0 / 2.0
    mode = math.log((b + math.sqrt(b * b + 4.0 * a * (2.0 * n - 1.0))) / (2.0 * a))
    width = 1.0 / math.sqrt(4.0 * n)
    low = min(mode, 0.0) - 15.0 * width - 25.0 / n
    high = max(mode, 0.0) + 10.0 * width
    return np.linspace(low, high, 50 + math.ceil(5.0 * (high - low) / width))


def _chosen(sd: float | None, coupling: str, universal: bool) -> Evidence:
    findings = []
    if coupling not in ("independent", "common"):
        findings.append(f"coupling is {coupling!r}; it must be independent or common")
    if sd is not None and not (isinstance(sd, int | float | np.number) and 0.0 < sd < math.inf):
        findings.append(f"sd is {sd!r}; give a positive number, or none if it is not known")
    if sd is not None and (coupling == "common" or universal):
        findings.append(
            "sd is known: with common numbers X - Y alone tells mu, and universal inference is "
            "for an unknown one; give sd alone or none"
        )
    if universal and coupling == "common":
        findings.append("universal inference is for independent pairs; leave out one of the two")
    if findings:
        raise UsageError(findings)
    if sd is not None:
        return KnownSpread(float(sd))
    if coupling == "common":
        return CommonNumbers()
    return UniversalInference() if universal else UnknownSpread()
