"""Vectors of answers in short: runs of equal answers, each so many steps above the usual one."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from tollens.errors import UsageError
from tollens.relations.relation import Node
from tollens.relations.steps import Number, is_finite, stepped

Runs = tuple[tuple[int, int], ...]
"""A vector in short: (length, level) of each run of equal levels; levels count steps."""


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
        return vector(self.x, values), vector(self.x_prime, values)

    @property
    def key(self) -> Hashable:
        """Equal for equal pairs."""
        return self.x, self.x_prime

    @property
    def size(self) -> tuple[float, ...]:
        """The answers that change, in how many runs, and the answers that are not the usual one."""
        parts = together(self.x, self.x_prime)
        changed = sum(length for length, a, b in parts if a != b)
        unusual = sum(length * (abs(a) + abs(b)) for length, a, b in parts)
        return changed, len(parts), unusual

    def smaller(self) -> Iterator[Answers]:
        """Half of the changes undone, then one run of them, then unusual answers that stay."""
        parts = together(self.x, self.x_prime)
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
            for start, end in _undone(length):
                within = [(start, a, b), (end - start, a, a), (length - end, a, b)]
                yield self._with([*parts[:i], *within, *parts[i + 1 :]])
        if any(a == b and a for _, a, b in parts):
            yield self._with((n, *((0, 0) if a == b else (a, b))) for n, a, b in parts)

    def _with(self, parts: Iterable[tuple[int, int, int]]) -> Answers:
        made = list(parts)
        x, x_prime = ((n, a) for n, a, _ in made), ((n, b) for n, _, b in made)
        return replace(self, x=runs(x), x_prime=runs(x_prime))


def _undone(length: int) -> dict[tuple[int, int], None]:
    """Which changes of a run may be undone: all but one, then halves, then smaller pieces.

    >>> list(_undone(3))
    [(1, 3), (0, 2), (0, 1), (1, 2), (2, 3)]
    """
    if length == 1:
        return {}
    found = [(1, length), (0, length - 1)]
    size = length // 2
    while size and size * _PIECES >= length:
        found += [(i, min(i + size, length)) for i in range(0, length, size)]
        size //= 2
    return dict.fromkeys(found)


_PIECES = 20


def together(x: Runs, x_prime: Runs) -> list[tuple[int, int, int]]:
    """Both vectors cut where either changes: (length, level of x, level of x').

    >>> together(((3, 0),), ((1, 1), (2, 0)))
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


def swapped(lengths: list[int]) -> tuple[Runs, Runs]:
    """Runs of 0 and 1 in turn, against the same with 0 and 1 swapped."""
    first = runs([(length, i % 2) for i, length in enumerate(lengths)])
    return first, tuple((length, 1 - level) for length, level in first)


def raised(base: Runs, index: int) -> Runs:
    """The same vector with one answer a level higher."""
    parts, start = [], 0
    for length, level in base:
        before = index - start
        if 0 <= before < length:
            parts += [(before, level), (1, level + 1), (length - before - 1, level)]
        else:
            parts.append((length, level))
        start += length
    return runs(parts)


def runs(parts: Iterable[tuple[int, int]]) -> Runs:
    """The one short form of a vector: no run is empty, no two next to each other are equal."""
    merged: list[tuple[int, int]] = []
    for length, level in parts:
        if merged and merged[-1][1] == level:
            merged[-1] = (merged[-1][0] + length, level)
        elif length:
            merged.append((length, level))
    return tuple(merged)


def vector(parts: Runs, values: dict[int, Number]) -> list[Number]:
    """The numbers of a vector, given those of the levels.

    >>> vector(((2, 0), (1, 1)), {0: 5, 1: 6})
    [5, 5, 6]
    """
    return [values[level] for length, level in parts for _ in range(length)]


def levels_of(center: Number, by: Number) -> dict[int, Number]:
    """The numbers of the three levels; a rounded sum never lies further off than `by`.

    >>> levels_of(1, 0.5)
    {-1: 0.5, 0: 1.0, 1: 1.5}
    """
    values: dict[int, Number] = {}
    with contextlib.suppress(OverflowError):
        start = center + 0 * by
        values = {-1: stepped(start, -by), 0: start, 1: stepped(start, by)}
    if not values or not all(map(is_finite, values.values())):
        raise UsageError(f"queries: center {center!r} with by {by!r} is too large for a float")
    if values[1] == values[0] or values[-1] == values[0]:
        raise UsageError(
            f"queries: by is {by!r}, too small to change a float of {center!r}; use a larger by or "
            "a center nearer to 0"
        )
    return values
