"""The exact laws of means: a ratio of noisy numbers, pairs of them, two normal laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.divergence import normal_cdf
from tollens.zoo.law import Array, Cells, epsilon_where, interval_cells, laplace_cdf, noise_masses

FLOOR = 1e-12
"""The least value of a noisy count."""

_NODES = 20
_COUNT_EDGES = tuple(np.arange(0.0, 7.5, 0.5).tolist())
Normal = tuple[float, float]


def private_mean_masses(data: Sequence[int], *, scale: float, edges: tuple[float, ...]) -> Array:
    """Exact masses of intervals of (sum + z)/max(1e-12, count + z'), Lap(scale) both.

    `P(mean <= t) = E F(t N - sum)`: an atom of N at the floor, and Gauss-Legendre quadrature
    over the noisy count N above it, in pieces that double so that any t is resolved.

    >>> float(private_mean_masses((0, 1), scale=2.0, edges=(0.0,)).sum().round(12))
    1.0
    """
    total, count = float(sum(data)), len(data)
    grid = [FLOOR * 2.0**k for k in range(41)]
    steps = np.arange(grid[-1], count + 45 * scale, scale / 4)
    kinks = [float(count), *(total / t for t in edges if t != 0 and total / t > FLOOR)]
    breaks = np.unique([*grid, *steps, *kinks])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    centre, half = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
    n = (centre[:, None] + half[:, None] * nodes).ravel()
    density = np.exp(-np.abs(n - count) / scale) / (2 * scale)
    mass = (half[:, None] * weights).ravel() * density
    n, mass = np.r_[FLOOR, n], np.r_[laplace_cdf(np.array([FLOOR - count]), scale), mass]
    below = [float(mass @ laplace_cdf(t * n - total, scale)) for t in edges]
    return np.diff(np.r_[0.0, below, mass.sum()])


def sum_and_count_masses(data: Sequence[int], *, scale: float) -> Array:
    """Exact masses of the rectangles of (noisy sum, noisy count).

    >>> float(sum_and_count_masses((1, 1), scale=1.0).sum().round(12))
    1.0
    """
    cdf = partial(laplace_cdf, scale=scale)
    first = noise_masses(cdf, float(sum(data)), _COUNT_EDGES)
    return np.outer(first, noise_masses(cdf, float(len(data)), _COUNT_EDGES)).ravel()


def sum_and_count_cells(outputs: Array) -> Cells:
    """Find the rectangle of each row (noisy sum, noisy count).

    >>> sum_and_count_cells(np.array([[-1.0, 0.25]]))
    array([1])
    """
    first, second = (interval_cells(outputs[:, i], edges=_COUNT_EDGES) for i in range(2))
    return first * (len(_COUNT_EDGES) + 1) + second


def two_normals(wide: Normal, narrow: Normal, delta: float) -> tuple[float, tuple[float, ...]]:
    """Least epsilon between normal laws (mean, deviation) in both orders, and edges that show it.

    The wide law is the denser by e^eps outside of an interval, the narrow one inside of another;
    their ends are the roots of a quadratic.

    >>> epsilon, edges = two_normals((0.0, 2.0), (0.0, 1.0), 1e-5)
    >>> round(epsilon, 2), len(edges) > 60
    (27.72, True)
    """

    def delta_of(epsilon: float) -> float:
        low, high = _roots(wide, narrow, epsilon)
        outside = _outside(wide, low, high) - math.exp(epsilon) * _outside(narrow, low, high)
        low, high = _roots(wide, narrow, -epsilon)
        inside = 1 - _outside(narrow, low, high)
        return max(outside, inside - math.exp(epsilon) * (1 - _outside(wide, low, high)))

    epsilon = epsilon_where(delta_of, delta)
    ends = (*_roots(wide, narrow, epsilon), *_roots(wide, narrow, -epsilon))
    grid = wide[0] + wide[1] * np.linspace(-5, 5, 81)
    return epsilon, tuple(np.unique([*grid, *ends]).tolist())


def _roots(wide: Normal, narrow: Normal, loss: float) -> Normal:
    """The ends of the interval outside of which the wide law is e^loss times as dense or more."""
    (m, s), (k, t) = wide, narrow
    a = (1 / t**2 - 1 / s**2) / 2
    b = m / s**2 - k / t**2
    c = k**2 / (2 * t**2) - m**2 / (2 * s**2) + math.log(t / s) - loss
    centre, square = -b / (2 * a), (b / (2 * a)) ** 2 - c / a
    reach = math.sqrt(square) if square > 0 else 0.0
    return centre - reach, centre + reach


def _outside(law: Normal, low: float, high: float) -> float:
    mean, deviation = law
    return normal_cdf((low - mean) / deviation) + normal_cdf((mean - high) / deviation)
