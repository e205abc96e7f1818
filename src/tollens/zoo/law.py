"""Exact laws on finite partitions: how the truth about a mechanism is computed.

Outputs are sorted into cells whose masses are known exactly. Where a worst event is a union of
cells, the smallest epsilon of the cells is that of the mechanism; otherwise it is a lower bound,
by data processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.divergence import normal_cdf

Array = NDArray[np.float64]
Cells = NDArray[np.intp]

_BISECTIONS = 100


@dataclass(frozen=True, slots=True)
class Law:
    """A partition of the outputs and its exact masses.

    `masses(data)` gives the masses of cells 0, 1, ..., k - 1, an array (k,) that sums to 1;
    `cells(outputs)` gives the cell of each output of a batch, integers (n,).

    >>> from tollens.zoo import get
    >>> law = get("rr-tight").law
    >>> law.probabilities(0), law.cells(np.array([0, 1, 1]))
    (array([0.75, 0.25]), array([0, 1, 1]))
    """

    masses: Callable[..., Array]
    cells: Callable[..., Cells]

    def probabilities(self, data: object) -> Array:
        """Exact masses of the cells, shape (k,), for one input."""
        return self.masses(data)

    def hockey_stick(self, pair: tuple[object, object], epsilon: float) -> float:
        """Least delta at `epsilon`: sum of (p - e^epsilon q)+, the larger of both orders.

        >>> from tollens.zoo import get
        >>> get("rr-tight").law.hockey_stick((0, 1), 0.0)
        0.5
        """
        p, q = self.probabilities(pair[0]), self.probabilities(pair[1])
        ratio = math.exp(epsilon)
        return max(
            float(np.maximum(p - ratio * q, 0.0).sum()),
            float(np.maximum(q - ratio * p, 0.0).sum()),
        )

    def least_epsilon(self, pair: tuple[object, object], delta: float) -> float:
        """Smallest epsilon at `delta` on the pair, in both orders; infinite if there is none.

        P(S) <= e^epsilon Q(S) + delta for all S means
        `epsilon = max over S of ln((P(S) - delta) / Q(S))`, and the maximum is attained on a set
        of the cells with the largest p/q (Neyman and Pearson).

        >>> from tollens.zoo import get
        >>> round(math.exp(get("rr-tight").law.least_epsilon((0, 1), 0.0)), 9)
        3.0
        """
        p, q = self.probabilities(pair[0]), self.probabilities(pair[1])
        return max(0.0, _least_log_ratio(p, q, delta), _least_log_ratio(q, p, delta))


def _least_log_ratio(p: Array, q: Array, delta: float) -> float:
    ratio = np.full(p.shape, np.inf)
    np.divide(p, q, out=ratio, where=q > 0)
    order = np.argsort(-ratio, kind="stable")
    order = order[(p + q)[order] > 0]
    top, bottom = np.cumsum(p[order]) - delta, np.cumsum(q[order])
    positive = top > 0
    if not positive.any():
        return -math.inf
    top, bottom = top[positive], bottom[positive]
    if np.any(bottom == 0):
        return math.inf
    return float(np.log(top / bottom).max())


def laplace_cdf(z: Array, scale: float) -> Array:
    """Distribution function of centred Laplace noise, accurate in the lower tail.

    >>> laplace_cdf(np.array([-np.inf, 0.0, np.inf]), 1.0)
    array([0. , 0.5, 1. ])
    """
    tail = 0.5 * np.exp(-np.abs(z) / scale)
    return np.where(z < 0, tail, 1.0 - tail)


def normal_cdfs(z: Array, sigma: float) -> Array:
    """Distribution function of N(0, sigma^2) at each of z, accurate in the lower tail.

    >>> normal_cdfs(np.array([-np.inf, 0.0]), 1.0)
    array([0. , 0.5])
    """
    return np.array([normal_cdf(value / sigma) for value in z.tolist()])


def with_ends(edges: tuple[float, ...]) -> Array:
    """Put minus and plus infinity at the ends of the edges.

    >>> with_ends((0.0, 1.0))
    array([-inf,   0.,   1.,  inf])
    """
    return np.concatenate([[-np.inf], edges, [np.inf]])


def noise_masses(cdf: Callable[[Array], Array], centre: float, edges: tuple[float, ...]) -> Array:
    """Masses of the intervals between rising `edges` for `centre` plus symmetric noise.

    Intervals above the centre are mirrored, so that small masses in both tails keep their digits.

    >>> noise_masses(lambda z: laplace_cdf(z, 1.0), 0.0, (0.0,))
    array([0.5, 0.5])
    """
    bounds = with_ends(edges) - centre
    low, high = bounds[:-1], bounds[1:]
    return np.where(low >= 0, cdf(-low) - cdf(-high), cdf(high) - cdf(low))


def interval_cells(outputs: Array, *, edges: tuple[float, ...]) -> Cells:
    """Find the interval of each number: cell i is (edges[i - 1], edges[i]].

    >>> interval_cells(np.array([-1.0, 0.5, 2.0]), edges=(0.0, 1.0))
    array([0, 1, 2])
    """
    return np.searchsorted(np.asarray(edges), outputs)


def integer_cells(outputs: NDArray[np.integer], *, low: int, high: int) -> Cells:
    """Integers from `low` to `high` as cells 0, 1, ...; what lies outside joins the end cells.

    >>> integer_cells(np.array([-9, 0, 1, 9]), low=0, high=1)
    array([0, 0, 1, 1])
    """
    return np.asarray(np.clip(outputs, low, high) - low, dtype=np.intp)


def epsilon_where(delta_of: Callable[[float], float], delta: float) -> float:
    """Smallest epsilon at which a falling function `delta_of` is at most `delta`, by bisection.

    >>> round(epsilon_where(lambda epsilon: math.exp(-epsilon), 0.5), 12) == round(math.log(2), 12)
    True
    """
    low, high = 0.0, 1.0
    while delta_of(high) > delta:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
    return high
