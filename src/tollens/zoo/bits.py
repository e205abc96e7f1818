"""Randomised response on the bits of a one-hot vector, as in one-time RAPPOR.

Two values differ in two bits. A bit that is flipped with probability f has the loss
`ln((1 - f)/f)`, so the vector has twice that (Erlingsson, Pihur, Korolova 2014).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import Claim, pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Cells, Law

_BITS = 5
_FLIP = 0.25


def one_hot_response(
    data: int, n: int, rng: np.random.Generator, *, bits: int = _BITS, flip: float = _FLIP
) -> NDArray[np.int8]:
    """Write the value as a one-hot vector and flip each bit with probability `flip`: (n, bits).

    >>> one_hot_response(0, 2, np.random.default_rng(0)).shape
    (2, 5)
    """
    one_hot = np.arange(bits) == data
    return np.asarray(one_hot ^ (rng.random((n, bits)) < flip), dtype=np.int8)


def vector_masses(data: int, *, bits: int, flip: float) -> Array:
    """Exact masses of all vectors, the first bit being the highest digit.

    >>> vector_masses(1, bits=2, flip=0.25)
    array([0.1875, 0.5625, 0.0625, 0.1875])
    """
    masses = np.ones(1)
    for i in range(bits):
        one = 1 - flip if i == data else flip
        masses = np.outer(masses, [1 - one, one]).ravel()
    return masses


def vector_cells(outputs: NDArray[np.integer]) -> Cells:
    """Read each vector as a number in base 2.

    >>> vector_cells(np.array([[1, 0], [1, 1]]))
    array([2, 3])
    """
    return np.asarray(outputs @ 2 ** np.arange(outputs.shape[1])[::-1])


def _entry(name: str, title: str, claim: Claim, *, holds: bool, source: str) -> Entry:
    return Entry(
        name=name,
        title=title,
        claim=claim,
        neighbours=(0, 1),
        mechanism=batched(partial(one_hot_response, bits=_BITS, flip=_FLIP)),
        holds=holds,
        truth="two bits differ, each is kept with probability 3/4: the loss is exactly ln 9",
        source=source,
        law=Law(partial(vector_masses, bits=_BITS, flip=_FLIP), vector_cells),
        closed_form=math.log(9),
        budget=20_000 if holds else 5_000,
    )


ENTRIES = (
    _entry(
        "rappor-tight",
        "One-time RAPPOR of 5 bits, exactly at its claim",
        pure("ln 9"),
        holds=True,
        source="Erlingsson, Pihur, Korolova 2014",
    ),
    _entry(
        "rappor-one-bit",
        "One-time RAPPOR with the budget of one bit",
        pure("ln 3"),
        holds=False,
        source="a slip: two values of a one-hot vector differ in two bits, not in one",
    ),
)
"""Randomised bits of a one-hot vector."""
