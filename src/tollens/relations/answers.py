"""Pairs of answer vectors: what neighbouring data may answer to n queries.

The first patterns are those of StatDP (Ding, Wang, Wang, Zhang and Kifer 2018, table 3), which
DP-Sniper and others took over. The others follow by the number of runs of equal changes, fewest
first: broken selections and sparse vectors leak most where long runs of answers change alike.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from tollens.errors import UsageError
from tollens.relations.levels import Answers, Runs, levels_of, raised, runs, swapped, vector
from tollens.relations.relation import MAX_PAIRS, Relation
from tollens.relations.steps import Number, is_finite, part, plain

MAX_QUERIES = 100_000
"""The most answers that a vector of `queries` has."""

Pattern = tuple[Runs, Runs, int]
"""Two vectors, and in how many equal parts `by` is shared out: a step is one part."""

_CHANGES = ("all", "one", "sum")


def queries(n: int, change: str = "all", by: Number = 1, center: Number = 0) -> Relation:
    """Pairs of vectors of n query answers that neighbouring data may produce.

    With `change="all"` each answer may change, by `by` at most: one record counts in every query.
    With `change="one"` exactly one answer changes, by `by`: one record counts in one query, as in
    a histogram. With `change="sum"` the changes of all answers add up to `by` (the L1 norm, while
    "all" is the maximum norm): one record counts in part in several queries. Vectors are lists of
    the numbers `center - by`, `center` and `center + by`, of the types that `center` and `by`
    give. Put `center` where the mechanism decides, for example at its threshold.

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
        hint = f"did you mean {near[0]!r}?" if near else "use 'all', 'one' or 'sum'"
        findings.append(f"queries: change is {change!r}; {hint}")
    by, center = plain(by), plain(center)
    if not is_finite(by) or by <= 0:
        findings.append(f"queries: by is {by!r}; it must be a positive number")
    if not is_finite(center):
        findings.append(f"queries: center is {center!r}; it must be a finite number")
    if findings:
        raise UsageError(findings)
    patterns = {"all": _all_change, "one": _one_changes, "sum": _sum_changes}[change](int(n))
    pairs = list(itertools.islice(_distinct(patterns), MAX_PAIRS))
    values = {1: levels_of(center, by)}
    for parts in _shares(int(n)) if change == "sum" else ():
        share = part(by, parts)
        if isinstance(share, int) or not isinstance(by, int):  # whole numbers stay whole
            with contextlib.suppress(UsageError):  # a float of center does not hold the share
                values[parts] = levels_of(center, share)
    pairs = [each for each in pairs if each[2] in values]

    def make(i: int) -> tuple[object, object]:
        x, x_prime, parts = pairs[i]
        return vector(x, values[parts]), vector(x_prime, values[parts])

    levels = {"by": str(Fraction(str(by))), "center": str(Fraction(str(center)))}
    exact = {"kind": "queries", "n": int(n), "change": change, "parts": [*values], **levels}

    def node(i: int) -> Answers:
        x, x_prime, parts = pairs[i]
        return Answers(x, x_prime, tuple(sorted(values[parts].items())))

    return Relation("queries", len(pairs), make, exact, nodes=node)


def _all_change(n: int) -> Iterator[Pattern]:
    flat = runs([(n, 0)])
    half = (n + 1) // 2
    yield flat, runs([(1, 1), (n - 1, 0)]), 1
    yield flat, runs([(1, -1), (n - 1, 0)]), 1
    yield flat, runs([(1, 1), (n - 1, -1)]), 1
    yield flat, runs([(1, -1), (n - 1, 1)]), 1
    yield flat, runs([(half, 1), (n - half, -1)]), 1
    yield flat, runs([(n, 1)]), 1
    yield flat, runs([(n, -1)]), 1
    yield *swapped([half, n - half]), 1
    yield *swapped([1] * n), 1
    for lengths in _compositions(n):
        yield *swapped(lengths), 1
        levels = [
            levels
            for levels in itertools.product((1, -1, 0), repeat=len(lengths))
            if all(a != b for a, b in itertools.pairwise(levels))
        ]
        for chosen in sorted(levels, key=lambda levels: levels.count(0)):
            if any(chosen):
                yield flat, runs(zip(lengths, chosen, strict=True)), 1


def _one_changes(n: int) -> Iterator[Pattern]:
    flat = runs([(n, 0)])
    for i in _ends_first(0, n):
        yield flat, raised(flat, i), 1
        yield flat, runs([(i, 0), (1, -1), (n - i - 1, 0)]), 1
    for lengths in _compositions(n):
        for base in swapped(lengths):
            levels = [level for length, level in base for _ in range(length)]
            for i in _ends_first(0, n):
                if levels[i] == 0:
                    yield base, raised(base, i), 1


def _sum_changes(n: int) -> Iterator[Pattern]:
    """One answer changes by all of `by`, or several share it in equal parts."""
    flat, single = runs([(n, 0)]), _one_changes(n)
    yield from itertools.islice(single, 2)
    for parts in _shares(n):
        half = parts // 2
        yield flat, runs([(parts, 1), (n - parts, 0)]), parts
        yield flat, runs([(half, 1), (parts - half, -1), (n - parts, 0)]), parts
        yield flat, runs([(parts, -1), (n - parts, 0)]), parts
    yield from single


def _shares(n: int) -> list[int]:
    """In how many parts a change may be shared out, besides one."""
    return list(dict.fromkeys(k for k in (n, 2, n // 2) if 2 <= k <= n))


def _distinct(patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    """Each unordered pair of two different vectors once."""
    seen: set[tuple[frozenset[Runs], int]] = set()
    for pattern in patterns:
        both = frozenset(pattern[:2])
        if len(both) == 2 and (both, pattern[2]) not in seen:
            seen.add((both, pattern[2]))
            yield pattern


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
