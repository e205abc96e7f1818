"""Rounding that never makes a statement stronger than what was shown."""

from __future__ import annotations

import math
from collections.abc import Callable


def down(value: float, digits: int = 4) -> str:
    """A nonnegative number with few digits, never above its value: for lower bounds.

    >>> down(6.62579), down(0.0), down(2.0)
    ('6.625', '0', '2')
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
    exponent = math.floor(math.log10(abs(value))) - digits + 1
    scaled = value / 10.0**exponent
    near = round(scaled)
    whole = near if abs(scaled - near) < 1e-9 * abs(scaled) else towards(scaled)
    return f"{whole * 10.0**exponent:.{digits}g}"
