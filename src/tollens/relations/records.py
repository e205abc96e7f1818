"""Pairs of data sets that differ in one record: added, removed or replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollens.domains import Datasets, Domain
from tollens.domains.datasets import rows_like
from tollens.errors import UsageError
from tollens.keys import Data, key_of, keys_of
from tollens.relations.generated import added_over, given, replaced_over
from tollens.relations.ranking import by_rank, distance, distinct, weightiest_first
from tollens.relations.relation import Node, Relation


def add_remove(
    data: object, value: object = None, *, values: object = None, records: int = 1
) -> Relation:
    """Pairs of data sets of which one has one record more.

    `data` is a domain of data sets, such as `tollens.domains.lists(tollens.domains.reals(0, 1))`,
    or one data set. Over a domain, sizes, the records that both have and the record that one has
    more go through the domain's telling values, the first of each first; `records` is how many
    copies of it one has more.

    One data set is a list, a tuple or an array (records along the first axis). Each of its records
    is removed once, where equal records (1 and 1.0 are equal, and so are two NaN) count as one and
    the first of them goes: the order of records is taken not to matter. If a `value` or
    several `values` are given, each is also added once, at the end. The value None counts as not
    given; write `values=[None]` for it. x is always the larger data set.

    Additions come first. Then numbers go from both ends inwards, what is not finite before all
    others; vectors go by their Euclidean norm, the longest first; others go the rarest first.

    Data are copied when the relation is made, and again for each pair: a change of the data, or of
    one pair, reaches no other pair. Only the records themselves are shared.

    Raises `UsageError` for data of another type, for a value that an array of this type cannot
    hold, and where there is nothing to add or remove.

    >>> for pair in add_remove([0, 2, 0, 9], value=7):
    ...     print(pair.x, pair.x_prime)
    [0, 2, 0, 9, 7] [0, 2, 0, 9]
    [0, 2, 0, 9] [0, 2, 0]
    [0, 2, 0, 9] [2, 0, 9]
    [0, 2, 0, 9] [0, 0, 9]
    """
    if isinstance(data, Datasets):
        _check_over_domain("add_remove", value, values, records)
        return added_over(data, records)
    kept = _checked(data, "add_remove", records)
    added = _values(kept, value, values, "add_remove")
    firsts, counts = distinct(keys_of(kept))
    removed = weightiest_first(kept, firsts, counts)
    if not added and not removed:
        raise UsageError(
            "add_remove: the data are empty, so nothing can be removed; give a value to add"
        )

    def make(i: int) -> tuple[object, object]:
        if i < len(added):
            return _with(kept, added[i]), _copy(kept)
        return _copy(kept), _without(kept, removed[i - len(added)])

    def node(i: int) -> Node:
        if i < len(added):
            return given(kept, list(kept), [added[i]], [])
        place = removed[i - len(added)]
        return given(kept, list(_without(kept, place)), [kept[place]], [])

    exact = {"kind": "add_remove"}
    return Relation("add_remove", len(added) + len(removed), make, exact, nodes=node)


def substitute(
    data: object, value: object = None, *, values: object = None, records: int = 1
) -> Relation:
    """Pairs of data sets of the same size that differ in one record.

    `data` is a domain of data sets, see `add_remove`, or one data set. Over a domain `records` is
    how many records may differ, and no value is given: both come from the telling ones.

    One data set is a list, a tuple or an array (records along the first axis). x is the data; in x'
    one record is replaced by the `value`, or by one of several `values`, in its place. Equal
    records (1 and 1.0 are equal, and so are two NaN) count as one, of which the first is replaced:
    the order of records is taken not to matter. A record equal to the value is skipped. The value
    None counts as not given; write `values=[None]` for it.

    Numbers and vectors go by their distance from the value, the farthest first and what is not
    finite before all others; other records go the rarest first.

    Copies are made as `add_remove` makes them.

    Raises `UsageError` for data of another type, without a value, for a value that an array of
    this type cannot hold, and where all records equal the value.

    >>> for pair in substitute([1, 0, 5, 1], value=0):
    ...     print(pair.x, pair.x_prime)
    [1, 0, 5, 1] [1, 0, 0, 1]
    [1, 0, 5, 1] [0, 0, 5, 1]
    """
    if isinstance(data, Datasets):
        _check_over_domain("substitute", value, values, records)
        return replaced_over(data, records)
    kept = _checked(data, "substitute", records)
    new = _values(kept, value, values, "substitute")
    if not new:
        raise UsageError(
            "substitute: give the value that replaces a record, such as substitute(data, 0), or "
            "values=[...]"
        )
    old_keys, new_keys = keys_of(kept), keys_of(_rows(kept, new))
    firsts, counts = distinct(old_keys)
    replaced = [
        (i, j, count)
        for i, count in zip(firsts, counts, strict=True)
        for j, new_key in enumerate(new_keys)
        if old_keys[i] != new_key
    ]
    if not replaced:
        what = "the data are empty" if not len(kept) else "every record equals the value"
        raise UsageError(f"substitute: {what}, so nothing can be replaced; give another value")
    ranks: list[float] = []
    for i, j, count in replaced:
        apart = distance(kept[i], new[j])
        if apart is None:
            ranks = [float(count) for _, _, count in replaced]
            break
        ranks.append(-apart)
    ordered = by_rank(replaced, ranks)

    def make(i: int) -> tuple[object, object]:
        place, chosen, _ = ordered[i]
        return _copy(kept), _replaced(kept, place, new[chosen])

    def node(i: int) -> Node:
        place, chosen, _ = ordered[i]
        return given(kept, list(_without(kept, place)), [kept[place]], [new[chosen]])

    return Relation("substitute", len(ordered), make, {"kind": "substitute"}, nodes=node)


# What the caller gives


def _check_over_domain(name: str, value: object, values: object, records: object) -> None:
    findings = []
    if value is not None or values is not None:
        findings.append(f"{name}: over a domain no value is given; the domain has its own")
    if isinstance(records, bool) or not isinstance(records, int) or records < 1:
        findings.append(f"{name}: records is {records!r}; it must be a whole number of at least 1")
    if findings:
        raise UsageError(findings)


def _checked(data: object, name: str, records: int) -> Data:
    """A copy of the data, if they are of a type whose records can be told."""
    if records != 1:
        raise UsageError(
            f"{name}: several records at once are for domains, such as "
            "tollens.domains.lists(tollens.domains.reals(0, 1)); give a list of pairs instead"
        )
    if isinstance(data, Domain):
        raise UsageError(
            f"{name}: the domain is one of single values; give one of data sets, such as "
            "tollens.domains.lists(...)"
        )
    if isinstance(data, list | tuple) and type(data) in (list, tuple):
        return _copy(data)
    if type(data) is np.ndarray and data.ndim:
        return _copy(data)
    if isinstance(data, str):
        advice = "give a list of records, such as list(text)"
    else:
        advice = (
            "give a list, a tuple or a numpy array of records, or a domain such as "
            "tollens.domains.lists(tollens.domains.reals(0, 1)); for data of another type give the "
            "pairs themselves, as a list of tuples (x, x_prime)"
        )
    kind = "numpy array without an axis" if type(data) is np.ndarray else type(data).__name__
    raise UsageError(f"{name}: the data are a {kind}; {advice}")


def _values(data: Data, value: object, values: object, name: str) -> list[object]:
    """The given values without repetitions, for an array as rows of its type."""
    if values is None:
        given = [] if value is None else [value]
    elif value is not None:
        raise UsageError(f"{name}: give value or values, not both")
    elif isinstance(values, list | tuple | range):
        given = list(values)
    elif isinstance(values, np.ndarray) and values.ndim:
        given = values.tolist() if values.ndim == 1 else list(values)
    else:
        raise UsageError(
            f"{name}: values is a {type(values).__name__}; give a list of records, or one record "
            "as value"
        )
    if isinstance(data, np.ndarray):
        given = [_row(data, record, name) for record in given]
    firsts, _ = distinct(keys_of(_rows(data, given)))
    return [given[i] for i in firsts]


def _row(data: NDArray[np.generic], value: Any, name: str) -> object:
    """The value as a row of the array; `UsageError` where the array would change it."""
    row = np.empty((1, *data.shape[1:]), dtype=data.dtype)
    try:
        single = row.ndim == 1 and row.dtype.kind in "OV"  # a list or tuple may be one record
        if not single and np.shape(value) != row.shape[1:]:
            raise UsageError(
                f"{name}: the value has shape {np.shape(value)}, but the records of the array "
                f"have shape {row.shape[1:]}; give a value of that shape"
            )
        with np.errstate(over="ignore"):
            row[0] = value
        holds = _holds(row, value)
    except (ValueError, TypeError, OverflowError):
        holds = False
    if not holds:
        raise UsageError(
            f"{name}: an array of {data.dtype} cannot hold the value {value!r}; give one that it "
            "can hold, or an array of another type"
        )
    return row[0]


def _holds(row: NDArray[np.generic], value: Any) -> bool:
    """Whether a row took the value unchanged; floats may be rounded."""
    if row.dtype.kind == "O":
        return True
    if row.dtype.kind == "V":
        given = value.item() if isinstance(value, np.void) else value
        return isinstance(given, tuple) and key_of(row.tolist()[0]) == key_of(given)
    if row.dtype.kind in "fc":
        given = np.asarray(value)
        return given.dtype.kind in "biufc" and np.array_equal(
            np.isfinite(row[0]), np.isfinite(given)
        )
    return np.array_equal(row[0], np.asarray(value))


def _rows(data: Data, values: list[object]) -> Data:
    """Values of the data's type, in one container of the same type."""
    return rows_like(data, values) if isinstance(data, np.ndarray) else values


# Data sets with one record more, less or other


def _copy(data: Data) -> Data:
    return data if isinstance(data, tuple) else data.copy()


def _with(data: Data, value: object) -> Data:
    if isinstance(data, np.ndarray):
        return np.concatenate([data, _rows(data, [value])])
    return [*data, value] if isinstance(data, list) else (*data, value)


def _without(data: Data, place: int) -> Data:
    if isinstance(data, np.ndarray):
        return np.delete(data, place, axis=0)
    return data[:place] + data[place + 1 :]  # type: ignore[operator]


def _replaced(data: Data, place: int, value: Any) -> Data:
    if isinstance(data, tuple):
        return (*data[:place], value, *data[place + 1 :])
    changed = data.copy()
    changed[place] = value
    return changed
