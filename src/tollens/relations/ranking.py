"""Which records are equal, and which matter most when they come, go or change."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from numbers import Number, Real
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Data = list[object] | tuple[object, ...] | NDArray[np.generic]
T = TypeVar("T")

_NAN = ("NaN",)


def keys_of(data: Data) -> list[Hashable]:
    """For each record something to compare: keys are equal where records are."""
    if isinstance(data, np.ndarray) and data.dtype.kind in "biufc":
        rows = np.ascontiguousarray(data + np.zeros((), dtype=data.dtype))  # -0.0 becomes 0.0
        if rows.dtype.kind in "fc":
            rows[np.isnan(rows)] = np.nan
        return [row.tobytes() for row in rows]
    return [key_of(record) for record in data]


def key_of(record: object, depth: int = 0) -> Hashable:
    """Something to compare in place of a record: equal for equal numbers of any type and for NaN.

    >>> key_of((1, float("nan"))) == key_of((True, float("nan"))), key_of([1]) == key_of((1,))
    (True, False)
    """
    if isinstance(record, np.number | np.bool_ | np.void):
        record = record.item()
    if isinstance(record, float | complex | np.inexact) and record != record:  # noqa: PLR0124
        return _NAN
    if isinstance(record, Number | str | bytes) or record is None:
        return _hashable(record)
    if depth > 30:
        return ("deep", id(record))
    if isinstance(record, np.ndarray):
        return ("array", record.shape, key_of(record.tolist(), depth + 1))
    if isinstance(record, list | tuple):
        return (type(record).__name__, tuple(key_of(item, depth + 1) for item in record))
    if isinstance(record, Mapping):
        return ("mapping", frozenset((k, key_of(v, depth + 1)) for k, v in record.items()))
    if isinstance(record, set | frozenset):
        return ("set", frozenset(record))
    return _hashable(record)


def _hashable(record: object) -> Hashable:
    try:
        hash(record)
    except TypeError:
        return ("object", id(record))
    return record


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
