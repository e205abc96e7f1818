"""The exact probability that affine constraints hold on independent draws.

Every draw has its density and every constraint its step, each a function of one affine form. A
draw z goes when the forms that contain it share one remaining form r: the integral over z of the
product of their functions is a function of r alone. Stars (sparse vector), caterpillars (noisy
max) and chains of partial sums (random walks) are taken apart so, from the leaves on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.refutation.exact.crossing import crossed
from tollens.refutation.exact.pieces import FinerUnits, Pieces, Piecewise, Rational
from tollens.refutation.exact.ring import ExpSum

Direction = tuple[tuple[int, Rational], ...]
"""Coefficients of draws, without zeros, by symbol; the first of them is 1."""

KINDS = ("exponential", "laplace", "uniform")
"""The draws with an exact integral."""

_MOST_REMEMBERED = 400_000
_LARGEST_UNIT = 1 << 60
_ONE = ExpSum({Fraction(0): Fraction(1)})


class NotAForest(Exception):  # noqa: N818 - the constraints are not at fault
    """No draw is left whose constraints share one remaining form; `symbol` is one of the rest."""

    def __init__(self, symbol: int) -> None:
        super().__init__(f"the constraints on draw {symbol} and its neighbours form no forest")
        self.symbol = symbol


class Exact:
    """Computes probabilities, and remembers what it integrated.

    >>> z_above_1 = Form(Fraction(-1), ((0, Fraction(1)),))
    >>> Exact().probability([Draw("laplace", (Fraction(1),))], [z_above_1])
    1/2*e^(-1)
    """

    def __init__(self) -> None:
        self._pieces = Pieces()

    def probability(self, draws: Sequence[Draw], constraints: Iterable[Form]) -> ExpSum:
        """P(all constraints >= 0); symbol i of the forms is `draws[i]`.

        Raises `NotAForest` where no order of elimination exists, and `ValueError` for a draw that
        has no exact integral.
        """
        forms = tuple(constraints)
        while True:
            if self._pieces.size > _MOST_REMEMBERED:
                self._pieces = Pieces(self._pieces.rates, self._pieces.places)
            try:
                return _probability(self._pieces, draws, forms)
            except FinerUnits as finer:
                rates, places = self._pieces.rates * finer.rates, self._pieces.places * finer.places
                if max(rates, places) > _LARGEST_UNIT and self._pieces.size:
                    rates, places = finer.rates, finer.places
                self._pieces = Pieces(rates, places)


def _probability(pieces: Pieces, draws: Sequence[Draw], forms: Sequence[Form]) -> ExpSum:
    ranges = _ranges(pieces, forms)
    if ranges is None:
        return ExpSum()
    factors: dict[Direction, Piecewise] = {}
    around: dict[int, set[Direction]] = {}
    for direction in ranges:
        for i, _ in direction:
            around.setdefault(i, set()).add(direction)
    for i, directions in around.items():
        if draws[i].kind not in KINDS:
            raise ValueError(f"no exact integral over a {draws[i].kind} draw")
        density = pieces.density(draws[i].kind, draws[i].parameters)
        alone: Direction = ((i, 1),)
        limits = ranges.pop(alone, None)
        factors[alone] = (
            density if limits is None else pieces.product([density, pieces.between(*limits)])
        )
        directions.add(alone)
    for direction, limits in ranges.items():
        factors[direction] = pieces.between(*limits)
    result = _ONE
    while around:
        z, rest, slopes = _next(around)
        groups: dict[Rational, list[Piecewise]] = {}
        for direction in around.pop(z):
            function = factors.pop(direction)
            own, slope = slopes[direction]
            groups.setdefault(slope, []).append(pieces.composed(function, own, 0))
            for i, _ in direction:
                if i != z:
                    around[i].remove(direction)
        message = _integrated(pieces, groups)
        if not rest:
            constant = {q: c for (_, _, q), c in pieces.total(message).items()}
            if not constant:
                return ExpSum()
            result = result * ExpSum.of(constant, pieces.rates * pieces.places)
            continue
        known = factors.get(rest)
        factors[rest] = message if known is None else pieces.product([known, message])
        for i, _ in rest:
            around[i].add(rest)
    return result


def _ranges(
    pieces: Pieces, forms: Sequence[Form]
) -> dict[Direction, tuple[int | None, int | None]] | None:
    """Where each direction must lie; None if there is no such place."""
    ranges: dict[Direction, tuple[int | None, int | None]] = {}
    for form in forms:
        terms = [(i, _slim(c)) for i, c in form.terms if c]
        if not terms:
            if form.constant < 0:
                return None
            continue
        lead = terms[0][1]
        direction = tuple((i, _ratio(c, lead)) for i, c in terms)
        place = pieces.place(-_ratio(form.constant, lead))
        low, high = ranges.get(direction, (None, None))
        if lead > 0:
            low = place if low is None else max(low, place)
        else:
            high = place if high is None else min(high, place)
        if low is not None and high is not None and low >= high:
            return None
        ranges[direction] = (low, high)
    return ranges


Slopes = dict[Direction, tuple[Rational, Rational]]
"""The direction is `own * (z + slope * rest)`, for each that contains z."""


def _next(around: dict[int, set[Direction]]) -> tuple[int, Direction, Slopes]:
    """A draw that can go, of those with the fewest factors, and what remains beside it."""
    for z in sorted(around, key=lambda i: (len(around[i]), i)):
        found = _taken_apart(z, around[z])
        if found is not None:
            return z, *found
    raise NotAForest(min(around, key=lambda i: (-len(around[i]), i)))


def _taken_apart(z: int, directions: set[Direction]) -> tuple[Direction, Slopes] | None:
    rest: Direction = ()
    slopes: Slopes = {}
    for direction in directions:
        own: Rational = 1
        others = []
        for i, c in direction:
            if i == z:
                own = c
            else:
                others.append((i, c))
        if not others:
            slopes[direction] = (own, 0)
            continue
        lead = others[0][1]
        unit = tuple((i, _ratio(c, lead)) for i, c in others)
        if rest and unit != rest:
            return None
        rest = unit
        slopes[direction] = (own, _ratio(lead, own))
    return rest, slopes


def _integrated(pieces: Pieces, groups: dict[Rational, list[Piecewise]]) -> Piecewise:
    """The integral over z of the product of all f(z + slope r); for slope 0 only, the product."""
    products = {slope: pieces.product(functions) for slope, functions in groups.items()}
    if len(products) == 1:
        return products[0]
    if len(products) > 2:
        return crossed(pieces, sorted(products.items(), key=lambda item: item[0]))
    slope = next(slope for slope in products if slope)
    message = pieces.correlated(products[0], products[slope])
    return pieces.composed(message, slope, 0)


def _slim(x: Fraction) -> Rational:
    return x.numerator if x.denominator == 1 else x


def _ratio(a: Rational, b: Rational) -> Rational:
    if b in (1, -1):
        return a * b
    return _slim(Fraction(a) / b)
