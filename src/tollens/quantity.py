"""Numbers that remember how they were written, so that `ln 3` stays exact.

A privacy parameter is kept as a float for the statistics and as a text for people, JSON and
exact arithmetic. Texts are read by a small grammar; nothing is evaluated as code.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from tollens.errors import ClaimError

Number = int | float | Fraction | str

_LONGEST, _LARGEST_EXPONENT = 80, 400
_DECIMAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RATIONAL = re.compile(rf"({_DECIMAL})(?:\s*/\s*({_DECIMAL}))?")
_LOGARITHM = re.compile(
    rf"(?:({_DECIMAL})\s*\*?\s*)?(?:ln|log)\s*\(?\s*({_DECIMAL}(?:\s*/\s*{_DECIMAL})?)\s*\)?"
)


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A real parameter: `value` as a float, `text` as it was written.

    >>> q = quantity("ln 3", "epsilon")
    >>> q.text, round(float(q), 4), quantity("1/3", "epsilon").text
    ('ln 3', 1.0986, '1/3')
    """

    value: float
    text: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """The text where it is short; long floats are rounded to six digits for the eye."""
        return self.text if len(self.text) <= 10 or " " in self.text else f"{self.value:.6g}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and (self.value, self.text) == (other.value, other.text)

    def __hash__(self) -> int:
        return hash((self.value, self.text))


def quantity(number: Number | Quantity, name: str) -> Quantity:
    """Read a number, a Fraction or a text such as `"ln 3"`, `"1/3"`, `"2 ln 5/4"`, `"1e-6"`.

    Raises `ClaimError` naming the parameter when it is no real number.

    >>> quantity("2 ln 3", "epsilon").value == 2 * math.log(3)
    True
    >>> quantity("three", "epsilon")
    Traceback (most recent call last):
    ...
    tollens.errors.ClaimError: epsilon is 'three'; write a number, a fraction such as 1/3 or ln 3
    """
    if isinstance(number, Quantity):
        return number
    if isinstance(number, str):
        return _from_text(number, name)
    if isinstance(number, bool):
        raise ClaimError(f"{name} is {number}; write a number")
    try:
        value = float(number)
    except (TypeError, ValueError, OverflowError):
        raise ClaimError(
            f"{name} is {number!r}; write a number, a fraction such as 1/3 or ln 3"
        ) from None
    if isinstance(number, Fraction):
        return Quantity(value, f"{number.numerator}/{number.denominator}")
    return Quantity(value, _plain(value))


def _from_text(text: str, name: str) -> Quantity:
    clean = " ".join(text.split())
    value: float | None = None
    try:
        plain, logged = rational(clean), logarithm(clean)
        if plain is not None:
            value = float(plain)
        elif logged is not None:
            value = float(logged[0]) * math.log(logged[1])
    except (OverflowError, ValueError):
        value = None
    if value is None:
        raise ClaimError(f"{name} is {text[:60]!r}; write a number, a fraction such as 1/3 or ln 3")
    return Quantity(value, clean)


def rational(text: str) -> Fraction | None:
    """The exact value of a decimal or of a quotient of two; None for any other text.

    >>> rational("0.1"), rational("1/3"), rational("1e-6"), rational("ln 3")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000), None)
    """
    match = _RATIONAL.fullmatch(text) if len(text) <= _LONGEST else None
    return None if match is None else _quotient(match[1], match[2])


def logarithm(text: str) -> tuple[Fraction, Fraction] | None:
    """The factor and the positive argument of a logarithm; None for any other text.

    >>> logarithm("2 ln 5/4"), logarithm("log(3)"), logarithm("ln -1")
    ((Fraction(2, 1), Fraction(5, 4)), (Fraction(1, 1), Fraction(3, 1)), None)
    """
    match = _LOGARITHM.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    factor, argument = _quotient(match[1] or "1"), _quotient(*match[2].split("/"))
    if factor is None or argument is None or argument <= 0:
        return None
    return factor, argument


def _quotient(numerator: str, denominator: str | None = None) -> Fraction | None:
    """The exact value of a quotient of decimals; None where it has none or is out of range."""
    parts = [part.strip() for part in (numerator, denominator or "1")]
    if any(abs(int(part.lower().partition("e")[2] or 0)) > _LARGEST_EXPONENT for part in parts):
        return None
    try:
        return Fraction(parts[0]) / Fraction(parts[1])
    except ZeroDivisionError:
        return None


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def epsilon_quantity(number: Number | Quantity, name: str = "epsilon") -> Quantity:
    """A finite nonnegative parameter, or a `ClaimError`."""
    q = quantity(number, name)
    if not (math.isfinite(q.value) and q.value >= 0):
        raise ClaimError(f"{name} is {q.text}; it must be a finite number of at least 0")
    if q.value > 700:
        raise ClaimError(f"{name} is {q.text}; above 700 a promise says nothing that runs can test")
    return q


def delta_quantity(number: Number | Quantity) -> Quantity:
    """A probability in [0, 1], or a `ClaimError`."""
    q = quantity(number, "delta")
    if not 0 <= q.value <= 1:
        raise ClaimError(f"delta is {q.text}; it must lie in [0, 1]")
    return q
