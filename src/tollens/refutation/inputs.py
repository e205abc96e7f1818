"""Inputs in exact form: rationals, texts, truth values, None, and lists, tuples, dicts of these.

A float counts as the decimal that it prints: 0.1 is 1/10.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tollens.errors import UsageError
from tollens.neighbours import Pair
from tollens.relations import Relation

LOOKED_AT = 64
"""Pairs of a relation whose inputs are looked at before a search begins."""

_DEEPEST = 50


def exact_data(value: object, place: str = "x", _depth: int = 0) -> object:
    """The input in exact form; `UsageError` for what has none.

    >>> exact_data([1, 0.1, True, "a"])
    [Fraction(1, 1), Fraction(1, 10), True, 'a']
    >>> exact_data([float("nan")])
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: x[0] is nan; a proof needs finite numbers
    """
    if _depth > _DEEPEST:
        raise UsageError(f"{place.partition('[')[0]} is nested more than {_DEEPEST} deep")
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise UsageError(f"{place} is {value}; a proof needs finite numbers")
        return Fraction(str(value))
    if isinstance(value, list | tuple):
        items = [exact_data(item, f"{place}[{i}]", _depth + 1) for i, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {
            exact_data(key, f"a key of {place}", _depth + 1): exact_data(
                item, f"{place}[{key!r}]", _depth + 1
            )
            for key, item in value.items()
        }
    raise UsageError(
        f"{place} is of type {type(value).__name__}; a proof needs numbers, texts, truth values, "
        "None, or lists, tuples and dictionaries of these"
    )


def exact_relation(relation: Relation) -> Relation:
    """The same pairs with inputs in exact form; the first `LOOKED_AT` are made at once.

    >>> import tollens
    >>> exact_relation(tollens.queries(2, by=0.1, center=0.2))[0].x_prime
    [Fraction(3, 10), Fraction(1, 5)]
    """
    levels = _levels(relation)
    size = len(relation)

    def make(i: int) -> Pair:
        pair = relation[i]
        names = (
            ("x", "x_prime") if size == 1 else (f"x of pair {i + 1}", f"x_prime of pair {i + 1}")
        )
        x, x_prime = (exact_data(v, n) for v, n in zip((pair.x, pair.x_prime), names, strict=True))
        if levels:
            x, x_prime = (
                [levels.get(v, v) for v in side] if isinstance(side, list) else side
                for side in (x, x_prime)
            )
        return Pair(x, x_prime, pair.relation)

    made = Relation(relation.name, size, make, relation.exact)
    findings: list[str] = []
    for i in range(min(size, LOOKED_AT)):
        try:
            made[i]
        except UsageError as error:
            findings += error.findings
    if findings:
        more = len(findings) - 5
        raise UsageError(findings[:5] + ([f"and {more} more of this kind"] if more > 0 else []))
    return made


def _levels(relation: Relation) -> dict[object, Fraction]:
    """What the rounded numbers of `queries` are exactly: center, or center and a part of by."""
    if relation.exact["kind"] != "queries":
        return {}
    by, center = (Fraction(str(relation.exact[name])) for name in ("by", "center"))
    parts = relation.exact["parts"]
    steps = [
        center + Fraction(level, k) * by
        for k in (parts if isinstance(parts, list) else ())
        for level in (-1, 0, 1)
    ]
    found: dict[object, Fraction] = {}
    for pair in relation[:LOOKED_AT]:
        for side in (exact_data(pair.x), exact_data(pair.x_prime)):
            for value in side if isinstance(side, list) else []:
                if isinstance(value, Fraction):
                    found[value] = min(steps, key=lambda step: abs(step - value))
    return found
