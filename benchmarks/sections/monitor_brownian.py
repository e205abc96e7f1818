"""The Brownian monitor as published: its quantiles, its delays, and where its level fails.

Counts are drawn from the exact probabilities of the events, not from outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchmarks.scenarios import CHANGE, HORIZON, PAIRS, truth
from tollens.contract import Promise
from tollens.monitoring.brownian.quantiles import quantile
from tollens.monitoring.brownian.small_counts import drift, level_at_boundary
from tollens.monitoring.brownian.statistic import ratios, threshold
from tollens.monitoring.brownian.suprema import largest_window, largest_windows_so_far
from tollens.zoo.law import laplace_cdf

Array = NDArray[np.float64]
Below = Callable[[float], Array]

BETA, ALPHA, EPSILON = 0.25, 0.05, 1.0

PUBLISHED_QUANTILES = {
    (0.0, 100): (1.845, 2.129, 2.388, 2.625, 2.697),
    (0.25, 50): (2.110, 2.369, 2.603, 2.826, 2.890),
    (0.25, 100): (2.162, 2.420, 2.654, 2.869, 2.934),
    (0.25, 200): (2.208, 2.460, 2.693, 2.911, 2.973),
    (0.25, 1000): (2.274, 2.523, 2.768, 2.966, 3.042),
    (0.4, 100): (2.663, 2.884, 3.088, 3.288, 3.346),
}
PUBLISHED_LEVELS = (0.1, 0.05, 0.025, 0.0125, 0.01)
PUBLISHED_DELAYS = {"a": 0, "b": 13, "c": 2, "d": 15, "e": 0, "f": 12}
PUBLISHED_ALARMS = {
    0.2: 0.06,
    0.05: 0.13,
    0.01: 0.23,
    0.003: 0.64,
    0.001: 0.92,
    0.0003: 0.68,
    0.0001: 0.01,
}
"""False alarms over P'(E), n = 750, T = 100."""

EDGES = (-0.5, 0.0, 0.5, 1.0)
"""The panel of events (-inf, r]."""


@dataclass(frozen=True, slots=True)
class QuantileRow:
    """A quantile, its standard error, and the published one (error about 0.005)."""

    beta: float
    horizon: int | None
    alpha: float
    value: float
    error: float
    published: float | None


@dataclass(frozen=True, slots=True)
class LevelRow:
    """The share of horizons with a false alarm at the boundary, and what the check expects."""

    p_prime: float
    n: int
    horizon: int
    runs: int
    alarms: float
    expected: float
    published: float | None


@dataclass(frozen=True, slots=True)
class DelayRow:
    """Alarms of a scenario: `median_delay` in steps (0: the first step after the change).

    `early` is the share of runs with an alarm before the change, `detected` that of the other
    runs with an alarm by the end; runs without one count as an infinite delay.
    """

    scenario: str
    n: int
    horizon: int
    runs: int
    median_delay: float
    early: float
    detected: float
    published: float | None


def quantile_rows() -> list[QuantileRow]:
    """The published table and the limits."""
    rows = []
    for (beta, horizon), values in PUBLISHED_QUANTILES.items():
        for alpha, published in zip(PUBLISHED_LEVELS, values, strict=True):
            found = quantile(alpha, beta=beta, horizon=horizon)
            rows.append(QuantileRow(beta, horizon, alpha, found.value, found.error, published))
    for beta in (0.0, 0.1, 0.25, 0.4):
        for alpha in PUBLISHED_LEVELS:
            found = quantile(alpha, beta=beta)
            rows.append(QuantileRow(beta, None, alpha, found.value, found.error, None))
    return rows


def boundary_alarms(
    p_prime: float, n: int, horizon: int, runs: int, seed: int, *, shrink: float = 1.0
) -> float:
    """The share of runs with an alarm where P(E) = e P'(E) in every step.

    `shrink` scales the standard error, to see that a wrong one is noticed.
    """
    rng = np.random.default_rng([seed, n, horizon, int(p_prime * 1e6)])
    p = min(1.0, math.exp(EPSILON) * p_prime)
    x, x_prime = (rng.binomial(n, each, (horizon, runs)) for each in (p, p_prime))
    found = largest_window(ratios(x, x_prime, n, EPSILON) / shrink, BETA)
    limit = threshold(ALPHA, 1, beta=BETA, horizon=horizon).upper
    return float((found > limit).mean())


