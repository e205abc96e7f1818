"""The values of a program, and what operators make of them.

Values are rationals, truth values, texts, None, tuples, forms of draws, and references to lists
and dictionaries, which live in a heap. A rational stands for Python's int and float alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.form import Form, plus, scaled

MAX_BITS = 20_000
MAX_ITEMS = 10_000
_SHOWN_BITS = 128


class Fault(Exception):  # noqa: N818 - of the program that is read, not of ours
    """What a program does has no exact meaning here; the message says why."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A list or dictionary of the heap."""

    at: int


def nodes(value: object) -> int:
    """How many values a value without lists consists of.

    >>> nodes((True, (), None))
    4
    """
    return 1 + sum(map(nodes, value)) if isinstance(value, tuple) else 1


def number(value: object) -> Fraction | Form:
    """A value in arithmetic: truth values count as 0 and 1."""
    if isinstance(value, Fraction | Form):
        return value
    if isinstance(value, bool):
        return Fraction(int(value))
    raise Fault(f"arithmetic with {described(value)}")


def described(value: object) -> str:
    """A value in words."""
    if isinstance(value, Ref):
        return "a list or dictionary"
    if isinstance(value, Form):
        return "a value that depends on a draw"
    if isinstance(value, tuple):
        return "a tuple"
    return f"the {type(value).__name__} {shown(value)!r}"


def shown(value: object) -> str:
    """A number or a text in a message, in few characters.

    >>> shown(Fraction(2) / 3), shown(Fraction(10**5000))
    ('2/3', 'a long number')
    """
    if isinstance(value, Fraction):
        short = max(value.numerator.bit_length(), value.denominator.bit_length()) < _SHOWN_BITS
        return str(value) if short else "a long number"
    return str(value)[:40]


def exact(value: object, use: str) -> Fraction:
    """A value that must not depend on a draw."""
    found = number(value)
    if isinstance(found, Form):
        raise Fault(f"{use} depends on a continuous draw")
    return found


def whole(value: object, use: str) -> int:
    """A whole number that does not depend on a draw."""
    found = exact(value, use)
    if found.denominator != 1:
        raise Fault(f"{use} is {shown(found)}, not a whole number")
    return found.numerator


def arithmetic(op: str, left: object, right: object) -> Fraction | Form:
    """`left op right` on numbers.

    >>> arithmetic("/", Fraction(1), Fraction(3)), arithmetic("%", Fraction(-7), Fraction(4))
    (Fraction(1, 3), Fraction(1, 1))
    """
    a, b = number(left), number(right)
    match op:
        case "+":
            return _bounded(plus(a, b))
        case "-":
            return _bounded(plus(a, scaled(b, Fraction(-1))))
        case "*":
            if isinstance(a, Form):
                a, b = b, a
            if isinstance(a, Form):
                raise Fault("a product of two draws")
            return _bounded(scaled(b, a))
    divisor = exact(b, f"the right side of {op}")
    if op == "**":
        return _power(exact(a, "the base of **"), divisor)
    if divisor == 0:
        raise Fault("a division by 0")
    if op == "/":
        return _bounded(scaled(a, 1 / divisor))
    dividend = exact(a, f"the left side of {op}")
    return _bounded(Fraction(dividend // divisor) if op == "//" else dividend % divisor)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1:
        raise Fault(f"a number to the power {shown(exponent)}, which is not rational in general")
    if size * abs(exponent.numerator) > MAX_BITS:
        raise Fault("a power that is too large")
    if base == 0 and exponent < 0:
        raise Fault("a division by 0")
    return Fraction(base**exponent.numerator)


def _bounded(value: Fraction | Form) -> Fraction | Form:
    parts = (
        [value] if isinstance(value, Fraction) else [value.constant, *(c for _, c in value.terms)]
    )
    if any(max(p.numerator.bit_length(), p.denominator.bit_length()) > MAX_BITS for p in parts):
        raise Fault("a number with too many digits")
    return value
