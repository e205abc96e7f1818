"""Pairs of single values: any two of a domain, and numbers that lie near to each other."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tollens.domains import Domain, integers, reals
from tollens.domains.values import complexity, spread
from tollens.errors import UsageError
from tollens.keys import key_of
from tollens.relations.relation import Node, Relation, of_nodes
from tollens.relations.steps import is_finite, plain, stepped


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
        first, second = (spread(self.domain.simpler(each), 8) for each in (self.x, self.x_prime))
        both = itertools.product(first, second)
        one = [(each, self.x_prime) for each in first] + [(self.x, each) for each in second]
        for a, b in [*both, *one]:
            if key_of(a) != key_of(b) and self.related(a, b):
                yield replace(self, x=a, x_prime=b)


@dataclass(frozen=True)
class Near(Two):
    """Two numbers; `step` is added to one for a neighbour of it."""

    step: float

    def smaller(self) -> Iterator[Two]:
        """Simpler numbers the same step apart, then one of them simpler."""
        each: Any
        for number in (self.x, self.x_prime):
            for each in spread(self.domain.simpler(number), 8):
                for step in (self.step, -self.step):
                    low, high = sorted([each, stepped(each, step)])
                    if self.related(low, high):
                        yield replace(self, x=low, x_prime=high)
        yield from super().smaller()


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
    twos = twos_of(domain.telling())
    if not twos:
        raise UsageError("any_two: the domain has one value only; two are needed for a pair")
    return of_nodes(
        "any_two", range(len(twos)), lambda i: Two(domain, *twos[i], related=lambda a, b: True)
    )


def twos_of(values: Sequence[object]) -> list[tuple[object, object]]:
    """Any two of the values, those that stand first before others.

    >>> twos_of("abc")
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    places = sorted(itertools.combinations(range(len(values)), 2), key=sum)
    return [(values[i], values[j]) for i, j in places]


def numbers(
    by: float = 1, *, low: float = -math.inf, high: float = math.inf, whole: bool = False
) -> Relation:
    """Pairs of numbers that differ by `by`: what neighbouring data may answer to one query.

    `low` and `high` bound the numbers; `whole` says that they are integers. Zero and the bounds
    come first, then numbers at which floats or machine integers become coarse. Where a float does
    not hold the sum with `by`, the two lie nearer to each other, never farther apart.

    Raises `UsageError` where `by` is not positive or does not fit between the bounds, and where
    `whole` is said of numbers that are not.

    >>> for pair in numbers(by=0.5)[:3]:
    ...     print(pair.x, pair.x_prime)
    0.0 0.5
    -0.5 0.0
    0.5 1.0
    """
    by, low, high = plain(by), plain(low), plain(high)
    findings = _findings(by, low, high, whole)
    if findings:
        raise UsageError(findings)
    kind: type[float] = int if whole else float
    step = kind(by)
    ends = [kind(end) for end in (low, high) if is_finite(end)]
    near = [0 * step, -step, step, *ends, *(end - step for end in ends)]
    near += [10 * step, -10 * step, 1000 * step]
    if whole:
        far = [10**6 * step, 2**31 - 1, -(2**31), 2**53, 2**63 - 1 - step]
        domain: Domain = integers(*(int(end) if is_finite(end) else None for end in (low, high)))
    else:
        far = [step / 3, 1e6 * step, 2.0**31 - step, 2.0**52, 1e-300]
        domain = reals(low, high)

    def related(a: object, b: object) -> bool:
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            return False
        inside = low <= min(a, b) and max(a, b) <= high and is_finite(a) and is_finite(b)
        return inside and 0 < abs(Fraction(a) - Fraction(b)) <= Fraction(by)

    found = [c for c in (*near, *far) if is_finite(c) and is_finite(c + step)]
    pairs = [(c, stepped(c, step)) for c in found if related(c, stepped(c, step))]
    if not pairs:
        raise UsageError(
            f"numbers: by is {by}, too small to change a float between {low} and {high}"
        )
    return of_nodes("numbers", pairs, lambda pair: Near(domain, *pair, related, step))


def _findings(by: float, low: float, high: float, whole: bool) -> list[str]:
    findings = []
    for name, value in (("by", by), ("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124
            findings.append(f"numbers: {name} is {value!r}; it must be a number")
        elif whole and is_finite(value) and value != int(value):
            findings.append(f"numbers: {name} is {value!r}; of whole numbers it must be whole")
        elif not whole and is_finite(value) and abs(value) > sys.float_info.max:
            findings.append(f"numbers: {name} is too large for a float; whole=True takes it")
    if findings:
        return findings
    if not 0 < by < math.inf:
        return [f"numbers: by is {by!r}; it must be a positive number"]
    room = low < math.inf and high > -math.inf
    if room and is_finite(low) and is_finite(high):
        room = Fraction(high) - Fraction(low) >= Fraction(by)
    if not room:
        return [f"numbers: low is {low} and high is {high}; by = {by} does not fit between"]
    return []
