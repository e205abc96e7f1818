"""Keys of records: equal where records are equal, for data of any kind."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Number

import numpy as np
from numpy.typing import NDArray

Data = list[object] | tuple[object, ...] | NDArray[np.generic]

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
