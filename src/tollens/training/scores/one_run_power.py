"""What the audit of one training run could have found with so many canaries."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from tollens.claim import Claim
from tollens.training.scores.one_run import LEAK_SHARE, expert_chances, inequality_for, log_prior

Array = NDArray[np.float64]

PLAYED = 80
"""Audits played for each candidate epsilon."""

_HIT_RATE = 0.9
_GROWTH = 1.1
_HALVINGS = 9
_BEYOND = 24.0


@lru_cache(maxsize=64)
def detectable_excess(claim: Claim, alpha: float, canaries: int) -> float:
    """The least epsilon' with which randomised response would be refuted nine times in ten.

    Each canary's score is then one of two values, the right one with probability
    e^eps' / (1 + e^eps'). From `PLAYED` simulated audits at each of some epsilon' (forecasts are
    renewed more rarely than in a real audit); infinity where even scores that give all canaries
    away would not be refuted so often.

    >>> from tollens.claim import pure
    >>> 0.5 < detectable_excess(pure(0.5), 0.05, 2000) < 1.5
    True
    """
    tested = inequality_for(claim, canaries, alpha * (1 - LEAK_SHARE))
    if tested is None:
        return math.inf
    low, high = tested.epsilon, tested.epsilon + _BEYOND

    def found(epsilon: float) -> bool:
        share = _refuted_share(claim, canaries, tested.epsilon, tested.threshold, epsilon)
        return share >= _HIT_RATE

    if not found(high):
        return math.inf
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 3 if high - low > 2 else (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _refuted_share(
    claim: Claim, canaries: int, tested: float, threshold: float, epsilon: float
) -> float:
    """The share of simulated audits that refute `tested` where `epsilon` is true."""
    rng = np.random.default_rng(20_23)
    x = ndtri(np.array([0.75, 0.25]))
    curves = np.clip(expert_chances(x), 1e-9, 1 - 1e-9)
    prior = log_prior()
    seen = np.zeros((PLAYED, 2, 2))  # simulation, score (high, low), bit (in, out)
    wealth, peak = np.zeros(PLAYED), np.zeros(PLAYED)
    high = float(expit(tested))
    low = 0.0 if claim.ordered else 1 - high
    past = np.zeros(PLAYED)
    done = 0
    while done < canaries:
        block = min(max(1, int(done * (_GROWTH - 1))), canaries - done)
        forecast = _forecast(seen, past, curves, prior)
        held = np.clip(forecast, low, high)
        gains = np.stack(
            [np.log(forecast) - np.log(held), np.log1p(-forecast) - np.log1p(-held)], axis=-1
        )
        new = _draw(rng, block, float(expit(epsilon)))
        share = (seen[..., 0] + 0.5) / (seen.sum(axis=-1) + 1.0)
        past += (new[..., 0] * np.log(share) + new[..., 1] * np.log1p(-share)).sum(axis=-1)
        wealth += (gains * new).sum(axis=(1, 2))
        peak = np.maximum(peak, wealth)
        seen += new
        done += block
    return float((peak >= threshold).mean())


def _draw(rng: np.random.Generator, block: int, right: float) -> Array:
    """Counts of a block of canaries, (simulations, score, bit)."""
    members = rng.binomial(block, 0.5, PLAYED)
    hits = rng.binomial(members, right)
    misses = rng.binomial(block - members, 1 - right)
    counts = [[hits, misses], [members - hits, block - members - misses]]
    return np.asarray(np.moveaxis(np.array(counts, dtype=np.float64), -1, 0))


def _forecast(seen: Array, histogram: Array, curves: Array, prior: Array) -> Array:
    """The mixture's forecasts for both scores, (simulations, 2)."""
    log = np.log(curves)
    gains = np.einsum("nsb,bsk->nk", seen, np.stack([log, np.log1p(-curves)]))
    weights = np.column_stack([gains, histogram]) + prior
    weights = np.exp(weights - weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    own = (seen[..., 0] + 0.5) / (seen.sum(axis=-1) + 1.0)
    mixed = weights[:, :-1] @ curves.T + weights[:, -1:] * own
    return np.asarray(np.clip(mixed, 1e-9, 1 - 1e-9))
