"""The list of promises: which of them are asked for, in which order, on which page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from tollens.errors import UsageError
from tollens.monitoring.overview import Standing

WORDS = ("ALARM", "failing", "stale", "watching", "new", "quiet")
"""The states, the most urgent first."""

PER_PAGE = 100

_LONGEST = 255


def _share(row: Standing) -> float:
    return row.state.evidence / row.state.threshold if row.state.threshold > 0 else 0.0


def _moment(row: Standing) -> float:
    return math.inf if row.state.updated_at is None else -row.state.updated_at.timestamp()


ORDERS: Mapping[str, Callable[[Standing], object]] = {
    "state": lambda row: (WORDS.index(row.state.word), -_share(row)),
    "name": lambda row: row.state.name,
    "evidence": lambda row: -_share(row),
    "leak": lambda row: -row.state.epsilon_lower,
    "steps": lambda row: -row.state.steps,
    "version": lambda row: row.state.version or "",
    "updated": _moment,
}
"""Orders by their names; what is urgent, large or recent comes first."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for: a part of the name, a state (an empty text is any), an order, a page."""

    q: str = ""
    state: str = ""
    sort: str = "state"
    page: int = 1

    def link(self, **changes: object) -> str:
        """The address of the list with some of it changed.

        >>> Query(q="a b").link(sort="name")
        '/?q=a+b&sort=name'
        """
        other = replace(self, **changes)  # type: ignore[arg-type]
        default = Query()
        given = {
            key: value
            for key in ("q", "state", "sort", "page")
            if (value := getattr(other, key)) != getattr(default, key)
        }
        return "/?" + urlencode(given) if given else "/"


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list, and how many series there are of each state."""

    query: Query
    rows: tuple[Standing, ...]
    found: int
    pages: int
    counts: Mapping[str, int]

    @property
    def first(self) -> int:
        """The place of the first row of this page, from 1."""
        return PER_PAGE * (self.query.page - 1) + 1


def read_query(given: Sequence[tuple[str, str]]) -> Query:
    """The parameters of an address; `UsageError` lists all that is wrong with them.

    >>> read_query([("sort", "colour")])
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: sort is 'colour'; it must be one of state, name, evidence, leak, \
steps, version, updated
    """
    findings = [
        f"there is no parameter {name[:40]!r}; there are q, state, sort and page"
        for name, _ in given
        if name not in ("q", "state", "sort", "page")
    ]
    values = {name: value for name, value in given if value}
    q, state = values.get("q", "").strip(), values.get("state", "")
    sort, page = values.get("sort", "state"), values.get("page", "1")
    if len(q) > _LONGEST:
        findings.append(f"q has {len(q)} letters; a name has at most {_LONGEST}")
    if state and state not in WORDS:
        findings.append(f"state is {state[:40]!r}; it must be one of {', '.join(WORDS)}")
    if sort not in ORDERS:
        findings.append(f"sort is {sort[:40]!r}; it must be one of {', '.join(ORDERS)}")
    number = whole(page, "page", findings)
    if findings:
        raise UsageError(findings)
    return Query(q, state, sort, number)


def whole(text: str, name: str, findings: list[str], *, least: int = 1) -> int:
    """A whole number of an address; a finding where it is none."""
    if text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) >= least:
        return int(text)
    findings.append(f"{name} is {text[:40]!r}; it must be a whole number of at least {least}")
    return least


def listing(rows: Sequence[Standing], query: Query) -> Listing:
    """The rows of a page. States are counted among those with this part in their name."""
    part = query.q.casefold()
    named = [row for row in rows if part in row.state.name.casefold()]
    counts = Counter(row.state.word for row in named)
    found = [row for row in named if query.state in ("", row.state.word)]
    found.sort(key=ORDERS[query.sort])  # type: ignore[arg-type]
    pages = max(1, math.ceil(len(found) / PER_PAGE))
    if query.page > pages:
        raise UsageError(f"page is {query.page}; the last one is {pages}")
    start = PER_PAGE * (query.page - 1)
    return Listing(query, tuple(found[start : start + PER_PAGE]), len(found), pages, counts)
