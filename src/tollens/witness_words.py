"""Witnesses of certificates in words: events, and functions of the output."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    """
    kind = witness.get("kind") if isinstance(witness, Mapping) else None
    if kind == "event":
        return "proved event", str(event_of(witness))
    if isinstance(witness, Mapping) and kind == "polynomial":
        return "proved mean", _polynomial_words(witness)
    return "proved mean", "a function f >= 0 of the output, in the certificate"


def _polynomial_words(witness: Mapping[str, object]) -> str:
    """The function that is a polynomial of the output where that is positive."""
    terms = witness.get("terms")
    said = _sum_words(terms) if isinstance(terms, Mapping) else "p(output)"
    most = f"max(0, {said})"
    return f"f = min(1, {most})" if witness.get("unit") is True else f"f = {most}"


def _sum_words(terms: Mapping[object, object]) -> str:
    said = ""
    for monomial, written in list(terms.items())[:_MOST_TERMS]:
        value = Fraction(str(written))
        number = exact_words(abs(value))
        name = _ITEM.sub(r"output[\1]", str(monomial))
        term = number if name == "1" else name if abs(value) == 1 else f"{number} {name}"
        if said:
            said += f" {'-' if value < 0 else '+'} {term}"
        else:
            said = f"-{term}" if value < 0 else term
    more = len(terms) - _MOST_TERMS
    return said + (f" + {more} more terms" if more > 0 else "") if said else "0"
