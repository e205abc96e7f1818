"""Mechanisms of other tools' benchmarks that the zoo does not have, with their exact laws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

import tollens
from benchmarks.limits import Masses, laplace_pair
from tollens.mechanism import Batched
from tollens.zoo.law import laplace_cdf
from tollens.zoo.sparse_vector import sparse_vector
from tollens.zoo.sparse_vector_law import Rule, outcome_masses

Array = NDArray[np.float64]

TEN = ((0,) * 5 + (1,) * 5, (1,) * 5 + (0,) * 5)
"""Ten queries, all of which change by 1: what is hardest for the sparse vector technique."""

ONE_POSITIVE = Rule(threshold_scale=4.0, query_scale=4 / 3, cutoff=1)
"""Sparse vector algorithm 4 (arXiv 1603.01699) that ends after one positive answer."""


def sparse_vector_of(rule: Rule) -> Batched:
    """The answers of a sparse vector rule as a mechanism."""
    return tollens.batched(partial(sparse_vector, rule=rule))


def sparse_vector_masses(rule: Rule, pair: tuple[Sequence[float], ...]) -> Masses:
    """The exact masses of all its answer vectors.

    >>> float(sparse_vector_masses(ONE_POSITIVE, TEN).p.sum().round(9))
    1.0
    """
    return Masses(*(outcome_masses(data, rule=rule) for data in pair))


def noisy_counts(data: Sequence[float], n: int, rng: np.random.Generator, *, scale: float) -> Array:
    """A histogram of any number of cells with Laplace noise: one row a run.

    >>> noisy_counts((1, 0, 0), 2, np.random.default_rng(0), scale=1.0).shape
    (2, 3)
    """
    return np.asarray(data) + rng.laplace(0.0, scale, (n, len(data)))


def histogram(scale: float) -> Batched:
    """`noisy_counts` as a mechanism; its law where one cell changes is `histogram_masses`."""
    return tollens.batched(partial(noisy_counts, scale=scale))


def one_more(cells: int, changed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A histogram of zeros and the same with one record more in one cell, the larger first.

    >>> one_more(3, 1)
    ((0, 1, 0), (0, 0, 0))
    """
    return tuple(int(i == changed) for i in range(cells)), (0,) * cells


def histogram_masses(scale: float) -> Masses:
    """The exact masses of the cell that changes; the others say nothing."""
    return laplace_pair(1 / scale)


def laplace_max_index(
    data: Sequence[float], n: int, rng: np.random.Generator, *, scale: float = 2.0
) -> NDArray[np.intp]:
    """The index of the largest count after Laplace noise.

    >>> laplace_max_index((0, 9), 2, np.random.default_rng(0)).tolist()
    [1, 1]
    """
    return np.asarray((np.asarray(data) + rng.laplace(0.0, scale, (n, len(data)))).argmax(axis=1))


def laplace_max_masses(data: Sequence[float], *, scale: float = 2.0) -> Array:
    """The exact probability of each index: the integral of f(t - q_i) prod F(t - q_j).

    >>> laplace_max_masses((0, 0, 0, 0)).round(9).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    counts = np.asarray(data, dtype=np.float64)
    grid = np.linspace(-45.0, 45.0, 181) * scale
    breaks = np.unique(np.concatenate([counts, grid + counts.min(), grid + counts.max()]))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    centre, half = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
    t = (centre[:, None] + half[:, None] * nodes).ravel()
    mass = (half[:, None] * weights).ravel()
    below = np.array([laplace_cdf(t - q, scale) for q in counts])
    density = np.array([np.exp(-np.abs(t - q) / scale) / (2 * scale) for q in counts])
    others = [np.delete(below, i, axis=0).prod(axis=0) for i in range(len(counts))]
    return np.array([float(mass @ (density[i] * others[i])) for i in range(len(counts))])


def exponential_max(
    data: Sequence[float], n: int, rng: np.random.Generator, *, scale: float = 2.0
) -> Array:
    """The largest count after exponential noise of mean `scale`: its value.

    >>> bool((exponential_max((0, 9), 2, np.random.default_rng(0)) > 9).all())
    True
    """
    return np.asarray((np.asarray(data) + rng.exponential(scale, (n, len(data)))).max(axis=1))


def exponential_max_masses(data: Sequence[float], *, scale: float = 2.0) -> Array:
    """Exact masses of intervals: P(max <= t) = prod (1 - e^-(t - q)/scale)+.

    >>> float(exponential_max_masses((1, 1)).sum().round(9))
    1.0
    """
    edges = np.concatenate([np.linspace(0.0, 4.0, 81), np.linspace(4.5, 60.0, 112)])
    below = np.prod([-np.expm1(-np.maximum(edges - q, 0.0) / scale) for q in data], axis=0)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))
