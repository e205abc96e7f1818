"""Means: a noisy sum over a count that may be public, private, or spent twice.

Records lie in [0, 1]; the neighbours are (0) and (0, 1), whose means are 0 and 1/2. Noise in
proportion to 1/n shows n by its size. A private mean divides a noisy sum by a noisy count, each
with half of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.claim import approx, pure
from tollens.mechanism import batched
from tollens.zoo.entry import LEAK_DELTA, Entry
from tollens.zoo.law import Array, Law, interval_cells, laplace_cdf, noise_masses, normal_cdfs
from tollens.zoo.means_law import (
    FLOOR,
    private_mean_masses,
    sum_and_count_cells,
    sum_and_count_masses,
    two_normals,
)

_PAIR = ((0,), (0, 1))
_EPSILON = 0.1
_WIDE = 2 / _EPSILON * math.sqrt(2 * math.log(1.25 / LEAK_DELTA))
_LAPLACE_EDGES = tuple(np.r_[-2000, -400, np.arange(-150, 155, 5), 400, 2000].tolist())
_MEAN_EDGES = (-1e11, -100, -10, -3, -1, -0.5, 0.0, 0.25, 0.5, 1, 3, 10, 100, 1e11)


def mean_with_public_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float, normal: bool = False
) -> Array:
    """Release the mean plus Laplace (or normal) noise of size scale/(number of records).

    >>> mean_with_public_count((0, 1), 2, np.random.default_rng(0), scale=2.0).shape
    (2,)
    """
    noise = rng.normal(0.0, 1.0, n) if normal else rng.laplace(0.0, 1.0, n)
    return np.asarray((sum(data) + scale * noise) / len(data))


def public_count_masses(
    data: Sequence[int], *, scale: float, edges: tuple[float, ...], normal: bool = False
) -> Array:
    """Exact masses of intervals of the mean with a public count.

    >>> public_count_masses((0,), scale=1.0, edges=(0.0,))
    array([0.5, 0.5])
    """
    size = scale / len(data)
    cdf = partial(normal_cdfs, sigma=size) if normal else partial(laplace_cdf, scale=size)
    return noise_masses(cdf, sum(data) / len(data), edges)


def private_mean(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 2.0
) -> Array:
    """Divide a noisy sum by a noisy count, which is floored at 1e-12; Lap(scale) on each.

    >>> private_mean((0, 1), 2, np.random.default_rng(0)).shape
    (2,)
    """
    total, count = rng.laplace(0.0, scale, (2, n))
    return np.asarray((sum(data) + total) / np.maximum(FLOOR, len(data) + count))


def sum_and_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 1.0
) -> Array:
    """Rows (noisy sum, noisy count) with Lap(scale) on each, as a database answers AVG: (n, 2).

    >>> sum_and_count((1, 1), 2, np.random.default_rng(0)).shape
    (2, 2)
    """
    return np.asarray(np.array([sum(data), len(data)]) + rng.laplace(0.0, scale, (n, 2)))


_WIDE_EPSILON, _NORMAL_EDGES = two_normals((0.0, _WIDE), (0.5, _WIDE / 2), LEAK_DELTA)

ENTRIES = (
    Entry(
        name="mean-public-count",
        title="Mean with Laplace noise of size 2/(n epsilon)",
        claim=pure(_EPSILON),
        neighbours=_PAIR,
        mechanism=batched(partial(mean_with_public_count, scale=2 / _EPSILON)),
        holds=False,
        truth="scales 20 and 10: the loss |y|/10 - |y|/20 of the tails has no bound",
        source="Kong, Medina, Ribero 2024",
        law=Law(
            partial(public_count_masses, scale=2 / _EPSILON, edges=_LAPLACE_EDGES),
            partial(interval_cells, edges=_LAPLACE_EDGES),
        ),
        closed_form=math.inf,
        budget=5_000,
    ),
    Entry(
        name="gaussian-mean-public-count",
        title="Mean with normal noise of size in proportion to 1/n",
        claim=approx(_EPSILON, LEAK_DELTA),
        neighbours=_PAIR,
        mechanism=batched(partial(mean_with_public_count, scale=_WIDE, normal=True)),
        holds=False,
        truth="two normal laws with standard deviations 2 to 1, on the worst pair of half lines",
        source="Kong, Medina, Ribero 2024",
        law=Law(
            partial(public_count_masses, scale=_WIDE, edges=_NORMAL_EDGES, normal=True),
            partial(interval_cells, edges=_NORMAL_EDGES),
        ),
        closed_form=_WIDE_EPSILON,
        budget=5_000,
    ),
    Entry(
        name="mean-private-count-tight",
        title="Noisy sum over noisy count, exactly at its claim",
        claim=pure(1),
        neighbours=_PAIR,
        mechanism=batched(partial(private_mean, scale=2.0)),
        holds=True,
        truth="where the count is floored and the sum is below 0, each adds exactly 1/2",
        source="Kong, Medina, Ribero 2024",
        law=Law(
            partial(private_mean_masses, scale=2.0, edges=_MEAN_EDGES),
            partial(interval_cells, edges=_MEAN_EDGES),
        ),
        closed_form=1.0,
    ),
    Entry(
        name="mean-double-spend",
        title="Sum and count for a mean, each with the whole budget",
        claim=pure(1),
        neighbours=((1, 1, 1), (1, 1, 1, 1)),
        mechanism=batched(partial(sum_and_count, scale=1.0)),
        holds=False,
        truth="sum and count both change by 1: the loss is exactly 2 where both are low",
        source="a slip: AVG rewritten as SUM and COUNT, each at the full epsilon",
        law=Law(partial(sum_and_count_masses, scale=1.0), sum_and_count_cells),
        closed_form=2.0,
        budget=5_000,
    ),
)
"""Means and their parts."""
