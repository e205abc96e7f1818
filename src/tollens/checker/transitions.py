"""A program with loops as a system of steps between the heads of its loops.

A location is the start of the program (location 0), or the head of a `while` loop with the values
of the names that are kept as they are; the other names that matter are open: they are symbols. A
step leads from a location, through draws, to the next location or to the end of the program.

The steps of a location cover its states: of every comparison that depends on the state both
answers are there. `System.cells` cuts the states along these comparisons, so that in a cell the
same steps are possible everywhere; that their chances sum to 1 is checked in each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

from tollens.checker.draws import Draw, Segment
from tollens.checker.errors import CertificateError, Refused
from tollens.checker.form import Form
from tollens.checker.machine import Limits, segments
from tollens.checker.polynomials import Polynomial, total
from tollens.checker.program import Program
from tollens.checker.tails import above, cases, exponent, moment, support

MOST_LOCATIONS, MOST_CELLS, MOST_STEPS = 64, 512, 512
_LIMITS = Limits(paths=MOST_STEPS, steps=500_000, seconds=30.0)

Place = tuple[int, int]
"""A location and the part of its states."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on the state: form >= 0, or form > 0 if strict; made by `guard`."""

    form: Polynomial
    strict: bool

    @property
    def opposite(self) -> Guard:
        """What holds where this does not."""
        return Guard(-self.form, not self.strict)

    @property
    def holds(self) -> bool | None:
        """Whether it holds, where that does not depend on the state."""
        value = self.form.value()
        return None if value is None else value > 0 or (value == 0 and not self.strict)

    def excludes(self, other: Guard) -> bool:
        """Whether two parallel conditions cannot both hold (False may also mean: not known)."""
        return Guard(self.form + other.form, self.strict or other.strict).holds is False

    def closed(self, integers: frozenset[str]) -> Polynomial:
        """A form that is >= 0 where it holds; over integers n + c > 0 is n + ceil(c) - 1 >= 0.

        >>> n = Polynomial.variable("n")
        >>> print(guard(Polynomial.constant(1) - n, True).closed(frozenset({"n"})))
        -n
        """
        if not integers >= self.form.symbols:
            return self.form
        c = self.form.terms.get((), Fraction(0))
        return self.form + Polynomial.constant((math.ceil(c) - 1 if self.strict else c // 1) - c)


def guard(form: Polynomial, strict: bool) -> Guard:
    """A condition in its normal shape: the coefficients of symbols are coprime integers."""
    others = [c for monomial, c in form.terms.items() if monomial]
    if not others:
        return Guard(form, strict)
    common = Fraction(math.gcd(*(c.numerator for c in others)),
                      math.lcm(*(c.denominator for c in others)))  # fmt: skip
    return Guard(form.scaled(1 / common), strict)


End = tuple[Polynomial, str]
"""An end of an interval, with the case of `tails.cases` that it is in."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a draw lies: between two ends, if there are such."""

    low: End | None = None
    high: End | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A way from a location: it is taken with chance `mass * P(conditions >= 0)` under `guards`.

    The draws are the symbols #0, #1, ... `target` is None at the end of the program. `values` are
    the open names at the target, or the items of the output, which is a number (`shape` None), a
    tuple of so many numbers, or something else (-1). `intervals` say of each draw where the
    conditions let it lie, once that is known.
    """

    mass: Fraction
    draws: tuple[Draw, ...]
    guards: tuple[Guard, ...]
    conditions: tuple[Polynomial, ...]
    target: Place | None
    values: Mapping[str, Polynomial]
    shape: int | None = None
    intervals: tuple[Interval, ...] = ()

    def mean(self, value: Polynomial) -> Polynomial:
        """The mass times E[value; conditions], over the draws."""
        shares: dict[tuple[int, int], Polynomial] = {}

        def share(i: int, k: int) -> Polynomial:
            if (i, k) not in shares:
                low, high = self.intervals[i].low, self.intervals[i].high
                whole = Polynomial.constant(moment(self.draws[i], k))
                found = above(self.draws[i], k, *low) if low else whole
                shares[i, k] = found - above(self.draws[i], k, *high) if high else found
            return shares[i, k]

        terms = []
        for monomial, c in value.terms.items():
            state = tuple(name for name in monomial if name[0] != "#")
            term = Polynomial({state: c * self.mass})
            for i in range(len(self.draws)):
                term *= share(i, monomial.count(f"#{i}"))
            terms.append(term)
        return total(terms)

    def exponents(self) -> list[Polynomial]:
        """The exponents u of the symbols e^-u that may occur in means."""
        ends = [
            exponent(draw, *end)
            for draw, interval in zip(self.draws, self.intervals, strict=True)
            for end in (interval.low, interval.high)
            if end is not None
        ]
        return [u for u in ends if u is not None]

    def known(self) -> list[Polynomial]:
        """What is >= 0 where the step is taken, in the state and the draws, besides the guards."""
        ranges = (support(draw, _draw(i)) for i, draw in enumerate(self.draws))
        return [*self.conditions, *(fact for facts in ranges for fact in facts)]


@dataclass(frozen=True, slots=True)
class Cell:
    """States of a location, and the steps from there with their places."""

    guards: tuple[Guard, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """The start of the program (`head` None) or the head of a loop."""

    head: int | None
    names: tuple[str, ...]
    kept: Mapping[str, object]
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class System:
    """All locations that a program can reach on its data.

    `opened` says which names are open at each head and `kept` which others matter: one that is in
    neither has no value there, so that the program fails if it is read. `cuts` are the heads whose
    states are divided into parts by the guards there, and by these further forms.
    """

    program: Program
    data: object
    opened: Mapping[int, Sequence[str]]
    kept: Mapping[int, Sequence[str]]
    cuts: Mapping[int, Sequence[Polynomial]]
    locations: list[Location] = field(default_factory=list)
    integers: list[frozenset[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.program.functions[self.program.name].yields:
            raise CertificateError("outputs that are yielded within loops have no place here")
        numbers: dict[object, int] = {}
        self.locations = [Location(None, (), {})]
        at = 0
        while at < len(self.locations):
            here = self.locations[at]
            steps: list[Step] = []
            for segment in self._segments(here):
                target = None
                if segment.head is not None:
                    kept = self._kept(segment)
                    key = (segment.head, repr(sorted(kept.items())))
                    if key not in numbers:
                        numbers[key] = len(self.locations)
                        names = tuple(sorted(self.opened.get(segment.head, ())))
                        self.locations.append(Location(segment.head, names, kept))
                    target = (numbers[key], 0)
                steps += self._step(segment, here.names, target)
            self.locations[at] = replace(here, steps=tuple(steps))
            at += 1
            if len(self.locations) > MOST_LOCATIONS:
                raise CertificateError("too many locations: a name that changes must be open")
        self.integers = self._integers()

    def parts(self, at: int) -> list[tuple[Guard, ...]]:
        """The parts of the states of a location, by their guards."""
        here = self.locations[at]
        if here.head is None or here.head not in self.cuts:
            return [()]
        parts: list[tuple[Guard, ...]] = [()]
        for form in self.cuts[here.head]:
            if form.degree != 1:
                raise CertificateError("a cut that is no affine form")
            both = (guard(form, False), guard(form, False).opposite)
            parts = [(*part, side) for part in parts for side in both]
            _few(parts)
        return [guards for part in parts for guards, _ in _divided(here.steps, part)]

    def cells(self, at: int, part: tuple[Guard, ...]) -> list[Cell]:
        """The cells of a part: everywhere in a cell the same steps are possible."""
        steps: list[Step] = []
        for step in self.locations[at].steps:
            for aimed in self._aimed(step):
                for placed in _placed(aimed):
                    steps.append(placed)
                    _few(steps)
        found = [Cell(guards, tuple(taken)) for guards, taken in _divided(steps, part)]
        one = Polynomial.constant(1)
        for cell in found:
            if total(step.mean(one) for step in cell.steps) != one:
                raise CertificateError("the chances of the steps of a cell do not sum to 1")
        return found

    def _segments(self, here: Location) -> list[Segment]:
        try:
            if here.head is None:
                return segments(self.program, self.data, limits=_LIMITS)
            known = dict(here.kept)
            return segments(self.program, known, here.names, here.head, limits=_LIMITS)
        except (Refused, KeyError, AttributeError) as error:
            raise CertificateError(f"from the head {here.head} on: {error}") from None

    def _kept(self, segment: Segment) -> dict[str, object]:
        names = self.kept.get(segment.head or 0, ())
        kept = {name: value for name, value in segment.values if name in names}
        for name, value in kept.items():
            if not _plain(value):
                raise CertificateError(f"{name} is no plain value at a head: open it")
        return kept

    def _step(self, segment: Segment, names: Sequence[str], target: Place | None) -> Iterator[Step]:
        def polynomial(value: object) -> Polynomial:
            if isinstance(value, Form):
                terms: dict[tuple[str, ...], Fraction] = {(): value.constant}
                terms |= {(names[-1 - i] if i < 0 else f"#{i}",): c for i, c in value.terms}
                return Polynomial(terms)
            assert isinstance(value, Fraction | bool)  # noqa: S101 - of the machine's numbers
            return Polynomial.constant(Fraction(value))

        shape: int | None = None
        if target is None:
            items = segment.output if isinstance(segment.output, tuple) else (segment.output,)
            if not all(isinstance(item, Fraction | Form | bool) for item in items):
                items, shape = (), -1
            elif isinstance(segment.output, tuple):
                shape = len(items)
            values = dict(zip(output_names(shape), map(polynomial, items), strict=True))
        else:
            there = dict(segment.values)
            for name in self.locations[target[0]].names:
                if not isinstance(there.get(name), Fraction | Form | bool):
                    raise CertificateError(f"{name} is no number at the head {segment.head}")
            values = {name: polynomial(there[name]) for name in self.locations[target[0]].names}
        forms = [
            guard(polynomial(form), strict)
            for form, strict in zip(segment.constraints, segment.strict, strict=True)
        ]
        step = Step(segment.mass, segment.draws, (), (), target, values, shape)
        return _limited(step, forms)

    def _aimed(self, step: Step) -> Iterator[Step]:
        """The step, for each part of its target."""
        if step.target is None:
            yield step
            return
        at = step.target[0]
        for number, part in enumerate(self.parts(at)):
            met = [guard(side.form.at(step.values), side.strict) for side in part]
            yield from _limited(replace(step, target=(at, number)), met)

    def _integers(self) -> list[frozenset[str]]:
        """The open names that always hold integers: at first, and by induction at each head."""
        found = [frozenset(here.names) for here in self.locations]
        changed = True
        while changed:
            changed = False
            for here, integers in zip(self.locations, list(found), strict=True):
                for step in here.steps:
                    if step.target is None:
                        continue
                    whole = integers | {
                        f"#{i}" for i, draw in enumerate(step.draws) if draw.kind == "geometric"
                    }
                    at = step.target[0]
                    kept = frozenset(n for n in found[at] if is_integer(step.values[n], whole))
                    changed |= kept != found[at]
                    found[at] = kept
        return found


def output_names(shape: int | None) -> list[str]:
    """The symbols for an output of a shape (see `Step`)."""
    return ["output"] if shape is None else [f"output{i}" for i in range(shape)]


def is_integer(form: Polynomial, integers: frozenset[str]) -> bool:
    """Whether a polynomial has integer coefficients and symbols only."""
    return integers >= form.symbols and all(c.denominator == 1 for c in form.terms.values())


def _draw(i: int) -> Polynomial:
    return Polynomial.variable(f"#{i}")


def _plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    return value is None or isinstance(value, Fraction | bool | str)


def _few(found: Sequence[object]) -> None:
    if len(found) > MOST_CELLS:
        raise CertificateError(f"more than {MOST_CELLS} cells")


def _limited(step: Step, forms: Sequence[Guard]) -> Iterator[Step]:
    """The step under further conditions, on the state or on draws; nothing if one cannot hold.

    A condition on a continuous draw is met with equality with probability 0.
    """
    if any(form.holds is False for form in forms):
        return
    guards, conditions = list(step.guards), list(step.conditions)
    for form in forms:
        if any(name[0] == "#" for name in form.form.symbols):
            conditions.append(form.form)
        elif form.holds is None and form not in guards:
            guards.append(form)
    yield replace(step, guards=tuple(guards), conditions=tuple(conditions))


def _divided(
    steps: Sequence[Step], given: tuple[Guard, ...]
) -> Iterator[tuple[tuple[Guard, ...], list[Step]]]:
    """Cut the states where the given guards hold until every step is possible or impossible."""
    waiting = [(given, [s for s in steps if not any(g.opposite in s.guards for g in given)])]
    made = 0
    while waiting:
        guards, left = waiting.pop(0)
        unknown = next((g for step in left for g in step.guards if g not in guards), None)
        if unknown is None:
            yield guards, left
            continue
        for side in (unknown, unknown.opposite):
            if not any(side.excludes(other) for other in guards):
                rest = [step for step in left if side.opposite not in step.guards]
                waiting.append(((*guards, side), rest))
        made += 1
        _few(range(made + len(waiting)))


def _placed(step: Step) -> Iterator[Step]:
    """The step, for each way in which the ends of the intervals of its draws may lie."""
    lows: list[list[Polynomial]] = [[] for _ in step.draws]
    highs: list[list[Polynomial]] = [[] for _ in step.draws]
    for condition in step.conditions:
        drawn = [name for name in condition.symbols if name[0] == "#"]
        if len(drawn) != 1 or condition.degree != 1:
            raise CertificateError("a branch on several draws at once")
        slope = condition.terms[(drawn[0],)]
        end = _draw(int(drawn[0][1:])) - condition.scaled(1 / slope)
        ends = (lows if slope > 0 else highs)[int(drawn[0][1:])]
        if end not in ends:
            ends.append(end)
    ways = [list(_intervals(*given)) for given in zip(step.draws, lows, highs, strict=True)]
    for way in product(*ways):
        intervals = tuple(interval for _, interval in way)
        forms = [form for forms, _ in way for form in forms]
        yield from _limited(replace(step, intervals=intervals), forms)


def _intervals(
    draw: Draw, lows: list[Polynomial], highs: list[Polynomial]
) -> Iterator[tuple[list[Guard], Interval]]:
    """The interval between the largest low and the smallest high end, for each that may be so."""

    def ends(forms: list[Polynomial], sign: int) -> Iterator[tuple[list[Guard], End | None]]:
        for i, form in enumerate(forms):
            first = [
                guard((form - other).scaled(Fraction(sign)), j < i)
                for j, other in enumerate(forms)
                if j != i
            ]
            for guards, case in cases(draw, form):
                yield [*first, *(guard(*given) for given in guards)], (form, case)
        if not forms:
            yield [], None

    for (under, low), (over, high) in product(ends(lows, 1), ends(highs, -1)):
        apart = [guard(high[0] - low[0], False)] if low and high else []
        yield [*under, *over, *apart], Interval(low, high)
