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
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tollens.errors import UsageError
from tollens.relations.relation import MAX_PAIRS, Node, Relation

MAX_QUERIES = 100_000
"""The most answers that a vector of `queries` has."""

Number = int | float | Fraction
Runs = tuple[tuple[int, int], ...]
"""A vector in short: (length, level) of each run of equal levels; levels count steps of `by`."""

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
    by, center = _plain(by), _plain(center)
    if not _is_finite(by) or by <= 0:
        findings.append(f"queries: by is {by!r}; it must be a positive number")
    if not _is_finite(center):
        findings.append(f"queries: center is {center!r}; it must be a finite number")
    if findings:
        raise UsageError(findings)
    patterns = {"all": _all_change, "one": _one_changes, "sum": _sum_changes}[change](int(n))
    pairs = list(itertools.islice(_distinct(patterns), MAX_PAIRS))
    values = {parts: _values(center, _part(by, parts)) for parts in _parts(int(n), by, change)}
    pairs = [each for each in pairs if each[2] in values]

    def make(i: int) -> tuple[object, object]:
        x, x_prime, parts = pairs[i]
        return _vector(x, values[parts]), _vector(x_prime, values[parts])

    levels = {"by": str(Fraction(str(by))), "center": str(Fraction(str(center)))}
    exact = {"kind": "queries", "n": int(n), "change": change, **levels}

    def node(i: int) -> Answers:
        x, x_prime, parts = pairs[i]
        return Answers(x, x_prime, tuple(sorted(values[parts].items())))

    return Relation("queries", len(pairs), make, exact, nodes=node)


@dataclass(frozen=True)
class Answers(Node):
    """Two vectors of answers; `values` are the numbers of the levels."""

    x: Runs
    x_prime: Runs
    values: tuple[tuple[int, Number], ...]

    @property
    def pair(self) -> tuple[object, object]:
        """The two vectors."""
        values = dict(self.values)
        return _vector(self.x, values), _vector(self.x_prime, values)

    @property
    def key(self) -> Hashable:
        """Equal for equal pairs."""
        return self.x, self.x_prime

    @property
    def size(self) -> tuple[float, ...]:
        """The answers that change, in how many runs, and the answers that are not the usual one."""
        parts = _together(self.x, self.x_prime)
        changed = sum(length for length, a, b in parts if a != b)
        unusual = sum(length * (abs(a) + abs(b)) for length, a, b in parts)
        return changed, len(parts), unusual

    def smaller(self) -> Iterator[Answers]:
        """Half of the changes undone, then one run of them, then unusual answers that stay."""
        parts = _together(self.x, self.x_prime)
        changed = [i for i, (_, a, b) in enumerate(parts) if a != b]
        half = len(changed) // 2
        groups = [changed[half:], changed[:half]] if half else []
        for undone in (*groups, *([i] for i in changed)):
            if len(undone) < len(changed):
                yield self._with(
                    (n, a, a if i in undone else b) for i, (n, a, b) in enumerate(parts)
                )
        for i in changed:
            length, a, b = parts[i]
            if length > 1:
                kept = (1, length // 2)
                for n in dict.fromkeys(kept):
                    yield self._with([*parts[:i], (n, a, b), (length - n, a, a), *parts[i + 1 :]])
        if any(a == b and a for _, a, b in parts):
            yield self._with((n, *((0, 0) if a == b else (a, b))) for n, a, b in parts)

    def _with(self, parts: Iterable[tuple[int, int, int]]) -> Answers:
        made = list(parts)
        x, x_prime = ((n, a) for n, a, _ in made), ((n, b) for n, _, b in made)
        return replace(self, x=_runs(x), x_prime=_runs(x_prime))


def _together(x: Runs, x_prime: Runs) -> list[tuple[int, int, int]]:
    """Both vectors cut where either changes: (length, level of x, level of x').

    >>> _together(((3, 0),), ((1, 1), (2, 0)))
    [(1, 0, 1), (2, 0, 0)]
    """
    ends = sorted(
        {*itertools.accumulate(n for n, _ in x), *itertools.accumulate(n for n, _ in x_prime)}
    )
    found, start, i, j = [], 0, 0, 0
    end_x, end_y = x[0][0], x_prime[0][0]
    for end in ends:
        found.append((end - start, x[i][1], x_prime[j][1]))
        if end == end_x and i + 1 < len(x):
            i, end_x = i + 1, end_x + x[i + 1][0]
        if end == end_y and j + 1 < len(x_prime):
            j, end_y = j + 1, end_y + x_prime[j + 1][0]
        start = end
    return found


def _all_change(n: int) -> Iterator[Pattern]:
    flat = _runs([(n, 0)])
    half = (n + 1) // 2
    yield flat, _runs([(1, 1), (n - 1, 0)]), 1
    yield flat, _runs([(1, -1), (n - 1, 0)]), 1
    yield flat, _runs([(1, 1), (n - 1, -1)]), 1
    yield flat, _runs([(1, -1), (n - 1, 1)]), 1
    yield flat, _runs([(half, 1), (n - half, -1)]), 1
    yield flat, _runs([(n, 1)]), 1
    yield flat, _runs([(n, -1)]), 1
    yield *_swapped([half, n - half]), 1
    yield *_swapped([1] * n), 1
    for lengths in _compositions(n):
        yield *_swapped(lengths), 1
        levels = [
            levels
            for levels in itertools.product((1, -1, 0), repeat=len(lengths))
            if all(a != b for a, b in itertools.pairwise(levels))
        ]
        for chosen in sorted(levels, key=lambda levels: levels.count(0)):
            if any(chosen):
                yield flat, _runs(zip(lengths, chosen, strict=True)), 1


def _one_changes(n: int) -> Iterator[Pattern]:
    flat = _runs([(n, 0)])
    for i in _ends_first(0, n):
        yield flat, _raised(flat, i), 1
        yield flat, _runs([(i, 0), (1, -1), (n - i - 1, 0)]), 1
    for lengths in _compositions(n):
        for base in _swapped(lengths):
            levels = [level for length, level in base for _ in range(length)]
            for i in _ends_first(0, n):
                if levels[i] == 0:
                    yield base, _raised(base, i), 1


def _sum_changes(n: int) -> Iterator[Pattern]:
    """One answer changes by all of `by`, or several share it in equal parts."""
    flat, single = _runs([(n, 0)]), _one_changes(n)
    yield from itertools.islice(single, 2)
    for parts in _shares(n):
        half = parts // 2
        yield flat, _runs([(parts, 1), (n - parts, 0)]), parts
        yield flat, _runs([(half, 1), (parts - half, -1), (n - parts, 0)]), parts
        yield flat, _runs([(parts, -1), (n - parts, 0)]), parts
    yield from single


def _shares(n: int) -> list[int]:
    """In how many parts a change may be shared out, besides one."""
    return list(dict.fromkeys(k for k in (n, 2, n // 2) if 2 <= k <= n))


def _parts(n: int, by: Number, change: str) -> list[int]:
    """The parts into which `by` can be shared out: whole numbers stay whole."""
    more = _shares(n) if change == "sum" else []
    return [1, *(k for k in more if not isinstance(by, int) or by % k == 0)]


def _part(by: Number, parts: int) -> Number:
    return by // parts if isinstance(by, int) else by / parts


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