def level_rows(
    ns: Sequence[int] = (200, PAIRS, 2000), horizon: int = HORIZON, runs: int = 2000, seed: int = 1
) -> list[LevelRow]:
    """False alarms over P'(E) in {0.2, ..., 0.0001}."""
    limit = threshold(ALPHA, 1, beta=BETA, horizon=horizon)
    promise = Promise(EPSILON, 0.0, 0)
    return [
        LevelRow(
            p_prime,
            n,
            horizon,
            runs,
            boundary_alarms(p_prime, n, horizon, runs, seed),
            level_at_boundary(drift(p_prime, n, promise, horizon), limit),
            published if (n, horizon) == (PAIRS, HORIZON) else None,
        )
        for n in ns
        for p_prime, published in PUBLISHED_ALARMS.items()
    ]


def delay_rows(
    names: Sequence[str] = "abcdef",
    *,
    n: int = PAIRS,
    horizon: int = HORIZON,
    runs: int = 200,
    seed: int = 1,
) -> list[DelayRow]:
    """The scenarios with the best event known; the change is in the middle of the horizon."""
    rows = []
    for name in names:
        exact = truth(name)
        rng = np.random.default_rng([seed, n, horizon, ord(name)])
        x = _counts(rng, n, (exact.before, exact.after), horizon, runs)
        x_prime = _counts(rng, n, (exact.before_prime, exact.after_prime), horizon, runs)
        above = _above(x, x_prime, n, events=1)
        standard = (n, horizon) == (PAIRS, HORIZON)
        published = PUBLISHED_DELAYS.get(name) if standard else None
        rows.append(_delays(name, n, above, published))
    return rows


def panel_rows(
    names: Sequence[str] = "ab", *, n: int = PAIRS, runs: int = 200, seed: int = 1
) -> list[DelayRow]:
    """A panel of four events (-inf, r], alpha/4 each, none of them chosen for the scenario.

    All four are counted on the same outputs (multinomial cells). In b none of them is violated.
    """
    rows = []
    for name in names:
        rng = np.random.default_rng([seed, n, ord(name), len(EDGES)])
        x, x_prime = (
            np.concatenate(
                [
                    rng.multinomial(n, _cells(below, count), (HORIZON // 2, runs))[..., :-1]
                    for below in _PANEL_LAWS[name]
                ]
            ).cumsum(axis=2)
            for count in (0.0, 1.0)
        )
        above = np.zeros((HORIZON, runs), dtype=np.bool_)
        for event in range(len(EDGES)):
            above |= _above(x[..., event], x_prime[..., event], n, events=len(EDGES))
        rows.append(_delays(f"{name}, panel of 4", n, above, None))
    return rows


def ablation_rows(runs: int = 200) -> list[DelayRow]:
    """Scenarios b and d with other n, and with a horizon of 1000 steps."""
    rows = [row for n in (200, 500, 1000, 2000) for row in delay_rows("bd", n=n, runs=runs)]
    return rows + delay_rows("bd", horizon=1000, runs=runs)


def _laplace(shift: float, *, scale: float) -> Array:
    return laplace_cdf(np.array(EDGES) - shift, scale)


def _gaussian(shift: float, *, variance: float) -> Array:
    return np.asarray(ndtr((np.array(EDGES) - shift) / math.sqrt(variance)))


_PANEL_LAWS: dict[str, tuple[Below, Below]] = {
    "a": (partial(_laplace, scale=1.0), partial(_laplace, scale=0.5)),
    "b": (partial(_laplace, scale=1.0), partial(_gaussian, variance=2.0)),
}
"""P(output <= r) for each r of the panel, as a function of the count, before and after."""


def _cells(below: Below, count: float) -> Array:
    return np.diff(np.concatenate([[0.0], below(count), [1.0]]))


def _counts(
    rng: np.random.Generator, n: int, p: tuple[float, float], horizon: int, runs: int
) -> NDArray[np.int64]:
    """Hits (horizon, runs) in n outputs of each step, before and after the change."""
    change = horizon * CHANGE // HORIZON
    each = np.repeat(p, (change, horizon - change))[:, None]
    return rng.binomial(n, each, (horizon, runs))


def _above(
    x: NDArray[np.int64], x_prime: NDArray[np.int64], n: int, *, events: int
) -> NDArray[np.bool_]:
    """Whether the statistic of one of `events` events is above its threshold, at each step."""
    horizon = len(x)
    limit = threshold(ALPHA, events, beta=BETA, horizon=horizon).upper
    return largest_windows_so_far(ratios(x, x_prime, n, EPSILON), BETA) > limit


def _delays(name: str, n: int, above: NDArray[np.bool_], published: float | None) -> DelayRow:
    horizon, runs = above.shape
    change = horizon * CHANGE // HORIZON
    first = np.where(above.any(axis=0), above.argmax(axis=0), horizon)
    late = first[first >= change]
    delays = np.where(late < horizon, late - change, np.inf)
    return DelayRow(
        name,
        n,
        horizon,
        runs,
        float(np.median(delays)),
        float((first < change).mean()),
        float((late < horizon).mean()),
        published,
    )
