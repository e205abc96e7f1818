"""A leak that few runs show: an event of small probability gives the record away."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Law, integer_cells

_LEAK = 0.0015


def rare_leak(
    data: int, n: int, rng: np.random.Generator, *, leak: float = _LEAK
) -> NDArray[np.int64]:
    """0, but 1 + the record with probability `leak`.

    >>> rare_leak(0, 2, np.random.default_rng(0), leak=1.0)
    array([1, 1])
    """
    return np.where(rng.random(n) < leak, np.int64(1 + data), np.int64(0))


def rare_leak_masses(data: int, *, leak: float) -> Array:
    """Exact masses of the outputs 0, 1 and 2.

    >>> rare_leak_masses(1, leak=0.25)
    array([0.75, 0.  , 0.25])
    """
    return np.array([1 - leak, leak, 0.0] if data == 0 else [1 - leak, 0.0, leak])


ENTRIES = (
    Entry(
        name="low-probability-leak",
        title="Constant that shows the record now and then",
        claim=pure(0.5),
        neighbours=(0, 1),
        mechanism=batched(partial(rare_leak, leak=_LEAK)),
        holds=False,
        truth="with probability .0015 an output that the other record never gives",
        source="a worst case for tests with few runs, such as a debugging path that is rarely on",
        law=Law(partial(rare_leak_masses, leak=_LEAK), partial(integer_cells, low=0, high=2)),
        closed_form=math.inf,
        budget=45_000,
    ),
)
"""Leaks in rare events."""
