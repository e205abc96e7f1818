"""One training run, many canaries: an anytime bet that their membership shows too well.

Each of m canaries was put into the training data or left out by a fair coin b_i of its own, and
the trained model gives each a score (Steinke, Nasr, Jagielski 2023). If the run keeps (eps, delta)
for one canary more or less, no observer can tell b_i much better than an honest coin, and the
product of coin-flip bets below cannot grow. It may be stopped at any canary.

**The bet.** pi_i is any forecast of b_i made from all scores and from the bits of the canaries
before i. With p0 = e^eps / (1 + e^eps),

    E_n = prod_{i <= n} pi_i(b_i) / clip(pi_i, 1 - p0, p0)(b_i).

**delta = 0.** Given all scores z and all other bits, the chance q that b_i = 1 lies in
[1 - p0, p0] (Bayes' rule with a fair coin). The mean of the i-th factor under a chance q is linear
in q, is 1 at the end to which pi_i was clipped, and is at most 1 on the rest of the interval; where
pi_i was not clipped the factor is 1. So E is a nonnegative supermartingale that starts at 1, and
P(E ever >= 1/a) <= a (Ville).

**delta > 0.** P(E ever >= 1/a) <= a + m delta / (1 + e^eps). Proof. Fix the other bits b_-i; let
P1 and P0 be the laws of z given b_i = 1 and 0, and rho = dP1 / (dP0 + dP1) the chance that b_i = 1
given z and b_-i. Under the mean of P0 and P1, which is the law of z given b_-i,

    E (rho - p0)_+ = 1/2 int (dP1 - p0 (dP0 + dP1))_+
                   = 1/2 int (dP1 - e^eps dP0)_+ / (1 + e^eps) <= delta / (2 (1 + e^eps)),

and likewise below 1 - p0. Given z and only the bits before i, the chance rho_i is a mean of such
rho, so by Jensen its mean distance d_i from [1 - p0, p0] is at most delta / (1 + e^eps) too. Now
draw other bits c_i, one after the other: given z and c_<i, let c_i be 1 with chance rho_i(z, c_<i)
clamped to [1 - p0, p0], coupled with b_i so that as long as all earlier bits agree, b_i and c_i
differ with probability |rho_i - clamped rho_i|. On the bits c, E is a supermartingale as above, and
the two sequences ever differ with probability at most sum_i d_i <= m delta / (1 + e^eps). QED. (If
the claim binds one order only, just pi_i above p0 is clipped, and half of the term is enough.)

So (eps, delta) is refuted at level alpha when E reaches 1 / (alpha - m delta / (1 + e^eps)).
Claims that are curves are tested at the least eps on the curve at which this term is at most half
of the level: for any forecast the bet gains less at a larger eps. That choice looks at no score.

**The order** of the canaries may depend on all scores, never on bits that are yet to come. Files
are often sorted by membership, so rows are sorted by score and then shuffled with a seed; among
equal scores the rows come as shuffled.

**The forecast** is a Bayes mixture of rising and falling logistic curves, of steps and of a
histogram, all functions of the rank of the score: no monotone change of the scores changes it, and
it has nothing to tune. It does not know the claim; one forecast serves all eps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from scipy.stats import rankdata

from tollens.auditing.leak import GRID
from tollens.auditing.sequential import DEFAULT_DELTA
from tollens.claim import Claim
from tollens.errors import UsageError

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]

LEAK_SHARE = 0.1
"""The part of alpha that pays for the lower bound on the leak; the claim gets the rest."""

MOST_CANARIES = 1_000_000
"""Canaries of one audit at most; the time grows in proportion."""

UNFAIR = 1e-9
"""Coins that fair coins would be less balanced than with this probability are refused."""

_DELTA_SHARE = 0.5
_LARGEST_EPSILON = 60.0
_LEAST = 1e-9
_ROUNDING = 1e-13
_CHUNK = 4096
_CURVE_GROWTH = 1.05

_SLOPES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 12.0)
_CENTRES = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
_FALLING = 0.1
_EDGES = (0.0, 0.674, 1.15, 1.534, 1.863, 2.154)
_HEIGHTS = (0.7, 0.85, 0.95, 0.99, 0.999)
_PRIOR = {"curves": 0.4, "steps": 0.3, "histogram": 0.3}
_BINS = np.array([1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8])


@dataclass(frozen=True)
class OneRun:
    """What one training run with its canaries showed about a claim.

    `log_e_value` (natural log; the wealth at the end or, if larger, where it crossed) is to be
    held against `threshold`; `crossed_at` is the canary, from 1, at which it got there (None if it
    did not). `epsilon` and `delta` are the inequality that was bet against, `delta_term` is
    m delta / (1 + e^epsilon), and `level` what was left of alpha for the bet itself.
    `epsilon_lower` is certified at `leak_delta`, jointly with the refutation, with error
    probability alpha. `curve` holds (canaries, log wealth) at geometric times.
    """

    log_e_value: float
    threshold: float
    crossed_at: int | None
    epsilon: float
    delta: float
    delta_term: float
    level: float
    epsilon_lower: float
    leak_delta: float
    canaries: int
    included: int
    order: NDArray[np.intp] = field(repr=False, compare=False)
    curve: tuple[tuple[int, float], ...] = field(repr=False)

    @property
    def refuted(self) -> bool:
        """Whether the wealth ever reached its threshold."""
        return self.crossed_at is not None


def one_run(
    scores: Array,
    included: Bits,
    claim: Claim,
    *,
    alpha: float,
    delta: float | None = None,
    seed: int = 0,
) -> OneRun:
    """Bet against a claim on the scores of canaries of one run; formulas in the module's text.

    `scores` has shape (m,), no NaN; `included` says which canaries were in. `delta` is where the
    certified leak is stated for claims without a delta of their own (default 1e-5). Assumes that
    each canary was included by a fair coin of its own, which nothing else looked at, and that the
    claim is about one canary in or out. `UsageError` where the coins cannot have been fair, where
    alpha cannot pay for the delta term, or where so few canaries could refute nothing.

    >>> from tollens.claim import pure
    >>> rng = np.random.default_rng(0)
    >>> bits = rng.random(400) < 0.5
    >>> one_run(rng.normal(3.0 * bits), bits, pure(1), alpha=0.05).refuted
    True
    >>> one_run(rng.normal(size=400), bits, pure(0), alpha=0.05).refuted
    False
    """
    m, count = len(scores), int(np.count_nonzero(included))
    findings = coin_findings(m, count)
    claim_level = alpha * (1 - LEAK_SHARE)
    tested = inequality_for(claim, m, claim_level)
    if tested is None:
        findings.append(_too_dear(claim, m, alpha))
    elif not findings:
        findings += _hopeless(claim, m, tested, alpha)
    if findings or tested is None:
        raise UsageError(findings)
    order = canary_order(scores, seed)
    bits = np.asarray(included, dtype=np.bool_)[order]
    forecast = forecasts(scores, included, order)
    own, leak_delta = claim.leak_delta, delta
    if leak_delta is None:
        leak_delta = DEFAULT_DELTA if own is None else own
    wealth = np.cumsum(log_factors(forecast, bits, tested.epsilon, ordered=claim.ordered))
    above = wealth >= tested.threshold
    crossed = int(np.argmax(above)) + 1 if above.any() else None
    value = float(wealth[-1])
    if crossed is not None:
        value = max(value, float(wealth[crossed - 1]))
    lower = _leak(forecast, bits, claim, alpha, leak_delta, refuted=crossed is not None)
    return OneRun(
        log_e_value=value,
        threshold=tested.threshold,
        crossed_at=crossed,
        epsilon=tested.epsilon,
        delta=tested.delta,
        delta_term=tested.term,
        level=tested.level,
        epsilon_lower=lower,
        leak_delta=leak_delta,
        canaries=m,
        included=count,
        order=order,
        curve=_curve(wealth),
    )


def delta_term(canaries: int, epsilon: float, delta: float, *, ordered: bool = False) -> float:
    """m delta / (1 + e^eps), what delta adds to the chance of a false alarm.

    Half of it for a claim that binds one order only.

    >>> round(delta_term(1000, 1.0, 1e-5), 5)
    0.00269
    """
    sides = 1 if ordered else 2
    return sides * canaries * delta * 0.5 * float(expit(-epsilon))


@dataclass(frozen=True)
class Inequality:
    """The (epsilon, delta) on a claim that is bet against, and what delta costs."""

    epsilon: float
    delta: float
    term: float
    level: float

    @property
    def threshold(self) -> float:
        """The natural log of 1 / level."""
        return -math.log(self.level)


@lru_cache(maxsize=256)
def inequality_for(claim: Claim, canaries: int, alpha: float) -> Inequality | None:
    """The least eps on the claim's curve whose delta term is at most half of alpha; None: none.

    >>> from tollens.claim import approx, gaussian, pure
    >>> [inequality_for(claim, 1000, 0.05).epsilon for claim in (pure(1), approx(1, 1e-5))]
    [1.0, 1.0]
    >>> [round(inequality_for(gaussian(1), 1000, alpha).epsilon, 1) for alpha in (0.05, 1e-6)]
    [3.3, 5.3]
    """

    def implied(epsilon: float) -> float:
        if epsilon == start and claim.leak_delta is not None:
            return claim.leak_delta
        return 0.0 if claim.leak_delta == 0 else min(1.0, claim.delta(epsilon) + _ROUNDING)

    def term(epsilon: float) -> float:
        return delta_term(canaries, epsilon, implied(epsilon), ordered=claim.ordered)

    start = _start(claim)
    room = _DELTA_SHARE * alpha
    low, high = start, start
    while term(high) > room:
        if high >= _LARGEST_EPSILON:
            return None
        low, high = high, min(max(2 * high, high + 0.5), _LARGEST_EPSILON)
    if high > start:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if term(middle) > room else (low, middle)
    spent = term(high)
    return Inequality(high, implied(high), spent, alpha - spent)


def log_factors(forecast: Array, bits: Bits, epsilon: float, *, ordered: bool = False) -> Array:
    """The logs of pi(b) / clip(pi, 1 - p0, p0)(b); with `ordered` only pi above p0 is clipped.

    >>> log_factors(np.array([0.9, 0.5]), np.array([True, True]), 0.0).round(3).tolist()
    [0.588, 0.0]
    """
    high = float(expit(epsilon))
    low = 0.0 if ordered else float(expit(-epsilon))
    held = np.clip(forecast, low, high)
    return np.asarray(
        np.where(bits, np.log(forecast) - np.log(held), np.log1p(-forecast) - np.log1p(-held))
    )


def canary_order(scores: Array, seed: int) -> NDArray[np.intp]:
    """An order that depends on the scores and a seed only (among equals: on the shuffled rows)."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(scores))
    by_score = shuffled[np.argsort(np.asarray(scores)[shuffled], kind="stable")]
    return np.asarray(by_score[rng.permutation(len(scores))], dtype=np.intp)


