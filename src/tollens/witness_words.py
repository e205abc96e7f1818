"""Witnesses of certificates in words: events, and functions of the output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tollens.event import event_of, exact_words

_MOST_TERMS = 8
_ITEM = re.compile(r"output(\d+)")


def witness_words(witness: object) -> tuple[str, str]:
    """The kind and the words of a witness that the checker has read.

    >>> witness_words({"kind": "event", "patterns": [{"equals": "1"}]})
    ('proved event', 'output = 1')
    >>> terms = {"1": "-1", "output0*output1^2": "3/2"}
    >>> witness_words({"kind": "polynomial", "items": 2, "terms": terms, "unit": False})[1]
    'f = max(0, -1 + 1.5 output[0]*output[1]^2)'
    >>> square = {"kind": "square", "weights": ["1", "-1"], "coefficients": ["1/2", "0", "3"]}
    >>> witness_words(square)[1]
    'f = (0.5 + 3 y^2)^2, where y = output[0] - output[1]'
    """
    kind = witness.get("kind") if isinstance(witness, Mapping) else None
    if kind == "event":
        return "proved event", str(event_of(witness))
    if isinstance(witness, Mapping) and kind == "polynomial":
        return "proved mean", _polynomial_words(witness)
    if isinstance(witness, Mapping) and kind == "square":
        return "proved mean", _square_words(witness)
    return "proved mean", "a function f >= 0 of the output, in the certificate"


def _polynomial_words(witness: Mapping[str, object]) -> str:
    """The function that is a polynomial of the output where that is positive."""
    terms = witness.get("terms")
    said = _sum_words(terms) if isinstance(terms, Mapping) else "p(output)"
    most = f"max(0, {said})"
    return f"f = min(1, {most})" if witness.get("unit") is True else f"f = {most}"


def _square_words(witness: Mapping[str, object]) -> str:
    """The square of a polynomial in one number of the output."""
    weights, coefficients = (list(_listed(witness[key])) for key in ("weights", "coefficients"))
    simple = len(weights) == 1 and Fraction(str(weights[0])) == 1
    name = "output" if simple else "y"
    powers = ["1", name, *(f"{name}^{i}" for i in range(2, len(coefficients)))]
    said = f"f = ({_sum_words(_nonzero(powers, coefficients))})^2"
    if simple:
        return said
    items = ["output"] if len(weights) == 1 else [f"output{i}" for i in range(len(weights))]
    return f"{said}, where y = {_sum_words(_nonzero(items, weights))}"


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _nonzero(names: Sequence[str], values: Sequence[object]) -> dict[object, object]:
    """Terms of a sum, without those that are 0."""
    return {n: v for n, v in zip(names, values, strict=False) if Fraction(str(v)) != 0}


def _number(value: Fraction) -> str:
    """A coefficient: exactly, where that is short, or else six digits of it and a tilde."""
    said = exact_words(value)
    if not said.startswith("about") or value > 10**300:
        return said
    return f"~{float(value):.6g}"


def _sum_words(terms: Mapping[object, object]) -> str:
    said = ""
    for monomial, written in list(terms.items())[:_MOST_TERMS]:
        value = Fraction(str(written))
        number = _number(abs(value))
        name = _ITEM.sub(r"output[\1]", str(monomial))
        term = number if name == "1" else name if abs(value) == 1 else f"{number} {name}"
        if said:
            said += f" {'-' if value < 0 else '+'} {term}"
        else:
            said = f"-{term}" if value < 0 else term
    more = len(terms) - _MOST_TERMS
    return said + (f" + {more} more terms" if more > 0 else "") if said else "0"
