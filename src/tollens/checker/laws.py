"""The laws of draws, enclosed: densities, and masses of intervals, to any relative precision.

All of them are log-concave, which `balls` builds on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tollens.checker.draws import Draw
from tollens.checker.enclosures import MOST, Bounds, density_bounds, exp_bounds, phi_bounds
from tollens.checker.errors import CertificateError

End = Fraction | None
"""The end of an interval; None is without end."""

ZERO, ONE = Fraction(0), Fraction(1)
_ROOT_BITS = 100


@dataclass(frozen=True, slots=True)
class Law:
    """The law of a draw, or of a sum of normal draws.

    `kind` and `parameters` are those of a `Draw`, but a "normal" law has its variance.
    """

    kind: str
    parameters: tuple[Fraction, ...]
    bits: int
    _known: dict[Fraction, Bounds] = field(default_factory=dict, compare=False, repr=False)

    def support(self) -> tuple[End, End]:
        """Where the density is positive."""
        if self.kind == "uniform":
            a, b = self.parameters
            return a, b
        return (ZERO if self.kind == "exponential" else None), None

    def window(self) -> tuple[Fraction, Fraction]:
        """Where nearly all of the mass lies."""
        if self.kind == "uniform":
            a, b = self.parameters
            return a, b
        if self.kind == "normal":
            size = 8 * _root(self.parameters[0])[1]
        else:
            size = 16 * self.parameters[0]
        return (ZERO if self.kind == "exponential" else -size), size

    def mass(self, low: End, high: End) -> Bounds:
        """Bounds of the probability of an interval.

        >>> Law("laplace", (Fraction(1),), 40).mass(Fraction(0), None)
        (Fraction(1, 2), Fraction(1, 2))
        """
        if low is not None and high is not None and low >= high:
            return ZERO, ZERO
        if self.kind == "uniform":
            a, b = self.parameters
            length = min(b, b if high is None else high) - max(a, a if low is None else low)
            exact = max(ZERO, length) / (b - a)
            return exact, exact
        if low is not None and low >= 0:  # two tails on the right
            return _less(self._above(low), (ZERO, ZERO) if high is None else self._above(high))
        if self.kind == "exponential":
            return (ONE, ONE) if high is None else _less((ONE, ONE), self._above(max(high, ZERO)))
        if high is not None and high <= 0:  # two tails on the left
            return _less(self._above(-high), (ZERO, ZERO) if low is None else self._above(-low))
        inside = (ONE, ONE) if low is None else _less((ONE, ONE), self._above(-low))
        return inside if high is None else _less(inside, self._above(high))

    def density(self, x: Fraction) -> Bounds:
        """Bounds of the density at a place, at the ends of the support that inside."""
        if self.kind == "uniform":
            a, b = self.parameters
            exact = 1 / (b - a) if a <= x <= b else ZERO
            return exact, exact
        if self.kind == "normal":
            small, large = _root(self.parameters[0])
            outer, inner = abs(x) / small, abs(x) / large
            low, high = density_bounds(outer, self.bits)
            if inner != outer:
                high = density_bounds(inner, self.bits)[1]
            return low / large, high / small
        if self.kind == "exponential" and x < 0:
            return ZERO, ZERO
        scale = self.parameters[0]
        height = 1 / scale if self.kind == "exponential" else 1 / (2 * scale)
        low, high = _decay(abs(x) / scale, self.bits)
        return low * height, high * height

    def _above(self, x: Fraction) -> Bounds:
        """Bounds of P(draw > x), x >= 0."""
        known = self._known.get(x)
        if known is None:
            known = self._known[x] = self._tail(x)
        return known

    def _tail(self, x: Fraction) -> Bounds:
        if self.kind == "normal":
            small, large = _root(self.parameters[0])
            outer, inner = x / small, x / large
            low, high = phi_bounds(-outer, self.bits)
            return low, (high if inner == outer else phi_bounds(-inner, self.bits)[1])
        low, high = _decay(x / self.parameters[0], self.bits)
        return (low, high) if self.kind == "exponential" else (low / 2, high / 2)


def law_of(draw: Draw, bits: int) -> Law:
    """The law of one draw."""
    if draw.kind == "gauss":
        return Law("normal", (draw.parameters[0] ** 2,), bits)
    if draw.kind in ("laplace", "exponential", "uniform"):
        return Law(draw.kind, draw.parameters, bits)
    raise CertificateError(f"no law of a {draw.kind} draw")


def sum_of_normals(variances: Iterable[Fraction], bits: int) -> Law:
    """The law of a sum of independent normal draws."""
    return Law("normal", (sum(variances, ZERO),), bits)


def _less(a: Bounds, b: Bounds) -> Bounds:
    return max(ZERO, a[0] - b[1]), min(ONE, a[1] - b[0])


def _decay(q: Fraction, bits: int) -> Bounds:
    """Bounds of e^-q, q >= 0."""
    if q == 0:
        return ONE, ONE
    if q > MOST:
        return ZERO, exp_bounds(Fraction(-MOST), bits)[1]
    return exp_bounds(-q, bits)


def _root(q: Fraction) -> Bounds:
    """Bounds of the square root, the same one if it is rational."""
    n, d = math.isqrt(q.numerator), math.isqrt(q.denominator)
    if n * n == q.numerator and d * d == q.denominator:
        return Fraction(n, d), Fraction(n, d)
    shift = max(0, _ROOT_BITS + q.denominator.bit_length() - q.numerator.bit_length())
    shift += shift % 2
    floor = math.isqrt((q.numerator << shift) // q.denominator)
    return Fraction(floor, 1 << shift // 2), Fraction(floor + 1, 1 << shift // 2)
