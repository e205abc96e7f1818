"""The interval of one number in which the leak is largest, from its laws on both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.patterns import Between, Pattern
from tollens.refutation.laws import Tail
from tollens.refutation.shapes import Place, found_at, placed
from tollens.refutation.sides import Side

Array = NDArray[np.float64]
Score = Callable[[Array, Array], Array]
"""What is to be large, of the probabilities of events on both sides."""

_MULTIPLES = tuple(Fraction(m) for m in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24))
_FINE = 1024
_MOST = 400
_LEVELS, _LEVEL_STEPS = 3, 6
_TIE = 1e-9
_ROUNDING = 1e-14
"""By so much of the larger a difference of two tails may be rounded."""


def interval(
    sides: tuple[Side, Side], pattern: Pattern, at: Place, score: Score, *, boxes: bool, fine: bool
) -> Between | None:
    """The best interval at a place of a pattern: likely on the first side, not on the second.

    Half-lines, boxes and the cells between marks are tried, and if `fine` ends between them; None
    where none has a larger score than all numbers.
    """
    marks = _marks(sides, pattern, at)
    if not marks:
        return None
    width = max(spread for _, spread in marks)
    places = sorted({place for place, _ in marks})
    if len(places) > _MOST:
        places = places[:: len(places) // _MOST + 1]
    law = _Law(sides, pattern, at)
    chosen = law.best(_tried(places, width / _FINE), score, _center(sides, at, pattern), boxes)
    if chosen is None or boxes or not fine:
        return chosen
    for level in range(1, _LEVELS + 1):
        finer = law.best(
            [chosen, *_moved(chosen, places, level)], score, _center(sides, at, pattern), boxes
        )
        chosen = finer or chosen
    return chosen


class _Law:
    """The law of a number on both sides, within a pattern."""

    def __init__(self, sides: tuple[Side, Side], pattern: Pattern, at: Place) -> None:
        self._sides, self._pattern, self._at = sides, pattern, at
        self._laws: list[list[tuple[float, Tail | float]]] | None
        try:
            self._laws = [side.laws(pattern, at) for side in sides]
        except CertificateError:  # no forest with the cut left open, or a normal draw
            self._laws = None

    def best(
        self, tried: Sequence[Between], score: Score, center: Fraction, boxes: bool
    ) -> Between | None:
        """The interval of largest score; None if all numbers have as large a one."""
        every = [Between(None, None), *(tried if self._laws else _fewer(tried))]
        (p, less), (q, more) = self._probabilities(every)
        found = score(np.maximum(p - less, 0.0), q + more)  # as if rounding had helped
        best = float(found.max())
        if not best > found[0] + _TIE:
            return None
        near = [i for i in range(1, len(every)) if found[i] >= best - _TIE]
        return min((every[i] for i in near), key=lambda each: _order(each, center, boxes=boxes))

    def _probabilities(self, every: Sequence[Between]) -> list[tuple[Array, Array]]:
        """The probabilities on both sides, each with what may be rounding in them."""
        if self._laws:
            return [_probabilities(laws, every) for laws in self._laws]
        patterns = [placed(self._pattern, self._at, each) for each in every]
        found = [np.array([side.mass(each) for each in patterns]) for side in self._sides]
        return [(masses, np.zeros(len(masses))) for masses in found]


def _tried(places: Sequence[Fraction], small: Fraction) -> list[Between]:
    lines = [Between(None, place) for place in places] + [Between(place, None) for place in places]
    boxes = [Between(place, place + small) for place in places]
    return [*lines, *boxes, *(Between(a, b) for a, b in pairwise(places))]


def _fewer(tried: Sequence[Between]) -> Sequence[Between]:
    """Those with an end at every other place, where each costs an integral."""
    return tried if len(tried) <= 3 * _LEVEL_STEPS else tried[::2]


def _moved(chosen: Between, places: Sequence[Fraction], level: int) -> list[Between]:
    """The same interval with an end moved by fractions of the distance to the next marks."""
    found = []
    gaps = [b - a for a, b in pairwise(places)] or [Fraction(1)]
    step = max(gaps) / _LEVEL_STEPS**level
    for i in range(-_LEVEL_STEPS, _LEVEL_STEPS + 1):
        low = None if chosen.low is None else chosen.low + i * step
        high = None if chosen.high is None else chosen.high + i * step
        found += [Between(low, chosen.high), Between(chosen.low, high)]
    return [
        each
        for each in dict.fromkeys(found)
        if each != chosen and (each.low is None or each.high is None or each.low < each.high)
    ]


def _order(interval: Between, center: Fraction, *, boxes: bool) -> tuple[bool, Fraction]:
    """Which of equally good intervals to take: the kind that is wanted, nearest to the center."""
    bounded = interval.low is not None and interval.high is not None
    end = interval.low if interval.low is not None else interval.high
    assert end is not None  # noqa: S101 - what was tried has an end
    return bounded != boxes, abs(end - center)


def _probabilities(
    laws: list[tuple[float, Tail | float]], tried: Sequence[Between]
) -> tuple[Array, Array]:
    """The probability of each interval, and what may be rounding in it."""
    lows = np.array([-np.inf if each.low is None else float(each.low) for each in tried])
    highs = np.array([np.inf if each.high is None else float(each.high) for each in tried])
    found, rounding = np.zeros(len(tried)), np.zeros(len(tried))
    for mass, law in laws:
        if isinstance(law, float):
            found += mass * ((lows <= law) & (law <= highs))
            continue
        ends = np.concatenate([lows, highs])
        finite = np.isfinite(ends)
        tails = np.zeros(len(ends))
        tails[finite] = law(ends[finite])
        tails[ends == -np.inf] = law(np.array([-1e6]))[0]
        above, beyond = tails[: len(lows)], tails[len(lows) :]
        found += mass * (above - beyond)
        rounding += mass * _ROUNDING * np.where(beyond == 0, 0.0, above)
    return np.maximum(found, 0.0), rounding


def _marks(sides: tuple[Side, Side], pattern: Pattern, at: Place) -> set[tuple[Fraction, Fraction]]:
    """(place, spread) at which to cut: around the centers, and where uniform draws end."""
    found: set[tuple[Fraction, Fraction]] = set()
    for side in sides:
        for path in side.near(pattern):
            number = found_at(path.output, at)
            if isinstance(number, Form):
                spread = _spread(number, path.draws)
                ends = {number.constant}
                for i, c in number.terms:
                    if path.draws[i].kind == "uniform":
                        ends = {end + c * p for end in ends for p in path.draws[i].parameters}
                for m in _MULTIPLES:
                    ends |= {number.constant + m * spread, number.constant - m * spread}
                found |= {(end, spread) for end in ends}
    return found


def _center(sides: tuple[Side, Side], at: Place, pattern: Pattern) -> Fraction:
    for path in sides[0].near(pattern):
        number = found_at(path.output, at)
        if isinstance(number, Form):
            return number.constant
    return Fraction(0)


def _spread(number: Form, draws: Sequence[Draw]) -> Fraction:
    """The size of the noise in a number."""
    total = Fraction(0)
    for i, c in number.terms:
        parameters = draws[i].parameters
        size = parameters[-1] - parameters[0] if len(parameters) > 1 else parameters[0]
        total = max(total, abs(c) * size)
    return total
