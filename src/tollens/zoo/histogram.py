"""Histograms with two bins: a vector of counts plus Laplace noise on each.

A record that is added changes one count by 1, a record that is replaced may change two. With
Lap(b) on each count the loss is (sum of the changes)/b.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Cells, Law, interval_cells, laplace_cdf, noise_masses

_EDGES = tuple(np.arange(-2.0, 5.5, 0.5).tolist())
_BINS = 2


def noisy_histogram(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 1.0
) -> Array:
    """Count the records 0 and 1 and add Lap(scale) to each, shape (n, 2).

    >>> noisy_histogram((0, 0, 1), 3, np.random.default_rng(0)).shape
    (3, 2)
    """
    counts = np.bincount(data, minlength=_BINS)
    return np.asarray(counts + rng.laplace(0.0, scale, (n, _BINS)))


def histogram_masses(data: Sequence[int], *, scale: float) -> Array:
    """Exact masses of a grid of rectangles: products of the masses of intervals.

    >>> float(histogram_masses((0, 0, 1), scale=1.0).sum().round(12))
    1.0
    """
    counts = np.bincount(data, minlength=_BINS)
    cdf = partial(laplace_cdf, scale=scale)
    first, second = (noise_masses(cdf, float(count), _EDGES) for count in counts)
    return np.outer(first, second).ravel()


def histogram_cells(outputs: Array) -> Cells:
    """Find the rectangle of each noisy histogram, row by row.

    >>> int(histogram_cells(np.array([[-9.0, 9.0]]))[0]) == len(_EDGES)
    True
    """
    first, second = (interval_cells(outputs[:, i], edges=_EDGES) for i in range(_BINS))
    return first * (len(_EDGES) + 1) + second


ENTRIES = (
    Entry(
        name="histogram-addition-tight",
        title="Histogram, one record added, exactly at its claim",
        claim=pure(1),
        neighbours=((0, 0, 1), (0, 0, 1, 1)),
        mechanism=batched(partial(noisy_histogram, scale=1.0)),
        holds=True,
        truth="one count changes by 1: the loss is exactly 1 where that count is low",
        source="Dwork, McSherry, Nissim, Smith 2006",
        law=Law(partial(histogram_masses, scale=1.0), histogram_cells),
        closed_form=1.0,
    ),
    Entry(
        name="histogram-substitution-tight",
        title="Histogram, one record replaced, exactly at its claim",
        claim=pure(1),
        neighbours=((0, 0, 1), (0, 1, 1)),
        mechanism=batched(partial(noisy_histogram, scale=2.0)),
        holds=True,
        truth="two counts change by 1: the loss is exactly 2/2 on a quadrant",
        source="Dwork, McSherry, Nissim, Smith 2006",
        law=Law(partial(histogram_masses, scale=2.0), histogram_cells),
        closed_form=1.0,
    ),
    Entry(
        name="histogram-substitution",
        title="Histogram, replaced record taken for an added one",
        claim=pure(1),
        neighbours=((0, 0, 1), (0, 1, 1)),
        mechanism=batched(partial(noisy_histogram, scale=1.0)),
        holds=False,
        truth="two counts change by 1: the loss is exactly 2 on the quadrant above 2, below 1",
        source="a slip: sensitivity 1 where a replaced record changes two counts",
        law=Law(partial(histogram_masses, scale=1.0), histogram_cells),
        closed_form=2.0,
        budget=5_000,
    ),
)
"""Histograms of two bins."""
