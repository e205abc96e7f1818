"""Refutes by events: which outputs are too likely on one of two inputs.

The paths of the program give the shapes of its outputs. Each is an event; numbers that depend on
continuous draws are confined to intervals, one at a time, where that raises the leak. For claims
with a delta, and for curved ones, the events of largest ratio are joined (Neyman and Pearson).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.machine import Limits, explore
from tollens.checker.patterns import Pattern, disjoint
from tollens.checker.program import Program
from tollens.refutation.intervals import intervals
from tollens.refutation.objectives import Objective
from tollens.refutation.sides import Side, holes, pattern_of, placed

ALL_SHAPES = 400
"""Up to so many shapes without continuous draws, each is looked at."""

SOME_SHAPES = 72
"""Up to so many shapes that depend on continuous draws."""

FINISH = 10_000
"""Loops that end are followed to their end, so far at the most."""

ROUNDS = (2, 4, 6, 8, 10, 12, 16, 24, 40, 64, 128, 256)
"""How far loops without an end are followed, one after the other."""

REFINED = 4
"""Of so many shapes, the numbers that depend on draws are confined to intervals."""

_STEPS, _PATHS = 400_000, 5_000
_ENOUGH = 1e-3
_PATIENCE = 0.4


@dataclass(frozen=True)
class Candidate:
    """An event on one pair of inputs: `value` is the parameter it implies, in floats."""

    value: float
    patterns: tuple[Pattern, ...]
    swapped: bool
    sides: tuple[Side, Side]

    def bounds(self) -> tuple[Fraction, Fraction]:
        """A lower bound on the likely side, an upper bound on the other, with what was cut."""
        likely, other = self.sides
        lower, upper = likely.bounds(self.patterns)[0], other.bounds(self.patterns)[1]
        return lower, min(Fraction(1), upper + other.cut(self.patterns))


def best_event(
    program: Program, x: object, x_prime: object, objective: Objective, orders: Sequence[bool],
    deadline: float,
) -> Candidate | None:  # fmt: skip
    """The event of largest leak that the search finds on a pair, in the orders asked for.

    Loops without an end are followed further as long as that pays.
    """
    best: Candidate | None = None
    for rounds in (FINISH, *ROUNDS):
        started = time.monotonic()
        left = deadline - started
        if left <= 0:
            break
        both = [
            Side(
                explore(program, data, Limits(rounds, _PATHS, _STEPS, seconds=min(left, _PATIENCE)))
            )
            for data in (x, x_prime)
        ]
        complete = all(side.exploration.complete for side in both)
        if rounds == FINISH and not complete:
            continue
        found = _best_of(both, objective, orders, deadline)
        gained = found is not None and (best is None or found.value > best.value)
        small = best is not None and found is not None and found.value - best.value < _ENOUGH
        if gained:
            best = found
        slow = time.monotonic() - started > _PATIENCE
        if complete or slow or (small and best is not None and best.value > 0):
            break
    return best


def _best_of(
    both: list[Side], objective: Objective, orders: Sequence[bool], deadline: float
) -> Candidate | None:
    candidates = [
        _search(both[swapped], both[not swapped], objective, swapped, deadline)
        for swapped in orders
    ]
    known = [candidate for candidate in candidates if candidate is not None]
    return max(known, key=lambda candidate: candidate.value, default=None)


def _search(
    likely: Side, other: Side, objective: Objective, swapped: bool, deadline: float
) -> Candidate | None:
    """The best event in one order of the pair."""
    values: dict[Pattern, tuple[float, float]] = {}

    def look(pattern: Pattern) -> float:
        if pattern not in values:
            cut = float(other.cut((pattern,)))
            values[pattern] = (likely.mass(pattern), other.mass(pattern) + cut)
        p, q = values[pattern]
        return objective(p, q) if objective.pure else _ratio(p, q)

    def late() -> bool:
        return time.monotonic() > deadline

    shapes = list(likely.by_shape)
    for form in _worth(shapes, lambda form: look(pattern_of(form)), late):
        look(pattern_of(form))
    ranked = sorted(values, key=look, reverse=True)
    forms = {pattern_of(form): form for form in shapes}
    for pattern in ranked[:REFINED]:
        places = holes(forms[pattern])
        for boxes in (False, True) if len(places) > 1 else (False,):
            if places and not late():
                look(_confine(pattern, places, (likely, other), boxes=boxes))
    if not values:
        return None
    if objective.pure:
        winner = max(values, key=look)
        return Candidate(look(winner), (winner,), swapped, (likely, other))
    return _joined(values, objective, swapped, (likely, other))


def _ratio(p: float, q: float) -> float:
    return 0.0 if p <= 0 else math.inf if q <= 0 else p / q


def _worth(
    shapes: list[object], look: Callable[[object], float], late: Callable[[], bool]
) -> Iterator[object]:
    """All shapes, if they are few; else those that a climb from several starts meets."""
    continuous = any(holes(form) for form in shapes) or len(shapes) > ALL_SHAPES
    if len(shapes) <= (SOME_SHAPES if continuous else ALL_SHAPES):
        yield from shapes
        return
    known = set(shapes)
    stride = max(1, len(shapes) // 24)
    starts = sorted(shapes[::stride], key=look, reverse=True)[:2]
    for start in starts:
        current, value = start, look(start)
        improved = True
        while improved and not late():
            improved = False
            for form in _one_apart(current, known):
                if look(form) > value:
                    current, value, improved = form, look(form), True
                    break
        yield current


def _one_apart(form: object, known: set[object]) -> Iterator[object]:
    """The known shapes that differ from a tuple in one item."""
    if not isinstance(form, tuple) or form[0] != "items":
        return
    items = {item for other in known if isinstance(other, tuple) for item in other[1:]}
    for i in range(1, len(form)):
        for item in items:
            changed = (*form[:i], item, *form[i + 1 :])
            if item != form[i] and changed in known:
                yield changed


def _confine(
    pattern: Pattern, places: list[tuple[int, ...]], sides: tuple[Side, Side], *, boxes: bool
) -> Pattern:  # fmt: skip
    """Confine the numbers of a shape to intervals, one after the other.

    Among intervals of equal leak half-lines come first, or else (`boxes`) small boxes near the
    center: in a box nothing is left of how the other numbers depend on this one.
    """
    for at in places:
        tried = intervals(sides, pattern, at, boxes=boxes)
        if tried is not None:
            pattern = placed(pattern, at, tried)
    return pattern


def _joined(
    values: dict[Pattern, tuple[float, float]], objective: Objective, swapped: bool,
    sides: tuple[Side, Side],
) -> Candidate | None:  # fmt: skip
    """The best of the events that join the outcomes of largest ratio."""
    ranked = sorted(values, key=lambda pattern: -_ratio(*values[pattern]))
    best: Candidate | None = None
    for pattern in ranked:  # single outcomes, and those that end a half-line
        p, q = values[pattern]
        value = objective(p, q)
        if best is None or value > best.value:
            best = Candidate(value, (pattern,), swapped, sides)
    chosen: list[Pattern] = []
    p = q = 0.0
    for pattern in ranked[:300]:
        if all(disjoint(pattern, other) for other in chosen):
            chosen.append(pattern)
            p, q = p + values[pattern][0], q + values[pattern][1]
            value = objective(p, q)
            if best is None or value > best.value:
                best = Candidate(value, tuple(chosen), swapped, sides)
    return best
