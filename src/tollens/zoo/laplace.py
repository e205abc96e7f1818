"""Laplace noise on a count: the law of a real number, not of the bits of a float.

A count of sensitivity 1 plus Lap(b) is (1/b)-DP, and no less: `p(y)/p'(y) = e^(1/b)` for every
y <= 0 when the counts are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Law, interval_cells, laplace_cdf, noise_masses

_SOURCE = "Dwork, McSherry, Nissim, Smith 2006"
_PAIR = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0))
_EDGES = tuple(np.arange(-8.0, 9.25, 0.25).tolist())


def laplace_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float = 1.0
) -> Array:
    """Count the ones among the records and add Lap(scale).

    >>> laplace_count((1, 0), 2, np.random.default_rng(0)).shape
    (2,)
    """
    return np.asarray(sum(data) + rng.laplace(0.0, scale, n))


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
)
"""Laplace counts."""
