"""Piecewise sums of `c x^k e^(rate x + q)`: what integrals of densities and steps are made of.

Rates are integers in units of 1/`rates`, places on the line in units of 1/`places`, and so q in
units of 1/(`rates` `places`): keys are small integers, and equal exponents meet exactly, also
where a rate cancels another (the integral is then a polynomial). An operation that needs a finer
unit raises `FinerUnits`; the caller starts again with it. Functions are never changed, and
operations remember what they made of which functions.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction

from flint import fmpq

Key = tuple[int, int, int]
"""(k, rate, q) stands for x^k e^(rate x + q)."""
Terms = dict[Key, fmpq]
Rational = int | Fraction

_ONE: Terms = {(0, 0, 0): fmpq(1)}
_NONE: Terms = {}


class FinerUnits(Exception):  # noqa: N818 - a signal to start again
    """A rate or a place is no multiple of the unit; `rates` and `places` divide the units."""

    def __init__(self, rates: int = 1, places: int = 1) -> None:
        super().__init__()
        self.rates, self.places = rates, places


class Piecewise:
    """A function of one variable: `parts[i]` holds between `cuts[i - 1]` and `cuts[i]`.

    Two are equal only if they are the same object: operations are remembered by that.
    """

    __slots__ = ("cuts", "parts", "weight")

    def __init__(self, cuts: Sequence[int], parts: Sequence[Terms]) -> None:
        self.cuts, self.parts = tuple(cuts), tuple(parts)
        self.weight = sum(map(len, parts))

    def __repr__(self) -> str:
        return f"Piecewise({self.cuts}, {self.parts})"


class Pieces:
    """The operations, for one pair of units."""

    def __init__(self, rates: int = 1, places: int = 1) -> None:
        self.rates, self.places = rates, places
        self.size = 0
        self._memory: dict[object, Piecewise] = {}
        self._steps: dict[int, fmpq] = {}

    # what functions start from

    def place(self, x: Rational) -> int:
        """A place on the line in its unit."""
        n, rest = divmod(x.numerator * self.places, x.denominator)
        if rest:
            raise FinerUnits(places=x.denominator)
        return n

    def rate(self, x: Rational) -> int:
        """A rate in its unit."""
        n, rest = divmod(x.numerator * self.rates, x.denominator)
        if rest:
            raise FinerUnits(rates=x.denominator)
        return n

    def density(self, kind: str, parameters: tuple[Fraction, ...]) -> Piecewise:
        """The density of a Laplace, exponential or uniform draw."""
        key = (kind, parameters)
        known = self._memory.get(key)
        return known or self._keep(key, self._density(kind, parameters))

    def _density(self, kind: str, parameters: tuple[Fraction, ...]) -> Piecewise:
        if kind == "uniform":
            a, b = parameters
            height = 1 / (b - a)
            inside = {(0, 0, 0): fmpq(height.numerator, height.denominator)}
            return Piecewise((self.place(a), self.place(b)), (_NONE, inside, _NONE))
        scale = parameters[0]
        rate = self.rate(1 / scale)
        height = 1 / scale if kind == "exponential" else 1 / (2 * scale)
        weight = fmpq(height.numerator, height.denominator)
        left = _NONE if kind == "exponential" else {(0, rate, 0): weight}
        return Piecewise((0,), (left, {(0, -rate, 0): weight}))

    def between(self, low: int | None, high: int | None) -> Piecewise:
        """1 between two places, 0 elsewhere; None is without end."""
        key = ("between", low, high)
        known = self._memory.get(key)
        if known:
            return known
        cuts = [end for end in (low, high) if end is not None]
        parts = [_NONE] * (low is not None) + [_ONE] + [_NONE] * (high is not None)
        return self._keep(key, Piecewise(cuts, parts))

    # operations

    def product(self, functions: Sequence[Piecewise]) -> Piecewise:
        """The product."""
        if len(functions) == 1:
            return functions[0]
        ordered = sorted(functions, key=lambda f: (f.weight, id(f)))
        key = ("product", *ordered)
        known = self._memory.get(key)
        return known or self._keep(key, self._product(ordered))

    def _product(self, functions: Sequence[Piecewise]) -> Piecewise:
        cuts = _merged(functions)
        parts: list[Terms] = []
        for i in range(len(cuts) + 1):
            made = _ONE
            for part in _parts_at(functions, cuts, i):
                made = times(made, part)
                if not made:
                    break
            parts.append(made)
        return joined(cuts, parts)

    def composed(self, f: Piecewise, slope: Rational, place: int) -> Piecewise:
        """The function x -> f(slope x + place); the slope is not 0."""
        if slope == 1 and place == 0:
            return f
        key = ("composed", f, slope, place)
        known = self._memory.get(key)
        return known or self._keep(key, self._composed(f, slope, place))

    def _composed(self, f: Piecewise, slope: Rational, place: int) -> Piecewise:
        cuts = [(cut - place) * slope if abs(slope) == 1 else (cut - place) / Fraction(slope)
                for cut in f.cuts]  # fmt: skip
        parts = [self._substituted(part, slope, place) for part in f.parts]
        if slope < 0:
            cuts.reverse()
            parts.reverse()
        return Piecewise([whole_place(cut) for cut in cuts], parts)

    def _substituted(self, part: Terms, slope: Rational, place: int) -> Terms:
        made: Terms = {}
        for (k, rate, q), c in part.items():
            to = whole_rate(rate * slope)
            if k == 0:
                add(made, (0, to, q + rate * place), c)
                continue
            s = fmpq(slope.numerator, slope.denominator)
            x = fmpq(place, self.places)
            for i in range(k + 1) if place else (k,):
                weight = c * math.comb(k, i) * s**i * x ** (k - i)
                add(made, (i, to, q + rate * place), weight)
        return made

    def cumulative(self, f: Piecewise, k: int = 0, rate: int = 0) -> Piecewise:
        """An antiderivative of f(x) x^k e^(rate x), continuous, without a constant on the left."""
        key = ("cumulative", f, k, rate)
        known = self._memory.get(key)
        return known or self._keep(key, self._cumulative(f, k, rate))

    def _cumulative(self, f: Piecewise, k: int, rate: int) -> Piecewise:
        parts: list[Terms] = []
        for i, part in enumerate(f.parts):
            made = self.antiderivative(part, k, rate)
            if i:
                cut = f.cuts[i - 1]
                before, here = self._value(parts[-1], cut), self._value(made, cut)
                for key, c in before.items():
                    add(made, key, c)
                for key, c in here.items():
                    add(made, key, -c)
            parts.append(made)
        return Piecewise(f.cuts, parts)

    def antiderivative(self, part: Terms, more: int = 0, tilt: int = 0) -> Terms:
        """An antiderivative of a part times x^more e^(tilt x)."""
        made: Terms = {}
        for (k0, rate0, q), c in part.items():
            k, rate = k0 + more, rate0 + tilt
            if rate == 0:
                add(made, (k + 1, 0, q), c / (k + 1))
                continue
            step = self._steps.get(rate)
            if step is None:
                step = self._steps[rate] = fmpq(self.rates, rate)
            weight = c * step
            add(made, (k, rate, q), weight)
            for i in range(k, 0, -1):
                weight = -weight * step * i
                add(made, (i - 1, rate, q), weight)
        return made

    def _value(self, part: Terms, cut: int) -> Terms:
        """A part at a place, as constant terms."""
        made: Terms = {}
        for (k, rate, q), c in part.items():
            weight = c * fmpq(cut, self.places) ** k if k else c
            add(made, (0, 0, q + rate * cut), weight)
        return made

    def total(self, f: Piecewise) -> Terms:
        """The integral over the whole line, as constant terms."""
        left_end(f, 0)
        return right_end(self.cumulative(f))

    def correlated(self, f: Piecewise, g: Piecewise) -> Piecewise:
        """The function r -> integral of f(z) g(z + r) over z.

        A term x^k e^(rate x) of g splits at z + r: on a piece of g from a to b it needs the
        antiderivatives of f(z) z^j e^(rate z), j <= k, at b - r and a - r.
        """
        key = ("correlated", f, g)
        known = self._memory.get(key)
        if known:
            return known
        if g.weight > f.weight:
            return self._keep(key, self.composed(self.correlated(g, f), -1, 0))
        pieces: list[tuple[Terms, Piecewise]] = []
        for i, part in enumerate(g.parts):
            low = g.cuts[i - 1] if i else None
            high = g.cuts[i] if i < len(g.cuts) else None
            for (k, rate, q), c in part.items():
                for j in range(k + 1):
                    area = self.cumulative(f, j, rate)
                    weight = c * math.comb(k, j)
                    if high is None:
                        constant = Piecewise((), (right_end(area),))
                        pieces.append(({(k - j, rate, q): weight}, constant))
                    else:
                        pieces.append(({(k - j, rate, q): weight}, self.composed(area, -1, high)))
                    if low is None:
                        left_end(f, rate)
                    else:
                        pieces.append(({(k - j, rate, q): -weight}, self.composed(area, -1, low)))
        return self._keep(key, _combined(pieces))

    def _keep(self, key: object, f: Piecewise) -> Piecewise:
        self._memory[key] = f
        self.size += f.weight + 1
        return f


def add(terms: Terms, key: Key, c: fmpq) -> None:
    """Add one term; a coefficient that becomes 0 goes."""
    known = terms.get(key)
    if known is None:
        if c:
            terms[key] = c
        return
    c = known + c
    if c:
        terms[key] = c
    else:
        del terms[key]


def times(left: Terms, right: Terms) -> Terms:
    """The product of two parts."""
    if left is _ONE:
        return right
    if right is _ONE:
        return left
    made: Terms = {}
    get = made.get
    for (k, rate, q), c in left.items():
        for (j, other, p), d in right.items():
            key = (k + j, rate + other, q + p)
            known = get(key)
            made[key] = c * d if known is None else known + c * d
    return {key: c for key, c in made.items() if c}


def whole_rate(x: Rational) -> int:
    """A rate that must be a multiple of the unit."""
    if x.denominator != 1:
        raise FinerUnits(rates=x.denominator)
    return int(x)


def whole_place(x: Rational) -> int:
    """A place that must be a multiple of the unit."""
    if x.denominator != 1:
        raise FinerUnits(places=x.denominator)
    return int(x)


def left_end(f: Piecewise, tilt: int) -> None:
    """Check that f(x) e^(tilt x) vanishes on the far left."""
    if any(rate + tilt <= 0 for _, rate, _ in f.parts[0]):
        raise ArithmeticError("an integral that does not converge")


def right_end(area: Piecewise) -> Terms:
    """The limit of a function on the far right."""
    made: Terms = {}
    for (k, rate, q), c in area.parts[-1].items():
        if rate > 0 or (rate == 0 and k > 0):
            raise ArithmeticError("an integral that does not converge")
        if rate == 0:
            made[(k, rate, q)] = c
    return made


def _merged(functions: Iterable[Piecewise]) -> list[int]:
    return sorted({cut for f in functions for cut in f.cuts})


def _parts_at(functions: Iterable[Piecewise], cuts: list[int], i: int) -> list[Terms]:
    """The parts of the functions on the i-th interval, the small ones first."""
    if i == 0:
        return sorted((f.parts[0] for f in functions), key=len)
    left = cuts[i - 1]
    return sorted((f.parts[bisect_right(f.cuts, left)] for f in functions), key=len)


def _combined(pieces: Sequence[tuple[Terms, Piecewise]]) -> Piecewise:
    """The sum of products of a part, that holds everywhere, and a function."""
    cuts = _merged(f for _, f in pieces)
    parts: list[Terms] = []
    for i in range(len(cuts) + 1):
        made: Terms = {}
        for factor, f in pieces:
            part = f.parts[bisect_right(f.cuts, cuts[i - 1]) if i else 0]
            for (k, rate, q), c in factor.items():
                for (j, other, p), d in part.items():
                    add(made, (k + j, rate + other, q + p), c * d)
        parts.append(made)
    return joined(cuts, parts)


def joined(cuts: Sequence[int], parts: Sequence[Terms]) -> Piecewise:
    """The same function without cuts between equal parts."""
    kept_cuts: list[int] = []
    kept = [parts[0]]
    for cut, part in zip(cuts, parts[1:], strict=True):
        if part != kept[-1]:
            kept_cuts.append(cut)
            kept.append(part)
    return Piecewise(kept_cuts, kept)
