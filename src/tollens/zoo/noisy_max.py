"""Report noisy max: the index of the largest noisy count may be released, its value may not.

With noise Exp(2/epsilon), in the scale, the index is epsilon-DP when every count changes by at
most 1 (Dwork, Roth 2014, section 3.3; McKenna, Sheldon 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Law, integer_cells, interval_cells, laplace_cdf, with_ends

_EDGES = tuple(np.arange(-4.0, 16.25, 0.5).tolist())


def noisy_max_index(
    data: Sequence[float], n: int, rng: np.random.Generator, *, scale: float = 2.0
) -> NDArray[np.intp]:
    """Release the index of the largest count after exponential noise of mean `scale` on each.

    >>> noisy_max_index((0, 0), 2, np.random.default_rng(0)).shape
    (2,)
    """
    noisy = np.asarray(data) + rng.exponential(scale, (n, len(data)))
    return np.asarray(noisy.argmax(axis=1))


def noisy_max_value(
    data: Sequence[float], n: int, rng: np.random.Generator, *, scale: float = 2.0
) -> Array:
    """Release the largest count after Lap(scale) on each: the value, not the index.

    >>> noisy_max_value((0, 0), 2, np.random.default_rng(0)).shape
    (2,)
    """
    return np.asarray((np.asarray(data) + rng.laplace(0.0, scale, (n, len(data)))).max(axis=1))


def index_masses(data: Sequence[float], *, scale: float) -> Array:
    """Exact probability of each index under exponential noise.

    With `w_j = e^-((max - q_j)/scale)` it is
    `P(i) = w_i * integral over u in [0, 1] of prod_(j != i) (1 - w_j u)`, a polynomial that
    Gauss-Legendre nodes integrate exactly.

    >>> index_masses((0, 0, 0, 0), scale=2.0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    counts = np.asarray(data, dtype=np.float64)
    w = np.exp((counts - counts.max()) / scale)
    nodes, weights = np.polynomial.legendre.leggauss(len(w))
    below = 1.0 - np.outer(w, (nodes + 1) / 2)
    return np.array(
        [w[i] * np.delete(below, i, axis=0).prod(axis=0) @ weights / 2 for i in range(len(w))]
    )


def value_masses(data: Sequence[float], *, scale: float) -> Array:
    """Exact masses of intervals of the largest noisy count: `P(max <= t) = prod F(t - q_j)`.

    >>> float(value_masses((1, 1), scale=2.0).sum().round(12))
    1.0
    """
    below = np.prod([laplace_cdf(with_ends(_EDGES) - q, scale) for q in data], axis=0)
    return np.diff(below)


ENTRIES = (
    Entry(
        name="noisy-max-exponential-tight",
        title="Report noisy max, exactly at its claim",
        claim=pure(1),
        neighbours=((1, 1, 1, 1, 1), (2, 2, 2, 2, 0)),
        mechanism=batched(partial(noisy_max_index, scale=2.0)),
        holds=True,
        truth="the last index has probability 1/5 and e^-1/5: the loss is exactly 1",
        source="Dwork, Roth 2014, section 3.3; McKenna, Sheldon 2020",
        law=Law(partial(index_masses, scale=2.0), partial(integer_cells, low=0, high=4)),
        closed_form=1.0,
    ),
    Entry(
        name="noisy-max-value",
        title="Noisy max that releases the value",
        claim=pure(1),
        neighbours=((1, 1, 1, 1, 1), (2, 2, 2, 2, 2)),
        mechanism=batched(partial(noisy_max_value, scale=2.0)),
        holds=False,
        truth="P(max <= t) = F(t - q)^5: the loss is exactly 5/2 on every t <= 1",
        source="Ding, Wang, Wang, Zhang, Kifer 2018",
        law=Law(partial(value_masses, scale=2.0), partial(interval_cells, edges=_EDGES)),
        closed_form=2.5,
        budget=10_000,
    ),
)
"""Noisy max with its index and with its value."""
