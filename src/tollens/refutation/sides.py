"""One side of a pair: the paths of a program on one input, and what events weigh on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tollens.checker.draws import Path
from tollens.checker.events import ends, out_of_reach
from tollens.checker.form import Form
from tollens.checker.machine import Explorer, Limits
from tollens.checker.patterns import Anything, Pattern, matched
from tollens.checker.program import Program
from tollens.checker.reach import CLOSED
from tollens.refutation.laws import Laws, Tail
from tollens.refutation.measure import Bounds, Measure
from tollens.refutation.shapes import Shape, found_at, may_match, shape_of


class Side:
    """The paths of a program on one input, sorted by the shape of their output.

    `follow` takes loops further. All probabilities leave out the paths that were cut, but `cut`.
    """

    def __init__(
        self, program: Program, data: object, limits: Limits, measure: Measure, laws: Laws
    ) -> None:
        self._explorer = Explorer(program, data, limits)
        self._measure, self._laws = measure, laws
        self.small = limits.small
        self.follow(0)

    def follow(self, rounds: int) -> None:
        """Follow loops up to so many heads in a row."""
        found = self._explorer.to(rounds)
        self.rounds, self.complete = found.rounds, found.complete
        self.by_shape: dict[Shape, list[Path]] = {}
        for path in found.paths:
            if path.finished:
                self.by_shape.setdefault(shape_of(path.output), []).append(path)
        self.cuts = [path for path in found.paths if not path.finished]
        self._known: dict[Pattern, Bounds] = {}
        self._masses: dict[Pattern, float] = {}
        self._cut_masses: dict[int, Fraction] = {}

    @property
    def steps(self) -> int:
        """Instructions that were carried out so far."""
        return self._explorer.steps

    @property
    def continuous(self) -> bool:
        """Whether any path depends on continuous draws."""
        return any(path.draws for paths in self.by_shape.values() for path in paths)

    def cut(self, patterns: Sequence[Pattern]) -> Fraction:
        """An upper bound of the probability that paths that were cut end in an event."""
        bound = Fraction(0)
        ended = None
        for i, path in enumerate(self.cuts):
            if path.reach == CLOSED:
                if ended is None:
                    near = (each for pattern in patterns for each in self.near(pattern))
                    ended = any(ends(each, patterns) for each in near)
                if not ended:
                    continue
            if all(out_of_reach(pattern, path.reach) for pattern in patterns):
                continue
            if i not in self._cut_masses:
                self._cut_masses[i] = self._measure.path(path, (Anything(),))[1]
            bound += self._cut_masses[i]
        return bound

    def bounds(self, patterns: Sequence[Pattern]) -> Bounds:
        """Bounds of the probability to finish in an event."""
        low = high = Fraction(0)
        for pattern in patterns:
            if pattern not in self._known:
                each = [self._measure.path(path, (pattern,)) for path in self.near(pattern)]
                nothing = Fraction(0)
                self._known[pattern] = (
                    sum((below for below, _ in each), nothing),
                    sum((above for _, above in each), nothing),
                )
            low, high = low + self._known[pattern][0], high + self._known[pattern][1]
        return low, high

    def mass(self, pattern: Pattern) -> float:
        """The probability to finish in a pattern, for the search."""
        if not self._measure.normal:
            return float(self.bounds((pattern,))[0])
        if pattern not in self._masses:
            about = [self._measure.about(path, (pattern,)) for path in self.near(pattern)]
            self._masses[pattern] = sum(about)
        return self._masses[pattern]

    def laws(self, pattern: Pattern, at: tuple[int, ...]) -> list[tuple[float, Tail | float]]:
        """The laws of the number at a place within a pattern: (weight, its tail or its value)."""
        found: list[tuple[float, Tail | float]] = []
        for path in self.near(pattern):
            constraints = matched(pattern, path.output)
            number = found_at(path.output, at)
            if constraints is None:
                continue
            if isinstance(number, Form):
                every = (*path.constraints, *constraints)
                weight = float(self._measure.weight(path)[0])
                found.append((weight, self._laws.tail(path.draws, every, number)))
            elif isinstance(number, Fraction):
                found.append((float(self._measure.path(path, (pattern,))[0]), float(number)))
        return found

    def near(self, pattern: Pattern) -> Iterator[Path]:
        """The paths whose output may match."""
        for shape, paths in self.by_shape.items():
            if may_match(pattern, shape):
                yield from paths
