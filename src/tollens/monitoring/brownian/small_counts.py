"""Where counts are too small for the Brownian monitor, in numbers.

At the boundary of the claim, P(E) = e^eps P'(E) + delta, the studentised ratio of a step has a
mean above 0 though its numerator has none, because numerator and standard error are correlated:

    bias = -cov(p, s^2) / (2 s^3),   over T steps a drift d = bias sqrt(T),
    cov(p, s^2) = [P (1-P) (1-2P) - e^(3 eps) P' (1-P') (1-2P')] / n^2,

for eps = 1 about 0.27/sqrt(n P') a step. Simulated at the boundary (eps 0.3 to 2, n 200 to 2000,
T 100 and 500, beta 0 to 0.4, alpha 0.0125 to 0.1) the share of horizons with a false alarm is
close to

    level = alpha exp(k q d),   k = 0.9 - 0.6 beta,   q the threshold,

within a fifth where it is at most twice alpha (T = 500: at most a third too high); far above
that it is a warning only. Where next to no hits are seen the true level may be far below (no hit
on x, no alarm), but nothing is known there, so it is refused as well.

The check sees counts, not probabilities: after few steps they are uncertain (a relative error of
1/sqrt(hits)), a later version may make the event rarer than the checked steps did, and a
mechanism far inside its claim is judged as if it were at the boundary, because a later correct
version may be. Repeat it as steps come in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tollens.contract import Promise
from tollens.monitoring.brownian.quantiles import Quantile
from tollens.monitoring.brownian.statistic import BrownianState, choose

WARN = 1.25
"""Warn from this multiple of alpha on: less is within the error of the formula."""

REFUSE = 2.0
"""Refuse beyond this multiple."""


@dataclass(frozen=True, slots=True)
class CountFinding:
    """An event whose counts are too small: the false-alarm probability to expect, what to do.

    `level` is that of this event over the horizon, where `alpha` was its share; `refuse` says
    whether it is more than twice that. `runs_needed` a step would keep it below `WARN` times.
    """

    event: str
    alpha: float
    level: float
    hits_a_step: float
    runs_needed: int
    refuse: bool
    text: str


def drift(p_prime: float, n: int, promise: Promise, horizon: int) -> float:
    """d at the boundary: the bias of all steps in standard deviations of their sum.

    >>> round(drift(0.05, 750, Promise(1.0, 0.0, 1), 100), 2)
    0.44
    >>> round(drift(0.05, 750, Promise(0.0, 0.0, 1), 100), 2)     # symmetric: no bias
    0.0
    """
    factor = math.exp(promise.epsilon)
    p = min(1.0, factor * p_prime + promise.delta)
    on_x, on_x_prime = p * (1 - p), p_prime * (1 - p_prime)
    variance = on_x + factor**2 * on_x_prime
    if variance <= 0:
        return 0.0
    opposed = factor**3 * on_x_prime * (1 - 2 * p_prime) - on_x * (1 - 2 * p)
    return opposed / (2 * math.pow(variance, 1.5)) * math.sqrt(horizon / n)


def level_at_boundary(d: float, threshold: Quantile) -> float:
    """The probability of a false alarm over the horizon, for a drift d.

    >>> limit = Quantile(0.05, 0.25, 100, 2.42, 0.0)
    >>> round(level_at_boundary(0.0, limit), 3), round(level_at_boundary(0.31, limit), 3)
    (0.05, 0.088)
    """
    exponent = (0.9 - 0.6 * threshold.beta) * threshold.value * max(d, 0.0)
    return min(1.0, threshold.alpha * math.exp(min(exponent, 50.0)))


def warnings(
    state: BrownianState, threshold: Quantile, promises: tuple[Promise, ...]
) -> tuple[CountFinding, ...]:
    """Check the counts of the steps so far, for the inequality that each event is tested with.

    P'(E) is taken to be what the hits of both sides say together at the boundary, where those on
    x are e^eps times as frequent; half a hit is added. With delta > 0 a larger P'(E) may be worse,
    so that two standard errors more are tried as well. Empty before the first step and where all
    is well.

    >>> import tollens
    >>> from tollens.monitoring.brownian.statistic import begin, take, threshold
    >>> promises = tollens.pure(1).promises()
    >>> state, _ = take(begin(["rare"], 100), {"rare": (6, 2)}, 750, promises)
    >>> found = warnings(state, threshold(0.05, 1, beta=0.25, horizon=100), promises)
    >>> found[0].refuse, found[0].level > 0.5
    (True, True)
    """
    if state.runs == 0:
        return ()
    n = max(1, state.runs // state.steps)
    found = []
    tested = choose(state, promises)
    for event, hits, hits_prime, promise in zip(
        state.events, state.hits, state.hits_prime, tested, strict=True
    ):
        pooled = hits - promise.delta * state.runs + hits_prime
        smaller = max(0.0, pooled / (1 + math.exp(promise.epsilon))) + 0.5
        more = hits_prime + 0.5 + 2 * math.sqrt(hits_prime + 0.5) if promise.delta else smaller
        d = max(
            drift(min(1.0, count / state.runs), n, promise, state.horizon)
            for count in (smaller, more)
        )
        level = level_at_boundary(d, threshold)
        if level <= WARN * threshold.alpha:
            continue
        exponent = (0.9 - 0.6 * threshold.beta) * threshold.value * d
        needed = _round_up(n * (exponent / math.log(WARN)) ** 2)
        refuse = level > REFUSE * threshold.alpha
        a_step = smaller / state.runs * n
        found.append(
            CountFinding(
                event,
                threshold.alpha,
                level,
                a_step,
                needed,
                refuse,
                _text(event, a_step, n, state.horizon, level, threshold.alpha, needed, refuse),
            )
        )
    return tuple(found)


def _round_up(runs: float) -> int:
    """To two digits."""
    unit = math.pow(10, max(0, math.floor(math.log10(runs)) - 1))
    return round(math.ceil(runs / unit) * unit)


def _text(
    event: str,
    a_step: float,
    n: int,
    horizon: int,
    level: float,
    alpha: float,
    needed: int,
    refuse: bool,
) -> str:
    share = f"about {100 * level:.2g} % of" if level < 0.5 else "up to all"
    return (
        f"event {event!r}: {a_step:.3g} hits a step on x' ({n} runs) are "
        f"{'too few' if refuse else 'few'} for the normal approximation; {share} horizons of "
        f"{horizon} steps of a correct mechanism at the edge of its claim would end in an alarm, "
        f"where {100 * alpha:.3g} % was meant. Use {needed} runs a step, an event that occurs "
        f'more often, a shorter horizon, or method="exact", which has no such limit'
    )