def forecasts(scores: Array, included: Bits, order: NDArray[np.intp]) -> Array:
    """The forecasts pi_i in the given order: the i-th uses all scores, and bits before it only."""
    m = len(scores)
    ranks = (rankdata(scores) - 0.5) / m
    bits = np.asarray(included, dtype=np.bool_)[order]
    x, ranks = ndtri(ranks)[order], ranks[order]
    shares, weights = _histogram(ranks, bits), log_prior()
    found, past = np.empty(m), weights.copy()
    for start in range(0, m, _CHUNK):
        part = slice(start, start + _CHUNK)
        chances = np.column_stack([expert_chances(x[part]), shares[part]])
        np.clip(chances, _LEAST, 1 - _LEAST, out=chances)
        gains = np.log(np.where(bits[part, None], chances, 1 - chances))
        total = np.cumsum(gains, axis=0) + past
        before = np.vstack([past, total[:-1]])
        before -= before.max(axis=1, keepdims=True)
        held = np.exp(before)
        found[part] = (held * chances).sum(axis=1) / held.sum(axis=1)
        past = total[-1] - total[-1].max()
    return np.clip(found, _LEAST, 1 - _LEAST)


def coin_findings(canaries: int, included: int) -> list[str]:
    """Why so many of the canaries cannot have been included by fair coins; empty if they can.

    >>> coin_findings(1000, 520), len(coin_findings(1000, 100))
    ([], 1)
    """
    from scipy.stats import binom

    if canaries > MOST_CANARIES:
        return [f"{canaries:,} canaries; one audit takes {MOST_CANARIES:,} at most"]
    if included in (0, canaries):
        which = "none" if included == 0 else "all"
        return [f"{which} of the {canaries:,} canaries are included; some must be in, some out"]
    if 2 * float(binom.cdf(min(included, canaries - included), canaries, 0.5)) < UNFAIR:
        return [
            f"{included:,} of {canaries:,} canaries are included, which fair coins do not do; the "
            "audit of one run is valid only where each canary was included with probability 1/2"
        ]
    return []


