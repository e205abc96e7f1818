"""Relations as texts, for the command line: `queries:10:one:by=2`, `substitute:[1,0,1]:0`."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence

from tollens.errors import UsageError
from tollens.relations.answers import queries
from tollens.relations.records import add_remove, substitute
from tollens.relations.relation import Relation
from tollens.relations.singles import numbers
from tollens.serial import data_from_json, parse_json

_FORMS = {
    "add_remove": "add_remove:[1,0,1]",
    "numbers": "numbers or numbers:by=2:low=0:high=10:whole",
    "queries": "queries:10 or queries:10:one:by=2",
    "substitute": "substitute:[1,0,1]:0",
}
_OPTIONS = ("by", "center", "change")
_NUMBER_OPTIONS = ("by", "low", "high", "whole")
_NAME = re.compile(r"(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)\s*(:|$)")
_CONSTANTS = ("true", "false", "null", "NaN", "Infinity")


def parse_relation(text: str, *, data_of: Callable[[str], object] | None = None) -> Relation | None:
    """The relation that a text names, or None if it may name an object of the caller's.

    The forms:

    * `numbers`, then any of `by=NUMBER`, `low=NUMBER`, `high=NUMBER` and `whole`
    * `queries:N`, then any of `all`, `one` or `sum`, `by=NUMBER` and `center=NUMBER`
    * `add_remove:DATA`, then values to add
    * `substitute:DATA:VALUE`, then more values

    Each option and each value stands after a colon. DATA and values are JSON. Where `data_of` is
    given, DATA may also be a name such as `rows`, for which `data_of("rows")` is asked.

    None is returned for a text that has no colon and is not the bare name of a relation. Raises
    `UsageError` for a text with a colon that starts with no relation's name, and for what cannot
    be read or does not make a relation.

    >>> parse_relation("queries:3:one:by=2")[0]
    Pair(x=[0, 0, 0], x_prime=[2, 0, 0], relation='queries, pair 1 of 15')
    >>> parse_relation("substitute:[1,0,1]:0")[0].x_prime
    [0, 0, 1]
    >>> parse_relation("pair_of_my_file") is None
    True
    >>> parse_relation("querys:3")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: there is no relation 'querys'; did you mean 'queries'? Write \
queries:10 or queries:10:one:by=2
    """
    name, colon, rest = text.strip().partition(":")
    name = name.strip()
    if name not in _FORMS:
        if not colon:
            return None
        raise UsageError(_unknown(name))
    if name == "numbers":
        return _numbers(rest)
    if not rest.strip():
        needs = "the number of queries" if name == "queries" else "data"
        raise UsageError(f"{name} needs {needs}: write {_FORMS[name]}")
    if name == "queries":
        return _queries(rest)
    data, *values = _pieces(rest, name, data_of)
    if name == "add_remove":
        return add_remove(data, values=values)
    if not values:
        raise UsageError(f"substitute needs the value that replaces a record: {_FORMS[name]}")
    return substitute(data, values=values)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _FORMS, n=1, cutoff=0.5)
    if near:
        return f"there is no relation {name!r}; did you mean {near[0]!r}? Write {_FORMS[near[0]]}"
    return (
        f"there is no relation {name!r}; write {', '.join(_FORMS.values())}, or the name of "
        "an object in the target's file"
    )


def _queries(text: str) -> Relation:
    count, *words = (word.strip() for word in text.split(":"))
    findings = []
    if not re.fullmatch(r"\d{1,9}", count, re.ASCII):
        findings.append(f"queries: {count!r} is not a number of queries; write {_FORMS['queries']}")
    words = [word if "=" in word else f"change={word}" for word in words]
    options = _options(words, "queries", _OPTIONS, findings)
    given = _given_numbers(options, "queries", ("by", "center"), findings)
    if findings:
        raise UsageError(sorted(findings))
    return queries(int(count), options.get("change", "all"), **given)


def _numbers(text: str) -> Relation:
    words = [word.strip() for word in text.split(":")] if text.strip() else []
    findings: list[str] = []
    options = _options(words, "numbers", _NUMBER_OPTIONS, findings)
    given = _given_numbers(options, "numbers", ("by", "low", "high"), findings)
    if options.get("whole"):
        findings.append("numbers: whole takes no value; write numbers:whole")
    if findings:
        raise UsageError(sorted(findings))
    return numbers(**given, whole="whole" in options)


def _options(
    words: Sequence[str], relation: str, known: Sequence[str], findings: list[str]
) -> dict[str, str]:
    """Words of the form key=value by their keys; a key alone has an empty value."""
    options: dict[str, str] = {}
    for word in words:
        key, _, value = (part.strip() for part in word.partition("="))
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            findings.append(f"{relation}: there is no option {key!r}; {hint}")
        elif key in options:
            findings.append(f"{relation}: {key} is given twice")
        else:
            options[key] = value
    return options


def _given_numbers(
    options: Mapping[str, str], relation: str, names: Sequence[str], findings: list[str]
) -> dict[str, int | float]:
    """Those of the options that are numbers."""
    found: dict[str, int | float] = {}
    for name in names:
        if name not in options:
            continue
        try:
            number = parse_json(options[name], f"{relation}: {name}")
        except UsageError:
            number = None
        if isinstance(number, int | float) and not isinstance(number, bool):
            found[name] = number
        else:
            findings.append(f"{relation}: {name} is {options[name]!r}; it must be a number")
    return found


def _pieces(text: str, relation: str, data_of: Callable[[str], object] | None) -> list[object]:
    """The data and the values of a text, which are JSON and may hold colons themselves."""
    pieces: list[object] = []
    rest: str | None = text
    while rest is not None:
        rest = rest.strip()
        what = f"{relation}: value {len(pieces)}" if pieces else f"{relation}: the data"
        named = _NAME.match(rest)
        if named and named["name"] not in _CONSTANTS:
            if data_of is None or pieces:
                raise UsageError(
                    f"{what} is {named['name']!r}, which is not JSON; {_quoted(relation)}"
                )
            pieces.append(data_of(named["name"]))
            end = named.end("name")
        else:
            end = _json_end(rest)
            try:
                pieces.append(data_from_json(parse_json(rest[:end], what)))
            except UsageError as error:
                raise UsageError(
                    [
                        f"{finding}; write data as JSON, or name an object of the target's file, "
                        "such as a relation over a domain"
                        for finding in error.findings
                    ]
                ) from None
        after = rest[end:].lstrip()
        if after and not after.startswith(":"):
            raise UsageError(f"{what} is followed by {after[:20]!r}; {_quoted(relation)}")
        rest = after[1:] if after else None
    return pieces


def _json_end(text: str) -> int:
    """Where the JSON value at the start of a text ends; the whole text if there is none."""
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return len(text)
    return end


def _quoted(relation: str) -> str:
    return f'write {_FORMS[relation]}, texts in quotes: ["a","b"]'
