"""Probabilities of affine constraints on draws, some of them normal, in ball arithmetic.

The elimination is that of the exact engine. A draw whose only factors are its density and steps
has a closed form (erf, exponentials, lengths); over any other the product of its factors, analytic
between the places where their formulas change, is integrated by Arb (F. Johansson, Numerical
integration in arbitrary-precision ball arithmetic, 2018). Such an integral ends where less than
2^-100 of the mass of the draw lies beyond; that mass is added to the radius.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import acb, arb, ctx, fmpq

from tollens.checker import balls as checked
from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.refutation.exact.ring import exactly
from tollens.refutation.forest import NotAForest, Rational, factors

_BITS, _WORK = 30, 64
_FEW_BITS = 10
_FAR = {"gauss": 12, "laplace": 75, "exponential": 75}  # in scales; beyond, less than 2^-106

Place = tuple[Rational, Rational]
"""(a, b) is the line z = a + b r."""


class Hard(Exception):  # noqa: N818 - the constraints are not at fault
    """Integrals inside one another, too many to be enclosed in little time."""


def enclosure(
    draws: Sequence[Draw], constraints: Iterable[Form], nested: int = 2
) -> tuple[Fraction, Fraction]:
    """Rational bounds of P(all constraints >= 0); symbol i of the forms is `draws[i]`.

    Where one integral does not suffice, the enclosure of the checker is taken if it has one, as
    that is faster; else up to `nested` integrals inside one another, in some seconds. Raises
    `NotAForest`, and `Hard` where they are more.

    >>> one = [Draw("gauss", (Fraction(1),))]
    >>> low, high = enclosure(one, [Form(Fraction(-2), ((0, Fraction(1)),))])
    >>> f"{float(low):.9f}", f"{float(high):.9f}"
    ('0.022750132', '0.022750132')
    """
    forms = tuple(constraints)
    ball: arb | None = None
    with suppress(Hard, NotAForest):
        ball = probability(draws, forms, nested=1)
    if ball is None or ball.rel_accuracy_bits() < _FEW_BITS:
        try:
            return checked.probability(draws, forms)
        except CertificateError:
            ball = probability(draws, forms, nested) if ball is None else ball
    middle, radius = exactly(ball.mid()), exactly(ball.rad())
    return max(middle - radius, Fraction(0)), min(middle + radius, Fraction(1))


def probability(draws: Sequence[Draw], constraints: Iterable[Form], nested: int = 2) -> arb:
    """A ball around P(all constraints >= 0), by up to so many integrals inside one another."""
    with ctx.workprec(_WORK):
        functions = _Functions(nested)
        numbers = factors(functions, draws, constraints)
        result = arb(0 if numbers is None else 1)
        for number in numbers or ():
            result *= number
        return result + arb(0, functions.lost)


@dataclass(frozen=True)
class Factor:
    """An analytic function: `at` gives its values, `area` (of a density) integrals between places.

    `depth` counts the integrals inside one another; None as an end is without end.
    """

    at: Callable[[acb], acb]
    area: Callable[[acb | None, acb | None], acb] | None = None
    far: Rational = 0  # where a density may be cut
    depth: int = 0


Shifted = tuple[Factor, Rational, Rational]
"""(f, a, b) is x -> f(a x + b)."""
Tilted = tuple[Factor, Rational, Rational, Rational]
"""(f, a, b, c) is z -> f(a z + b + c r)."""
Part = tuple[Shifted, ...] | None
"""A product of factors; None is 0."""


@dataclass(frozen=True)
class Curve:
    """A function of one variable: `parts[i]` holds between `cuts[i - 1]` and `cuts[i]`."""

    cuts: tuple[Rational, ...]
    parts: tuple[Part, ...]


class _Functions:
    """Products of analytic factors between cuts, as the elimination needs them.

    `lost` bounds the mass beyond the ends of all integrals.
    """

    def __init__(self, nested: int) -> None:
        self._nested = nested
        self.lost = arb(0)
        self._laws: dict[Draw, Curve] = {}
        self._messages: dict[object, Curve] = {}

    def law(self, draw: Draw) -> Curve:
        if draw not in self._laws:
            self._laws[draw] = _law(draw)
        return self._laws[draw]

    def step(self, low: Rational | None, high: Rational | None) -> Curve:
        cuts = tuple(end for end in (low, high) if end is not None)
        nothing: tuple[Part, ...] = (None,)
        return Curve(cuts, nothing * (low is not None) + ((),) + nothing * (high is not None))

    def product(self, functions: Sequence[Curve]) -> Curve:
        cuts = sorted({cut for f in functions for cut in f.cuts})
        parts: list[Part] = []
        for i in range(len(cuts) + 1):
            part: Part = ()
            for f in functions:
                other = f.parts[bisect_right(f.cuts, cuts[i - 1]) if i else 0]
                part = None if part is None or other is None else part + other
            parts.append(part)
        return Curve(tuple(cuts), tuple(parts))

    def scaled(self, function: Curve, slope: Rational) -> Curve:
        turn = 1 if slope > 0 else -1
        parts = tuple(_moved(part, slope) for part in function.parts[::turn])
        return Curve(tuple(Fraction(cut) / slope for cut in function.cuts[::turn]), parts)

    def integrated(self, shapes: Mapping[Rational, Curve]) -> Curve:
        key = tuple(sorted(shapes.items(), key=lambda item: item[0]))
        if key not in self._messages:
            self._messages[key] = self._integrated(key)
        return self._messages[key]

    def _integrated(self, shapes: Sequence[tuple[Rational, Curve]]) -> Curve:
        lines: list[Place] = sorted({(cut, -s) for s, f in shapes for cut in f.cuts})
        cuts = sorted(
            {
                Fraction(a - c) / (d - b)
                for i, (a, b) in enumerate(lines)
                for c, d in lines[:i]
                if b != d
            }
        )
        parts: list[Part] = []
        for r in _inside(cuts):
            ordered = sorted(lines, key=lambda line: line[0] + line[1] * r)
            heights = [a + b * r for a, b in ordered]
            cells: list[_Cell] = []
            for i, z in enumerate(_inside(heights)):
                below, above = (
                    ordered[i - 1] if i else None,
                    ordered[i] if i < len(ordered) else None,
                )
                own: list[Tilted] = []
                for s, f in shapes:
                    part = f.parts[bisect_right(f.cuts, z + s * r)]
                    if part is None:
                        break
                    own += [(factor, a, b, a * s) for factor, a, b in part]
                else:
                    if cells and cells[-1].high == below and cells[-1].factors == tuple(own):
                        below = cells.pop().low
                    cells.append(_Cell(tuple(own), below, above))
            parts.append(((self._message(cells), 1, 0),) if cells else None)
        return Curve(tuple(cuts), tuple(parts))

    def total(self, function: Curve) -> arb:
        lines: list[Place | None] = [None, *((cut, 0) for cut in function.cuts), None]
        cells = [
            _Cell(tuple((factor, a, b, 0) for factor, a, b in part), low, high)
            for part, low, high in zip(function.parts, lines, lines[1:], strict=False)
            if part is not None
        ]
        return self._message(cells).at(acb(0)).real if cells else arb(0)

    def cost(self, function: Curve) -> int:
        return max(len(part or ()) for part in function.parts)

    def _message(self, cells: Sequence[_Cell]) -> Factor:
        """The sum of the integrals over cells, as a function of r."""
        depth = 0
        for cell in cells:
            if not cell.closed():
                self.lost += arb(2) ** -106 * ((cell.low is None) + (cell.high is None))
                depth = max(depth, 1 + max(factor.depth for factor, *_ in cell.factors))
        if depth > self._nested:
            raise Hard("too many integrals over normal draws inside one another")

        def at(r: acb) -> acb:
            total = acb(0)
            for cell in cells:
                total += cell.value(r)
            return total

        return Factor(at, depth=depth)


@dataclass(frozen=True)
class _Cell:
    """The integral over z between two lines of a product."""

    factors: tuple[Tilted, ...]
    low: Place | None
    high: Place | None

    def closed(self) -> bool:
        return len(self.factors) == 1 and self.factors[0][0].area is not None

    def value(self, r: acb) -> acb:
        low, high = _at(self.low, r), _at(self.high, r)
        if self.closed():
            ((f, a, b, c),) = self.factors
            assert f.area is not None  # noqa: S101 - that is what closed says
            shift = _ball(b) + _ball(c) * r
            ends = [None if end is None else _ball(a) * end + shift for end in (low, high)]
            if a < 0:
                ends.reverse()
            return f.area(ends[0], ends[1]) / _ball(a if a > 0 else -a)
        far = max(abs(Fraction(f.far) / a) for f, a, _, c in self.factors if c == 0)
        low = acb(-_ball(far)) if low is None else low
        high = acb(_ball(far)) if high is None else high
        width = high - low
        counted = [
            (f, _ball(a), _ball(b) + _ball(c) * r, power)
            for (f, a, b, c), power in Counter(self.factors).items()
        ]

        def integrand(t: acb, _: bool) -> acb:
            z, product = low + width * t, width
            for f, a, shift, power in counted:
                product *= f.at(a * z + shift) ** power
            return product

        made: acb = acb.integral(
            integrand, 0, 1, rel_tol=arb(2) ** -_BITS, abs_tol=arb(2) ** -100, eval_limit=5000
        )
        return made


def _law(draw: Draw) -> Curve:
    """The density of a draw."""
    if draw.kind == "uniform":
        a, b = draw.parameters
        height = acb(_ball(1 / (b - a)))
        flat = Factor(lambda _: height, lambda low, high: height * (_end(high) - _end(low)))
        return Curve((a, b), (None, ((flat, 1, 0),), None))
    scale = draw.parameters[0]
    far = scale * _FAR[draw.kind]
    s = _ball(scale)
    if draw.kind == "gauss":
        top, root = 1 / (s * (2 * arb.pi()).sqrt()), s * arb(2).sqrt()

        def above(z: acb) -> acb:
            return (z / root).erfc() / 2

        def area(low: acb | None, high: acb | None) -> acb:
            if low is not None and low.real.mid() > 0:
                return above(low) - (0 if high is None else above(high))
            if high is not None and high.real.mid() < 0:
                return above(-high) - (0 if low is None else above(-low))
            below = acb(0) if low is None else above(-low)
            return 1 - below - (0 if high is None else above(high))

        bell = Factor(lambda z: (-((z / root) ** 2)).exp() * top, area, far)
        return Curve((), (((bell, 1, 0),),))
    share = 1 if draw.kind == "exponential" else arb(1) / 2

    def falling(z: acb) -> acb:
        return (-z / s).exp() * share

    right = Factor(
        lambda z: falling(z) / s,
        lambda low, high: falling(_end(low)) - (0 if high is None else falling(high)),
        far,
    )
    left: Part = None if draw.kind == "exponential" else ((right, -1, 0),)
    return Curve((0,), (left, ((right, 1, 0),)))


def _moved(part: Part, slope: Rational) -> Part:
    return None if part is None else tuple((f, a * slope, b) for f, a, b in part)


def _inside(cuts: Sequence[Rational]) -> list[Fraction]:
    """A point in each of the intervals that sorted cuts leave."""
    if not cuts:
        return [Fraction(0)]
    middles = [Fraction(a + b) / 2 for a, b in pairwise(cuts)]
    return [Fraction(cuts[0] - 1), *middles, Fraction(cuts[-1] + 1)]


def _at(line: Place | None, r: acb) -> acb | None:
    return None if line is None else _ball(line[0]) + _ball(line[1]) * r


def _end(end: acb | None) -> acb:
    assert end is not None  # noqa: S101 - this side of a density has an end
    return end


def _ball(x: Rational) -> arb:
    return arb(fmpq(x.numerator, x.denominator))
