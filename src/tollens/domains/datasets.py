"""Domains of data sets: records of one domain in a list, an array or a data frame.

All data sets of a domain are of one type: an array has the type that holds all telling values of
its records, and so does each column of a frame. A record of another type gives nothing else away.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollens.domains.make import are_sizes, rows
from tollens.domains.values import Domain, Rows
from tollens.errors import UsageError
from tollens.keys import key_of

SIZES = (1, 0, 4, 20, 100)
"""Numbers of records that are tried where none are given, the first ones most."""

MOST_RECORDS = 1_000_000
"""Records of a data set at most."""

_FRAMES = ("pandas", "polars")


@dataclass(frozen=True)
class Datasets:
    """Data sets of `sizes` records each; see `lists`, `arrays` and `frames`.

    Shrunken data sets have a size between the smallest and the largest of `sizes`.
    """

    record: Domain
    sizes: tuple[int, ...]
    form: str

    def build(self, records: Sequence[object]) -> object:
        """The data set of these records, a new object each time."""
        if self.form == "list":
            return list(records)
        if self.form in _FRAMES:
            return self._frame(records)
        return self._array(records)

    def _array(self, records: Sequence[object]) -> NDArray[np.generic]:
        return rows_like(self._telling_array, records)

    def _frame(self, records: Sequence[object]) -> object:
        columns = {name: [_field(each, name) for each in records] for name in self._names}
        if self.form == "pandas":
            import pandas

            return pandas.DataFrame(columns).astype(self._telling_frame.dtypes)
        import polars

        return polars.DataFrame(columns, schema=self._telling_frame.schema)

    @property
    def _names(self) -> list[str]:
        if not isinstance(self.record, Rows):
            raise AssertionError("the records of frames are rows")
        return [name for name, _ in self.record.fields]

    @cached_property
    def _telling_array(self) -> NDArray[np.generic]:
        """The telling values as an array, of objects where another type would change a value."""
        values = self.record.telling()
        exact = _of_objects(values)
        try:
            plain = np.array(values)
        except ValueError:  # lists of different lengths
            return exact
        return plain if _leaves(plain) == _leaves(exact) else exact

    @cached_property
    def _telling_frame(self) -> Any:
        """The telling values as a frame, whose types of columns all frames have."""
        values = self.record.telling()
        columns = {name: [_field(each, name) for each in values] for name in self._names}
        if self.form == "pandas":
            import pandas

            return pandas.DataFrame(columns)
        import polars

        return polars.DataFrame(columns, strict=False)


def rows_like(like: NDArray[np.generic], records: Sequence[object]) -> NDArray[np.generic]:
    """An array of the same type and shape of rows as another one.

    >>> rows_like(np.zeros((5, 2)), [[1, 2]])
    array([[1., 2.]])
    """
    made = np.empty((len(records), *like.shape[1:]), dtype=like.dtype)
    for i, record in enumerate(records):
        made[i] = record
    return made


def _of_objects(values: Sequence[object]) -> NDArray[np.object_]:
    """Values as objects, lists and tuples of one length as rows."""
    try:
        return np.array(values, dtype=object)
    except ValueError:  # arrays of different shapes
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made


def _leaves(array: NDArray[np.generic]) -> list[Hashable]:
    """The values of an array, to compare; True counts as 1."""
    return [key_of(each) for each in array.ravel().tolist()]


def _field(record: object, name: str) -> object:
    if not isinstance(record, Mapping):
        raise AssertionError("the records of frames are dictionaries")
    return record[name]


def lists(record: Domain, *, sizes: Sequence[int] = SIZES) -> Datasets:
    """Lists of records of one domain; `sizes` are numbers of records.

    Give one size where the number of records is public and fixed.

    >>> from tollens import domains
    >>> domains.lists(domains.reals(0, 1)).build([1.0, 0.0])
    [1.0, 0.0]
    """
    return Datasets(_checked(record, "lists"), _sizes(sizes, "lists"), "list")


def tables(fields: Mapping[str, Domain], *, sizes: Sequence[int] = SIZES) -> Datasets:
    """Tables as lists of dictionaries, each field of its own domain.

    >>> from tollens import domains
    >>> table = domains.tables({"age": domains.integers(0, 99)})
    >>> table.build([{"age": 5}])
    [{'age': 5}]
    """
    return Datasets(rows(fields), _sizes(sizes, "tables"), "list")


def arrays(record: Domain, *, sizes: Sequence[int] = SIZES) -> Datasets:
    """Numpy arrays, records along the first axis.

    >>> from tollens import domains
    >>> domains.arrays(domains.vectors(domains.reals(0, 1), 2)).build([]).shape
    (0, 2)
    """
    return Datasets(_checked(record, "arrays"), _sizes(sizes, "arrays"), "array")


def frames(
    fields: Mapping[str, Domain], *, sizes: Sequence[int] = SIZES, library: str = "pandas"
) -> Datasets:
    """Data frames of pandas or polars, each column of its own domain."""
    if library not in _FRAMES:
        raise UsageError(f"frames: library is {library!r}; use 'pandas' or 'polars'")
    return Datasets(rows(fields), _sizes(sizes, "frames"), library)


def _checked(record: object, name: str) -> Domain:
    if isinstance(record, Domain):
        return record
    raise UsageError(
        f"{name}: the record is a {type(record).__name__}; give the domain of one record, such as "
        "domains.reals(0, 1)"
    )


def _sizes(sizes: Sequence[int], name: str) -> tuple[int, ...]:
    if not are_sizes(sizes):
        raise UsageError(f"{name}: sizes is {sizes!r}; give numbers of records, such as [1, 10]")
    if max(sizes) > MOST_RECORDS:
        raise UsageError(
            f"{name}: sizes is {sizes!r}; data sets of at most {MOST_RECORDS:,} records are made"
        )
    return tuple(dict.fromkeys(map(int, sizes)))