def fewest_canaries(claim: Claim, alpha: float, most: int = 2**17) -> int | None:
    """About the number of canaries at which scores that give membership away are refuted.

    None where `most` of them are not enough.

    >>> from tollens.claim import pure
    >>> 4 < fewest_canaries(pure(0), 0.05) < fewest_canaries(pure(2), 0.05) < 200
    True
    """
    level, low, high = alpha * (1 - LEAK_SHARE), 2, 4
    while not _could(claim, high, level):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if _could(claim, middle, level) else (middle, high)
    return high


@lru_cache(maxsize=256)
def _could(claim: Claim, canaries: int, level: float) -> bool:
    tested = inequality_for(claim, canaries, level)
    if tested is None:
        return False
    plainest = canaries * math.log1p(math.exp(-tested.epsilon))  # never more than 1/p0 a canary
    if plainest < tested.threshold:
        return False
    forecast, bits = _given_away(canaries)
    path = np.cumsum(log_factors(forecast, bits, tested.epsilon, ordered=claim.ordered))
    return bool(path.max() >= tested.threshold)


@lru_cache(maxsize=64)
def _given_away(canaries: int) -> tuple[Array, Bits]:
    """The forecasts for scores that give every canary away, and its bits."""
    bits = np.arange(canaries) % 2 == 0
    return forecasts(bits.astype(np.float64), bits, np.arange(canaries)), bits


