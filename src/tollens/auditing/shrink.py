"""Shrinking: from the pair that refuted a claim to a smallest one that refutes it again.

Smaller pairs of the same relation are proposed one by one, each is bet on with fresh runs, and the
first that is refuted takes the place of the pair before it, until none is. The k-th that is tried
spends 1/(k (k + 1)) of a level that was kept for shrinking, so all of them together spend it at
most once: the pair that is shown breaks the claim with the error probability of the whole audit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tollens.auditing.witnesses import Shown
from tollens.neighbours import Pair
from tollens.relations import Relation
from tollens.tally import Tally
from tollens.witness import Witness

SHARE = 1 / 20
"""The part of alpha that is kept for shrinking, where pairs can be shrunk."""

MOST_TRIED = 200
"""Smaller pairs that are tried at most."""

LEAST_PAIRS, TIMES = 40, 3.0
"""Pairs of runs for a smaller pair: these, and so many times what the last one took."""


class Bets(Protocol):
    """What is known after betting on one pair; see `tollens.auditing.bandit.Bandit`."""

    pairs: int

    @property
    def refuted(self) -> bool: ...  # noqa: D102
    @property
    def epsilon_lower(self) -> float: ...  # noqa: D102
    def shown(self) -> Shown | None: ...  # noqa: D102
    def tally(self, shown: Shown | None) -> Tally | None: ...  # noqa: D102


Bet = Callable[[Pair, float, int], Bets]
"""Bets on a pair at a level, with so many pairs of fresh runs at most."""


@dataclass(frozen=True)
class Shrunk:
    """A pair that was refuted on fresh runs of its own; `tried` pairs led to it."""

    pair: Pair
    witness: Witness | None
    tally: Tally | None
    epsilon_lower: float
    pairs: int
    tried: int


class Attempts:
    """Bets on one pair after the other; `found` is the last that was refuted."""

    def __init__(self, pair: Pair, bet: Bet, *, level: float, took: int, most: int) -> None:
        """`pair` refuted the claim in `took` pairs of runs; `most` bounds those made here.

        All bets together get `level` at most.
        """
        self.found: Shrunk | None = None
        self._pair, self._bet, self._level = pair, bet, level
        self._took, self._left, self._count = took, most, 0

    def refuted(self, inputs: tuple[object, object]) -> bool:
        """Whether fresh runs on these inputs refute the claim; not where the runs are used up."""
        budget = min(int(TIMES * self._took) + LEAST_PAIRS, self._left)
        if budget < LEAST_PAIRS or self._count >= MOST_TRIED:
            return False
        self._count += 1
        relation = self._pair.relation
        pair = Pair(*inputs, relation if self.found is None else _words(relation))
        made = self._bet(pair, self._level / (self._count * (self._count + 1)), budget)
        self._left -= made.pairs
        if made.refuted:
            self._took = made.pairs
            shown = made.shown()
            self.found = Shrunk(
                pair,
                None if shown is None else shown.witness,
                made.tally(shown),
                made.epsilon_lower,
                made.pairs,
                self._count,
            )
        return made.refuted

    def shrink(self, relation: Relation, number: int) -> None:
        """Try the pair at a number of the relation again; if it is refuted, smaller ones."""
        pair = relation[number]
        if self.refuted((pair.x, pair.x_prime)):
            relation.shrink(number, self.refuted)


def _words(relation: str) -> str:
    """`queries, pair 4 of 9` as `queries, shrunk from pair 4 of 9`.

    >>> _words("queries, pair 4 of 9")
    'queries, shrunk from pair 4 of 9'
    """
    name, _, place = relation.partition(", ")
    return f"{name}, shrunk from {place}" if place else f"{name}, shrunk"
