"""Running sums of a stream of 4 bits from a tree of noisy partial sums.

The sums up to times 1 to 4 are put together from the nodes [1], [1 2], [3] and [1 4]. The first
bit enters three of them, so with Lap(b) on each node the loss is 3/b (Dwork, Naor, Pitassi,
Rothblum 2010; Chan, Shi, Song 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Cells, Law, interval_cells, laplace_cdf, noise_masses

_EDGES = (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
_PAIR = ((0, 1, 0, 1), (1, 1, 0, 1))


def partial_sums(data: Sequence[int]) -> Array:
    """The four nodes that the running sums use: [1], [1 2], [3] and [1 4].

    >>> partial_sums((1, 0, 1, 1))
    array([1., 1., 1., 3.])
    """
    first, second, third, _ = data
    return np.array([first, first + second, third, sum(data)], dtype=np.float64)


def running_sums(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 3.0
) -> Array:
    """Add Lap(scale) to each node and release the four running sums, shape (n, 4).

    >>> running_sums((1, 0, 1, 1), 2, np.random.default_rng(0)).shape
    (2, 4)
    """
    nodes = partial_sums(data) + rng.laplace(0.0, scale, (n, 4))
    nodes[:, 2] += nodes[:, 1]
    return np.asarray(nodes)


def running_masses(data: Sequence[int], *, scale: float) -> Array:
    """Exact masses of the boxes of node values: products of the masses of intervals.

    >>> float(running_masses((1, 0, 1, 1), scale=3.0).sum().round(12))
    1.0
    """
    masses = np.ones(1)
    for node in partial_sums(data).tolist():
        inner = noise_masses(partial(laplace_cdf, scale=scale), node, _EDGES)
        masses = np.outer(masses, inner).ravel()
    return masses


def running_cells(outputs: Array) -> Cells:
    """Find the box of node values behind each row of running sums.

    >>> int(running_cells(np.array([[9.0, 9.0, 18.0, 9.0]]))[0]) == (len(_EDGES) + 1) ** 4 - 1
    True
    """
    cells = np.zeros(len(outputs), dtype=np.intp)
    for i in range(4):
        node = outputs[:, i] - outputs[:, 1] if i == 2 else outputs[:, i]
        cells = cells * (len(_EDGES) + 1) + interval_cells(node, edges=_EDGES)
    return cells


def _entry(name: str, title: str, scale: float, *, holds: bool, source: str) -> Entry:
    return Entry(
        name=name,
        title=title,
        claim=pure(1),
        neighbours=_PAIR,
        mechanism=batched(partial(running_sums, scale=scale)),
        holds=holds,
        truth="the first bit enters three nodes: the loss is exactly 3/scale where all are low",
        source=source,
        law=Law(partial(running_masses, scale=scale), running_cells),
        closed_form=3.0 / scale,
        budget=20_000 if holds else 5_000,
    )


ENTRIES = (
    _entry(
        "prefix-sums-tight",
        "Running sums from a tree, exactly at their claim",
        3.0,
        holds=True,
        source="Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011",
    ),
    _entry(
        "prefix-sums-one-node",
        "Running sums from a tree with the noise of one node",
        1.0,
        holds=False,
        source="a slip: each node gets the whole budget, though a bit enters three",
    ),
)
"""Running sums from a tree."""
