"""Simulated laws of the largest window of a random walk, and of Brownian motion.

The Brownian monitor compares its statistic with quantiles of

    M(beta, T) = max over 0 <= v < u <= T of (S_u - S_v) / ((u - v)^beta T^(1/2 - beta)),

S a random walk with standard normal steps, or of its limit for T to infinity,

    M(beta) = sup over 0 <= v < u <= 1 of (B(u) - B(v)) / (u - v)^beta,   0 <= beta < 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_CELLS = 2**18
"""How many numbers a chunk of paths holds: what a cache of the processor holds too."""

GRID = 2048
"""Cells of [0, 1] on which Brownian motion is simulated."""

_LAGS = 16


def largest_window(steps: Array, beta: float) -> Array:
    """M(beta, T) of given steps, shape (T, paths): one number a path.

    O(T^2) a path, O(T) where beta is 0 (the largest rise above the lowest point before it).

    >>> largest_window(np.array([[1.0], [-3.0], [2.0], [2.0]]), 0.25).round(4).tolist()
    [2.3784]
    """
    horizon, paths = steps.shape
    sums = np.concatenate([np.zeros((1, paths)), np.cumsum(steps, axis=0)])
    if beta == 0:
        rise = sums[1:] - np.minimum.accumulate(sums, axis=0)[:-1]
        return np.asarray(rise.max(axis=0) / math.sqrt(horizon))
    best = np.full(paths, -np.inf)
    buffer = np.empty((horizon, paths))
    for length in range(1, horizon + 1):
        rise = np.subtract(sums[length:], sums[:-length], out=buffer[: horizon + 1 - length])
        np.maximum(best, rise.max(axis=0) * length**-beta, out=best)
    return best * math.pow(horizon, beta - 0.5)


def largest_windows_so_far(steps: Array, beta: float) -> Array:
    """The largest window that ends at each step, shape (T, paths); O(T^2) a path.

    >>> largest_windows_so_far(np.array([[1.0], [-3.0], [2.0], [2.0]]), 0.0)[:, 0].tolist()
    [0.5, -1.0, 1.0, 2.0]
    """
    horizon, paths = steps.shape
    sums = np.concatenate([np.zeros((1, paths)), np.cumsum(steps, axis=0)])
    best = np.full((horizon, paths), -np.inf)
    for length in range(1, horizon + 1):
        rise = (sums[length:] - sums[:-length]) * length**-beta
        np.maximum(best[length - 1 :], rise, out=best[length - 1 :])
    return best * math.pow(horizon, beta - 0.5)


def finite_sample(beta: float, horizon: int, paths: int, seed: int) -> Array:
    """A sorted sample of M(beta, T), in chunks of bounded memory; the seed fixes it.

    >>> sample = finite_sample(0.25, 10, 400, seed=1)
    >>> sample.shape, bool((np.diff(sample) >= 0).all())
    ((400,), True)
    """
    rng = np.random.default_rng([seed, horizon])
    width = max(1, min(paths, _CELLS // horizon))
    found = [
        largest_window(rng.standard_normal((horizon, min(width, paths - start))), beta)
        for start in range(0, paths, width)
    ]
    return np.sort(np.concatenate(found))


def limit_samples(beta: float, paths: int, seed: int, cells: int = GRID) -> tuple[Array, Array]:
    """Sorted samples of M(beta) of the same paths on `cells` cells and on half as many.

    `cells` is a power of two. Their difference shows the error of the grid. Inside each cell
    the largest and the lowest value are drawn from their exact laws given its ends (Brownian
    bridge), so that no peak between the points of the grid is lost. Windows of fewer than 16
    cells go from point to point, those of fewer than 32 from extreme to extreme, longer ones
    between cells merged two by two, again and again, each of which remembers where its extremes
    are: O(32 cells) a path.

    >>> fine, coarse = limit_samples(0.25, 50, seed=1, cells=64)
    >>> fine.shape, coarse.shape
    ((50,), (50,))
    """
    rng = np.random.default_rng([seed, cells])
    width = max(1, min(paths, _CELLS // cells))
    fine, coarse = [], []
    for start in range(0, paths, width):
        path = _Path.draw(cells, min(width, paths - start), rng)
        fine.append(path.largest_window(beta))
        coarse.append(path.merged().largest_window(beta))
    return np.sort(np.concatenate(fine)), np.sort(np.concatenate(coarse))


@dataclass(frozen=True, slots=True)
class _Path:
    """Brownian motion at the ends of cells, with the extremes inside: (cells [+ 1], paths)."""

    ends: Array
    high: Array
    low: Array

    @classmethod
    def draw(cls, cells: int, paths: int, rng: np.random.Generator) -> _Path:
        """P(max > m | ends a, b) = exp(-2 (m - a)(m - b)/width), the min likewise."""
        steps = rng.standard_normal((cells, paths)) / math.sqrt(cells)
        ends = np.concatenate([np.zeros((1, paths)), np.cumsum(steps, axis=0)])
        middle, squares = (ends[1:] + ends[:-1]) / 2, steps**2
        above, below = rng.standard_exponential((2, cells, paths)) * (2 / cells)
        return cls(
            ends, middle + np.sqrt(squares + above) / 2, middle - np.sqrt(squares + below) / 2
        )

    def merged(self) -> _Path:
        """The same on half as many cells."""
        high, low = self.high, self.low
        return _Path(
            self.ends[::2], np.maximum(high[::2], high[1::2]), np.minimum(low[::2], low[1::2])
        )

    def largest_window(self, beta: float) -> Array:
        """M(beta), one number a path."""
        cells, paths = self.high.shape
        weight = (np.arange(1, 2 * cells) / cells) ** -beta
        best = np.full(paths, -np.inf)
        high, low = self.high, self.low
        for lag in range(1, min(2 * _LAGS, cells)):
            short = lag < _LAGS
            rise = self.ends[lag:] - self.ends[:-lag] if short else high[lag:] - low[:-lag]
            np.maximum(best, rise.max(axis=0) * weight[lag - 1], out=best)
        at_high = at_low = np.broadcast_to(np.arange(cells)[:, None], (cells, paths))
        while len(high) > 2 * _LAGS:
            high, at_high = _merge(high, at_high, high[::2] >= high[1::2])
            low, at_low = _merge(low, at_low, low[::2] <= low[1::2])
            last = 2 * _LAGS if len(high) > 2 * _LAGS else len(high)
            for lag in range(_LAGS, last):
                rise = high[lag:] - low[:-lag]
                rise *= weight[at_high[lag:] - at_low[:-lag] - 1]
                np.maximum(best, rise.max(axis=0), out=best)
        return best


def _merge(
    values: Array, places: NDArray[np.intp], first: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.intp]]:
    """Merge cells two by two: the value of one of each two, with its place."""
    return (
        np.where(first, values[::2], values[1::2]),
        np.where(first, places[::2], places[1::2]),
    )


def sup_abs_quantile(alpha: float) -> float:
    """The exact quantile of M(0), whose law is that of the sup of |B| on [0, 1] (Lévy).

    P(sup|B| <= a) = (4/pi) sum over k of (-1)^k/(2k+1) exp(-(2k+1)^2 pi^2/(8 a^2)).

    >>> round(sup_abs_quantile(0.05), 4), round(sup_abs_quantile(0.1), 4)
    (2.2414, 1.96)
    """
    low, high = 0.1, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _sup_abs_tail(middle) > alpha else (low, middle)
    return high


def _sup_abs_tail(a: float) -> float:
    """P(sup|B| > a), by reflection: 2 sum over k of (-1)^k erfc((2k+1) a/sqrt 2)."""
    return 2 * math.fsum((-1.0) ** k * math.erfc((2 * k + 1) * a / math.sqrt(2)) for k in range(60))
