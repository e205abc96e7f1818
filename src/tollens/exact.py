"""Claims and inputs in exact form: rationals and logarithms of rationals, as proofs need them.

Parameters are exact as they were written. A float of Python counts as the decimal that it prints,
so 0.1 is 1/10.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tollens.contract import Claim, Json
from tollens.errors import ClaimError
from tollens.quantity import Quantity, logarithm, quantity, rational

EXACT_KINDS = {
    "pure": ("epsilon",),
    "approx": ("epsilon", "delta"),
    "gaussian": ("mu",),
    "zcdp": ("rho",),
    "renyi": ("order", "epsilon"),
}
"""The kinds of claims that have an exact form, with their parameters."""

_MOST_BITS = 4096


def plain_data(value: object) -> object:
    """Exact data as a program takes them when it runs: nearly the data they came from.

    Whole numbers are `int`, decimals `float`, all other rationals stay as they are.

    >>> plain_data([Fraction(1), Fraction(1, 10), Fraction(1, 3), ()])
    [1, 0.1, Fraction(1, 3), ()]
    """
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return value.numerator
        near = float(value)
        return near if Fraction(str(near)) == value else value
    if isinstance(value, list):
        return [plain_data(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain_data(item) for item in value)
    if isinstance(value, dict):
        return {plain_data(key): plain_data(item) for key, item in value.items()}
    return value


def exact_claim(claim: Claim) -> Json:
    """The claim as it stands in a certificate, with parameters such as "1/10" and "ln 3".

    Raises `ClaimError`, with all findings, for parameters that are neither rational nor, as an
    epsilon may be, the logarithm of a rational, and for claims that are tables of floats.

    >>> import tollens
    >>> exact_claim(tollens.approx("2 ln 3", 1e-6))
    {'kind': 'approx', 'epsilon': 'ln 9', 'delta': '1/1000000', 'ordered': False}
    >>> exact_claim(tollens.pure("0.5 ln 2"))
    Traceback (most recent call last):
    ...
    tollens.errors.ClaimError: epsilon is '0.5 ln 2', which is not the logarithm of a rational; \
a proof needs a rational or ln of one, such as 0.7 or ln 2
    """
    names = EXACT_KINDS.get(claim.kind)
    if names is None:
        raise ClaimError(
            f"a claim of kind {claim.kind} is a table of floats, which a proof cannot use; claim "
            "one of its points, such as epsilon=1, delta=1e-6, or use tollens audit"
        )
    own = claim.to_json()
    findings: list[str] = []
    texts: Json = {"kind": claim.kind}
    for name in names:
        value = own[name]
        written = quantity(value, name) if isinstance(value, int | float | str) else None
        try:
            texts[name] = _exact_text(written or Quantity(math.nan, str(value)), name)
        except ClaimError as error:
            findings += error.findings
    if findings:
        raise ClaimError(findings)
    return {**texts, "ordered": claim.ordered}


def _exact_text(parameter: Quantity, name: str) -> str:
    """The one exact text of a parameter: "p/q", or "ln p/q" of an epsilon."""
    value = rational(parameter.text)
    if value is not None:
        return fraction_text(value)
    found = logarithm(parameter.text)
    if found is None:
        raise ClaimError(f"{name} is {parameter.text!r}, which has no exact form; {_ADVICE}")
    factor, argument = found
    if name != "epsilon":
        raise ClaimError(f"{name} is {parameter.text!r}; a proof needs it as a rational number")
    if factor.denominator != 1:
        raise ClaimError(
            f"{name} is {parameter.text!r}, which is not the logarithm of a rational; {_ADVICE}"
        )
    bits = argument.numerator.bit_length() + argument.denominator.bit_length()
    if abs(factor) * bits > _MOST_BITS:
        raise ClaimError(f"{name} is {parameter.text!r}, too long in exact form; {_ADVICE}")
    return f"ln {fraction_text(argument ** int(factor))}"


_ADVICE = "a proof needs a rational or ln of one, such as 0.7 or ln 2"


def fraction_text(value: Fraction) -> str:
    """A rational as certificates write it.

    >>> fraction_text(Fraction(3, 4)), fraction_text(Fraction(2))
    ('3/4', '2')
    """
    return str(value)


def claim_words(claim: object) -> str:
    """The claim of a certificate as people write it; the data may be of any shape.

    >>> claim_words({"kind": "approx", "epsilon": "ln 9", "delta": "1/1000", "ordered": True})
    'epsilon=ln 9, delta=1/1000, ordered'
    """
    if not isinstance(claim, dict):
        return "no claim"
    names = EXACT_KINDS.get(str(claim.get("kind")), ())
    ordered = ["ordered"] if claim.get("ordered") is True else []
    return ", ".join([*(f"{name}={claim.get(name)}" for name in names), *ordered]) or "no claim"
