"""Real numbers `c_1 e^(q_1) + c_2 e^(q_2) + ...` with rational c and q, whose sign is decided.

By the theorem of Lindemann and Weierstrass, powers of e with distinct rational exponents are
linearly independent over the rationals: such a number is 0 only if no term is left. So the sign of
any other is found by raising the precision until a ball around it excludes 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

_FIRST_BITS = 80


class ExpSum:
    """A number `sum of c e^q`; `terms` maps q to c, without zeros.

    >>> third = ExpSum({Fraction(0): Fraction(1, 3)})
    >>> e = ExpSum({Fraction(1): Fraction(1)})
    >>> (e * e - e.shifted(Fraction(1))).sign(), (e - third.scaled(Fraction(8))).sign()
    (0, 1)
    >>> print(third + e)
    1/3 + 1*e^(1)
    """

    __slots__ = ("_unit", "_weights")

    def __init__(self, terms: Mapping[Fraction, Fraction] | None = None) -> None:
        given = {q: c for q, c in (terms or {}).items() if c}
        self._unit = math.lcm(*(q.denominator for q in given))
        self._weights: dict[int, fmpq] = {
            int(q * self._unit): fmpq(c.numerator, c.denominator) for q, c in given.items()
        }

    @classmethod
    def of(cls, weights: dict[int, fmpq], unit: int) -> ExpSum:
        """The sum of c e^(n/unit) over the items (n, c); no c is 0."""
        made = cls.__new__(cls)
        made._weights, made._unit = weights, unit
        return made

    @property
    def terms(self) -> dict[Fraction, Fraction]:
        """The exponents with their coefficients, in ascending order."""
        return {Fraction(n, self._unit): _fraction(c) for n, c in sorted(self._weights.items())}

    def __add__(self, other: ExpSum) -> ExpSum:
        return self._plus(other, 1)

    def __sub__(self, other: ExpSum) -> ExpSum:
        return self._plus(other, -1)

    def __mul__(self, other: ExpSum) -> ExpSum:
        unit = math.lcm(self._unit, other._unit)
        left, right = self._in(unit), other._in(unit)
        made: dict[int, fmpq] = {}
        for n, c in left.items():
            for m, d in right.items():
                made[n + m] = made[n + m] + c * d if n + m in made else c * d
        return ExpSum.of({n: c for n, c in made.items() if c}, unit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpSum) and not (self - other)._weights

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self._weights)

    def __str__(self) -> str:
        parts = [f"{c}" if q == 0 else f"{c}*e^({q})" for q, c in self.terms.items()]
        return " + ".join(parts) or "0"

    __repr__ = __str__

    def scaled(self, factor: Fraction) -> ExpSum:
        """The number times a rational."""
        if not factor:
            return ExpSum()
        by = fmpq(factor.numerator, factor.denominator)
        return ExpSum.of({n: c * by for n, c in self._weights.items()}, self._unit)

    def shifted(self, q: Fraction) -> ExpSum:
        """The number times e^q."""
        unit = math.lcm(self._unit, q.denominator)
        by = int(q * unit)
        return ExpSum.of({n + by: c for n, c in self._in(unit).items()}, unit)

    def sign(self) -> int:
        """-1, 0 or 1."""
        if not self._weights:
            return 0
        bits = _FIRST_BITS
        while True:
            ball = self._ball(bits)
            if ball > 0:
                return 1
            if ball < 0:
                return -1
            bits *= 2

    def enclosure(self, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Two rationals around the number that differ by less than 2^-bits of it (0: by 0)."""
        if not self._weights:
            return Fraction(0), Fraction(0)
        work = max(_FIRST_BITS, bits + 16)
        while True:
            ball = self._ball(work)
            if ball.rel_accuracy_bits() > bits + 1:
                middle, radius = exactly(ball.mid()), exactly(ball.rad())
                return middle - radius, middle + radius
            work *= 2

    def __float__(self) -> float:
        low, high = self.enclosure(56)
        return float((low + high) / 2)

    def _plus(self, other: ExpSum, sign: int) -> ExpSum:
        unit = math.lcm(self._unit, other._unit)
        made = dict(self._in(unit))
        for n, c in other._in(unit).items():
            total = made.get(n, _ZERO) + (c if sign > 0 else -c)
            if total:
                made[n] = total
            else:
                made.pop(n, None)
        return ExpSum.of(made, unit)

    def _in(self, unit: int) -> dict[int, fmpq]:
        if unit == self._unit:
            return self._weights
        by = unit // self._unit
        return {n * by: c for n, c in self._weights.items()}

    def _ball(self, bits: int) -> arb:
        with ctx.workprec(bits):
            total = arb(0)
            for n, c in self._weights.items():
                total += arb(c) * arb(fmpq(n, self._unit)).exp()
            return total


_ZERO = fmpq(0)


def _fraction(q: fmpq) -> Fraction:
    return Fraction(int(q.p), int(q.q))


def exactly(x: arb) -> Fraction:
    """The exact value of a ball of radius 0."""
    mantissa, exponent = x.man_exp()
    m, e = int(fmpz(mantissa)), int(fmpz(exponent))
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)
