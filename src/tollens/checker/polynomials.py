"""Polynomials with rational coefficients in named symbols.

A monomial is the sorted tuple of its factors: x^2 y is ("x", "x", "y"), 1 is (). In JSON a
polynomial is a dictionary of texts: {"x^2*y": "3/2", "1": "-1"}.

>>> x, y = Polynomial.variable("x"), Polynomial.variable("y")
>>> print((x + y) * (x - y) + Polynomial.constant(Fraction(1, 2)))
1/2 + x^2 - y^2
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby

from tollens.checker.clock import tick
from tollens.checker.documents import rational
from tollens.checker.errors import CertificateError

Monomial = tuple[str, ...]

MOST_TERMS, MOST_DEGREE, MOST_WORK, MOST_BITS = 20_000, 40, 10**8, 200_000

_FACTOR = re.compile(r"([^\W\d]\w*|#\d+)(?:\^([1-9]\d?))?")


class Polynomial:
    """A polynomial; it is never changed. `terms` has no coefficient 0."""

    __slots__ = ("_bits", "_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self._hash: int | None = None
        self._bits: int | None = None

    @classmethod
    def constant(cls, value: Fraction | int) -> Polynomial:
        """The polynomial of degree 0."""
        return cls({(): Fraction(value)})

    @classmethod
    def variable(cls, name: str) -> Polynomial:
        """The polynomial that is one symbol."""
        return cls({(name,): Fraction(1)})

    def __add__(self, other: Polynomial) -> Polynomial:
        return total((self, other))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return total((self, -other))

    def __neg__(self) -> Polynomial:
        return self.scaled(Fraction(-1))

    def __mul__(self, other: Polynomial) -> Polynomial:
        work = len(self.terms) * other.bits + len(other.terms) * self.bits
        tick()
        if work > MOST_WORK:
            raise CertificateError("the products of polynomials take too long")
        sums: dict[Monomial, Fraction] = {}
        for a, p in self.terms.items():
            for b, q in other.terms.items():
                monomial = tuple(sorted(a + b))
                sums[monomial] = _plus(sums.get(monomial, _ZERO), p * q)
        if len(sums) > MOST_TERMS or any(len(monomial) > MOST_DEGREE for monomial in sums):
            raise CertificateError("a polynomial of too many terms or too high degree")
        return Polynomial(sums)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __str__(self) -> str:
        parts: list[str] = []
        for text, c in written(self).items():
            value = Fraction(c)
            sign = "-" if value < 0 else "+" if parts else ""
            factors = (str(abs(value)) if abs(value) != 1 else "", text if text != "1" else "")
            size = "*".join(filter(None, factors)) or "1"
            parts.append(f" {sign} {size}" if parts else f"{sign}{size}")
        return "".join(parts) or "0"

    @property
    def bits(self) -> int:
        """The length of all coefficients."""
        if self._bits is None:
            parts = (n for c in self.terms.values() for n in (c.numerator, c.denominator))
            self._bits = sum(n.bit_length() for n in parts)
        return self._bits

    @property
    def degree(self) -> int:
        """The largest number of factors of a monomial."""
        return max(map(len, self.terms), default=0)

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols that occur."""
        return frozenset(name for monomial in self.terms for name in monomial)

    def value(self) -> Fraction | None:
        """The number that it is, or None if symbols occur."""
        return self.terms.get((), _ZERO) if not any(self.terms) else None

    def scaled(self, factor: Fraction) -> Polynomial:
        """The multiple by a rational."""
        return Polynomial({monomial: c * factor for monomial, c in self.terms.items()})

    def at(self, values: Mapping[str, Polynomial]) -> Polynomial:
        """The polynomial with polynomials in place of some symbols.

        >>> x = Polynomial.variable("x")
        >>> print((x * x).at({"x": x + Polynomial.constant(1)}))
        1 + 2*x + x^2
        """
        known: dict[Monomial, Polynomial] = {(): Polynomial.constant(1)}

        def image(monomial: Monomial) -> Polynomial:
            if monomial not in known:
                last = values.get(monomial[-1]) or Polynomial.variable(monomial[-1])
                known[monomial] = image(monomial[:-1]) * last
            return known[monomial]

        return total(image(monomial).scaled(c) for monomial, c in self.terms.items())


_ZERO = Fraction(0)


def total(polynomials: Iterable[Polynomial]) -> Polynomial:
    """The sum."""
    sums: dict[Monomial, Fraction] = {}
    for polynomial in polynomials:
        tick()
        for monomial, c in polynomial.terms.items():
            sums[monomial] = _plus(sums.get(monomial, _ZERO), c)
    return Polynomial(sums)


def _plus(a: Fraction, b: Fraction) -> Fraction:
    if a.denominator.bit_length() > MOST_BITS:  # it grows where denominators have nothing in common
        raise CertificateError("a polynomial with too many digits")
    return a + b


def read(value: object, symbols: Iterable[str] | None) -> Polynomial:
    """A polynomial from JSON, in these symbols only (None: in any).

    >>> print(read({"x^2*y": "3/2", "1": "-1"}, ["x", "y"]))
    -1 + 3/2*x^2*y
    """
    if not isinstance(value, dict) or len(value) > MOST_TERMS:
        raise CertificateError("a polynomial is a dictionary of at most 20000 monomials")
    allowed = None if symbols is None else frozenset(symbols)
    terms: dict[Monomial, Fraction] = {}
    for text, c in value.items():
        monomial = tuple(sorted(_factors(text)))
        known = allowed is None or allowed.issuperset(monomial)
        if monomial in terms or not known or len(monomial) > MOST_DEGREE:
            raise CertificateError(f"{str(text)[:40]!r} is no monomial in the symbols here")
        terms[monomial] = rational(c, "a coefficient")
    return Polynomial(terms)


def written(polynomial: Polynomial) -> dict[str, str]:
    """A polynomial as JSON."""
    ordered = sorted(polynomial.terms.items(), key=lambda term: (len(term[0]), term[0]))
    return {
        "*".join(
            name if power == 1 else f"{name}^{power}"
            for name, power in ((name, len(list(same))) for name, same in groupby(monomial))
        )
        or "1": str(c)
        for monomial, c in ordered
    }


def _factors(text: str) -> Iterator[str]:
    for factor in text.split("*") if text != "1" else ():
        found = _FACTOR.fullmatch(factor)
        if found is None:
            raise CertificateError(f"{text[:40]!r} is no monomial")
        yield from [found[1]] * int(found[2] or 1)
