"""Numbers a bounded step apart: floats round, and must not round beyond the bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np

Number = int | float | Fraction
N = TypeVar("N")


def plain(number: N) -> N:
    """A number of numpy as one of Python; anything else as it is."""
    return number.item() if isinstance(number, np.number) else number


def is_finite(number: object) -> bool:
    """Whether this is a number, and not infinite; True and False are none."""
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction):
        return False
    return not isinstance(number, float) or math.isfinite(number)


def stepped(start: Number, step: Number) -> Number:
    """The sum; where floats do not hold it, one that is no farther than `step` from the start.

    >>> 0.1 + 0.2, stepped(0.1, 0.2)
    (0.30000000000000004, 0.3)
    """
    found = start + step
    if isinstance(found, float) and abs(Fraction(found) - Fraction(start)) > abs(Fraction(step)):
        return math.nextafter(found, start)
    return found


def part(whole: Number, parts: int) -> Number:
    """One of so many equal parts, which together are no more than the whole.

    An integer that can be divided stays one.

    >>> part(6, 3), part(0.1, 3) * 3 <= 0.1
    (2, True)
    """
    if isinstance(whole, int) and whole % parts == 0:
        return whole // parts
    found = whole / parts
    if isinstance(found, float) and Fraction(found) * parts > Fraction(whole):
        return math.nextafter(found, 0.0)
    return found
