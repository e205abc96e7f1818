"""What a caller writes to make domains of single values; wrong arguments are refused here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

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
    which it clips. An infinity is only there where the end on its side is infinite. Raises
    `UsageError` for what are no numbers, for `low` above `high`, for numbers in `at` that lie
    outside, and for `infinite` between two finite ends.

    >>> reals(0, 1).telling()[:3]
    [1.0, 0.0, 0.5]
    """
    findings = [
        f"reals: {name} is {end!r}; it must be a number"
        for name, end in (("low", low), ("high", high))
        if not _is_real(end)
    ]
    if not findings:
        ends = float(low), float(high)
        if not ends[0] <= ends[1] or ends[0] == math.inf or ends[1] == -math.inf:
            findings.append(f"reals: low is {low} and high is {high}; low must be at most high")
        elif infinite and math.isfinite(low) and math.isfinite(high):
            findings.append(
                f"reals: there are no infinities from {low} to {high}; leave low or high out, and "
                "name a bound by at=[...]"
            )
        findings += _outside("reals", at, low, high, _is_real, "numbers")
    if findings:
        raise UsageError(findings)
    return Reals(*ends, tuple(map(float, at)), bool(nan), bool(infinite), bool(missing))


def integers(
    low: int | None = None,
    high: int | None = None,
    *,
    at: Sequence[int] = (),
    missing: bool = False,
) -> Integers:
    """Whole numbers from `low` to `high` (None: no end), and None where `missing`.

    `at` are further numbers at which the mechanism may behave differently. Raises `UsageError` for
    what are no whole numbers, for `low` above `high`, and for numbers in `at` that lie outside.

    >>> integers(0, 10).telling()
    [10, 0, 1, 5]
    """
    findings = [
        f"integers: {name} is {end!r}; it must be a whole number or None"
        for name, end in (("low", low), ("high", high))
        if end is not None and not _is_whole(end)
    ]
    if not findings:
        ends = -math.inf if low is None else low, math.inf if high is None else high
        if ends[0] > ends[1]:
            findings.append(f"integers: low is {low} and high is {high}; low must be at most high")
        findings += _outside("integers", at, *ends, _is_whole, "whole numbers")
    if findings:
        raise UsageError(findings)
    first, last = (None if end is None else int(end) for end in (low, high))
    return Integers(first, last, tuple(map(int, at)), bool(missing))


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
    if isinstance(options, str | bytes) or not isinstance(options, Sequence | np.ndarray):
        raise UsageError(
            f"choices: the options are a {type(options).__name__}; give a list of values"
        )
    if not len(options):
        raise UsageError("choices: there are no options; give at least one")
    given = options.tolist() if isinstance(options, np.ndarray) else options
    return Choices(tuple(unique(given)))


def texts(longest: int = 100, *, missing: bool = False) -> Texts:
    """Texts of at most `longest` characters, and None where `missing`.

    >>> texts(5).telling()[:3]
    ['a', 'b', '']
    """
    if not _is_whole(longest) or longest < 1:
        raise UsageError(f"texts: longest is {longest!r}; it must be a whole number of at least 1")
    return Texts(int(longest), bool(missing))


def bit_vectors(sizes: Sequence[int] = (1,), *, most_ones: int | None = None) -> BitVectors:
    r"""Bytes of which each bit counts; `sizes` are lengths in bytes, `most_ones` bounds the ones.

    >>> bit_vectors([1], most_ones=2).telling()
    [b'\x00', b'\x01', b'\x80', b'\x03', b'\xc0']
    """
    findings = []
    if not are_sizes(sizes):
        findings.append(f"bit_vectors: sizes is {sizes!r}; give lengths in bytes, such as [1, 2]")
    elif any(size > _MOST_BYTES for size in sizes):
        findings.append(f"bit_vectors: sizes is {sizes!r}; at most {_MOST_BYTES} bytes are made")
    if most_ones is not None and (not _is_whole(most_ones) or most_ones < 0):
        findings.append(
            f"bit_vectors: most_ones is {most_ones!r}; it must be a whole number of at least 0"
        )
    if findings:
        raise UsageError(findings)
    return BitVectors(tuple(map(int, sizes)), most_ones)


def rows(fields: Mapping[str, Domain]) -> Rows:
    """Records as dictionaries: the domain of each field by its name.

    >>> rows({"age": integers(0, 99), "city": texts()}).telling()[0]
    {'age': 99, 'city': 'a'}
    """
    if not isinstance(fields, Mapping):
        raise UsageError(
            f"rows: the fields are a {type(fields).__name__}; give a dictionary of names and "
            'domains, such as {"age": domains.integers(0, 99)}'
        )
    if not fields:
        raise UsageError('rows: there are no fields; give at least one, such as "age": integers()')
    findings = []
    for name, domain in fields.items():
        findings += _no_domain(f"rows: the field {name!r}", domain)
    if findings:
        raise UsageError(findings)
    return Rows(tuple(fields.items()))


def tuples(*fields: Domain) -> Rows:
    """Records as tuples: the domain of each place.

    >>> tuples(booleans(), reals(0, 1)).telling()[:2]
    [(False, 1.0), (True, 0.0)]
    """
    if not fields:
        raise UsageError("tuples: give the domain of at least one place")
    findings = []
    for i, domain in enumerate(fields):
        findings += _no_domain(f"tuples: place {i}", domain)
    if findings:
        raise UsageError(findings)
    return Rows(tuple((str(i), domain) for i, domain in enumerate(fields)), named=False)


def vectors(of: Domain, n: int) -> Vectors:
    """Lists of n values of one domain.

    >>> vectors(reals(-1, 1), 3).telling()[0]
    [1.0, 1.0, 1.0]
    """
    findings = _no_domain("vectors: the first argument", of)
    if not _is_whole(n) or n < 1:
        findings.append(f"vectors: n is {n!r}; it must be a whole number of at least 1")
    if findings:
        raise UsageError(findings)
    return Vectors(of, int(n))


_MOST_BYTES = 10_000


def _no_domain(what: str, domain: object) -> list[str]:
    if isinstance(domain, Domain):
        return []
    return [f"{what} is a {type(domain).__name__}; give a domain, such as domains.reals(0, 1)"]


def _outside(
    name: str,
    at: object,
    low: float,
    high: float,
    fits: Callable[[object], bool],
    what: str,
) -> list[str]:
    """What is wrong with numbers at which a mechanism may behave differently."""
    if not isinstance(at, list | tuple | np.ndarray) or not all(map(fits, at)):
        return [f"{name}: at is {at!r}; give a list of {what}"]
    wrong = [each for each in at if not low <= each <= high or each in (math.inf, -math.inf)]
    return [
        f"{name}: at holds {each}, which does not lie between {low} and {high}" for each in wrong
    ]


def _is_real(value: object) -> bool:
    """Whether a value is a number that a float can hold; NaN is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def are_sizes(sizes: object) -> bool:
    """Whether these are some whole numbers of at least 0.

    >>> are_sizes([0, 4]), are_sizes([]), are_sizes(3)
    (True, False, False)
    """
    if not isinstance(sizes, list | tuple | range | np.ndarray) or not len(sizes):
        return False
    return all(_is_whole(size) and size >= 0 for size in sizes)
