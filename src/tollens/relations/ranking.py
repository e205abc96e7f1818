"""Which records matter most when they come, go or change."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tollens.keys import Data

T = TypeVar("T")


def distinct(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Where each different key stands first, and how often it occurs."""
    firsts: dict[Hashable, int] = {}
    for i, key in enumerate(keys):
        firsts.setdefault(key, i)
    counts = Counter(keys)
    return list(firsts.values()), [counts[key] for key in firsts]


def weightiest_first(data: Data, firsts: list[int], counts: Sequence[int]) -> list[int]:
    """Where the records to remove stand, the likely worst first."""
    vectors = [_floats(data[i]) for i in firsts]
    norms = [None if vector is None else _norm(vector) for vector in vectors]
    if any(norm is None for norm in norms):
        return by_rank(firsts, counts)
    ranked = by_rank(firsts, [-norm for norm in norms if norm is not None])
    if any(vector is None or vector.ndim for vector in vectors):
        return ranked
    infinite = [i for i in ranked if _norm(_number(data[i])) == np.inf]
    finite = ranked[len(infinite) :]
    inwards = sorted(finite, key=lambda i: float(_number(data[i])))
    if finite and finite[0] == inwards[-1]:
        inwards.reverse()
    half = (len(inwards) + 1) // 2
    turns = itertools.zip_longest(inwards[:half], inwards[: half - 1 : -1])
    return infinite + [i for turn in turns for i in turn if i is not None]


def by_rank(items: Sequence[T], ranks: Sequence[float]) -> list[T]:
    """The items by their ranks, the lowest first; equal ranks keep their order."""
    return [items[i] for i in sorted(range(len(items)), key=ranks.__getitem__)]


def distance(record: object, other: object) -> float | None:
    """How far two numbers or two vectors lie apart, infinite if not finite, None for others."""
    a, b = _floats(record), _floats(other)
    if a is None or b is None or a.shape != b.shape:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        return _norm(a - b)


def _norm(vector: NDArray[np.float64]) -> float:
    if not vector.ndim:
        size = abs(float(vector))
        return size if size < np.inf else np.inf  # NaN counts as infinite
    largest = float(np.max(np.abs(vector), initial=0))
    if not np.isfinite(largest):
        return np.inf
    return largest and largest * float(np.sqrt(np.sum((vector / largest) ** 2)))


def _floats(record: object) -> NDArray[np.float64] | None:
    """A number or a vector of numbers as floats, None for anything else."""
    if isinstance(record, Real | np.bool_):
        return _number(record)
    if not isinstance(record, list | tuple | np.ndarray):
        return None
    try:
        vector = np.asarray(record)
    except ValueError:  # rows of different lengths
        return None
    return vector.astype(np.float64) if vector.dtype.kind in "biuf" else None


def _number(record: object) -> NDArray[np.float64]:
    try:
        return np.asarray(float(record))  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond all floats
        return np.asarray(np.inf)
