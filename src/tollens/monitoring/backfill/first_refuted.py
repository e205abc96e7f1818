"""Which of many commits is the first that an audit refutes: bisection with few audits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Refuted = Callable[[int], bool | None]
"""Audits a commit: refuted, not refuted, or None where nothing could be decided."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The first commit that was refuted, and the last before it that was not.

    `first` is None where not even the last commit was refuted; `before` is None where the first
    commit of all was. Those between them could not be decided, or audits ran out.
    """

    first: int | None
    before: int | None
    audits: int


def most_audits(count: int) -> int:
    """The audits that `first_refuted` makes of `count` commits at most; alpha is shared by them.

    Both ends, as many to look further back as to bisect, and three for undecided ones.
    """
    return 5 + 2 * math.ceil(math.log2(count + 1))


def first_refuted(count: int, start: int, refuted: Refuted) -> Bracket:
    """Bisect commits 0 to count - 1, of which the last is likely broken.

    `start` is one that is likely not (-1: there is none). Where it is broken too, earlier ones
    are looked at, in jumps that double.

    >>> first_refuted(60, 30, lambda i: i >= 37)
    Bracket(first=37, before=36, audits=7)
    >>> first_refuted(60, 50, lambda i: i >= 37)
    Bracket(first=37, before=36, audits=9)
    >>> first_refuted(60, 35, lambda i: None if i == 36 else i >= 37)
    Bracket(first=37, before=35, audits=7)
    >>> first_refuted(60, -1, lambda i: True)
    Bracket(first=0, before=None, audits=7)
    """
    left, asked = most_audits(count), 0

    def look(i: int) -> bool | None:
        nonlocal asked
        asked += 1
        return refuted(i)

    high, low, jump = count - 1, min(start, count - 2), 1
    if look(high) is not True:
        return Bracket(None, None, asked)
    undecided: set[int] = set()
    while low >= 0 and asked < left:
        answer = look(low)
        if answer is False:
            break
        if answer:
            high = low
        else:
            undecided.add(low)
        low, jump = (max(low - jump, 0) if low else -1), 2 * jump
    while asked < left:
        between = [i for i in range(low + 1, high) if i not in undecided]
        if not between:
            break
        middle = between[len(between) // 2]
        answer = look(middle)
        if answer is None:
            undecided.add(middle)
        elif answer:
            high = middle
        else:
            low = middle
    return Bracket(high, low if low >= 0 else None, asked)