def _hopeless(claim: Claim, m: int, tested: Inequality, alpha: float) -> list[str]:
    if _could(claim, m, alpha * (1 - LEAK_SHARE)):
        return []
    need = fewest_canaries(claim, alpha)
    then = "no number would do" if need is None else f"that takes about {need:,}"
    advice = "take a larger alpha" if need is None else "take more canaries or a larger alpha"
    beyond = (
        "" if tested.epsilon <= _start(claim) else f" (tested at epsilon = {tested.epsilon:.3g})"
    )
    return [
        f"{m:,} canaries of one run can never refute {claim} at alpha = {alpha:g}{beyond}, not "
        f"even where the scores give all of them away: {then}; {advice}"
    ]


def _start(claim: Claim) -> float:
    return 0.0 if claim.leak_delta is None else claim.promises()[0].epsilon


def _too_dear(claim: Claim, m: int, alpha: float) -> str:
    need = delta_term(m, _LARGEST_EPSILON, claim.delta(_LARGEST_EPSILON), ordered=claim.ordered)
    return (
        f"delta costs too much: with {m:,} canaries of one run {claim} cannot be tested at "
        f"alpha = {alpha:g} (m delta / (1 + e^epsilon) alone is {need:.2g}); raise alpha, or take "
        "fewer canaries"
    )


