"""Promises in a settings file, for code that is not to be touched: `[[tool.tollens.promises]]`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tollens.claim import Claim, parse_claim
from tollens.discovery import Found
from tollens.errors import TollensError, UsageError, collect
from tollens.promises import Declared, declared
from tollens.request import Request, neighbours_of
from tollens.serial import data_from_json
from tollens.targets import load_target, split_target

T = TypeVar("T")

_KEYS = ("target", "claim", "neighbours")
_PAIR = ("x", "x_prime")


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its place in words, and what it says; `neighbours` is a text or data."""

    place: str
    target: str
    claim: Claim | None
    neighbours: object


def read_tables(file: Path, tables: object) -> list[Table]:
    """The tables of a settings file; `UsageError` names each fault by file, number and key.

    A target is "package.module:name", or "path/file.py::name" as seen from the folder of the file.
    A claim may be missing where the object or its declaration has one, and so may neighbours. These
    are a text as `--neighbours` takes it, a table {x, x_prime} of JSON-like data, or a list of
    such tables.

    >>> one = {"target": "counts:noisy", "claims": "epsilon=1", "neighbours": "queries:2"}
    >>> read_tables(Path("tollens.toml"), [one])
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: tollens.toml, promise 1: unknown key 'claims'; did you mean 'claim'?
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(
            f"{file}: promises must be tables; write [[tool.tollens.promises]] in pyproject.toml, "
            "[[promises]] in another file"
        )
    findings: list[str] = []
    read = [
        _table(file, f"{file}, promise {number}", table, findings)
        for number, table in enumerate(tables, 1)
    ]
    if findings:
        raise UsageError(findings)
    return read


def _table(file: Path, place: str, table: Mapping[str, object], findings: list[str]) -> Table:
    own: list[str] = []
    for name in table:
        if name not in _KEYS:
            near = difflib.get_close_matches(name, _KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_KEYS)}"
            own.append(f"unknown key {name!r}; {hint}")

    def part(name: str, make: Callable[[], T]) -> T | None:
        """What `make` returns; None, and findings that name the key, where it finds fault."""
        faults: list[str] = []
        made = collect(faults, make)
        own.extend(f"{name}: {fault}" for fault in faults)
        return made

    target = part("target", lambda: _target(table.get("target"), file))
    claim = part("claim", lambda: _claim(table.get("claim")))
    neighbours = part("neighbours", lambda: _neighbours(table.get("neighbours")))
    findings += [f"{place}: {finding}" for finding in own]
    return Table(place, target or "", claim, neighbours)


def _target(value: object, file: Path) -> str:
    """A target of a settings file, as one that is seen from the working folder."""
    if not isinstance(value, str):
        raise UsageError(
            f'it is {"missing" if value is None else repr(value)}; write "path/file.py::name" or '
            '"package.module:name"'
        )
    place, name = split_target(value)
    if not place.endswith(".py"):
        return value
    found = Path(os.path.abspath(file.absolute().parent / place))  # noqa: PTH100 - links are kept
    here = Path.cwd()
    seen = found.relative_to(here) if found.is_relative_to(here) else found
    return f"{seen.as_posix()}::{name}"


def _claim(value: object) -> Claim | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f'it is {value!r}; write a text such as "epsilon=1"')
    return parse_claim(value)


def _neighbours(value: object) -> object:
    """A text as it is; one pair or a list of pairs as data."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        return [_pair(item) for item in value]
    return _pair(value)


def _pair(value: object) -> tuple[object, object]:
    if not isinstance(value, dict) or set(value) != set(_PAIR):
        raise UsageError(
            f'it is {value!r}; write a text such as "queries:10:all", a table '
            "{x = [1, 1], x_prime = [1]}, or a list of such tables"
        )
    return data_from_json(value["x"]), data_from_json(value["x_prime"])


def load_tables(tables: Sequence[Table]) -> tuple[list[Found], list[str]]:
    """What the tables declare, and the problems of those that cannot be loaded."""
    found: list[Found] = []
    problems: list[str] = []
    for table in tables:
        try:
            mechanism = load_target(table.target)
        except TollensError as error:
            problems.append(f"{table.place}: target: {error}")
            continue
        own = declared(mechanism) or Declared(None, None)
        try:
            neighbours = _named(table, own.neighbours)
        except TollensError as error:
            problems.append(f"{table.place}: neighbours: {error}")
            continue
        claim = own.claim if table.claim is None else table.claim
        found.append(Found(table.target, mechanism, Declared(claim, neighbours)))
    return found, problems


def _named(table: Table, own: object) -> object:
    """The neighbours of a table; those of the object's own declaration where it has none."""
    if isinstance(table.neighbours, str):
        return neighbours_of(Request(table.target, neighbours=table.neighbours), own)
    if table.neighbours is None and own is None:
        raise UsageError(f'missing, and {table.target} declares none; write "queries:10" or a pair')
    return own if table.neighbours is None else table.neighbours
