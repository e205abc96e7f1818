"""A relation: a finite sequence of neighbouring pairs, made one by one."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import SupportsIndex, TypeVar, overload

from tollens.errors import UsageError
from tollens.keys import key_of
from tollens.mechanism import refuse_iterator
from tollens.neighbours import Pair, as_pair

_FORMS = (
    "give one pair as a tuple (x, x_prime), a list of such pairs, or a relation such as "
    "tollens.add_remove(data)"
)
_MOST_FINDINGS = 5

Spec = TypeVar("Spec", bound=Hashable)


MAX_PAIRS = 4096
"""The most pairs that a relation of the library has."""


class Node(ABC):
    """A pair that knows smaller pairs of its relation."""

    @property
    @abstractmethod
    def pair(self) -> tuple[object, object]:
        """The two inputs, made anew each time."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for equal pairs."""

    @property
    @abstractmethod
    def size(self) -> tuple[float, ...]:
        """How large the pair is, to be compared with those of others."""

    @abstractmethod
    def smaller(self) -> Iterator[Node]:
        """Pairs of the same relation that may be smaller, large steps first."""


Refuted = Callable[[tuple[object, object]], bool]
"""Whether a claim is refuted on a pair of inputs by fresh runs."""


class Relation(Sequence[Pair]):
    """A named sequence of neighbouring pairs, the likely worst first.

    `relation[i]` makes its pair when it is asked for, and makes it anew every time; `len` and
    slices make none. A slice is a relation whose pairs keep their numbers.

    `make` gets an index below `count` and returns the two inputs, or a `Pair` to be given as it
    is. It must return the same inputs for the same index. `exact` says in JSON what the relation
    is, where a checker of proofs can tell whether two inputs belong to it. Where pairs can be
    shrunk, `nodes` gets an index and returns the pair as a `Node`, or `shrinker` gets an index and
    a test, and tries smaller pairs by itself.

    >>> import tollens
    >>> relation = tollens.add_remove([5, 1, 3])
    >>> relation
    <Relation add_remove: 3 pairs>
    >>> relation[0]
    Pair(x=[5, 1, 3], x_prime=[1, 3], relation='add_remove, pair 1 of 3')
    >>> [pair.x_prime for pair in relation[1:]]
    [[5, 3], [5, 1]]
    """

    __slots__ = ("_count", "_indices", "_make", "_nodes", "_shrinker", "exact", "name")

    def __init__(
        self,
        name: str,
        count: int,
        make: Callable[[int], tuple[object, object] | Pair],
        exact: Mapping[str, object] | None = None,
        *,
        nodes: Callable[[int], Node] | None = None,
        shrinker: Callable[[int, Refuted], None] | None = None,
    ) -> None:
        self.name = name
        self._nodes, self._shrinker = nodes, shrinker
        self.exact = dict(exact or {"kind": "given"})
        self._count = count
        self._make = make
        self._indices = range(count)

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Relation: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Pair | Relation:
        if isinstance(index, slice):
            part = Relation(
                self.name, self._count, self._make, self.exact,
                nodes=self._nodes, shrinker=self._shrinker,
            )  # fmt: skip
            part._indices = self._indices[index]
            return part
        asked = operator.index(index)
        if not -len(self) <= asked < len(self):
            raise IndexError(f"{self.name} has {_pairs(len(self))}; there is no pair [{asked}]")
        number = self._indices[asked]
        made = self._make(number)
        if isinstance(made, Pair):
            return made
        return Pair(*made, relation=f"{self.name}, pair {number + 1} of {self._count}")

    @property
    def shrinks(self) -> bool:
        """Whether its pairs can be shrunk."""
        return self._nodes is not None or self._shrinker is not None

    def shrink(self, index: int, refuted: Refuted) -> None:
        """Try pairs that are smaller than the one at an index, as long as one is refuted.

        `refuted` is asked for one pair after the other; those it accepts are ever smaller.
        """
        number = self._indices[index]
        if self._nodes is not None:
            _descend(self._nodes(number), refuted)
        elif self._shrinker is not None:
            self._shrinker(number, refuted)

    def __repr__(self) -> str:
        return f"<Relation {self.name}: {_pairs(len(self))}>"


def of_nodes(name: str, specs: Iterable[Spec], node: Callable[[Spec], Node]) -> Relation:
    """A relation of the pairs that `node` makes, of each spec that differs from those before it.

    There are `MAX_PAIRS` at most.
    """
    kept: dict[Spec, None] = {}
    for spec in specs:
        kept.setdefault(spec)
        if len(kept) == MAX_PAIRS:
            break
    found = list(kept)
    return Relation(name, len(found), lambda i: node(found[i]).pair, nodes=lambda i: node(found[i]))


