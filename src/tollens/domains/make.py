"""What a caller writes to make domains of single values; wrong arguments are refused here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tollens.domains.values import (
    BitVectors,
    Choices,
    Domain,
    Integers,
    Reals,
    Rows,
    Texts,
    Vectors,
    unique,
)
from tollens.errors import UsageError


def reals(
    low: float = -math.inf,
    high: float = math.inf,
    *,
    at: Sequence[float] = (),
    nan: bool = False,
    infinite: bool = False,
    missing: bool = False,
) -> Reals:
    """Floats from `low` to `high`, with NaN, infinities and None where the type has them.

    `at` are further numbers at which the mechanism may behave differently, such as the bounds to
    which it clips. Raises `UsageError` where `low` exceeds `high`.

    >>> reals(0, 1).telling()[:3]
    [1.0, 0.0, 0.5]
    """
    if not low <= high:
        raise UsageError(f"reals: low is {low} and high is {high}; low must be at most high")
    return Reals(float(low), float(high), tuple(map(float, at)), nan, infinite, missing)


def integers(
    low: int | None = None,
    high: int | None = None,
    *,
    at: Sequence[int] = (),
    missing: bool = False,
) -> Integers:
    """Whole numbers from `low` to `high` (None: no end), and None where `missing`.

    >>> integers(0, 10).telling()
    [10, 0, 1, 5]
    """
    findings = [
        f"integers: {name} is {end!r}; it must be a whole number or None"
        for name, end in (("low", low), ("high", high))
        if end is not None and (isinstance(end, bool) or not isinstance(end, int))
    ]
    if not findings and low is not None and high is not None and low > high:
        findings.append(f"integers: low is {low} and high is {high}; low must be at most high")
    if findings:
        raise UsageError(findings)
    return Integers(low, high, tuple(at), missing)


def booleans() -> Choices:
    """False and True.

    >>> booleans().telling()
    [False, True]
    """
    return Choices((False, True))


def choices(options: Sequence[object]) -> Choices:
    """One of some values, the likely worst first; `UsageError` where there are none.

    >>> choices(["red", "blue"]).telling()
    ['red', 'blue']
    """
    if not len(options):
        raise UsageError("choices: there are no options; give at least one")
    return Choices(tuple(unique(options)))


def texts(longest: int = 100, *, missing: bool = False) -> Texts:
    """Texts of at most `longest` characters, and None where `missing`.

    >>> texts(5).telling()[:3]
    ['a', 'b', '']
    """
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 1:
        raise UsageError(f"texts: longest is {longest!r}; it must be a whole number of at least 1")
    return Texts(longest, missing)


def bit_vectors(sizes: Sequence[int] = (1,), *, most_ones: int | None = None) -> BitVectors:
    r"""Bytes of which each bit counts; `sizes` are lengths in bytes, `most_ones` bounds the ones.

    >>> bit_vectors([1], most_ones=2).telling()
    [b'\x00', b'\x01', b'\x80', b'\x03', b'\xc0']
    """
    if not len(sizes) or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in sizes):
        raise UsageError(f"bit_vectors: sizes is {sizes!r}; give lengths in bytes, such as [1, 2]")
    if most_ones is not None and most_ones < 0:
        raise UsageError(f"bit_vectors: most_ones is {most_ones}; it must be at least 0")
    return BitVectors(tuple(sizes), most_ones)


def rows(fields: Mapping[str, Domain]) -> Rows:
    """Records as dictionaries: the domain of each field by its name.

    >>> rows({"age": integers(0, 99), "city": texts()}).telling()[0]
    {'age': 99, 'city': 'a'}
    """
    if not fields:
        raise UsageError("rows: there are no fields; give at least one, such as age=integers()")
    wrong = [name for name, domain in fields.items() if not isinstance(domain, Domain)]
    if wrong:
        raise UsageError(
            [f"rows: the field {name!r} has no domain; give reals()" for name in wrong]
        )
    return Rows(tuple(fields.items()))


def tuples(*fields: Domain) -> Rows:
    """Records as tuples: the domain of each place.

    >>> tuples(booleans(), reals(0, 1)).telling()[:2]
    [(False, 1.0), (True, 0.0)]
    """
    if not fields:
        raise UsageError("tuples: give the domain of at least one place")
    return Rows(tuple((str(i), domain) for i, domain in enumerate(fields)), named=False)


def vectors(of: Domain, n: int) -> Vectors:
    """Lists of n values of one domain.

    >>> vectors(reals(-1, 1), 3).telling()[0]
    [1.0, 1.0, 1.0]
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise UsageError(f"vectors: n is {n!r}; it must be a whole number of at least 1")
    return Vectors(of, n)