@lru_cache(maxsize=1)
def log_prior() -> Array:
    """The logs of the prior weights of the experts; the last one is the histogram's."""
    rising = np.full(len(_SLOPES) * len(_CENTRES), 1.0)
    curves = np.concatenate([(1 - _FALLING) * rising, _FALLING * rising])
    steps = np.ones(3 * len(_EDGES) * len(_HEIGHTS))
    weights = np.concatenate([
        _PRIOR["curves"] * curves / curves.sum(),
        _PRIOR["steps"] * steps / steps.sum(),
        [_PRIOR["histogram"]],
    ])  # fmt: skip
    return np.asarray(np.log(weights))


def expert_chances(x: Array) -> Array:
    """The chances of membership that curves and steps give at a normal score x, (n, experts)."""
    slopes = np.repeat(_SLOPES, len(_CENTRES))
    centres = np.tile(_CENTRES, len(_SLOPES))
    rising = expit(slopes * (x[:, None] - centres))
    edges = np.repeat(_EDGES, len(_HEIGHTS))
    heights = np.tile(_HEIGHTS, len(_EDGES))
    above, below = x[:, None] > edges, x[:, None] < -edges
    top = np.where(above, heights, 0.5)
    bottom = np.where(below, 1 - heights, 0.5)
    both = np.where(above, heights, bottom)
    return np.hstack([rising, 1 - rising, top, bottom, both])


def _histogram(ranks: Array, bits: Bits) -> Array:
    """The share of members among the past canaries of the same bin, (ones + 1/2) / (all + 1)."""
    edges = np.concatenate([_BINS, [0.5], 1 - _BINS[::-1]])
    bins = np.searchsorted(edges, ranks)
    found = np.empty(len(ranks))
    for each in np.unique(bins):
        rows = np.flatnonzero(bins == each)
        own = bits[rows].astype(np.float64)
        ones = np.cumsum(own) - own
        found[rows] = (ones + 0.5) / (np.arange(len(rows)) + 1.0)
    return found


def _leak(
    forecast: Array, bits: Bits, claim: Claim, alpha: float, delta: float, *, refuted: bool
) -> float:
    """The certified lower bound for epsilon at delta, by a nested grid; see `auditing.leak`.

    (e, delta)-DP is refuted for one e after the other. The first true one has to fall for the
    bound to be too large, so all of them share one level. The walk begins at the least e for
    which the delta term is at most half of the level.
    """
    own = claim.promises()[0].epsilon if claim.leak_delta == delta else None
    if own is not None and refuted:
        bound, level = own, alpha * (1 - LEAK_SHARE)
        grid = GRID[own * (1 + 1e-9) < GRID]
    else:
        bound, level = 0.0, alpha * LEAK_SHARE
        grid = GRID if own is None else GRID[own > GRID]
    terms = np.array([
        delta_term(len(bits), e, delta, ordered=claim.ordered) for e in grid.tolist()
    ])  # fmt: skip
    affordable = terms <= _DELTA_SHARE * level
    for epsilon, term in zip(grid[affordable].tolist(), terms[affordable].tolist(), strict=True):
        path = np.cumsum(log_factors(forecast, bits, epsilon, ordered=claim.ordered))
        if path.max() < -math.log(level - term):
            break
        bound = epsilon
    return float(bound)


def _curve(wealth: Array) -> tuple[tuple[int, float], ...]:
    return tuple((n, float(wealth[n - 1])) for n in _marks(len(wealth)))


def _marks(end: int) -> Iterator[int]:
    n = 1
    while n < end:
        yield n
        n = max(n + 1, int(n * _CURVE_GROWTH))
    yield end
