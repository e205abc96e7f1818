"""Integrals over trees of draws with log-concave laws, enclosed.

The probability that all constraints of a tree hold is the integral over its root of `g(x) =
density(x) * product of P(the constraints of a branch hold | x)`. All factors are log-concave
(theorem of Prékopa), so between two places ln g lies above its chord, and beyond them below it.
For a cell of width h with the values g_0, g_1 at its ends, and g_-1 and g_2 one h further,

    h sqrt(g_0 g_1)  <=  integral  <=  h/2 (g_0 (1 + (g_0/g_-1 - 1)/4) + g_1 (1 + (g_1/g_2 - 1)/4)):

below, the chord, an exponential whose mean is at least the middle of its ends; above, the chord of
the left neighbours on one half and that of the right ones on the other, by trapezoids, and
q^t <= 1 + t (q - 1) for t <= 1. Both sides differ by a part of order h^2. All integers are rounded
outward. Source: A. Prékopa, On logarithmic concave measures and functions, Acta Sci. Math. 34
(1973).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tollens.checker.clock import tick
from tollens.checker.enclosures import Bounds, dyadic, fixed
from tollens.checker.errors import CertificateError
from tollens.checker.laws import ONE, ZERO, End, Law

LEAST_CELLS, MOST_CELLS = 8, 8192

_P = 640  # values of functions count units of 2^-1024
_COARSE = 48  # cells to find out where the mass is
_NEGLIGIBLE = 1 << 22
_SHIFTS = 8
_MOST_VALUES = 60_000  # of a tree, some seconds
_MOST_IN_ALL = 1_500_000

Pair = tuple[int, int]
Place = tuple[Fraction, Fraction]
"""(a, b) is the place a + b x, where x is the draw of which a branch hangs."""


@dataclass(frozen=True)
class Branch:
    """A draw with the draws that hang of it.

    It lies between constant ends, above all places `lows` and below all `highs`.
    """

    law: Law
    ends: tuple[End, End] = (None, None)
    lows: tuple[Place, ...] = ()
    highs: tuple[Place, ...] = ()
    branches: tuple[Branch, ...] = ()

    def support(self) -> tuple[End, End]:
        """Where the draw may lie, whatever the one above is; the branches may narrow that."""
        low, high = self.law.support()
        low, high = _later(low, self.ends[0]), _sooner(high, self.ends[1])
        for branch in self.branches:
            first, last = branch.support()
            if first is not None and last is not None and first >= last:
                return first, last
            tops = [*branch.highs, *([] if last is None else [(last, ZERO)])]
            floors = [*branch.lows, *([] if first is None else [(first, ZERO)])]
            for a, b in floors:
                for c, d in tops:  # a + b x <= c + d x
                    if b > d:
                        high = _sooner(high, (c - a) / (b - d))
                    elif b < d:
                        low = _later(low, (a - c) / (d - b))
                    elif a > c:
                        return ONE, ZERO
        return low, high

    def simple(self) -> bool:
        """Whether the integrals over the branches have a closed form, or one end that moves."""
        return all(
            not branch.branches or (len(branch.lows) + len(branch.highs) == 1 and branch.simple())
            for branch in self.branches
        )


class Integral:
    """Integrates over trees that are `simple`, on so many cells an integral.

    What was integrated once is remembered, and the work on a tree and on all of them is bounded.
    """

    def __init__(self, cells: int) -> None:
        if not LEAST_CELLS <= cells <= MOST_CELLS:
            raise CertificateError(f"the cells must be {LEAST_CELLS} ... {MOST_CELLS}, not {cells}")
        self._cells = cells
        self._left = 0
        self._left_in_all = _MOST_IN_ALL
        self._known: dict[Branch, Bounds] = {}

    def total(self, root: Branch) -> Bounds:
        """Bounds of the probability that all constraints of a tree hold.

        >>> law = Law("normal", (ONE,), 40)
        >>> above = Branch(law, lows=((ZERO, ONE),))         # one normal draw above another
        >>> low, high = Integral(64).total(Branch(law, branches=(above,)))
        >>> 0.49 < low <= 0.5 <= high < 0.51
        True
        """
        if root not in self._known:
            self._left = min(_MOST_VALUES, self._left_in_all)
            self._left_in_all -= self._left
            self._known[root] = self._total(root)
            self._left_in_all += self._left
        return self._known[root]

    def _total(self, root: Branch) -> Bounds:
        low, high = root.support()
        if low is not None and high is not None and low >= high:
            return ZERO, ZERO
        if not root.branches:
            return root.law.mass(low, high)
        a, b = self._bulk(root)
        places = [a + i * (b - a) / self._cells for i in range(self._cells + 1)]
        values = self._at(root, places)
        areas = _areas(root.law, places, values)
        right = 0 if b == high else _tail(places, values, root.law.mass(b, None))
        left = 0 if a == low else _tail(places[::-1], values[::-1], root.law.mass(None, a))
        below, above = sum(area[0] for area in areas), sum(area[1] for area in areas)
        return dyadic(below, -_P), min(ONE, dyadic(above + left + right, -_P))

    def _bulk(self, root: Branch) -> tuple[Fraction, Fraction]:
        """Ends between which nearly all of the integral lies; any ends are right."""
        low, high = root.support()
        a, b = root.law.window()
        width = b - a
        a, b = a if low is None else max(a, low), b if high is None else min(b, high)
        if a >= b:
            a, b = (a, a + width / 8) if a == low else (b - width / 8, b)
            a, b = a if low is None else max(a, low), b if high is None else min(b, high)
        for _ in range(_SHIFTS):
            step = (b - a) / _COARSE
            places = [a + i * step for i in range(_COARSE + 1)]
            values = [above for _, above in self._at(root, places)]
            peak = max(values)
            kept = [i for i, value in enumerate(values) if value * _NEGLIGIBLE >= peak]
            first, last = kept[0] - 1, kept[-1] + 1
            if first < 0 and a != low:
                a = a - (b - a) if low is None else max(low, a - (b - a))
            elif last > _COARSE and b != high:
                b = b + (b - a) if high is None else min(high, b + (b - a))
            else:
                a, b = a + max(0, first) * step, a + min(_COARSE, last) * step
                if last - first > _COARSE // 4:
                    break
        return a, b

    def _at(self, branch: Branch, places: Sequence[Fraction]) -> list[Pair]:
        """Values of g at places inside the support."""
        tick()
        self._left -= len(places) * (1 + len(branch.branches))
        if self._left < 0:
            raise CertificateError("an integral that takes too long")
        values = [_pair(branch.law.density(x)) for x in places]
        for below, power in Counter(branch.branches).items():
            factors = self._given(below, places)
            for _ in range(power):
                values = [
                    (a * c >> _P, -(-b * d >> _P))
                    for (a, b), (c, d) in zip(values, factors, strict=True)
                ]
        return values

    def _given(self, branch: Branch, places: Sequence[Fraction]) -> list[Pair]:
        """Bounds of P(all constraints of a branch hold | x) at places x."""
        if not branch.branches:
            return [_pair(branch.law.mass(*_between(branch, x))) for x in places]
        ((a, b),) = branch.lows or branch.highs
        sign = 1 if branch.lows else -1
        ends = [sign * (a + b * x) for x in places]
        ordered = sorted(set(ends))
        known = dict(zip(ordered, self._beyond(branch, ordered, sign), strict=True))
        return [known[end] for end in ends]

    def _beyond(self, branch: Branch, ends: Sequence[Fraction], sign: int) -> list[Pair]:
        """Bounds of the integrals of g(sign t) over t from each of the ends on; they ascend."""
        low, high = branch.support()
        a, b = branch.law.window()
        if sign < 0:
            low, high, a, b = _minus(high), _minus(low), -b, -a
        begin = ends[0] if low is None else max(low, ends[0])
        stop = max(b, begin + (b - a) / 2, ends[-1] + (b - a) / 16)
        stop = stop if high is None else min(high, stop)
        if stop <= begin:
            return [(0, 0)] * len(ends)
        marks = sorted({begin, stop, *(end for end in ends if begin < end < stop)})
        width = (b if high is None else min(b, high)) - (a if low is None else max(a, low))
        places = _filled(marks, (width if width > 0 else b - a) / self._cells)
        values = self._at(branch, [sign * t for t in places])
        areas = _areas(branch.law, places, values, sign)
        rest = branch.law.mass(stop, None) if sign > 0 else branch.law.mass(None, -stop)
        below, above = 0, 0 if stop == high else _tail(places, values, rest)
        sums = {stop: (below, above)}
        for t, area in zip(places[-2::-1], areas[::-1], strict=True):
            below, above = below + area[0], above + area[1]
            sums[t] = (below, above)
        return [sums[begin] if t <= begin else sums[t] if t <= stop else (0, 0) for t in ends]


def _areas(
    law: Law, places: Sequence[Fraction], values: Sequence[Pair], sign: int = 1
) -> list[Pair]:
    """Bounds of the integral of g(sign t) over each of the cells between places t."""
    widths = [b - a for a, b in pairwise(places)]
    areas = []
    for i, width in enumerate(widths):
        (a0, b0), (a1, b1) = values[i], values[i + 1]
        heights = []
        left = right = None
        if i and values[i - 1][0]:
            left = _rise(b0, values[i - 1][0], width, widths[i - 1])
            if width <= widths[i - 1]:
                heights.append(b0 + left // 2 + 1)
        if i + 2 < len(values) and values[i + 2][0]:
            right = _rise(b1, values[i + 2][0], width, widths[i + 1])
            if width <= widths[i + 1]:
                heights.append(b1 + right // 2 + 1)
            if left is not None and width <= 2 * min(widths[i - 1], widths[i + 1]):
                heights.append((4 * (b0 + b1) + left + right) // 8 + 1)
        if heights:
            above = -(-min(heights) * width.numerator // width.denominator)
        if not heights or min(heights) > 2 * max(b0, b1):  # the other factors are at most 1
            ends = sign * places[i], sign * places[i + 1]
            whole = _pair(law.mass(min(ends), max(ends)))[1]
            above = min(above, whole) if heights else whole
        areas.append((math.isqrt(a0 * a1) * width.numerator // width.denominator, above))
    return areas


def _rise(here: int, before: int, width: Fraction, width_before: Fraction) -> int:
    """At least g(x)(q^t - 1) for t = width / width_before <= 1, where q = g(x)/g(before x)."""
    above = here * (here - before) * width.numerator * width_before.denominator
    return -(-above // (before * width.denominator * width_before.numerator))


def _tail(places: Sequence[Fraction], values: Sequence[Pair], mass: Bounds) -> int:
    """A bound of the integral beyond the last place, where the law has so much mass."""
    above = _pair(mass)[1]
    here = values[-1][1]
    for i in (len(values) - 2, len(values) * 15 // 16 - 1, len(values) * 3 // 4 - 1):
        before = values[i][0]
        if i >= 0 and before > here:  # g is below g(x) q^t, q < 1, and 1/(-ln q) < 1/(1 - q)
            width = abs(places[-1] - places[i])
            over = here * before * width.numerator
            above = min(above, -(-over // ((before - here) * width.denominator)))
    return above


def _filled(marks: Sequence[Fraction], step: Fraction) -> list[Fraction]:
    """The marks, with places between them that are at most a step apart."""
    places = []
    for a, b in pairwise(marks):
        n = math.ceil((b - a) / step)
        places += [a + i * (b - a) / n for i in range(n)]
    return [*places, marks[-1]]


def _between(branch: Branch, x: Fraction) -> tuple[End, End]:
    """Where the draw of a branch must lie."""
    low, high = branch.ends
    for a, b in branch.lows:
        low = _later(low, a + b * x)
    for a, b in branch.highs:
        high = _sooner(high, a + b * x)
    return low, high


def _pair(bounds: Bounds) -> Pair:
    return fixed(bounds[0], _P)[0], fixed(bounds[1], _P)[1]


def _later(a: End, b: End) -> End:
    return b if a is None else a if b is None else max(a, b)


def _sooner(a: End, b: End) -> End:
    return b if a is None else a if b is None else min(a, b)


def _minus(end: End) -> End:
    return None if end is None else -end
