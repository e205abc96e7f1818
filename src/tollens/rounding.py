"""Rounding that never makes a statement stronger than what was shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_SMALL = 1e-300
"""Below it there are not enough digits left to round."""


def down(value: float, digits: int = 4) -> str:
    """A nonnegative number with few digits, never above its value: for lower bounds.

    >>> down(6.62579), down(0.0), down(2.0), down(5e-324)
    ('6.625', '0', '2', '0')
    """
    return _rounded(value, digits, math.floor)


def up(value: float, digits: int = 4) -> str:
    """A nonnegative number with few digits, never below its value: for upper bounds.

    >>> up(1.17311), up(1.0)
    ('1.174', '1')
    """
    return _rounded(value, digits, math.ceil)


def _rounded(value: float, digits: int, towards: Callable[[float], int]) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) < _SMALL:
        return f"{towards(value) * _SMALL:g}"
    exponent = math.floor(math.log10(abs(value))) - digits + 1
    scaled = value / 10.0**exponent
    near = round(scaled)
    whole = near if abs(scaled - near) < 1e-9 * abs(scaled) else towards(scaled)
    return f"{whole * 10.0**exponent:.{digits}g}"


def exact_down(value: Fraction, digits: int = 6) -> str:
    """A nonnegative rational with few digits, never above its value, not even by an ulp.

    >>> exact_down(Fraction(2, 3)), exact_down(Fraction(20)), exact_down(Fraction(1, 2**40))
    ('0.666666', '20', '9.09494e-13')
    """
    return _cut(value, digits, ROUND_FLOOR)


def exact_up(value: Fraction, digits: int = 6) -> str:
    """A nonnegative rational with few digits, never below its value.

    >>> exact_up(Fraction(2, 3)), exact_up(Fraction(0))
    ('0.666667', '0')
    """
    return _cut(value, digits, ROUND_CEILING)


def _cut(value: Fraction, digits: int, towards: str) -> str:
    context = Context(prec=digits, rounding=towards, Emin=MIN_EMIN, Emax=MAX_EMAX)
    top, bottom = (Decimal(part) for part in (value.numerator, value.denominator))
    found = context.divide(top, bottom)
    if not -5 <= found.adjusted() < 15:
        return f"{found.normalize(context):e}"
    plain = f"{found:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
