"""What a search needs to know of a program's loops before it asks for bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.liveness import Live
from tollens.checker.machine import segments
from tollens.checker.martingale import Known
from tollens.checker.polynomials import Polynomial
from tollens.checker.program import Program
from tollens.checker.transitions import MOST_LOCATIONS, Step, System, is_integer
from tollens.refutation.invariants import invariants, least

_INTEGERS = 8
_GRID = (-2, -1, 0, 1, 2, 3)

Cuts = Mapping[int, Sequence[Polynomial]]


@dataclass(frozen=True, slots=True)
class Loops:
    """A program on one input: its locations and steps, and what is known of its states."""

    system: System
    known: tuple[Known, ...]

    def roots(self, at: int) -> list[Polynomial]:
        """Forms whose squares may help at a location: about variables without bounds."""
        found = []
        for name in self.system.locations[at].names:
            variable = Polynomial.variable(name)
            held = self.known[at].invariants
            if least(variable, held) is None and least(-variable, held) is None:
                found += self._grid(variable, at)
        return found

    def _grid(self, form: Polynomial, at: int) -> list[Polynomial]:
        """The form minus points around where it starts, as far apart as its steps are long."""
        (name,) = form.symbols
        starts, longest = [Fraction(0)], Fraction(0)
        for here in self.system.locations:
            for step in here.steps:
                if step.target is not None and step.target[0] == at:
                    value = step.values[name]
                    moved = value - form if here is self.system.locations[at] else value
                    starts += [v for v in (value.value(),) if v is not None]
                    longest = max(longest, _size(moved, step.draws))
        width = longest or Fraction(1)
        return [form - Polynomial.constant(starts[-1] + k * width) for k in _GRID]

    def output_roots(self, step: Step, at: int) -> list[Polynomial]:
        """Forms whose squares may help to show that a witness is not negative."""
        found = []
        for form in step.values.values():
            if _least(self, at, form, step) is None and _least(self, at, -form, step) is None:
                size = _size(form, step.draws) or Fraction(1)
                found += [form - Polynomial.constant(k * size) for k in _GRID]
        return found

    def gaps(self, at: int) -> frozenset[Polynomial]:
        """The facts of `with_integers`."""
        return frozenset(q * (q - Polynomial.constant(1)) for q in self.known[at].integers)

    def with_integers(self) -> Loops:
        """With facts by which a witness may be 0 at two successive integers."""
        known = list(self.known)
        for at, here in enumerate(self.system.locations):
            found = []
            for step in here.steps if at else ():
                for form in step.values.values() if step.target is None else ():
                    whole = is_integer(form, self.system.integers[at])
                    low = _least(self, at, form, step) if whole else None
                    if low is not None:
                        first = form - Polynomial.constant(math.ceil(low))
                        found += [first - Polynomial.constant(k) for k in range(_INTEGERS)]
            known[at] = replace(known[at], integers=tuple(dict.fromkeys(found)))
        return Loops(self.system, tuple(known))


def read_loops(program: Program, data: object, *, pieces: bool, finer: bool, pairs: bool) -> Loops:
    """The loops of a program on an input.

    With `pieces`, the states at a head are divided by its guards where a draw decides on them, so
    that bounds may differ between the parts; `finer` divides them further, where the means change
    their form. `pairs` asks for invariants about pairs of variables too.
    """
    needed = needed_names(program)
    opened = opened_names(program, data, needed)
    kept = {head: sorted(names - set(opened[head])) for head, names in needed.items()}
    system = System(program, data, opened, kept, {})
    if pieces:
        heads = dict.fromkeys(_decided(system), ())
        system = replace(system, cuts=heads)
        if finer:
            system = replace(system, cuts={head: _boundaries(system, head) for head in heads})
    return Loops(system, tuple(invariants(system, pairs=pairs)))


def needed_names(program: Program) -> dict[int, frozenset[str]]:
    r"""For each head of a `while` loop of the program's own function, the names that matter there.

    >>> from tollens.checker.compiling import compile_text
    >>> text = "def f(x):\n    y = x\n    while x > 0:\n        y = 1\n        x -= y\n    return x"
    >>> {head: sorted(names) for head, names in needed_names(compile_text(text, "f")).items()}
    {0: ['x']}
    """
    code = program.functions[program.name].instructions
    live = Live(code)
    return {
        here.arg: live[at]
        for at, here in enumerate(code)
        if here.op == "HEAD" and isinstance(here.arg, int)
    }


def opened_names(
    program: Program, data: object, needed: Mapping[int, frozenset[str]]
) -> dict[int, list[str]]:
    """The names that must be open: numbers that are not the same at each visit of a head."""
    opened: dict[int, set[str]] = {head: set() for head in needed}
    while True:
        found = _changing(program, data, needed, opened)
        if found is None:
            return {head: sorted(names) for head, names in opened.items()}
        opened[found[0]].add(found[1])


def _changing(
    program: Program,
    data: object,
    needed: Mapping[int, frozenset[str]],
    opened: Mapping[int, set[str]],
) -> tuple[int, str] | None:
    """A head and a name that must be open there too."""
    seen: dict[tuple[int, str], object] = {}
    waiting = segments(program, data)
    done: set[str] = set()
    while waiting:
        reached = waiting.pop()
        head = reached.head
        if head is None:
            continue
        kept = {n: v for n, v in reached.values if n in needed[head] and n not in opened[head]}
        for name, value in kept.items():
            if isinstance(value, Form) or (
                isinstance(value, Fraction)
                and name.isidentifier()
                and seen.setdefault((head, name), value) != value
            ):
                return head, name
        key = repr((head, sorted(kept.items(), key=lambda item: item[0])))
        if key not in done:
            done.add(key)
            if len(done) > MOST_LOCATIONS:
                raise CertificateError("what is kept at the heads of loops changes without end")
            waiting += segments(program, kept, sorted(opened[head]), head)
    return None


def _decided(system: System) -> list[int]:
    """The heads with a guard on which a draw decides whose means in parts are known."""
    decided: dict[int, bool] = {}
    for here in system.locations:
        for step in here.steps:
            there = None if step.target is None else system.locations[step.target[0]]
            if there is None or there.head is None:
                continue
            for guard in (guard for later in there.steps for guard in later.guards):
                drawn = [n for n in guard.form.at(step.values).symbols if n[0] == "#"]
                if drawn:
                    kinds = {step.draws[int(name[1:])].kind for name in drawn}
                    known = len(drawn) == 1 and kinds <= {"laplace", "exponential", "uniform"}
                    decided[there.head] = decided.get(there.head, True) and known
    return sorted(head for head, known in decided.items() if known)


def _boundaries(system: System, head: int) -> list[Polynomial]:
    """Where the means of the steps from a head change their form."""
    found: dict[Polynomial, None] = {}
    for at, here in enumerate(system.locations):
        for part in system.parts(at) if here.head == head else ():
            for cell in system.cells(at, part):
                for guard in cell.guards:
                    if guard not in part and -guard.form not in found:
                        found[guard.form] = None
    return list(found)


def _least(loops: Loops, at: int, form: Polynomial, step: Step) -> Fraction | None:
    closed = [guard.closed(loops.system.integers[at]) for guard in step.guards]
    return least(form, [*loops.known[at].invariants, *closed, *step.known()])


def _size(form: Polynomial, draws: Sequence[Draw]) -> Fraction:
    """About how large a form is: its constant, and its draws."""
    return sum(_sizes(form, draws), Fraction(0))


def _sizes(form: Polynomial, draws: Sequence[Draw]) -> Iterator[Fraction]:
    for monomial, c in form.terms.items():
        if not monomial:
            yield abs(c)
        elif monomial[0][0] == "#":
            draw = draws[int(monomial[0][1:])]
            first = draw.parameters[0]
            yield abs(c) * (
                1 / first if draw.kind == "geometric" else max(map(abs, draw.parameters))
            )
