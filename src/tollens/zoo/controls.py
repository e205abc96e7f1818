"""Correct mechanisms that a careless test would call broken.

The loss reaches the claim only on rare outputs, or exactly delta is spent, or the code is wrong
in a way that is more private than claimed.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import approx, pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.gaussian import analytic_scale, gaussian_entry
from tollens.zoo.law import Array, Law, integer_cells

_BATCH = 16


def rare_atom_masses(data: int, *, atom: float) -> Array:
    """(atom e, atom, rest) for the record 0 and (atom, atom e, rest) for the record 1.

    >>> rare_atom_masses(0, atom=0.001).round(4)
    array([0.0027, 0.001 , 0.9963])
    """
    first, second = (math.e * atom, atom) if data == 0 else (atom, math.e * atom)
    return np.array([first, second, 1 - first - second])


def rare_atoms(
    data: int, n: int, rng: np.random.Generator, *, atom: float = 0.001
) -> NDArray[np.int64]:
    """0 or 1 with the masses of `rare_atom_masses`, 2 otherwise.

    >>> rare_atoms(0, 2, np.random.default_rng(0)).shape
    (2,)
    """
    ends = rare_atom_masses(data, atom=atom).cumsum()[:-1]
    return np.asarray(np.searchsorted(ends, rng.random(n), side="right"), dtype=np.int64)


def leaky_response(
    data: int, n: int, rng: np.random.Generator, *, leak: float = 0.01
) -> NDArray[np.int64]:
    """With probability `leak` 2 + the record, otherwise the record or its opposite at 3 to 1.

    >>> leaky_response(0, 2, np.random.default_rng(0)).shape
    (2,)
    """
    answer = np.where(rng.random(n) < 0.75, data, 1 - data)
    return np.where(rng.random(n) < leak, 2 + data, answer)


def leaky_masses(data: int, *, leak: float) -> Array:
    """Exact masses of the outputs 0, 1, 2 and 3.

    >>> leaky_masses(0, leak=0.5)
    array([0.375, 0.125, 0.5  , 0.   ])
    """
    masses = np.array([0.75 * (1 - leak), 0.25 * (1 - leak), leak, 0.0])
    return masses if data == 0 else masses[[1, 0, 3, 2]]


ENTRIES = (
    Entry(
        name="rare-atoms-tight",
        title="Loss exactly at the claim, on two atoms near .001 only",
        claim=pure(1),
        neighbours=(0, 1),
        mechanism=batched(partial(rare_atoms, atom=0.001)),
        holds=True,
        truth="two outputs with masses .001 and .001 e: the loss is exactly 1 on both",
        source="a worst case for tests that pick their event after the fact",
        law=Law(partial(rare_atom_masses, atom=0.001), partial(integer_cells, low=0, high=2)),
        closed_form=1.0,
    ),
    Entry(
        name="leaky-response-tight",
        title="Randomised response that spends exactly its delta",
        claim=approx("ln 3", 0.01),
        neighbours=(0, 1),
        mechanism=batched(partial(leaky_response, leak=0.01)),
        holds=True,
        truth="the record is shown with probability .01, otherwise the loss is exactly ln 3",
        source="Kairouz, Oh, Viswanath 2015",
        law=Law(partial(leaky_masses, leak=0.01), partial(integer_cells, low=0, high=3)),
        closed_form=math.log(3),
    ),
    gaussian_entry(
        "overnoised-mean",
        "Mean with the noise meant for the sum",
        approx(1, 0.01),
        analytic_scale(1, 0.01),
        holds=True,
        source="a fault that is more private: the mean of 16 gets the noise of the sum",
        divisor=_BATCH,
    ),
)
"""Correct mechanisms at the edge of their claim, or far inside it by mistake."""
