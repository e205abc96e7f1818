"""Relations of the suite that the library's own do not cover."""

from __future__ import annotations

import functools
import itertools

from tollens.relations import Relation, as_relation, queries

_WHOLE = 4


@functools.cache
def all_change(n: int) -> Relation:
    """Pairs of n answers each of which may change by 1, made once for each n.

    >>> all_change(5) is all_change(5)
    True
    """
    return queries(n)


def zero_one(n: int) -> Relation:
    """Pairs of vectors of 0 and 1: all of them, for long ones those whose halves swap places.

    >>> len(zero_one(2)), zero_one(10)[0].x
    (6, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    if n <= _WHOLE:
        vectors = [list(bits) for bits in itertools.product((0, 1), repeat=n)]
        return as_relation(list(itertools.combinations(vectors, 2)))
    return as_relation(
        [([1] * k + [0] * (n - k), [0] * k + [1] * (n - k)) for k in range(1, n // 2 + 1)]
    )


def raised(n: int) -> Relation:
    """Pairs of vectors of 0 and 1 of which one is nowhere below the other.

    >>> [pair.x_prime for pair in raised(1)]
    [[1]]
    """
    vectors = [list(bits) for bits in itertools.product((0, 1), repeat=n)]
    return as_relation(
        [
            (low, high)
            for low, high in itertools.permutations(vectors, 2)
            if all(a <= b for a, b in zip(low, high, strict=True))
        ]
    )


def swapped_halves(n: int) -> tuple[list[int], list[int]]:
    """Ones before zeros, against zeros before ones.

    >>> swapped_halves(4)
    ([1, 1, 0, 0], [0, 0, 1, 1])
    """
    half = n // 2
    return [1] * half + [0] * half, [0] * half + [1] * half


def last_swapped(n: int) -> tuple[list[int], list[int]]:
    """Zeros before a one, against ones before a zero.

    >>> last_swapped(3)
    ([0, 0, 1], [1, 1, 0])
    """
    return [0] * (n - 1) + [1], [1] * (n - 1) + [0]


def all_raised(n: int) -> tuple[list[int], list[int]]:
    """Zeros against ones.

    >>> all_raised(2)
    ([0, 0], [1, 1])
    """
    return [0] * n, [1] * n