def _descend(node: Node, refuted: Refuted) -> None:
    """From a node to a smaller one that is refuted, until there is none."""
    tried = {node.key}
    candidates = node.smaller()
    while (candidate := next(candidates, None)) is not None:
        if candidate.key in tried or not candidate.size < node.size:
            continue
        tried.add(candidate.key)
        x, x_prime = candidate.pair
        if key_of(x) != key_of(x_prime) and refuted((x, x_prime)):
            node, candidates = candidate, candidate.smaller()


def as_relation(neighbours: object) -> Relation:
    """The relation that `neighbours` names.

    A tuple `(x, x_prime)` or a `Pair` is one pair, a list is many pairs, each of them such a tuple
    or a `Pair`; a relation is returned as it is. Inputs are taken as they are, without a copy, and
    on the caller's word: nothing checks that they are neighbours, nor that they differ.

    Raises `UsageError` for anything else, for no pairs at all, and for what can be read only once.

    >>> as_relation(([1, 1], [1]))[0]
    Pair(x=[1, 1], x_prime=[1], relation='explicit')
    >>> as_relation([([1, 1], [1]), ([2], [])])[1]
    Pair(x=[2], x_prime=[], relation='list, pair 2 of 2')
    >>> as_relation([([1, 1], [1]), [2]])
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: neighbours[1] is a list; each pair of the list must be a tuple \
(x, x_prime)
    """
    if isinstance(neighbours, Relation):
        if not len(neighbours):
            raise UsageError(f"the relation {neighbours.name} has no pairs; give at least one")
        return neighbours
    if isinstance(neighbours, list):
        return _listed(neighbours)
    if type(neighbours).__module__.partition(".")[0] == "hypothesis":
        from tollens.hypothesis import relation_of

        return relation_of(neighbours)  # type: ignore[arg-type]
    if isinstance(neighbours, Pair) or (isinstance(neighbours, tuple) and len(neighbours) == 2):
        pair = as_pair(neighbours)
        return Relation(pair.relation, 1, lambda _: pair)
    if isinstance(neighbours, Iterator):
        raise UsageError(
            f"neighbours is a {type(neighbours).__name__}, which can be read only once; give its "
            "pairs as a list"
        )
    if isinstance(neighbours, tuple):
        raise UsageError(f"neighbours is a tuple of {len(neighbours)}; {_FORMS}")
    raise UsageError(f"neighbours is a {type(neighbours).__name__}; {_FORMS}")


def _listed(pairs: list[object]) -> Relation:
    if not pairs:
        raise UsageError("neighbours is an empty list; give at least one pair (x, x_prime)")
    if not any(isinstance(pair, tuple | Pair) for pair in pairs):
        raise UsageError(
            f"neighbours is a list, that is, many pairs, but neighbours[0] is a "
            f"{type(pairs[0]).__name__}; give one pair as a tuple (x, x_prime), and each pair of "
            "a list as such a tuple"
        )
    kept, findings = list(pairs), []
    for i, pair in enumerate(pairs):
        findings += _pair_findings(pair, f"neighbours[{i}]")
    if findings:
        more = len(findings) - _MOST_FINDINGS
        tail = [f"and {more} more of this kind"] if more > 0 else []
        raise UsageError(findings[:_MOST_FINDINGS] + tail)

    def make(i: int) -> tuple[object, object] | Pair:
        pair = as_pair(kept[i])
        if pair.relation == "explicit":
            return pair.x, pair.x_prime
        return pair

    return Relation("list", len(kept), make)


def _pair_findings(pair: object, place: str) -> list[str]:
    if isinstance(pair, Pair):
        pair = (pair.x, pair.x_prime)
    if not isinstance(pair, tuple):
        kind = type(pair).__name__
        return [f"{place} is a {kind}; each pair of the list must be a tuple (x, x_prime)"]
    if len(pair) != 2:
        return [
            f"{place} is a tuple of {len(pair)}; each pair of the list must be a tuple (x, x_prime)"
        ]
    findings: list[str] = []
    for i, data in enumerate(pair):
        try:
            refuse_iterator(data, f"{place}[{i}]")
        except UsageError as error:
            findings += error.findings
    return findings


def _pairs(count: int) -> str:
    return f"{count} pair" if count == 1 else f"{count} pairs"
