"""Domains of single values: the values that tell most, and simpler ones of the same domain.

A domain is what a mechanism's documentation says of its input's type. Its *telling* values are
those at which implementations break: the ends of an interval, zero, numbers that do not fit into
32 bits, denormal numbers, the empty text, NaN and nulls where the type has them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from tollens.keys import key_of

MOST_TELLING = 24
"""The most telling values of a domain that are used."""

LONGEST_TEXT = 10_000
"""Characters of the longest text that is made, however long the texts of a domain may be."""


T = TypeVar("T")


@runtime_checkable
class Domain(Protocol):
    """A set of values."""

    def telling(self) -> list[object]:
        """Different values of the domain, the likely worst first."""

    def simpler(self, value: object) -> list[object]:
        """Values of the domain that are simpler than this one, the simplest first."""


def complexity(value: object) -> float:
    """How much there is to read in a value: a shrunken input has little of it.

    >>> complexity(0) < complexity(1) < complexity(-7) < complexity(0.125) < complexity(1e-300)
    True
    >>> complexity([0, 0]) > complexity([0]), complexity("") < complexity("a")
    (True, True)
    """
    if value is None or isinstance(value, bool):
        return 0.5 * bool(value) + 0.25 * (value is None)
    if isinstance(value, int | float):
        if value == 0:
            return 0.0
        if not math.isfinite(value):
            return 30.0
        whole = value == int(value) and abs(value) < 1e15
        size = 1.0 - 1.0 / (1.0 + math.log2(1 + abs(value)))
        return len(repr(int(value) if whole else value)) + size
    if isinstance(value, str | bytes):
        return len(value) + sum(min(unit, 1000) for unit in _units(value)) / 1e6
    if isinstance(value, Mapping):
        return 1.0 + sum(complexity(inner) for inner in value.values())
    if isinstance(value, Sequence):
        return sum(1.0 + complexity(inner) for inner in value)
    return float(len(repr(value)))


def _units(text: str | bytes) -> Iterable[int]:
    return text if isinstance(text, bytes) else map(ord, text)


def unique(values: Iterable[object]) -> list[object]:
    """The values without repetitions, in their order; -0.0 counts as 0.0, and NaN once."""
    found: dict[Hashable, object] = {}
    for value in values:
        found.setdefault((type(value) is bool, key_of(value)), value)
    return list(found.values())


def spread(values: Sequence[T], most: int) -> list[T]:
    """At most so many of the values: half of them the first, then some up to the last.

    >>> spread(range(10), 5), spread("ab", 3)
    ([0, 1, 3, 6, 9], ['a', 'b'])
    """
    if len(values) <= most:
        return list(values)
    first, rest = values[: most // 2], values[most // 2 :]
    chosen = most - len(first)
    return [*first, *(rest[(i + 1) * len(rest) // chosen - 1] for i in range(chosen))]


def _simpler(candidates: Iterable[object], value: object) -> list[object]:
    below = [each for each in unique(candidates) if complexity(each) < complexity(value)]
    return sorted(below, key=complexity)


@dataclass(frozen=True)
class Reals:
    """Floats from `low` to `high`; see `reals`."""

    low: float = -math.inf
    high: float = math.inf
    at: tuple[float, ...] = ()
    nan: bool = False
    infinite: bool = False
    missing: bool = False

    def telling(self) -> list[object]:
        """The ends, zero and one, what is odd (NaN, infinities, None), huge and tiny numbers."""
        ends = [end for end in (self.high, self.low) if math.isfinite(end)]
        inner = [0.5 * (self.low + self.high)] if len(ends) == 2 else []
        odd: list[object] = [math.nan] * self.nan + [None] * self.missing
        if self.infinite:
            odd += [end for end in (math.inf, -math.inf) if self._has(end)]
        far = [] if len(ends) == 2 else [1000.0, -1000.0]
        near = [*ends, *far, *self.at, 0.0, 1.0, -1.0, *inner]
        wide = [] if len(ends) == 2 else [10.0, -10.0, 2.0**53 + 2, 1e300, -1e300]
        inwards = [(self.low, math.inf), (self.high, -math.inf)]
        tiny = [5e-324, *(math.nextafter(a, b) for a, b in inwards if math.isfinite(a))]
        kept = [float(each) for each in near if self._has(each)]
        rest = [each for each in (*wide, *tiny) if self._has(each) and math.isfinite(each)]
        return unique([*kept[:2], *odd, *kept[2:], *rest])[:MOST_TELLING]

    def simpler(self, value: object) -> list[object]:
        """Zero, one, the ends, and the number rounded."""
        near: list[float] = [0.0, 1.0, -1.0, *self.at]
        near += [end for end in (self.low, self.high) if math.isfinite(end)]
        if isinstance(value, int | float) and math.isfinite(value):
            near += [float(round(value)), float(math.trunc(value / 2)), value / 2]
            near += [math.copysign(2.0 ** (math.frexp(value)[1] // 2), value)]
        return _simpler((each for each in near if self._has(each)), value)

    def _has(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` to `high`; see `integers`."""

    low: int | None = None
    high: int | None = None
    at: tuple[int, ...] = ()
    missing: bool = False

    def telling(self) -> list[object]:
        """The ends, zero and one, None, and numbers at the ends of 32 and 64 bits."""
        ends = [end for end in (self.high, self.low) if end is not None]
        far = [] if len(ends) == 2 else [1000, -1000]
        inner = [sum(ends) // 2] if len(ends) == 2 else []
        near = [*ends, *far, *self.at, 0, 1, -1, *inner]
        wide = [] if len(ends) == 2 else [10, -10, *_EDGES]
        kept = [each for each in near if self._has(each)]
        inwards = [end + 1 for end in (self.low,) if end is not None]
        inwards += [end - 1 for end in (self.high,) if end is not None]
        rest = [each for each in (*wide, *(inwards if wide else ())) if self._has(each)]
        none = [None] * self.missing
        return unique([*kept[:2], *none, *kept[2:], *rest])[:MOST_TELLING]

    def simpler(self, value: object) -> list[object]:
        """Zero, one, the ends, and numbers between zero and this one, closer and closer to it."""
        near = [0, 1, -1, *self.at, *(end for end in (self.low, self.high) if end is not None)]
        if isinstance(value, int):
            size, sign = abs(value), 1 if value > 0 else -1
            near += [sign * (size - (size >> k)) for k in (1, 2, 3, 5, 8, 13, 21, 34)]
            near += [sign << size.bit_length() // 2, value - sign]
        return _simpler((each for each in near if self._has(each)), value)

    def _has(self, value: int) -> bool:
        low = value if self.low is None else self.low
        high = value if self.high is None else self.high
        return low <= value <= high


_EDGES = (2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63))


@dataclass(frozen=True)
class Choices:
    """One of some values; see `choices`."""

    options: tuple[object, ...]

    def telling(self) -> list[object]:
        """The options in their order."""
        return list(self.options[:MOST_TELLING])

    def simpler(self, value: object) -> list[object]:
        """Options that are simpler."""
        return _simpler(self.options, value)


@dataclass(frozen=True)
class Texts:
    """Texts of at most `longest` characters; see `texts`."""

    longest: int = 100
    missing: bool = False

    def telling(self) -> list[object]:
        """Short texts, the empty one, None, spaces, other scripts, and a long one."""
        long = "a" * min(self.longest, LONGEST_TEXT)
        texts = ["a", "b", "", "A", " ", "0", "é", "\U0001f512", long]
        kept: list[object] = [text for text in texts if len(text) <= self.longest]
        return unique([*kept[:2], *([None] * self.missing), *kept[2:]])

    def simpler(self, value: object) -> list[object]:
        """The empty text, and parts of this one."""
        if not isinstance(value, str):
            return []
        return _simpler(["", "a", value[: len(value) // 2], value[:-1]], value)


@dataclass(frozen=True)
class BitVectors:
    """Bits in bytes, the lowest bit of a byte first; see `bit_vectors`."""

    sizes: tuple[int, ...] = (1,)
    most_ones: int | None = None

    def telling(self) -> list[object]:
        """No bit, single bits at both ends of each length, and as many ones as are allowed."""
        found: list[bytes] = []
        for size in self.sizes:
            zeros = bytes(size)
            found.append(zeros)
            for place in dict.fromkeys((0, 8 * size - 1, 7)) if size else ():
                found.append(_with_bits(zeros, [place]))
            ones = 8 * size if self.most_ones is None else min(self.most_ones, 8 * size)
            found += [_with_bits(zeros, range(ones))]
            found += [_with_bits(zeros, range(8 * size - ones, 8 * size))]
        most = math.inf if self.most_ones is None else self.most_ones
        return unique(each for each in found if len(list(_ones_of(each))) <= most)[:MOST_TELLING]

    def simpler(self, value: object) -> list[object]:
        """The same length with fewer ones, and no bits at all."""
        if not isinstance(value, bytes):
            return []
        zeros, ones = bytes(len(value)), list(_ones_of(value))
        half = len(ones) // 2
        fewer = [ones[:half], ones[half:]]
        fewer += [ones[:i] + ones[i + 1 :] for i in range(min(len(ones), _MOST_FEWER))]
        shorter = [bytes(size) for size in self.sizes if size < len(value)]
        return _simpler([*shorter, zeros, *(_with_bits(zeros, each) for each in fewer)], value)


_MOST_FEWER = 16


def _ones_of(value: bytes) -> Iterator[int]:
    """The places of the bits that are one."""
    return (i for i in range(8 * len(value)) if value[i // 8] >> (i % 8) & 1)


def _with_bits(zeros: bytes, places: Iterable[int]) -> bytes:
    made = bytearray(zeros)
    for place in places:
        made[place // 8] |= 1 << (place % 8)
    return bytes(made)


@dataclass(frozen=True)
class Rows:
    """Records of fixed fields, as dictionaries or tuples; see `rows` and `tuples`."""

    fields: tuple[tuple[str, Domain], ...]
    named: bool = True

    def telling(self) -> list[object]:
        """All fields at their first value, then one field changed, then several."""
        columns = [domain.telling() for _, domain in self.fields]
        first = [column[0] for column in columns]
        found = [list(first), [column[min(1, len(column) - 1)] for column in columns]]
        deepest = max(len(column) for column in columns)
        for k in range(1, deepest):
            for i, column in enumerate(columns):
                if k < len(column):
                    found.append([*first[:i], column[k], *first[i + 1 :]])
        return unique(self._record(values) for values in found)[:MOST_TELLING]

    def simpler(self, value: object) -> list[object]:
        """The record with one field simpler."""
        values = self._values(value)
        found = []
        for i, (_, domain) in enumerate(self.fields):
            for each in spread(domain.simpler(values[i]), 4):
                found.append(self._record([*values[:i], each, *values[i + 1 :]]))
        return _simpler(found, value)

    def _record(self, values: list[object]) -> object:
        if not self.named:
            return tuple(values)
        return {name: value for (name, _), value in zip(self.fields, values, strict=True)}

    def _values(self, record: object) -> list[object]:
        if isinstance(record, Mapping):
            return [record[name] for name, _ in self.fields]
        return list(record) if isinstance(record, tuple) else []


@dataclass(frozen=True)
class Vectors:
    """Lists of n values of one domain; see `vectors`."""

    of: Domain
    n: int

    def telling(self) -> list[object]:
        """All entries alike, one entry other, the first half other."""
        values = self.of.telling()
        plain = values[-1] if len(values) == 1 else values[1]
        found: list[object] = [[value] * self.n for value in values[:4]]
        for value in values[:4]:
            found.append([value, *[plain] * (self.n - 1)])
            found.append([value] * (self.n // 2) + [plain] * (self.n - self.n // 2))
        return unique(found)[:MOST_TELLING]

    def simpler(self, value: object) -> list[object]:
        """All entries the simplest, and one entry simpler."""
        if not isinstance(value, list):
            return []
        lowest = min(self.of.telling(), key=complexity)
        found: list[object] = [[lowest] * self.n]
        for i in range(self.n):
            for each in spread(self.of.simpler(value[i]), 3):
                found.append([*value[:i], each, *value[i + 1 :]])
        return _simpler(found, value)
