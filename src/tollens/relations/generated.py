"""Pairs of data sets over a domain: made from its telling values, and shrunk within it.

A pair of data sets is kept as the records that both have and those that only one has, so that a
smaller pair is again a pair of the same relation.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tollens.domains import Datasets, Domain
from tollens.domains.datasets import rows_like
from tollens.domains.values import complexity, spread, unique
from tollens.errors import UsageError
from tollens.keys import Data, key_of
from tollens.relations.relation import Node, Relation, of_nodes
from tollens.relations.singles import twos_of

Records = tuple[object, ...]


@dataclass(frozen=True)
class Change(Node):
    """Two data sets: the records that both have, then those of x and those of x' alone."""

    domain: Datasets
    common: Records
    left: Records
    right: Records

    @property
    def pair(self) -> tuple[object, object]:
        """The two data sets, the records that differ at their ends."""
        build = self.domain.build
        return build([*self.common, *self.left]), build([*self.common, *self.right])

    @property
    def key(self) -> Hashable:
        """Equal for equal pairs."""
        return tuple(key_of(part) for part in (self.common, self.left, self.right))

    @property
    def size(self) -> tuple[float, ...]:
        """The number of records, then how much there is to read in the different ones."""
        changes = (*self.left, *self.right)
        values = (*unique(self.common), *changes)
        return len(self.common) + len(changes), sum(map(complexity, values))

    def smaller(self) -> Iterator[Change]:
        """Fewer common records, fewer that differ, simpler values; large steps first."""
        fewest = min(self.domain.sizes)
        least = max(0, fewest - min(len(self.left), len(self.right)))
        keep = self.common
        steps = dict.fromkeys(
            n for n in (least, len(keep) // 4, len(keep) // 2, len(keep) - 1) if least <= n
        )
        for n in steps:
            if n < len(keep):
                yield replace(self, common=keep[:n])
        if least <= len(keep) // 2:
            yield replace(self, common=keep[len(keep) - len(keep) // 2 :])
        if len(keep) > least and len(unique(keep)) > 1:
            for i in _firsts(keep):
                yield replace(self, common=keep[:i] + keep[i + 1 :])
        yield from self._fewer_changes(fewest)
        for i, value in enumerate(unique(keep)):
            for each in spread(self.domain.record.simpler(value), 6 if i < 4 else 2):
                yield replace(self, common=_put(each, value, keep))
        for value in unique(self.left):
            for each in spread(self.domain.record.simpler(value), 8):
                yield from self._if_changed(_put(each, value, self.left), self.right)
        for value in unique(self.right):
            for each in spread(self.domain.record.simpler(value), 8):
                yield from self._if_changed(self.left, _put(each, value, self.right))

    def _if_changed(self, left: Records, right: Records) -> Iterator[Change]:
        """The same with other records that differ, where these do."""
        if key_of(left) != key_of(right):
            yield replace(self, left=left, right=right)

    def _fewer_changes(self, fewest: int) -> Iterator[Change]:
        """Only the first changes; the records of the others go, or else stay as they are in x."""
        larger = max(len(self.left), len(self.right))
        for n in dict.fromkeys((1, larger // 2, larger - 1)):
            if not 0 < n < larger:
                continue
            left, right = self.left[:n], self.right[:n]
            common = self.common
            if len(common) + min(len(left), len(right)) < fewest:
                common += self.left[n:]
            yield replace(self, common=common, left=left, right=right)


def _put(new: object, old: object, records: Records) -> Records:
    """The records with a new one in place of each old one."""
    same = key_of(old)
    return tuple(new if key_of(each) == same else each for each in records)


def _firsts(records: Records) -> list[int]:
    """Where each different record stands first, few of them."""
    firsts: dict[Hashable, int] = {}
    for i, record in enumerate(records):
        firsts.setdefault(key_of(record), i)
    return list(firsts.values())[:8]


@dataclass(frozen=True)
class _Given(Domain):
    """The records of a data set that was given: none is simpler than another."""

    def telling(self) -> list[object]:
        return []

    def simpler(self, value: object) -> list[object]:
        return []


@dataclass(frozen=True)
class _Like(Datasets):
    """Data sets in a container of the same type as one that was given."""

    data: Data = ()

    def build(self, records: Sequence[object]) -> object:
        if not isinstance(self.data, np.ndarray):
            return type(self.data)(records)
        return rows_like(self.data, records)


def given(
    data: Data, common: Sequence[object], left: Sequence[object], right: Sequence[object]
) -> Change:
    """A pair that was made of given data: only records can be left out, the values stay."""
    fewest = min(1, len(left), len(right))
    like = _Like(_Given(), (fewest, len(data)), "given", data)
    return Change(like, tuple(common), tuple(left), tuple(right))


def added_over(domain: Datasets, records: int) -> Relation:
    """Pairs of data sets of which one has up to `records` records more."""
    telling = domain.record.telling()
    bases = _bases(telling)

    def specs() -> Iterator[tuple[int, int, int]]:
        for s, b, v in _diagonal(len(domain.sizes), len(bases), len(telling)):
            yield domain.sizes[s], _first_alike(b, domain.sizes[s]), v

    def node(spec: tuple[int, int, int]) -> Change:
        size, base, v = spec
        return Change(domain, _of_size(bases[base], size), (telling[v],) * records, ())

    return of_nodes("add_remove", specs(), node)


def replaced_over(domain: Datasets, records: int) -> Relation:
    """Pairs of data sets of the same size of which up to `records` records differ."""
    telling = domain.record.telling()
    sizes = [size - records for size in domain.sizes if size >= records]
    findings = []
    if len(telling) < 2:
        findings.append("substitute: the domain has one value only, so nothing can be replaced")
    if not sizes:
        findings.append(
            f"substitute: the data sets of the domain have at most {max(domain.sizes)} records, "
            f"of which {records} cannot be replaced; give it larger sizes, such as "
            f"sizes=[{records}]"
        )
    if findings:
        raise UsageError(findings)
    bases, twos = _bases(telling), twos_of(telling)

    def specs() -> Iterator[tuple[int, int, int]]:
        for s, b, t in _diagonal(len(sizes), len(bases), len(twos)):
            yield sizes[s], _first_alike(b, sizes[s]), t

    def node(spec: tuple[int, int, int]) -> Change:
        size, base, t = spec
        left, right = twos[t]
        return Change(domain, _of_size(bases[base], size), (left,) * records, (right,) * records)

    return of_nodes("substitute", specs(), node)


def _bases(telling: Sequence[object]) -> list[Records]:
    """The records that both have: all alike, or (number `_MIXED`) all telling values in turn.

    The simplest value comes first, for what changes then stands out.
    """
    plain = min(telling, key=complexity)
    alike: list[Records] = [(value,) for value in unique([plain, *telling])]
    return [*alike[:_MIXED], tuple(telling), *alike[_MIXED:]] if len(telling) > 1 else alike


_MIXED = 2


def _first_alike(base: int, size: int) -> int:
    """The first of the bases that give the same records as this one."""
    return 0 if size == 0 or (size == 1 and base == _MIXED) else base


def _of_size(base: Records, size: int) -> Records:
    return tuple(itertools.islice(itertools.cycle(base), size))


def _diagonal(*lengths: int) -> Iterator[tuple[int, ...]]:
    """All tuples of indices, those with the smallest sum first.

    >>> list(_diagonal(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    for total in range(sum(lengths) - len(lengths) + 1):
        yield from _summing_to(total, lengths)


def _summing_to(total: int, lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not lengths:
        if total == 0:
            yield ()
        return
    for i in range(min(total, lengths[0] - 1) + 1):
        for rest in _summing_to(total - i, lengths[1:]):
            yield (i, *rest)
