"""The exact probability that affine constraints hold on independent draws.

Floats in place of rationals were measured: about as fast on stars, twice as fast on noisy max. As
cancellation would then limit what the search sees, there is only the exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.refutation.exact.crossing import crossed
from tollens.refutation.exact.pieces import FinerUnits, Pieces, Piecewise
from tollens.refutation.exact.ring import ExpSum
from tollens.refutation.forest import Rational, factors

KINDS = ("exponential", "laplace", "uniform")
"""The draws with an exact integral."""

_MOST_REMEMBERED = 400_000
_LARGEST_UNIT = 1 << 60
_ONE = ExpSum({Fraction(0): Fraction(1)})


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
                numbers = factors(_Functions(self._pieces), draws, forms)
            except FinerUnits as finer:
                rates, places = self._pieces.rates * finer.rates, self._pieces.places * finer.places
                if max(rates, places) > _LARGEST_UNIT and self._pieces.size:
                    rates, places = finer.rates, finer.places
                self._pieces = Pieces(rates, places)
                continue
            result = ExpSum() if numbers is None else _ONE
            for number in numbers or ():
                result = result * number
            return result


class _Functions:
    """Piecewise functions, as the elimination needs them."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def law(self, draw: Draw) -> Piecewise:
        if draw.kind not in KINDS:
            raise ValueError(f"no exact integral over a {draw.kind} draw")
        return self._pieces.density(draw.kind, draw.parameters)

    def step(self, low: Rational | None, high: Rational | None) -> Piecewise:
        place = self._pieces.place
        return self._pieces.between(
            None if low is None else place(low), None if high is None else place(high)
        )

    def product(self, functions: Sequence[Piecewise]) -> Piecewise:
        return self._pieces.product(functions)

    def scaled(self, function: Piecewise, slope: Rational) -> Piecewise:
        return self._pieces.composed(function, slope, 0)

    def integrated(self, shapes: Mapping[Rational, Piecewise]) -> Piecewise:
        if len(shapes) > 2:
            return crossed(self._pieces, sorted(shapes.items(), key=lambda item: item[0]))
        slope = next(slope for slope in shapes if slope)
        return self._pieces.composed(self._pieces.correlated(shapes[0], shapes[slope]), slope, 0)

    def total(self, function: Piecewise) -> ExpSum:
        constant = {q: c for (_, _, q), c in self._pieces.total(function).items()}
        return ExpSum.of(constant, self._pieces.rates * self._pieces.places)

    def cost(self, function: Piecewise) -> int:
        return function.weight
