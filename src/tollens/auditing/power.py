"""What an audit could have found: the leak that a given number of pairs would have refuted.

Both answers come from the audit's own bets. On two-valued outputs all its bettors look at the
same two cells, in one of two styles (bold or steady), so its wealth is a function of two counts,
and thousands of audits can be played at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import SLOTS, SMOOTHING, pull_of, steady_on_two_values
from tollens.auditing.projection import project_binary, project_pure
from tollens.auditing.sequential import BURN_IN, LEAK_SHARE, Gambler
from tollens.auditing.ville import Factors, certify, worst_approx, worst_pure
from tollens.claim import Claim, Promise

Array = NDArray[np.float64]

PLAYED = 80
"""Audits played for each candidate epsilon."""

STYLE_SHARES = np.array([1.0, 0.0]) + np.array([-1.0, 1.0]) * (
    sum(steady_on_two_values()) / len(SLOTS)
)
"""What part of the bettors is bold, and what part steady, on two-valued outputs."""

_CANDIDATES = 7
_GROWTH = 1.25
_HIT_RATE = 0.9


@lru_cache(maxsize=256)
def detectable_excess(claim: Claim, alpha: float, pairs: int) -> float:
    """The least epsilon' with which randomised response would be refuted nine times in ten.

    Randomised response with epsilon' answers truly with probability e^eps' / (1 + e^eps'). The
    value comes from `PLAYED` simulated audits of `pairs` pairs at each of a grid of epsilon'
    (bets renewed more rarely than in a real audit, and curved claims tested at fewer tangents, so
    that the value errs on the large side); infinity where even outputs that never coincide would
    not be refuted.
    """
    start = claim.promises()[0].epsilon if claim.leak_delta is not None else 0.0
    low, high = start, start + 1.0
    while _refuted_share(claim, alpha, pairs, np.array([high]))[0] < _HIT_RATE:
        low, high = high, start + 2 * (high - start)
        if high > start + 64:
            return math.inf
    candidates = np.linspace(low, high, _CANDIDATES)
    for _ in range(2):
        share = _refuted_share(claim, alpha, pairs, candidates)
        if not (share >= _HIT_RATE).any():
            break
        first = int(np.argmax(share >= _HIT_RATE))
        if first == 0:
            low, high = start, float(candidates[0])
        else:
            low, high = float(candidates[first - 1]), float(candidates[first])
        if high - low <= 0.01 * max(high - start, 1e-9):
            break
        candidates = np.linspace(low, high, _CANDIDATES)
    return high


def _refuted_share(claim: Claim, alpha: float, pairs: int, epsilons: Array) -> Array:
    """The share of simulated audits that refute, for each epsilon of randomised response."""
    rng = np.random.default_rng(20_06)
    truth = (1.0 / (1.0 + np.exp(-epsilons)))[:, None]
    promises, diluted = _some(claim.promises())
    threshold = diluted - math.log(alpha * (1 - LEAK_SHARE))
    shape = (len(epsilons), PLAYED)
    ones_x = rng.binomial(BURN_IN, truth, shape).astype(np.float64)
    ones_y = rng.binomial(BURN_IN, 1 - truth, shape).astype(np.float64)
    pull = pull_of(claim.support(1.0, 1.0))
    log = np.zeros((*shape, 2, len(promises)))
    peak = np.zeros(shape)
    seen = BURN_IN
    while seen < pairs:
        block = min(max(1, int(seen * (_GROWTH - 1))), pairs - seen)
        made = _binary_bets(*_laws(ones_x, ones_y, seen, pull), promises)
        new_x = rng.binomial(block, truth, shape).astype(np.float64)
        new_y = rng.binomial(block, 1 - truth, shape).astype(np.float64)
        for table, new in ((np.log(made.a), new_x), (np.log(made.b), new_y)):
            ones = new[..., None, None]
            log += table[..., 0] * ones + table[..., 1] * (block - ones)
        peak = np.maximum(peak, _log_wealth(log))
        ones_x, ones_y, seen = ones_x + new_x, ones_y + new_y, seen + block
    return np.asarray((peak >= threshold).mean(axis=1))


def _log_wealth(log: Array) -> Array:
    """The log of the average over styles and promises, the last two axes, by their shares."""
    top = log.max(axis=(-2, -1), keepdims=True)
    by_style = np.exp(log - top).mean(axis=-1)
    return np.asarray(top[..., 0, 0] + np.log(by_style @ STYLE_SHARES))


def _some(promises: tuple[Promise, ...]) -> tuple[tuple[Promise, ...], float]:
    """At most four of the epsilons, and the log of the shares that the others hold."""
    epsilons = sorted({promise.epsilon for promise in promises})
    kept = {epsilons[i] for i in np.linspace(0, len(epsilons) - 1, 4).round().astype(int)}
    chosen = tuple(promise for promise in promises if promise.epsilon in kept)
    return chosen, math.log(len(promises) / len(chosen))


def _laws(ones_x: Array, ones_y: Array, seen: int, pull: float) -> tuple[Array, Array]:
    """The estimated probabilities of a one on both sides, in both styles, shapes (..., 2)."""
    styles = np.array([0.0, pull])
    common = styles * ((ones_x + ones_y) / (2 * seen))[..., None]
    total = seen + styles + 2 * SMOOTHING
    return (
        np.asarray((ones_x[..., None] + common + SMOOTHING) / total),
        np.asarray((ones_y[..., None] + common + SMOOTHING) / total),
    )


def _binary_bets(p: Array, q: Array, promises: Sequence[Promise]) -> Factors:
    """The bets on a two-valued output against each promise, shapes (..., promises, 2)."""
    tables = [_binary_bet(p, q, promise) for promise in promises]
    return Factors(
        np.stack([table.a for table in tables], axis=-2),
        np.stack([table.b for table in tables], axis=-2),
    )


def _binary_bet(p: Array, q: Array, promise: Promise) -> Factors:
    epsilon, delta = np.array(promise.epsilon), np.array(promise.delta)
    if promise.order == 0:
        laws = (np.stack([p, 1 - p], axis=-1), np.stack([q, 1 - q], axis=-1))
        found = project_pure(*laws, epsilon, steps=10)
        return certify(found, worst_pure(found, epsilon))
    if promise.order < 0:
        p, q = q, p
    found = project_binary(p, q, epsilon, delta)
    found = certify(found, worst_approx(found, epsilon, delta))
    return Factors(found.b, found.a) if promise.order < 0 else found


@lru_cache(maxsize=256)
def fewest_pairs(claim: Claim, alpha: float, coupling: str, most: int = 2**22) -> int | None:
    """The number of pairs after which outputs that never coincide are refuted.

    No leak of any mechanism is refuted faster. None where `most` pairs do not suffice.

    >>> from tollens.claim import pure
    >>> fewest_pairs(pure(0), 0.05, "independent") < fewest_pairs(pure(4), 0.05, "independent")
    True
    """
    if claim.support(1.0, 1.0) >= 1.0:
        return None  # the claim allows everything, also that outputs give the input away
    gambler = Gambler(claim, alpha=alpha, delta=None, seed=0, coupling=coupling)
    block = 16
    while gambler.pairs < most and not gambler.refuted:
        outputs = (gambler.encoder.encode(np.full(block, value)) for value in (0.0, 1.0))
        gambler.update(*outputs)
        block = max(16, gambler.pairs // 4)
    return gambler.bankroll.crossed_at
