"""Refutes by events: which outputs are too likely on one of two inputs.

The paths of the program give the shapes of its outputs. Each is an event; numbers that depend on
continuous draws are confined to intervals, one at a time, where that raises the leak. For claims
with a delta, and for curved ones, the events of largest ratio are joined (Neyman and Pearson).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tollens.checker.machine import Limits
from tollens.checker.patterns import Pattern, disjoint
from tollens.checker.program import Program
from tollens.refutation.intervals import interval
from tollens.refutation.laws import Laws
from tollens.refutation.measure import Measure
from tollens.refutation.objectives import Objective
from tollens.refutation.shapes import Several, Shape, numbers, pattern_of, placed
from tollens.refutation.sides import Side

Array = NDArray[np.float64]

ALL_SHAPES = 400
"""Up to so many shapes, each is looked at where there are no continuous draws."""

SOME_SHAPES = 72
"""Up to so many where there are."""

ROUNDS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
"""How far loops are followed, one after the other, until it does not pay any more."""

SMALL, NEVER = 48, 10_000
"""Loops are left, once their probability falls below 2^-SMALL; other runs never."""

CONFINED = 4
"""Of so many shapes, the numbers that depend on draws are confined to intervals."""

ROOM = Fraction(1, 2**64)
"""By so much, relatively, bounds are widened that are not exact."""

_PATHS, _STEPS = 5_000, 400_000
_GAIN = 1e-3
_PATIENCE = 1.0
_WORK = 600_000
"""Loops are not followed further where that would take more instructions, as they have grown."""

_JOINED = 300


@dataclass(frozen=True)
class Candidate:
    """An event on one pair of inputs: `value` is its score, in floats.

    `lower` bounds its probability on the likely side from below, `upper` that on the other from
    above, with all paths that were cut. `rounds` are those of the two sides, `small` is that of
    `Limits`.
    """

    value: float
    patterns: tuple[Pattern, ...]
    swapped: bool
    lower: Fraction
    upper: Fraction
    rounds: tuple[int, int]
    small: int


def best_event(
    program: Program, x: object, x_prime: object, objective: Objective, orders: Sequence[bool],
    deadline: float, *, normal: bool = False,
) -> Candidate | None:  # fmt: skip
    """The event of largest score that the search finds on a pair, in the orders asked for.

    Loops are followed further as long as that pays. `normal` says whether normal draws are
    expected (their probabilities are balls) or refused with `NoIntegral`.
    """
    limits = Limits(
        small=SMALL if program.loops else NEVER,
        paths=_PATHS,
        steps=_STEPS,
        seconds=max(0.0, deadline - time.monotonic()),
    )
    measure, laws = Measure(normal=normal), Laws()
    both = [Side(program, data, limits, measure, laws) for data in (x, x_prime)]
    best: Candidate | None = None
    done = [1]
    for rounds in ROUNDS if program.loops else (limits.rounds,):
        started = time.thread_time()  # a busy machine must not change what is found
        for side in both:
            side.follow(rounds)
        before = best.value if best is not None else 0.0
        for swapped in orders:
            found = _Search(both[swapped], both[not swapped], objective, deadline).best(swapped)
            if found is not None and (best is None or found.value > best.value + _GAIN / 2):
                best = found
        after = best.value if best is not None else 0.0
        settled = after == math.inf or (0 < after < before + _GAIN)
        late = time.thread_time() - started > _PATIENCE or time.monotonic() > deadline
        done.append(max(1, sum(side.steps for side in both)))
        dear = done[-1] ** 2 > _WORK * done[-2]
        if all(side.complete for side in both) or settled or late or (dear and best is not None):
            break
    return best


class _Search:
    """The search for the best event in one order of the pair."""

    def __init__(self, likely: Side, other: Side, objective: Objective, deadline: float) -> None:
        self.likely, self.other, self.objective = likely, other, objective
        self.deadline = deadline
        self.seen: dict[Pattern, tuple[float, float]] = {}

    def best(self, swapped: bool) -> Candidate | None:
        """Look at shapes, then at intervals of their numbers; take the best, or join the best."""
        shapes = {pattern_of(shape): shape for shape in self._worth(list(self.likely.by_shape))}
        for pattern in shapes:
            self._value(pattern)
        for pattern in sorted(shapes, key=self._value, reverse=True)[:CONFINED]:
            self._confine(pattern, numbers(shapes[pattern]))
        if not self.seen:
            return None
        if self.objective.pure:
            chosen: tuple[Pattern, ...] = (max(self.seen, key=self._value),)
        else:
            chosen = self._joined()
        return self._candidate(chosen, swapped)

    def _candidate(self, patterns: tuple[Pattern, ...], swapped: bool) -> Candidate:
        lower, above = self.likely.bounds(patterns)
        below, upper = self.other.bounds(patterns)
        if lower < above:  # not exact: leave the checker room for its own enclosures
            lower *= 1 - ROOM
        cut = self.other.cut(patterns)
        if below < upper or cut:
            upper = (upper + cut) * (1 + ROOM)
        upper = min(Fraction(1), upper)
        value = self._scored(float(lower), float(upper))
        rounds = (self.likely.rounds, self.other.rounds)
        return Candidate(value, patterns, swapped, lower, upper, rounds, self.likely.small)

    def _value(self, pattern: Pattern) -> float:
        """What the search ranks by: the leak for pure claims, else the ratio."""
        if pattern not in self.seen:
            q = self.other.mass(pattern) + float(self.other.cut((pattern,)))
            self.seen[pattern] = self.likely.mass(pattern), q
        p, q = self.seen[pattern]
        return self.objective(p, q) if self.objective.pure else _ratio(p, q)

    def _scored(self, p: float, q: float) -> float:
        return float(self.objective.score(np.array([p]), np.array([q]))[0])

    def _score(self, p: Array, q: Array) -> Array:
        """The score of events that are likely on one side, with what was cut on the other."""
        return self.objective.score(p, q)

    def _late(self) -> bool:
        return time.monotonic() > self.deadline

    def _worth(self, shapes: list[Shape]) -> Iterator[Shape]:
        """All shapes, if they are few; else those that climbs from several starts meet."""
        if len(shapes) <= (SOME_SHAPES if self.likely.continuous else ALL_SHAPES):
            yield from shapes
            return
        stride = max(1, len(shapes) // 24)
        starts = sorted(shapes[::stride], key=lambda s: self._value(pattern_of(s)), reverse=True)
        for start in starts[:2]:
            yield self._climbed(start, set(shapes))

    def _climbed(self, shape: Shape, known: set[Shape]) -> Shape:
        """Change one item after the other as long as that raises the leak."""
        improved = True
        while improved and not self._late():
            improved = False
            for other in _one_apart(shape, known):
                if self._value(pattern_of(other)) > self._value(pattern_of(shape)):
                    shape, improved = other, True
        return shape

    def _confine(self, pattern: Pattern, places: list[tuple[int, ...]]) -> None:
        """Confine the numbers of a shape to intervals, one after the other.

        Once among equally good intervals half-lines come first, once small boxes: in a box nothing
        is left of how the other numbers depend on this one.
        """
        for boxes in (False, True) if len(places) > 1 else (False,):
            tried = pattern
            for at in places:
                found = None
                if not self._late():
                    found = interval(
                        (self.likely, self.other), tried, at, self._score,
                        boxes=boxes, fine=not self.objective.pure,
                    )  # fmt: skip
                if found is not None:
                    tried = placed(tried, at, found)
            self._value(tried)

    def _joined(self) -> tuple[Pattern, ...]:
        """The best of the events that join the outcomes of largest ratio, or one of them."""
        ranked = sorted(self.seen, key=self._value, reverse=True)
        best: tuple[float, tuple[Pattern, ...]] = (-1.0, ())
        for pattern in ranked:
            best = max(best, (self._scored(*self.seen[pattern]), (pattern,)), key=lambda b: b[0])
        chosen: list[Pattern] = []
        p = q = 0.0
        for pattern in ranked[:_JOINED]:
            if all(disjoint(pattern, other) for other in chosen):
                chosen.append(pattern)
                p, q = p + self.seen[pattern][0], q + self.seen[pattern][1]
                best = max(best, (self._scored(p, q), tuple(chosen)), key=lambda b: b[0])
        return best[1]


def _ratio(p: float, q: float) -> float:
    return 0.0 if p <= 0 else math.inf if q <= 0 else p / q


def _one_apart(shape: Shape, known: set[Shape]) -> Iterator[Shape]:
    """The known shapes that differ from a tuple in one item."""
    if not isinstance(shape, Several):
        return
    every = {item for other in known if isinstance(other, Several) for item in other.items}
    for i in range(len(shape.items)):
        for item in every:
            changed = Several((*shape.items[:i], item, *shape.items[i + 1 :]))
            if changed in known and changed != shape:
                yield changed
