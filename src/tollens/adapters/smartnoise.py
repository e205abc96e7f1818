"""SmartNoise SQL: a query of a private reader, asked anew of each data frame.

`functools.partial(reader.execute, "SELECT ...")` is the mechanism of data frames. The reader's own
data are not looked at; its privacy and metadata are those of each run. What it promises is what the
reader says that the query costs.
"""

from __future__ import annotations

import copy
import functools
import textwrap
from dataclasses import replace
from typing import Any, cast

from tollens.claim import Claim, approx, pure
from tollens.errors import ClaimError, UsageError
from tollens.mechanism import Mechanism, from_callable

_HOW = 'give functools.partial(reader.execute, "SELECT ..."), and data frames as neighbours'


def recognises(mechanism: object) -> bool:
    """Whether it is a private reader, or a `partial` of its `execute`.

    >>> recognises(print)
    False
    """
    return _of_snsql(_reader(mechanism) if isinstance(mechanism, functools.partial) else mechanism)


def wrap(mechanism: object) -> Mechanism:
    """Make a mechanism of a query: each run asks a new reader of the frame, and returns its rows.

    Raises `UsageError` for a reader without a query, and for one of another engine than pandas.
    """
    reader, query = _parts(mechanism)
    if getattr(reader, "engine", None) != "pandas":
        raise UsageError(
            f"{_name(query)}: its reader asks {getattr(reader, 'engine', 'no data')}; make one of "
            "a pandas data frame, such as snsql.from_df(frame, privacy=..., metadata=...)"
        )
    each = from_callable(functools.partial(_rows, reader, query), name=_name(query))
    return replace(each, packages=("smartnoise-sql", "opendp"))


def read_promise(mechanism: object, d_in: object) -> Claim:
    """What the reader says that the query costs, for all rows of one person.

    Raises `UsageError` for a `d_in` other than 1 and for a query that the reader cannot rewrite.
    """
    reader, query = _parts(mechanism)
    if d_in != 1:
        raise UsageError(
            f"{_name(query)} states its promise for one person, not for d_in={d_in!r}; state the "
            "claim"
        )
    try:
        epsilon, delta = (float(value) for value in reader.get_privacy_cost(query))
        return approx(epsilon, delta) if delta > 0 else pure(epsilon)
    except ClaimError as error:
        raise UsageError(f"{_name(query)} promises nothing: {error}") from error
    except Exception as error:
        raise UsageError(
            f"{_name(query)} promises nothing: {' '.join(str(error).split())[-250:]}"
        ) from error


def _rows(reader: Any, query: str, frame: object) -> list[tuple[object, ...]]:
    """The rows of the answer, without the names of its columns."""
    fresh = type(reader).from_connection(
        frame, privacy=copy.deepcopy(reader.privacy), metadata=reader.metadata
    )
    return [tuple(row) for row in fresh.execute(query)[1:]]


def _parts(mechanism: object) -> tuple[Any, str]:
    """The reader and the query."""
    if not isinstance(mechanism, functools.partial):
        kind = type(mechanism).__name__
        raise UsageError(f"a SmartNoise {kind} is not sampled by itself; {_HOW}")
    query = mechanism.args[0] if len(mechanism.args) == 1 else None
    if mechanism.func.__name__ != "execute" or not isinstance(query, str) or mechanism.keywords:
        raise UsageError(f"a query of SmartNoise is one text; {_HOW}")
    return _reader(mechanism), query


def _reader(mechanism: functools.partial[object]) -> object:
    return cast(object, getattr(mechanism.func, "__self__", None))


def _of_snsql(mechanism: object) -> bool:
    return any(base.__module__.partition(".")[0] == "snsql" for base in type(mechanism).__mro__)


def _name(query: str) -> str:
    return textwrap.shorten(f"SmartNoise SQL {query}", 100, placeholder="...")
