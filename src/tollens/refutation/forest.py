"""The order in which draws are integrated out, whatever the functions are.

Every draw has its density and every constraint its step, each a function of one affine form. A
draw z goes when the forms that contain it share one remaining form r: the integral over z of the
product of their functions is a function of r alone. Stars (sparse vector), caterpillars (noisy
max) and chains of partial sums (random walks) are taken apart so, from the leaves on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

from tollens.checker.draws import Draw
from tollens.checker.form import Form

Rational = int | Fraction
Direction = tuple[tuple[int, Rational], ...]
"""Coefficients of draws, without zeros, by symbol; the first of them is 1."""
Slopes = dict[Direction, tuple[Rational, Rational]]
"""A direction is `own * (z + slope * rest)`: (own, slope) for each that contains z."""
Range = tuple[Rational | None, Rational | None]

F = TypeVar("F")
N_co = TypeVar("N_co", covariant=True)


class NotAForest(Exception):  # noqa: N818 - the constraints are not at fault
    """No draw is left whose constraints share one remaining form; `symbol` is one of the rest."""

    def __init__(self, symbol: int) -> None:
        super().__init__(f"the constraints on draw {symbol} and its neighbours form no forest")
        self.symbol = symbol


class Functions(Protocol[F, N_co]):
    """What is needed of functions of one variable, and of the numbers that come out."""

    def law(self, draw: Draw) -> F:
        """The density of a draw."""

    def step(self, low: Rational | None, high: Rational | None) -> F:
        """1 between two places, 0 elsewhere; None is without end."""

    def product(self, functions: Sequence[F]) -> F:
        """The product."""

    def scaled(self, function: F, slope: Rational) -> F:
        """x -> f(slope x)."""

    def integrated(self, shapes: Mapping[Rational, F]) -> F:
        """r -> integral over z of the product of f(z + slope r), for two slopes or more."""

    def total(self, function: F) -> N_co:
        """The integral over the whole line."""

    def cost(self, function: F) -> int:
        """How much work it is to integrate over a function."""


def factors(
    functions: Functions[F, N_co], draws: Sequence[Draw], forms: Iterable[Form]
) -> list[N_co] | None:
    """Numbers whose product is P(all forms >= 0); None if the forms contradict each other.

    Raises `NotAForest` where no order exists.
    """
    ranges = _ranges(forms)
    if ranges is None:
        return None
    known: dict[Direction, F] = {}
    around: dict[int, set[Direction]] = {}
    for direction in ranges:
        for i, _ in direction:
            around.setdefault(i, set()).add(direction)
    for i, directions in around.items():
        alone: Direction = ((i, 1),)
        law, limits = functions.law(draws[i]), ranges.pop(alone, None)
        known[alone] = law if limits is None else functions.product([law, functions.step(*limits)])
        directions.add(alone)
    for direction, limits in ranges.items():
        known[direction] = functions.step(*limits)
    numbers: list[N_co] = []
    while around:
        z, rest, slopes = _next(around, {i: functions.cost(known[((i, 1),)]) for i in around})
        groups: dict[Rational, list[F]] = {}
        for direction in around.pop(z):
            own, slope = slopes[direction]
            function = known.pop(direction)
            groups.setdefault(slope, []).append(
                function if own == 1 else functions.scaled(function, own)
            )
            for i, _ in direction:
                if i != z:
                    around[i].remove(direction)
        shapes = {slope: functions.product(members) for slope, members in groups.items()}
        if not rest:
            numbers.append(functions.total(shapes[0]))
            continue
        message = functions.integrated(shapes)
        known[rest] = functions.product([known[rest], message]) if rest in known else message
        for i, _ in rest:
            around[i].add(rest)
    return numbers


def _ranges(forms: Iterable[Form]) -> dict[Direction, Range] | None:
    """Where each direction must lie; None if there is no such place."""
    ranges: dict[Direction, Range] = {}
    for form in forms:
        terms = [(i, _slim(c)) for i, c in form.terms if c]
        if not terms:
            if form.constant < 0:
                return None
            continue
        lead = terms[0][1]
        direction = tuple((i, _ratio(c, lead)) for i, c in terms)
        place = -_ratio(_slim(form.constant), lead)
        low, high = ranges.get(direction, (None, None))
        if lead > 0:
            low = place if low is None else max(low, place)
        else:
            high = place if high is None else min(high, place)
        if low is not None and high is not None and low >= high:
            return None
        ranges[direction] = (low, high)
    return ranges


def _next(
    around: Mapping[int, set[Direction]], costs: Mapping[int, int]
) -> tuple[int, Direction, Slopes]:
    """A draw that can go, of those with the fewest factors, and what remains beside it."""
    for z in sorted(around, key=lambda i: (len(around[i]), costs[i], i)):
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


def _slim(x: Fraction) -> Rational:
    return x.numerator if x.denominator == 1 else x


def _ratio(a: Rational, b: Rational) -> Rational:
    if b in (1, -1):
        return a * b
    return _slim(Fraction(a) / b)
