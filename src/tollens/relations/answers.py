"""Pairs of answer vectors: what neighbouring data may answer to n queries.

The first patterns are those of StatDP (Ding, Wang, Wang, Zhang and Kifer 2018, table 3), which
DP-Sniper and others took over. The others follow by the number of runs of equal changes, fewest
first: broken selections and sparse vectors leak most where long runs of answers change alike.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from tollens.errors import UsageError
from tollens.relations.relation import Relation

MAX_PAIRS = 4096
"""The most pairs that `queries` has."""

MAX_QUERIES = 100_000
"""The most answers that a vector of `queries` has."""

Number = int | float | Fraction
Runs = tuple[tuple[int, int], ...]
"""A vector in short: (length, level) of each run of equal levels; levels count steps of `by`."""

_CHANGES = ("all", "one")


def queries(n: int, change: str = "all", by: Number = 1, center: Number = 0) -> Relation:
    """Pairs of vectors of n query answers that neighbouring data may produce.

    With `change="all"` each answer may change, by `by` at most: one record counts in every query.
    With `change="one"` exactly one answer changes, by `by`: one record counts in one query, as in
    a histogram. Vectors are lists of the numbers `center - by`, `center` and `center + by`, of the
    types that `center` and `by` give. Put `center` where the mechanism decides, for example at
    its threshold.

    Known worst patterns come first: one answer above, one below, one above and the rest below, one
    below and the rest above, half and half, all above, all below, halves that swap places, and
    every other answer swapped. All other patterns follow, those with few runs of equal changes
    first, up to `MAX_PAIRS` in all. The two inputs of a pair count in both orders; no pair comes
    twice.

    Raises `UsageError` for an n below 1 or above `MAX_QUERIES`, another change, numbers that are
    not finite, a `by` that is not positive, or one so small that `center` swallows it.

    >>> relation = queries(4)
    >>> for pair in relation[:9]:
    ...     print(pair.x, pair.x_prime)
    [0, 0, 0, 0] [1, 0, 0, 0]
    [0, 0, 0, 0] [-1, 0, 0, 0]
    [0, 0, 0, 0] [1, -1, -1, -1]
    [0, 0, 0, 0] [-1, 1, 1, 1]
    [0, 0, 0, 0] [1, 1, -1, -1]
    [0, 0, 0, 0] [1, 1, 1, 1]
    [0, 0, 0, 0] [-1, -1, -1, -1]
    [0, 0, 1, 1] [1, 1, 0, 0]
    [0, 1, 0, 1] [1, 0, 1, 0]
    >>> queries(3, change="one", by=0.5)[0].x_prime
    [0.5, 0.0, 0.0]
    """
    findings = []
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        findings.append(f"queries: n is {n!r}; it must be a whole number of at least 1")
    elif n > MAX_QUERIES:
        findings.append(f"queries: n is {n}; at most {MAX_QUERIES} answers are supported")
    if change not in _CHANGES:
        near = difflib.get_close_matches(change, _CHANGES, n=1) if isinstance(change, str) else []
        hint = f"did you mean {near[0]!r}?" if near else "use 'all' or 'one'"
        findings.append(f"queries: change is {change!r}; {hint}")
    by, center = _plain(by), _plain(center)
    if not _is_finite(by) or by <= 0:
        findings.append(f"queries: by is {by!r}; it must be a positive number")
    if not _is_finite(center):
        findings.append(f"queries: center is {center!r}; it must be a finite number")
    if findings:
        raise UsageError(findings)
    values = _values(center, by)
    patterns = _all_change(int(n)) if change == "all" else _one_changes(int(n))
    pairs = list(itertools.islice(_distinct(patterns), MAX_PAIRS))

    def make(i: int) -> tuple[object, object]:
        x, x_prime = pairs[i]
        return _vector(x, values), _vector(x_prime, values)

    levels = {"by": str(Fraction(str(by))), "center": str(Fraction(str(center)))}
    exact = {"kind": "queries", "n": int(n), "change": change, **levels}
    return Relation("queries", len(pairs), make, exact)


def _all_change(n: int) -> Iterator[tuple[Runs, Runs]]:
    flat = _runs([(n, 0)])
    half = (n + 1) // 2
    yield flat, _runs([(1, 1), (n - 1, 0)])
    yield flat, _runs([(1, -1), (n - 1, 0)])
    yield flat, _runs([(1, 1), (n - 1, -1)])
    yield flat, _runs([(1, -1), (n - 1, 1)])
    yield flat, _runs([(half, 1), (n - half, -1)])
    yield flat, _runs([(n, 1)])
    yield flat, _runs([(n, -1)])
    yield _swapped([half, n - half])
    yield _swapped([1] * n)
    for lengths in _compositions(n):
        yield _swapped(lengths)
        levels = [
            levels
            for levels in itertools.product((1, -1, 0), repeat=len(lengths))
            if all(a != b for a, b in itertools.pairwise(levels))
        ]
        for chosen in sorted(levels, key=lambda levels: levels.count(0)):
            if any(chosen):
                yield flat, _runs(zip(lengths, chosen, strict=True))


def _one_changes(n: int) -> Iterator[tuple[Runs, Runs]]:
    flat = _runs([(n, 0)])
    for i in _ends_first(0, n):
        yield flat, _raised(flat, i)
        yield flat, _runs([(i, 0), (1, -1), (n - i - 1, 0)])
    for lengths in _compositions(n):
        for base in _swapped(lengths):
            levels = [level for length, level in base for _ in range(length)]
            for i in _ends_first(0, n):
                if levels[i] == 0:
                    yield base, _raised(base, i)


def _distinct(patterns: Iterable[tuple[Runs, Runs]]) -> Iterator[tuple[Runs, Runs]]:
    """Each unordered pair of two different vectors once."""
    seen: set[frozenset[Runs]] = set()
    for pair in patterns:
        both = frozenset(pair)
        if len(both) == 2 and both not in seen:
            seen.add(both)
            yield pair


def _compositions(n: int) -> Iterator[list[int]]:
    """The lengths of runs that make up n: one run, then two, and so on."""
    for cuts in range(n):
        for chosen in itertools.combinations(_ends_first(1, n), cuts):
            ends = [0, *sorted(chosen), n]
            yield [b - a for a, b in itertools.pairwise(ends)]


def _ends_first(start: int, stop: int) -> list[int]:
    """The first, the last and the middle one of a range, then the others in order."""
    if start == stop:
        return []
    chosen = [start, stop - 1, (start + stop) // 2]
    return list(dict.fromkeys([*chosen, *range(start, stop)]))


def _swapped(lengths: list[int]) -> tuple[Runs, Runs]:
    """Runs of 0 and 1 in turn, against the same with 0 and 1 swapped."""
    first = _runs([(length, i % 2) for i, length in enumerate(lengths)])
    return first, tuple((length, 1 - level) for length, level in first)


def _raised(base: Runs, index: int) -> Runs:
    """The same vector with one answer a level higher."""
    parts, start = [], 0
    for length, level in base:
        before = index - start
        if 0 <= before < length:
            parts += [(before, level), (1, level + 1), (length - before - 1, level)]
        else:
            parts.append((length, level))
        start += length
    return _runs(parts)


def _runs(parts: Iterable[tuple[int, int]]) -> Runs:
    """The one short form of a vector: no run is empty, no two next to each other are equal."""
    merged: list[tuple[int, int]] = []
    for length, level in parts:
        if merged and merged[-1][1] == level:
            merged[-1] = (merged[-1][0] + length, level)
        elif length:
            merged.append((length, level))
    return tuple(merged)


def _vector(runs: Runs, values: dict[int, Number]) -> list[Number]:
    vector: list[Number] = []
    for length, level in runs:
        vector += [values[level]] * length
    return vector


def _plain(number: Number) -> Number:
    """A number of numpy as one of Python."""
    return number.item() if isinstance(number, np.number) else number


def _is_finite(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction):
        return False
    return not isinstance(number, float) or math.isfinite(number)


def _values(center: Number, by: Number) -> dict[int, Number]:
    """The numbers of the three levels; a rounded sum never lies further off than `by`."""
    values: dict[int, Number] = {0: center, 1: math.inf}
    with contextlib.suppress(OverflowError):
        values = {level: center + level * by for level in (-1, 0, 1)}
    if any(isinstance(value, float) and not math.isfinite(value) for value in values.values()):
        raise UsageError(f"queries: center {center!r} with by {by!r} is too large for a float")
    for level, value in values.items():
        if isinstance(value, float) and abs(Fraction(value) - Fraction(values[0])) > by:
            values[level] = math.nextafter(value, values[0])
    if values[1] == values[0] or values[-1] == values[0]:
        raise UsageError(
            f"queries: by is {by!r}, too small to change a float of {center!r}; use a larger by or "
            "a center nearer to 0"
        )
    return values
