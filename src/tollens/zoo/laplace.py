"""Laplace noise on a count: the law of a real number, not of the bits of a float.

A count of sensitivity 1 plus Lap(b) is (1/b)-DP, and no less: `p(y)/p'(y) = e^(1/b)` for every
y <= 0 when the counts are 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Law, interval_cells, laplace_cdf, noise_masses, normal_cdfs

_SOURCE = "Dwork, McSherry, Nissim, Smith 2006"
_PAIR = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0))
_EDGES = tuple(np.arange(-8.0, 9.25, 0.25).tolist())
_FAR_EDGES = (-40.0, -20.0, *_EDGES, 21.0, 41.0)


def laplace_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 1.0
) -> Array:
    """Count the ones among the records and add Lap(scale).

    >>> laplace_count((1, 0), 2, np.random.default_rng(0)).shape
    (2,)
    """
    return np.asarray(sum(data) + rng.laplace(0.0, scale, n))


def inverse_laplace_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 1.0
) -> Array:
    """Count the ones and add Lap(scale) as textbooks do: a random sign times `-ln u`.

    >>> inverse_laplace_count((1, 0), 2, np.random.default_rng(0)).shape
    (2,)
    """
    sign = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return np.asarray(sum(data) - sign * scale * np.log(1.0 - rng.random(n)))


def swapped_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 1.0
) -> Array:
    """Count the ones and add normal noise of the variance of Lap(scale), 2 scale^2.

    >>> swapped_count((1, 0), 2, np.random.default_rng(0)).shape
    (2,)
    """
    return np.asarray(sum(data) + rng.normal(0.0, math.sqrt(2) * scale, n))


def swapped_masses(data: Sequence[int], *, scale: float) -> Array:
    """Exact masses of intervals of the count with normal noise, far into the tails.

    >>> float(swapped_masses((1, 0), scale=1.0).sum().round(12))
    1.0
    """
    cdf = partial(normal_cdfs, sigma=math.sqrt(2) * scale)
    return noise_masses(cdf, float(sum(data)), _FAR_EDGES)


def count_masses(data: Sequence[int], *, scale: float) -> Array:
    """Exact masses of intervals of the noisy count.

    >>> float(count_masses((1, 0), scale=1.0).sum().round(12))
    1.0
    """
    return noise_masses(partial(laplace_cdf, scale=scale), float(sum(data)), _EDGES)


def _count(
    name: str, title: str, scale: float, *, holds: bool, source: str = _SOURCE, budget: int = 20_000
) -> Entry:
    return Entry(
        name=name,
        title=title,
        claim=pure(1),
        neighbours=_PAIR,
        mechanism=batched(partial(laplace_count, scale=scale)),
        holds=holds,
        truth="the loss is exactly 1/scale at every y <= 0, and nowhere larger",
        source=source,
        law=Law(partial(count_masses, scale=scale), partial(interval_cells, edges=_EDGES)),
        closed_form=1.0 / scale,
        budget=budget,
    )


ENTRIES = (
    _count("laplace-tight", "Laplace count, exactly at its claim", 1.0, holds=True),
    _count(
        "laplace-half-noise",
        "Laplace count with half the noise",
        0.5,
        holds=False,
        source="a slip: the scale 1/(2 epsilon) in place of 1/epsilon",
        budget=2_000,
    ),
    _count(
        "laplace-noise-30-percent-low",
        "Laplace count, noise 30 % too small",
        0.7,
        holds=False,
        source="a fault small enough to need a sharp test",
        budget=5_000,
    ),
    Entry(
        name="laplace-inverse-tight",
        title="Laplace count from logarithms of doubles, at its claim",
        claim=pure(1),
        neighbours=_PAIR,
        mechanism=batched(partial(inverse_laplace_count, scale=1.0)),
        holds=True,
        truth="as a real number the loss is exactly 1 at every y <= 0; the low-order bits leak",
        source="Mironov 2012, on the significance of the least significant bits",
        law=Law(partial(count_masses, scale=1.0), partial(interval_cells, edges=_EDGES)),
        closed_form=1.0,
    ),
    Entry(
        name="laplace-swapped-for-gaussian",
        title="Laplace count whose noise became normal",
        claim=pure(1),
        neighbours=_PAIR,
        mechanism=batched(partial(swapped_count, scale=1.0)),
        holds=False,
        truth="the loss at y is (1 - 2y)/4, which has no bound",
        source="a slip: normal noise of the same variance under the same pure claim",
        law=Law(partial(swapped_masses, scale=1.0), partial(interval_cells, edges=_FAR_EDGES)),
        closed_form=math.inf,
        budget=20_000,
    ),
)
"""Laplace counts, and normal noise taken for Laplace."""
