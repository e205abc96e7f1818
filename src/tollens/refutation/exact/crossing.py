"""The integral of a product of functions along three or more directions.

`r -> integral over z of the product of f_j(z + s_j r)`. The cuts of the functions are lines
z = cut - s_j r in the plane of r and z; between two crossings of such lines their order is fixed,
and between two neighbouring lines the product is a sum of `c z^i r^j e^(rate z + other r + q)`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from flint import fmpq

from tollens.refutation.exact.pieces import (
    Pieces,
    Piecewise,
    Rational,
    Terms,
    add,
    joined,
    whole_place,
    whole_rate,
)

Plane = dict[tuple[int, int, int, int, int], fmpq]
"""{(i, j, rate, other, q): c} stands for the sum of c z^i r^j e^(rate z + other r + q)."""
Line = tuple[int, Rational]
"""(cut, s) is the line z = cut - s r."""
Shapes = Sequence[tuple[Rational, Piecewise]]


def crossed(pieces: Pieces, shapes: Shapes) -> Piecewise:
    """The integral over z of the product of f(z + s r), over (s, f), as a function of r."""
    lines: list[Line] = sorted({(cut, s) for s, f in shapes for cut in f.cuts})
    cuts = sorted(
        {
            whole_place(Fraction(a - b) / (s - t))
            for i, (a, s) in enumerate(lines)
            for b, t in lines[:i]
            if s != t
        }
    )
    parts: list[Terms] = []
    for r in _inside(cuts):
        ordered = sorted(lines, key=lambda line: line[0] - line[1] * r)
        heights = [cut - s * r for cut, s in ordered]
        made: Terms = {}
        for i, z in enumerate(_inside(heights)):
            plane: Plane = {(0, 0, 0, 0, 0): fmpq(1)}
            for s, f in shapes:
                part = f.parts[bisect_right(f.cuts, z + s * r)]
                plane = _times(plane, _spread(part, s)) if part else {}
                if not plane:
                    break
            if plane:
                lower = ordered[i - 1] if i else None
                upper = ordered[i] if i < len(ordered) else None
                _integrate(pieces, plane, lower, upper, made)
        parts.append(made)
    return joined(cuts, parts)


def _inside(cuts: Sequence[Rational]) -> list[Fraction]:
    """A point in each of the intervals that sorted cuts leave."""
    if not cuts:
        return [Fraction(0)]
    middles = [Fraction(a + b) / 2 for a, b in pairwise(cuts)]
    return [Fraction(cuts[0] - 1), *middles, Fraction(cuts[-1] + 1)]


def _spread(part: Terms, s: Rational) -> Plane:
    """A part at z + s r."""
    made: Plane = {}
    slope = fmpq(s.numerator, s.denominator)
    for (k, rate, q), c in part.items():
        other = whole_rate(rate * s)
        for i in range(k + 1) if s else (k,):
            made[(i, k - i, rate, other, q)] = c * math.comb(k, i) * slope ** (k - i)
    return made


def _times(left: Plane, right: Plane) -> Plane:
    made: Plane = {}
    for (i, j, a, b, q), c in left.items():
        for (k, m, d, e, p), f in right.items():
            key = (i + k, j + m, a + d, b + e, q + p)
            known = made.get(key)
            made[key] = c * f if known is None else known + c * f
    return {key: c for key, c in made.items() if c}


def _integrate(
    pieces: Pieces, plane: Plane, lower: Line | None, upper: Line | None, made: Terms
) -> None:
    """Add the integral over z between two lines; None is without end."""
    for (i, j, rate, other, q), c in plane.items():
        area = pieces.antiderivative({(i, rate, 0): c})
        for line, sign in ((upper, 1), (lower, -1)):
            if line is None:
                if rate * sign >= 0:
                    raise ArithmeticError("an integral that does not converge")
                continue
            cut, s = line
            slope, at = fmpq(-s.numerator, s.denominator), fmpq(cut, pieces.places)
            along, here = other - whole_rate(rate * s), q + rate * cut
            for (k, _, _), weight in area.items():
                for power in range(k + 1):
                    value = weight * math.comb(k, power) * slope**power * at ** (k - power)
                    add(made, (j + power, along, here), value * sign)
