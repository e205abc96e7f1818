"""Pairs over a domain: made from its telling values, and shrunk within it.

A pair of data sets is kept as the records that both have and those that only one has, so that a
smaller pair is again a pair of the same relation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tollens.domains import Datasets, Domain
from tollens.domains.values import complexity, unique
from tollens.errors import UsageError
from tollens.keys import Data, key_of
from tollens.relations.relation import MAX_PAIRS, Node, Relation

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
        """Records in both, then how much there is to read in them."""
        both = (*self.common, *self.left, *self.right)
        values = sum(map(complexity, unique(both)))
        return (len(both), values + sum(map(complexity, (*self.left, *self.right))))

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
        if len(keep) > least and len(unique(keep)) > 1:
            for i in _firsts(keep):
                yield replace(self, common=keep[:i] + keep[i + 1 :])
        yield from self._fewer_changes(fewest)
        for i, value in enumerate(unique(keep)):
            for each in self.domain.record.simpler(value)[: 4 if i < 4 else 1]:
                same = key_of(value)
                yield replace(self, common=tuple(each if key_of(r) == same else r for r in keep))
        for name, part in (("left", self.left), ("right", self.right)):
            for value in unique(part):
                for each in self.domain.record.simpler(value)[:6]:
                    same = key_of(value)
                    new = tuple(each if key_of(r) == same else r for r in part)
                    yield self._with(name, new)

    def _fewer_changes(self, fewest: int) -> Iterator[Change]:
        larger = max(len(self.left), len(self.right))
        for n in dict.fromkeys((1, larger // 2, larger - 1)):
            left, right = self.left[:n], self.right[:n]
            enough = len(self.common) + min(len(left), len(right)) >= fewest
            if 0 < n < larger and enough and key_of(left) != key_of(right):
                yield replace(self, left=left, right=right)

    def _with(self, name: str, records: Records) -> Change:
        return replace(self, left=records) if name == "left" else replace(self, right=records)


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
        rows = np.empty((len(records), *self.data.shape[1:]), dtype=self.data.dtype)
        for i, record in enumerate(records):
            rows[i] = record
        return rows


def given(
    data: Data, common: Sequence[object], left: Sequence[object], right: Sequence[object]
) -> Change:
    """A pair that was made of given data: only records can be left out, the values stay."""
    fewest = min(1, len(left), len(right))
    like = _Like(_Given(), (fewest, len(data)), "given", data)
    return Change(like, tuple(common), tuple(left), tuple(right))


@dataclass(frozen=True)
class Two(Node):
    """Two values of one domain; which two are neighbours is said by `related`."""

    domain: Domain
    x: object
    x_prime: object
    related: Callable[[object, object], bool]

    @property
    def pair(self) -> tuple[object, object]:
        """The two values."""
        return self.x, self.x_prime

    @property
    def key(self) -> Hashable:
        """Equal for equal pairs."""
        return key_of((self.x, self.x_prime))

    @property
    def size(self) -> tuple[float, ...]:
        """How much there is to read in both."""
        return (complexity(self.x) + complexity(self.x_prime),)

    def smaller(self) -> Iterator[Two]:
        """One of the two, or both, simpler."""
        first, second = self.domain.simpler(self.x)[:8], self.domain.simpler(self.x_prime)[:8]
        both = itertools.product(first, second)
        one = [(each, self.x_prime) for each in first] + [(self.x, each) for each in second]
        for a, b in [*both, *one]:
            if key_of(a) != key_of(b) and self.related(a, b):
                yield replace(self, x=a, x_prime=b)


def added_over(domain: Datasets, records: int) -> Relation:
    """Pairs of data sets of which one has up to `records` records more."""
    telling = domain.record.telling()
    bases = _bases(telling)

    def changes() -> Iterator[Change]:
        for s, b, v in _diagonal(len(domain.sizes), len(bases), len(telling)):
            common = _of_size(bases[b], domain.sizes[s])
            yield Change(domain, common, (telling[v],) * records, ())

    return _relation("add_remove", changes())


def replaced_over(domain: Datasets, records: int) -> Relation:
    """Pairs of data sets of the same size of which up to `records` records differ."""
    telling = domain.record.telling()
    if len(telling) < 2:
        raise UsageError("substitute: the domain has one value only, so nothing can be replaced")
    bases = _bases(telling)
    sizes = [size for size in domain.sizes if size >= records] or [records]
    twos = list(itertools.combinations(range(len(telling)), 2))
    twos.sort(key=sum)

    def changes() -> Iterator[Change]:
        for s, b, t in _diagonal(len(sizes), len(bases), len(twos)):
            common = _of_size(bases[b], sizes[s] - records)
            i, j = twos[t]
            yield Change(domain, common, (telling[i],) * records, (telling[j],) * records)

    return _relation("substitute", changes())


def any_two(domain: Domain) -> Relation:
    """Any two different values of a domain are neighbours: what a local mechanism takes.

    Raises `UsageError` for what is no domain and for a domain of one value.

    >>> from tollens import domains
    >>> any_two(domains.choices(["red", "green", "blue"]))[0]
    Pair(x='red', x_prime='green', relation='any_two, pair 1 of 3')
    """
    if not isinstance(domain, Domain):
        raise UsageError(
            f"any_two: the domain is a {type(domain).__name__}; give one such as "
            "tollens.domains.booleans()"
        )
    telling = domain.telling()
    if len(telling) < 2:
        raise UsageError("any_two: the domain has one value only; two are needed for a pair")
    twos = sorted(itertools.combinations(range(len(telling)), 2), key=sum)
    nodes = (Two(domain, telling[i], telling[j], lambda a, b: True) for i, j in twos)
    return _relation("any_two", nodes)


def numbers(
    by: float = 1, *, low: float = -math.inf, high: float = math.inf, whole: bool = False
) -> Relation:
    """Pairs of numbers that differ by `by`: what neighbouring data may answer to one query.

    `low` and `high` bound the numbers; `whole` says that they are integers. Zero and the bounds
    come first, then numbers at which floats or machine integers become coarse.

    Raises `UsageError` where `by` is not positive or does not fit between the bounds.

    >>> for pair in numbers(by=0.5)[:3]:
    ...     print(pair.x, pair.x_prime)
    0.0 0.5
    -0.5 0.0
    0.5 1.0
    """
    from tollens.domains import integers, reals

    findings = []
    if isinstance(by, bool) or not isinstance(by, int | float) or not 0 < by < math.inf:
        findings.append(f"numbers: by is {by!r}; it must be a positive number")
    elif not high - low >= by:
        findings.append(f"numbers: low is {low} and high is {high}; by = {by} does not fit between")
    if findings:
        raise UsageError(findings)
    step = int(by) if whole else float(by)
    ends = [end for end in (low, high) if math.isfinite(end)]
    centres = [0, -by, by, *ends, *(end - by for end in ends), 10 * by, -10 * by, 1000 * by]
    centres += [by / 3, 1e6 * by, 2.0**31 - by, 2.0**52, 1e-300] if not whole else [
        10**6 * by, 2**31 - 1, -(2**31), 2**53, 2**63 - 1 - by]  # fmt: skip
    kind = int if whole else float
    domain: Domain = (
        integers(*(int(e) if math.isfinite(e) else None for e in (low, high)))
        if whole
        else reals(low, high)
    )

    def related(a: object, b: object) -> bool:
        return isinstance(a, int | float) and isinstance(b, int | float) and 0 < abs(a - b) <= by

    found = unique(kind(c) for c in centres if low <= c and c + by <= high)
    nodes = (
        Two(domain, c, c + step, related)  # type: ignore[operator]
        for c in found
        if related(c, c + step)  # type: ignore[operator]
    )
    return _relation("numbers", nodes)


def _bases(telling: Sequence[object]) -> list[Records]:
    """The records that both have: all alike, or all telling values in turn."""
    alike: list[Records] = [(value,) for value in telling]
    return [*alike[:2], tuple(telling), *alike[2:]] if len(telling) > 1 else alike


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


def _relation(name: str, nodes: Iterable[Node]) -> Relation:
    seen: set[Hashable] = set()
    kept: list[Node] = []
    for node in nodes:
        key = node.key
        if key not in seen:
            seen.add(key)
            kept.append(node)
            if len(kept) == MAX_PAIRS:
                break
    return Relation(name, len(kept), lambda i: kept[i].pair, nodes=lambda i: kept[i])
