"""One side of a pair: the paths of a program on one input, and what events weigh on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tollens.checker.draws import Path
from tollens.checker.events import out_of_reach, total
from tollens.checker.form import Form
from tollens.checker.integration import Integrator
from tollens.checker.machine import Exploration
from tollens.checker.patterns import Anything, Between, Equals, Items, Pattern, matched
from tollens.refutation.laws import Laws, Tail

Bounds = tuple[Fraction, Fraction]


class Side:
    """The paths of a program on one input, sorted by the shape of their output.

    The shape of an output is the output with `Hole` in place of what depends on continuous draws.
    """

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self.by_shape: dict[object, list[Path]] = {}
        self._cut = [path for path in exploration.paths if not path.finished]
        for path in exploration.paths:
            if path.finished:
                self.by_shape.setdefault(shape(path.output), []).append(path)
        self._integrator, self._laws = Integrator(), Laws()
        self._known: dict[object, Bounds] = {}
        self._cut_masses: dict[int, Fraction] = {}

    def cut(self, patterns: Sequence[Pattern]) -> Fraction:
        """An upper bound of the probability that paths that were cut end in an event."""
        bound = Fraction(0)
        for i, path in enumerate(self._cut):
            if all(out_of_reach(pattern, path.reach) for pattern in patterns):
                continue
            if i not in self._cut_masses:
                self._cut_masses[i] = total((path,), (Anything(),), self._integrator)[1]
            bound += self._cut_masses[i]
        return bound

    def bounds(self, patterns: Sequence[Pattern]) -> Bounds:
        """Bounds of the probability to finish in an event, without the paths that were cut."""
        low = high = Fraction(0)
        for pattern in patterns:
            if pattern not in self._known:
                self._known[pattern] = total(self.near(pattern), (pattern,), self._integrator)
            low, high = low + self._known[pattern][0], high + self._known[pattern][1]
        return low, high

    def mass(self, pattern: Pattern) -> float:
        """The probability to finish in a pattern, for the search."""
        return float(self.bounds((pattern,))[0])

    def laws(self, pattern: Pattern, at: tuple[int, ...]) -> list[tuple[float, Tail | float]]:
        """The laws of the number at a place within a pattern: (mass, its tail or its one value)."""
        found: list[tuple[float, Tail | float]] = []
        for path in self.near(pattern):
            constraints = matched(pattern, path.output)
            number = found_at(path.output, at)
            if constraints is None:
                continue
            every = (*path.constraints, *constraints)
            if isinstance(number, Form):
                found.append((float(path.mass), self._laws.tail(path.draws, every, number)))
            elif isinstance(number, Fraction):
                mass = total((path,), (pattern,), self._integrator)[0]
                found.append((float(mass), float(number)))
        return found

    def near(self, pattern: Pattern) -> Iterable[Path]:
        """The paths whose output may match."""
        for form, paths in self.by_shape.items():
            if _may_match(pattern, form):
                yield from paths


class Hole:
    """Stands for a number that depends on a continuous draw."""

    def __repr__(self) -> str:
        return "?"


A_DRAW = Hole()


def shape(output: object) -> object:
    """An output with `A_DRAW` for whatever depends on continuous draws; types are kept apart."""
    if isinstance(output, tuple):
        return ("items", *map(shape, output))
    if isinstance(output, Form):
        return A_DRAW
    return (type(output).__name__, output)


def pattern_of(form: object) -> Pattern:
    """The pattern of all outputs of a shape; a draw may be any number."""
    if isinstance(form, Hole):
        return Between(None, None)
    assert isinstance(form, tuple)  # noqa: S101 - shapes are holes or tuples
    if form[0] == "items":
        return Items(tuple(map(pattern_of, form[1:])))
    return Equals(form[1])


def holes(form: object, at: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """The places of the draws in a shape, as indices."""
    if isinstance(form, Hole):
        return [at]
    if isinstance(form, tuple) and form[0] == "items":
        return [place for i, item in enumerate(form[1:]) for place in holes(item, (*at, i))]
    return []


def placed(pattern: Pattern, at: tuple[int, ...], inner: Pattern) -> Pattern:
    """A pattern with another one at a place."""
    if not at:
        return inner
    assert isinstance(pattern, Items)  # noqa: S101 - places come from the same shape
    items = list(pattern.items)
    items[at[0]] = placed(items[at[0]], at[1:], inner)
    return Items(tuple(items))


def found_at(output: object, at: tuple[int, ...]) -> object:
    """The part of an output at a place."""
    for i in at:
        assert isinstance(output, tuple)  # noqa: S101 - places come from the same shape
        output = output[i]
    return output


def _may_match(pattern: Pattern, form: object) -> bool:
    match pattern:
        case Anything():
            return True
        case Between():
            return isinstance(form, Hole) or (isinstance(form, tuple) and form[0] == "Fraction")
        case Equals(wanted):
            return shape(wanted) == form
        case Items(items):
            return (
                isinstance(form, tuple)
                and form[0] == "items"
                and len(form) == len(items) + 1
                and all(map(_may_match, items, form[1:]))
            )
