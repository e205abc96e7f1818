"""Choosing an item by its score: the exponential mechanism and permute-and-flip.

Scores have sensitivity 1. The exponential mechanism takes item i with probability proportional
to `e^(f q_i)` and is 2f-DP (McSherry, Talwar 2007). Permute-and-flip looks at the items in random
order and takes one with probability `e^(f (q_i - max q))`; it has the law of noisy max with
exponential noise of mean 1/f (McKenna, Sheldon 2020; Ding et al. 2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import Claim, pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Law, integer_cells
from tollens.zoo.noisy_max import index_masses

_PAIR = ((1, 1, 1, 1, 1), (2, 2, 2, 2, 0))
_ITEMS = partial(integer_cells, low=0, high=4)


def exponential_choice(
    data: Sequence[float], n: int, rng: np.random.Generator, *, factor: float = 0.5
) -> NDArray[np.intp]:
    """Choose items with probability proportional to `e^(factor score)`.

    >>> exponential_choice((0, 9), 2, np.random.default_rng(0)).shape
    (2,)
    """
    ends = choice_masses(data, factor=factor).cumsum()[:-1]
    return np.asarray(np.searchsorted(ends, rng.random(n), side="right"))


def choice_masses(data: Sequence[float], *, factor: float) -> Array:
    """Exact probability of each item in the exponential mechanism.

    >>> choice_masses((0, 0), factor=0.5)
    array([0.5, 0.5])
    """
    scores = np.asarray(data, dtype=np.float64)
    weights = np.exp(factor * (scores - scores.max()))
    return np.asarray(weights / weights.sum())


def permute_and_flip(
    data: Sequence[float], n: int, rng: np.random.Generator, *, factor: float = 0.5
) -> NDArray[np.intp]:
    """Take the first item in a random order whose coin of `e^(factor (score - max))` is heads.

    >>> permute_and_flip((0, 9), 2, np.random.default_rng(0)).shape
    (2,)
    """
    scores = np.asarray(data, dtype=np.float64)
    rank, coins = rng.random((2, n, len(scores)))
    heads = coins < np.exp(factor * (scores - scores.max()))
    return np.asarray(np.where(heads, rank, 2.0).argmin(axis=1))


def _exponential(name: str, title: str, claim: Claim, factor: float, *, holds: bool) -> Entry:
    return Entry(
        name=name,
        title=title,
        claim=claim,
        neighbours=_PAIR,
        mechanism=batched(partial(exponential_choice, factor=factor)),
        holds=holds,
        truth="the last item has probability 1/5 and e^-f / (4 e^f + e^-f)",
        source="McSherry, Talwar 2007" if holds else "a slip: the factor epsilon, not epsilon/2",
        law=Law(partial(choice_masses, factor=factor), _ITEMS),
        closed_form=math.log((4 * math.exp(2 * factor) + 1) / 5),
        budget=20_000 if holds else 5_000,
    )


ENTRIES = (
    _exponential(
        "exponential-mechanism-tight",
        "Exponential mechanism, exactly at its loss on equal scores",
        pure(math.log((4 * math.e + 1) / 5)),
        0.5,
        holds=True,
    ),
    _exponential(
        "exponential-mechanism-no-half",
        "Exponential mechanism with twice the factor",
        pure(1),
        1.0,
        holds=False,
    ),
    Entry(
        name="permute-and-flip-tight",
        title="Permute-and-flip, exactly at its claim",
        claim=pure(1),
        neighbours=_PAIR,
        mechanism=batched(partial(permute_and_flip, factor=0.5)),
        holds=True,
        truth="the last item has probability 1/5 and e^-1/5: the loss is exactly 1",
        source="McKenna, Sheldon 2020",
        law=Law(partial(index_masses, scale=2.0), _ITEMS),
        closed_form=1.0,
    ),
)
"""The exponential mechanism and permute-and-flip."""
