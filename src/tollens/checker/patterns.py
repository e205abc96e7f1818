"""Patterns of outputs: what an event is made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.clock import tick
from tollens.checker.documents import entries, plain, rational, value
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form, plus, scaled

MAX_PATTERNS, MAX_DEPTH = 1_000, 20


@dataclass(frozen=True, slots=True)
class Anything:
    """Every output."""


@dataclass(frozen=True, slots=True)
class Equals:
    """One exact value; truth values are no numbers."""

    value: object


@dataclass(frozen=True, slots=True)
class Between:
    """Numbers of a closed interval; None is no end."""

    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, slots=True)
class Items:
    """Lists or tuples of this length, item by item."""

    items: tuple[Pattern, ...]


Pattern = Anything | Equals | Between | Items


def read_event(witness: object) -> tuple[Pattern, ...]:
    """The patterns of a witness that is an event; they must exclude each other."""
    given = entries(witness, "the witness", allowed=("kind", "patterns"))
    patterns = given["patterns"]
    if given["kind"] != "event" or not isinstance(patterns, list) or not patterns:
        raise CertificateError("the witness is no event with patterns")
    if len(patterns) > MAX_PATTERNS:
        raise CertificateError(f"the event has more than {MAX_PATTERNS} patterns")
    read = tuple(_read(pattern, 0) for pattern in patterns)
    for i, one in enumerate(read):
        tick()
        if any(not disjoint(one, other) for other in read[:i]):
            raise CertificateError(f"pattern {i + 1} of the event overlaps one before it")
    return read


def _read(data: object, depth: int) -> Pattern:
    if depth > MAX_DEPTH:
        raise CertificateError("a pattern is nested too deeply")
    match data:
        case {"any": True, **rest} if not rest:
            return Anything()
        case {"equals": inner, **rest} if not rest:
            return Equals(_frozen(value(inner, "the event")))
        case {"between": [low, high], **rest} if not rest:
            ends = [None if end is None else rational(end, "the event") for end in (low, high)]
            if ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]:
                raise CertificateError("an interval of the event is empty")
            return Between(ends[0], ends[1])
        case {"items": list(items), **rest} if not rest:
            return Items(tuple(_read(item, depth + 1) for item in items))
    raise CertificateError("a pattern is one of any, equals, between, items")


def write(pattern: Pattern) -> dict[str, object]:
    """The JSON of a pattern.

    >>> write(Items((Equals(True), Between(None, Fraction(1, 2)))))
    {'items': [{'equals': True}, {'between': [None, '1/2']}]}
    """
    match pattern:
        case Anything():
            return {"any": True}
        case Equals(found):
            return {"equals": plain(found)}
        case Between(low, high):
            return {"between": [None if end is None else str(end) for end in (low, high)]}
        case Items(items):
            return {"items": [write(item) for item in items]}


def _frozen(data: object) -> object:
    """An output has tuples where data has lists."""
    return tuple(map(_frozen, data)) if isinstance(data, list | tuple) else data


def disjoint(one: Pattern, other: Pattern) -> bool:
    """Whether no output can match both patterns (if in doubt, no)."""
    match one, other:
        case Equals(a), Equals(b):
            return not _same(a, b)
        case Between(low, high), Between(low_other, high_other):
            return (high is not None and low_other is not None and high < low_other) or (
                high_other is not None and low is not None and high_other < low
            )
        case Items(a), Items(b):
            tick()
            return len(a) != len(b) or any(map(disjoint, a, b))
        case (Equals(found), (Between() | Items())):
            return matched(other, found) is None
        case ((Between() | Items()), Equals(found)):
            return matched(one, found) is None
        case (Between(), Items()) | (Items(), Between()):
            return True
    return False


def matched(pattern: Pattern, output: object) -> list[Form] | None:
    """The constraints (each >= 0) under which an output matches; None if it never does.

    An output that depends on a continuous draw equals a constant with probability 0.

    >>> matched(Between(Fraction(0), None), Form(Fraction(2), ((0, Fraction(1)),)))
    [Form(constant=Fraction(2, 1), terms=((0, Fraction(1, 1)),))]
    >>> matched(Equals(True), False) is None
    True
    """
    match pattern:
        case Anything():
            return []
        case Equals(wanted):
            return [] if _same(wanted, output) else None
        case Items(items):
            if not isinstance(output, tuple) or len(output) != len(items):
                return None
            made: list[Form] = []
            for inner, item in zip(items, output, strict=True):
                constraints = matched(inner, item)
                if constraints is None:
                    return None
                made += constraints
            return made
        case Between(low, high):
            if not isinstance(output, Fraction | Form):
                return None
            sides = [] if low is None else [plus(output, -low)]
            sides += [] if high is None else [plus(scaled(output, Fraction(-1)), high)]
            if any(isinstance(side, Fraction) and side < 0 for side in sides):
                return None
            return [side for side in sides if isinstance(side, Form)]


def _same(wanted: object, found: object) -> bool:
    """Equality that tells truth values from numbers."""
    if isinstance(wanted, tuple) and isinstance(found, tuple):
        return len(wanted) == len(found) and all(map(_same, wanted, found))
    return type(wanted) is type(found) and wanted == found
