"""Domains of data sets: records of one domain in a list, a tuple, an array or a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tollens.domains.make import rows
from tollens.domains.values import Domain, Rows
from tollens.errors import UsageError

SIZES = (1, 0, 4, 20, 100)
"""Numbers of records that are tried where none are given, the first ones most."""

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
        if self.form == "tuple":
            return tuple(records)
        if self.form in _FRAMES:
            return self._frame(records)
        return self._array(records)

    def _array(
        self, records: Sequence[object]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        like = np.array(self.record.telling()[:1] if not len(records) else list(records))
        return like if len(records) else like[:0]

    def _frame(self, records: Sequence[object]) -> object:
        if not isinstance(self.record, Rows):
            raise AssertionError("the records of frames are rows")
        names = [name for name, _ in self.record.fields]
        like = records or self.record.telling()[:1]
        columns = {name: [_field(record, name) for record in like] for name in names}
        if self.form == "pandas":
            import pandas

            frame = pandas.DataFrame(columns)
            return frame if len(records) else frame.iloc[:0]
        import polars

        made = polars.DataFrame(columns)
        return made if len(records) else made.clear()


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
    found = tuple(sizes)
    if not found or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in found):
        raise UsageError(f"{name}: sizes is {sizes!r}; give numbers of records, such as [1, 10]")
    return found
