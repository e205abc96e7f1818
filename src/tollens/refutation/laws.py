"""The law of one number that a program returns, as a function of where it is cut.

`T(r) = P(constraints hold and number >= r)` is a product of piecewise sums of
`c s^k e^(rate s + q)`: the elimination of the checker with the place of the cut left open. It is
exact; the search evaluates it in floats, at many places at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tollens.checker.draws import Draw
from tollens.checker.form import Form, groups, plus, scaled, symbol
from tollens.checker.integration import STEP, Integrator, Piecewise, density

Array = NDArray[np.float64]
ONE = Fraction(1)


@dataclass(frozen=True)
class Tail:
    """`scale` times the product of f(a r + c) over the factors (a, c, f)."""

    scale: float
    factors: tuple[tuple[Fraction, Fraction, Piecewise], ...]

    def __call__(self, places: Array) -> Array:
        """T at these places."""
        found = np.full(places.shape, self.scale)
        for a, c, function in self.factors:
            found *= _values(function, float(a) * places + float(c))
        return found

    def cuts(self) -> set[Fraction]:
        """Where T changes its form."""
        return {(cut - c) / a for a, c, function in self.factors for cut in function.cuts}


class Laws(Integrator):
    """Tails of numbers; what is eliminated once is remembered."""

    def tail(self, draws: Sequence[Draw], constraints: Iterable[Form], number: Form) -> Tail:
        """The tail of a number under constraints on its draws.

        >>> law = Laws().tail([Draw("laplace", (ONE,))], [], symbol(0))
        >>> law(np.array([0.0, 1.0])).round(4)
        array([0.5   , 0.1839])
        """
        place = len(draws)
        cut = plus(number, scaled(symbol(place), -ONE))
        assert isinstance(cut, Form)  # noqa: S101 - it has the symbol of the place
        scale = 1.0
        left: list[tuple[Form, Piecewise]] = []
        for used, part in groups([*constraints, cut]):
            if place not in used:
                total = self.probability(draws, part)
                scale *= float(sum(float(c) * np.exp(float(q)) for q, c in total.items()))
                continue
            live = used - {place}
            left = [(form, STEP) for form in part]
            left += [(Form(Fraction(0), ((i, ONE),)), density(draws[i])) for i in live]
            while live:
                z = self.next_of(left, live)
                live.remove(z)
                left = self.without(left, z)
        factors = []
        for form, function in left:
            if form.terms:
                factors.append((form.terms[0][1], form.constant, function))
            else:
                scale *= float(_values(function, np.zeros(1))[0])
        return Tail(scale, tuple(factors))


def _values(function: Piecewise, at: Array) -> Array:
    """A piecewise function at these places."""
    found = np.zeros(at.shape)
    which = np.searchsorted(np.array([float(cut) for cut in function.cuts]), at, side="right")
    for i, part in enumerate(function.parts):
        here = which == i
        if part and here.any():
            s = at[here]
            found[here] = sum(
                float(c) * s**k * np.exp(float(rate) * s + float(q)) for (k, rate, q), c in part
            )
    return found
