"""Rational enclosures of exp, ln and the normal distribution.

Everything is computed with integers: a real is held between two integers that count units of
2^-p, every step rounds outward, and every series comes with a bound on what was left out. Ends
are dyadic, so that their sizes stay bounded, whatever the sizes of the arguments.

>>> low, high = exp_bounds(Fraction(1), 20)
>>> float(low) <= 2.718281828459045 <= float(high), float(high - low) < 1e-5
(True, True)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tollens.checker.errors import CertificateError

MOST = 10**4
"""The largest argument of exp, either way."""

MOST_BITS = 4096
"""The largest precision."""

Bounds = tuple[Fraction, Fraction]

_FRACTION_FROM = 3  # |x| from which the tail of the normal law is a continued fraction
_FAR = 140  # beyond it, tail and density are below e^(-x^2/2) < 2^-14000
_NOTHING = Fraction(1, 1 << 14000)


def exp_bounds(q: Fraction, bits: int) -> Bounds:
    """Two rationals around e^q that differ by less than 2^-bits of it.

    >>> exp_bounds(Fraction(0), 8)[0]
    Fraction(1, 1)
    >>> exp_bounds(Fraction(20000), 8)
    Traceback (most recent call last):
    ...
    tollens.checker.errors.CertificateError: exp of an argument beyond 10000
    """
    p = _precision(bits) + bits.bit_length() + 20
    if abs(q) > MOST:
        raise CertificateError(f"exp of an argument beyond {MOST}")
    a, b = fixed(q, p)
    low, high, k = _exp(a, b - a, p)
    return dyadic(low, k - p), dyadic(high, k - p)


def ln_bounds(q: Fraction, bits: int) -> Bounds:
    """Two rationals around ln q that differ by less than 2^-bits.

    With q = 2^k m, 1/2 < m < 2: ln q = k ln 2 + 2 artanh((m - 1)/(m + 1)).

    >>> low, high = ln_bounds(Fraction(3), 30)
    >>> float(low) <= 1.0986122886681098 <= float(high)
    True
    """
    if q <= 0:
        raise CertificateError("ln of a number that is not positive")
    k = q.numerator.bit_length() - q.denominator.bit_length()
    p = _precision(bits) + bits.bit_length() + 8 + abs(k).bit_length()
    one = 1 << p
    above, below = q.numerator << max(p - k, 0), q.denominator << max(k - p, 0)
    a, b = above // below, -(-above // below)
    s, t = ((a - one) << p) // (a + one), -(((one - b) << p) // (b + one))
    down, up = _ln2(p) if k >= 0 else _ln2(p)[::-1]
    return dyadic(2 * _artanh(s, p)[0] + k * down, -p), dyadic(2 * _artanh(t, p)[1] + k * up, -p)


def phi_bounds(x: Fraction, bits: int) -> Bounds:
    """Two rationals around P(N(0, 1) <= x) that differ by less than 2^-bits of it.

    That holds for x > -140; below, the ends are 0 and 2^-14000. Arguments are rounded down to a
    multiple of 2^-p; as density(x)/P(N > x) <= x + 1, that changes the tail by less than a part
    2^(8-p) of it.

    >>> phi_bounds(Fraction(0), 10)
    (Fraction(1, 2), Fraction(1, 2))
    >>> [f"{float(end):.6g}" for end in phi_bounds(Fraction(-10), 40)]
    ['7.61985e-24', '7.61985e-24']
    """
    if x == 0:
        return Fraction(1, 2), Fraction(1, 2)
    if x > 0:
        below, above = phi_bounds(-x, bits)
        return 1 - above, 1 - below
    if x < -_FAR:
        return Fraction(0), _NOTHING
    p = _precision(bits) + bits.bit_length() + 36
    low, high, exponent = _tail(fixed(-x, p)[0], p)
    return dyadic(low - (low >> (p - 8)) - 1, exponent), dyadic(high, exponent)


def density_bounds(x: Fraction, bits: int) -> Bounds:
    """Two rationals around e^(-x^2/2)/sqrt(2 pi), as close as those of `phi_bounds`.

    >>> [f"{float(end):.6f}" for end in density_bounds(Fraction(1), 40)]
    ['0.241971', '0.241971']
    """
    if abs(x) > _FAR:
        return Fraction(0), _NOTHING
    p = _precision(bits) + bits.bit_length() + 36
    low, high, k = _density(fixed(abs(x), p)[0], p)
    return dyadic(low - (low >> (p - 8)) - 1, k - p), dyadic(high, k - p)


def fixed(q: Fraction, p: int) -> tuple[int, int]:
    """The integers next to q in units of 2^-p, below and above (the same one if q is there).

    >>> fixed(Fraction(1, 3), 4), fixed(Fraction(-1, 2), 4)
    ((5, 6), (-8, -8))
    """
    above = q.numerator << p
    return above // q.denominator, -(-above // q.denominator)


def dyadic(mantissa: int, exponent: int) -> Fraction:
    """The rational `mantissa * 2^exponent`."""
    if exponent >= 0:
        return Fraction(mantissa << exponent)
    return Fraction(mantissa, 1 << -exponent)


def _precision(bits: int) -> int:
    if not 1 <= bits <= MOST_BITS:
        raise CertificateError(f"a precision of {bits} bits; it must lie in 1 ... {MOST_BITS}")
    return bits


def _exp(a: int, spread: int, p: int) -> tuple[int, int, int]:
    """Bounds of e^x in units of 2^(k-p), for all x from a/2^p to (a + spread)/2^p, and k.

    With a/2^p = k ln 2 + r, 0 <= r < 0.7, and the Taylor series of e^r. A term loses less than 3
    by rounding, the terms more than halve, and e^(r + s) <= e^r + 5 s/2 for small s.
    """
    down, up = _ln2(p)
    k = a // up if a >= 0 else a // down
    r, top = (a - k * up, a - k * down) if k >= 0 else (a - k * down, a - k * up)
    low = term = 1 << p
    n = 0
    while term:
        n += 1
        term = (term * r >> p) // n
        low += term
    return low, low + 3 * (n + 1) + 5 * (top - r + spread), k


def _artanh(t: int, p: int) -> Bounds2:
    """Bounds of artanh(t/2^p) in units of 2^-p, for |t/2^p| <= 1/3: t + t^3/3 + t^5/5 + ..."""
    if t < 0:
        low, high = _artanh(-t, p)
        return -high, -low
    square = t * t >> p
    low, term, n = t, t, 1
    while term:
        term = term * square >> p
        n += 2
        low += term // n
    square += 1
    high, term, n = t, t, 1
    while term > 1:
        term = -(-term * square >> p)
        n += 2
        high += -(-term // n)
    return low, high + 1  # the rest is less than the last term, 1, as the terms more than halve


@lru_cache(64)
def _ln2(p: int) -> Bounds2:
    """ln 2 = 2 artanh(1/3)."""
    low, high = _artanh((1 << p) // 3, p)[0], _artanh(-(-(1 << p) // 3), p)[1]
    return 2 * low, 2 * high


@lru_cache(64)
def _root(p: int) -> Bounds2:
    """1/sqrt(2 pi), with pi = 16 arctan(1/5) - 4 arctan(1/239), series that alternate."""
    one = 1 << (p + 16)
    pi, error = 0, 0
    for factor, base in ((16, 5), (-4, 239)):
        power, n = one // base, 1
        while power:
            pi += factor * (power // n) * (1 if n % 4 == 1 else -1)
            error += 3 * abs(factor)  # of the power, of the quotient, and of the end
            power //= base * base
            n += 2
    low, high = 2 * (pi - error), 2 * (pi + error)  # of 2 pi
    unit = one << (2 * p)  # 2^(2p)/(2 pi) as a square
    return math.isqrt(unit // high), math.isqrt(unit // low) + 1


def _density(a: int, p: int) -> tuple[int, int, int]:
    """Bounds of the normal density at a/2^p in units of 2^(k-p), and k; 0 <= a/2^p <= 140."""
    down, up = _root(p)
    low, high, k = _exp(-a * a >> (p + 1), 1, p)
    return low * down >> p, -(-high * up >> p), k


def _tail(a: int, p: int) -> tuple[int, int, int]:
    """Bounds of P(N(0, 1) > x) for x = a/2^p, 0 <= x <= 140, in units of 2^k, and k.

    Below 3: 1/2 - density(x) (x + x^3/3 + x^5/(3 5) + ...). From there: density(x)/(x + 1/(x +
    2/(x + 3/...))), where each tail x + n/(x + ...) lies in [x, x + n/x]. See Abramowitz and
    Stegun 26.2.11 and 26.2.14.
    """
    down, up, k = _density(a, p)
    if a < _FRACTION_FROM << p:
        square = a * a >> p
        low, term, n = a, a, 1
        while term:
            n += 2
            term = (term * square >> p) // n
            low += term
        square += 1
        high, term, n = a, a, 1
        while term > 1 or n << p < 2 * square:
            n += 2
            term = -(-term * square >> p)
            term = -(-term // n)
            high += term
        high += 1  # the rest is less than the last term, as the terms more than halve
        half = 1 << (p - 1)
        down, up = down >> -k, -(-up >> -k)  # k < 0: the density is below 1/2
        return half - -(-up * high >> p), half - (down * low >> p), -p
    x = a >> p  # the step i of the fraction narrows by the factor e^(-2 arsinh(x/(2 sqrt(i))))
    n = 8 + (3 * p // 4 if 3 * p < 4 * x * x else (x + 1 + 3 * p // (4 * x)) ** 2 // 4)
    low, high = a, a + -(-(n << 2 * p) // a)
    for i in range(n - 1, 0, -1):
        low, high = a + (i << 2 * p) // high, a + -(-(i << 2 * p) // low)
    return (down << p) // high, -(-(up << p) // low), k - p


Bounds2 = tuple[int, int]
