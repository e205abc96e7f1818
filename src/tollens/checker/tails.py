"""Moments of draws, whole and beyond a bound that depends on variables, and facts on exp.

For z from the Laplace distribution with scale b and a bound c >= 0,

    E[z^k; z >= c] = 1/2 e^(-c/b) sum_j k!/(k-j)! b^j c^(k-j),

by parts; for c <= 0 it is the k-th moment minus (-1)^k times the same at -c. So it is a polynomial
in c and y = e^(-|c|/b), linear in y. Here y is a symbol that is named by its exponent, and what is
known about it are the inequalities of `facts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from tollens.checker.draws import Draw
from tollens.checker.enclosures import exp_bounds
from tollens.checker.errors import CertificateError
from tollens.checker.polynomials import Polynomial, total

ORDER = 5
"""The highest order of the Taylor polynomials among the facts."""

_BITS = 16  # bounds that differ by less cannot be told apart by a search in floats
_ONE = Polynomial.constant(1)

Case = tuple[tuple[tuple[Polynomial, bool], ...], str]


def moment(draw: Draw, k: int) -> Fraction:
    """E[z^k].

    >>> [moment(Draw("laplace", (Fraction(1, 2),)), k) for k in (0, 1, 2)]
    [Fraction(1, 1), Fraction(0, 1), Fraction(1, 2)]
    >>> moment(Draw("geometric", (Fraction(1, 4),)), 2)
    Fraction(21, 1)
    """
    first = draw.parameters[0]
    match draw.kind:
        case "laplace":
            return math.factorial(k) * first**k if k % 2 == 0 else Fraction(0)
        case "exponential":
            return math.factorial(k) * first**k
        case "gauss":
            return math.prod(range(1, k, 2)) * first**k if k % 2 == 0 else Fraction(0)
        case "uniform":
            second = draw.parameters[1]
            return (second ** (k + 1) - first ** (k + 1)) / ((k + 1) * (second - first))
        case "geometric":  # z is 0 with chance p, else 1 + z' with z' distributed as z
            known = [Fraction(1)]
            for n in range(1, k + 1):
                lower = sum(math.comb(n, j) * known[j] for j in range(n))
                known.append((1 - first) * lower / first)
            return known[k]
    raise CertificateError(f"moments of {draw.kind} draws are not known")


def cases(draw: Draw, c: Polynomial) -> list[Case]:
    """Where a bound c may lie: guards (polynomial, strict) on it, and a name for `above`."""
    match draw.kind:
        case "laplace" | "exponential":
            return [(((c, False),), "right"), (((-c, True),), "left")]
        case "uniform":
            a, b = (Polynomial.constant(end) for end in draw.parameters)
            inside = ((c - a, False), (b - c, False))
            return [(((a - c, True),), "left"), (inside, "inside"), (((c - b, True),), "right")]
    raise CertificateError(f"a branch on a {draw.kind} draw")


def above(draw: Draw, k: int, c: Polynomial, case: str) -> Polynomial:
    """E[z^k; z >= c] in a case.

    >>> print(above(Draw("laplace", (Fraction(2),)), 1, Polynomial.variable("x"), "right"))
    exp(-(1/2*x)) + 1/2*exp(-(1/2*x))*x
    """
    whole = Polynomial.constant(moment(draw, k))
    if draw.kind == "uniform":
        if case != "inside":
            return whole if case == "left" else Polynomial({})
        low, high = draw.parameters
        end = Polynomial.constant(high ** (k + 1)) - _power(c, k + 1)
        return end.scaled(1 / ((k + 1) * (high - low)))
    u = exponent(draw, c, case)
    if u is None:
        return whole
    b = draw.parameters[0]
    share = Fraction(1, 2) if draw.kind == "laplace" else Fraction(1)
    series = total(_power(u, k - j).scaled(share * math.perm(k, j) * b**k) for j in range(k + 1))
    tail = series * Polynomial.variable(exponential(u))
    return tail if case == "right" else whole - tail.scaled(Fraction(-1) ** k)


def exponent(draw: Draw, c: Polynomial, case: str) -> Polynomial | None:
    """The u >= 0 for which e^-u occurs in `above`."""
    if draw.kind == "uniform" or (draw.kind == "exponential" and case == "left"):
        return None
    return (c if case == "right" else -c).scaled(1 / draw.parameters[0])


def exponential(u: Polynomial) -> str:
    """The symbol for e^-u; no variable has such a name."""
    return f"exp(-({u}))"


def support(draw: Draw, z: Polynomial) -> list[Polynomial]:
    """Polynomials that are >= 0 at every value z of a draw."""
    match draw.kind:
        case "uniform":
            low, high = (Polynomial.constant(end) for end in draw.parameters)
            return [z - low, high - z]
        case "exponential" | "geometric":
            return [z]
    return []


def facts(u: Polynomial, known: list[Polynomial]) -> Iterator[Polynomial]:
    """Polynomials that are >= 0 at y = e^-u wherever u >= 0 and all of `known` are >= 0.

    With T_n the Taylor polynomial of e^v of order n, v >= 0, and any u0 <= u, r0 <= e^-u0 <= s0:
    T_n(v) <= e^v, so y T_n(u - u0) <= s0; for odd n, T_n(-v) <= e^-v, so y >= r0 T_n(u0 - u); for
    even n, y <= s0 T_n(u0 - u). The points u0 are 0 and all c with u - c >= 0 among the known.
    By convexity y lies below the chord between u0 and each u1 with u1 - u >= 0 among the known.
    """
    y = Polynomial.variable(exponential(u))
    yield y
    fixed = u.value()
    starts = {Fraction(0)} if fixed is None else {fixed}
    ends: set[Fraction] = set()
    for other in known if fixed is None else ():
        factor = _ratio(other, u)
        if factor is not None and factor != 0:
            point = (u - other.scaled(1 / factor)).value()
            if point is not None and point > 0:
                (starts if factor > 0 else ends).add(point)
    for start in sorted(starts):
        low, high = (Polynomial.constant(end) for end in _enclosed(-start))
        ahead = u - Polynomial.constant(start)
        for n in range(ORDER + 1):
            yield high - y * _taylor(ahead, n)
            if n % 2:
                yield y - low * _taylor(-ahead, n)
            elif n:
                yield high * _taylor(-ahead, n) - y
        for end in sorted(end for end in ends if end > start):
            last = Polynomial.constant(_enclosed(-end)[1])
            yield high + (last - high) * ahead.scaled(1 / (end - start)) - y


def _enclosed(q: Fraction) -> tuple[Fraction, Fraction]:
    return exp_bounds(q, _BITS) if q else (Fraction(1), Fraction(1))


def _ratio(a: Polynomial, b: Polynomial) -> Fraction | None:
    """The factor f for which a - f b is constant, if there is one."""
    monomial = max(b.terms)
    factor = a.terms.get(monomial, Fraction(0)) / b.terms[monomial]
    return factor if (a - b.scaled(factor)).value() is not None else None


def _taylor(v: Polynomial, n: int) -> Polynomial:
    return total(_power(v, k).scaled(Fraction(1, math.factorial(k))) for k in range(n + 1))


def _power(base: Polynomial, k: int) -> Polynomial:
    return math.prod([base] * k, start=_ONE)
