"""Writes certificates."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction

from tollens.checker.certificate import SCHEMA
from tollens.checker.claims import read_claim
from tollens.checker.documents import plain
from tollens.checker.enclosures import exp_bounds
from tollens.checker.program import Program
from tollens.neighbours import Pair
from tollens.refutation.objectives import Objective

Json = dict[str, object]

_BITS = 80


def certificate(
    text: str, program: Program, claim: Json, objective: Objective, relation: Mapping[str, object],
    pair: Pair, swapped: bool, engine: str, witness: Json, proof: Json,
    lower: Fraction, upper: Fraction,
) -> Json:  # fmt: skip
    """The document of a proof; `lower` and `upper` are rounded outwards to a moderate length."""
    lower, upper = _rounded(lower, up=False), _rounded(upper, up=True)
    return {
        "schema": SCHEMA,
        "engine": engine,
        "program": {
            "text": text,
            "name": program.name,
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "canonical": program.digest(),
        },
        "claim": dict(claim),
        "relation": exact_relation(relation, pair),
        "x": plain(pair.x),
        "x_prime": plain(pair.x_prime),
        "likely_under": "x_prime" if swapped else "x",
        "witness": witness,
        "proof": proof,
        "hint": objective.hint(lower, upper),
        "lower": str(lower),
        "upper": str(upper),
        "epsilon": epsilon_text(claim, lower, upper),
    }


def exact_relation(relation: Mapping[str, object], pair: Pair) -> Json:
    """The relation as the checker knows it."""
    kind = str(relation.get("kind", "given"))
    whole = _whole(pair.x) and _whole(pair.x_prime)
    if kind == "queries":
        return {"kind": kind, "whole": whole, "change": relation["change"], "by": relation["by"]}
    if kind == "numbers":
        return {"kind": kind, "whole": whole, "by": relation["by"]}
    return {"kind": kind, "whole": whole}


def epsilon_text(claim: Json, lower: Fraction, upper: Fraction) -> str:
    """A lower bound of ln((lower - delta) / upper) as an exact text."""
    parameters = read_claim(claim).parameters
    slack = parameters["delta"].upper() if "delta" in parameters else Fraction(0)
    if upper == 0:
        return "Infinity" if lower > slack else "0"
    if lower <= slack:
        return str(Fraction(-1000))
    found = Fraction(math.floor((math.log(lower - slack) - math.log(upper)) * 10**9) - 1, 10**9)
    while lower < exp_bounds(found, 128)[1] * upper + slack:
        found -= Fraction(1, 10**8)
    return str(found)


def _whole(data: object) -> bool:
    if isinstance(data, list | tuple):
        return all(map(_whole, data))
    if isinstance(data, dict):
        return all(map(_whole, data.values()))
    return not isinstance(data, Fraction) or data.denominator == 1


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    """A number of `_BITS` significant bits on the safe side."""
    if value.denominator.bit_length() + value.numerator.bit_length() <= _BITS or value == 0:
        return value
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    whole = -((-scaled) // 1) if up else scaled // 1
    return Fraction(int(whole)) / Fraction(2) ** shift
