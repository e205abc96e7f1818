"""Invariants of loops: the least values of variables, of their sums and differences.

For every location and each direction (a form without constant) the largest c is sought such that
direction >= c in all states that occur. Bounds start from the first states and are lowered step by
step; what is not stable after a few rounds is lowered to what the guards alone give, or given up.
Every minimum is an exact linear program, so the result is proved by the same means as it is found.
This is the domain of template polyhedra: Sankaranarayanan, Sipma and Manna, VMCAI 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from tollens.checker.martingale import Known
from tollens.checker.polynomials import Polynomial
from tollens.checker.transitions import Step, System
from tollens.refutation.linear import LinearProgram

_STEADY, _ROUNDS, _PAIRED = 4, 12, 4

Bounds = dict[Polynomial, Fraction]


def invariants(system: System, *, pairs: bool = True) -> list[Known]:
    """For each location, forms that are >= 0 in all states that occur."""
    directions = [_directions(system, at, pairs) for at in range(len(system.locations))]
    bounds: list[Bounds | None] = [None] * len(system.locations)
    bounds[0] = {}
    for turn in range(_ROUNDS):
        before = [None if b is None else dict(b) for b in bounds]
        for at, here in enumerate(system.locations):
            for step in here.steps:
                held = bounds[at]
                if held is not None and step.target is not None:
                    to = step.target[0]
                    bounds[to] = _joined(bounds[to], held, step, system, at, directions[to])
        if bounds == before:
            break
        for at, held in enumerate(bounds):
            if held is None or turn < _STEADY:
                continue
            earlier = before[at] or {}
            moving = [direction for direction, c in held.items() if earlier.get(direction) != c]
            for direction in moving:
                del held[direction]
                if turn == _STEADY:
                    _retry(system, bounds, at, held, direction)
    else:
        bounds = [{} for _ in bounds]
    return [Known(tuple(_needed(b or {}))) for b in bounds]


def least(form: Polynomial, facts: Sequence[Polynomial]) -> Fraction | None:
    """The largest c for which form - c is a sum of multiples of affine facts; None: there is none.

    >>> x = Polynomial.variable("x")
    >>> least(x + x, [x - Polynomial.constant(3)])
    Fraction(6, 1)
    """
    program = LinearProgram()
    goal = program.column(free=True)
    used = [fact for fact in dict.fromkeys(facts) if fact.degree == 1]
    columns = [program.column() for _ in (*used, form)]
    for monomial in {m: None for p in (form, *used) for m in p.terms} | {(): None}:
        row = {i: p.terms.get(monomial, Fraction(0)) for i, p in zip(columns, used, strict=False)}
        if monomial == ():
            row |= {goal: Fraction(1), columns[-1]: Fraction(1)}
        program.row(row, form.terms.get(monomial, Fraction(0)))
    values = program.solve(goal)
    return None if values is None else values[goal]


def _by_one(form: Polynomial, facts: Sequence[Polynomial]) -> Fraction | None:
    """A c for which form - c is a multiple of one fact; it is 0 or more."""
    found = [form.value()]
    for fact in facts:
        for monomial, c in fact.terms.items():
            if monomial:
                factor = form.terms.get(monomial, Fraction(0)) / c
                found += [(form - fact.scaled(factor)).value()] if factor > 0 else []
                break
    return max((value for value in found if value is not None), default=None)


def _directions(system: System, at: int, pairs: bool) -> list[Polynomial]:
    here = system.locations[at]
    names = [Polynomial.variable(name) for name in here.names]
    found = [sign for name in names for sign in (name, -name)]
    if pairs and len(names) <= _PAIRED:
        for one, other in combinations(names, 2):
            found += [one + other, one - other, other - one, -one - other]
    for guard in (guard for step in here.steps for guard in step.guards):
        form = Polynomial({m: c for m, c in guard.form.terms.items() if m})
        found += [form, -form]
    return list(dict.fromkeys(found))


def _forms(bounds: Bounds) -> list[Polynomial]:
    return [direction - Polynomial.constant(c) for direction, c in bounds.items()]


def _facts(system: System, at: int, held: Bounds, step: Step) -> list[Polynomial]:
    closed = [guard.closed(system.integers[at]) for guard in step.guards]
    return [*_forms(held), *closed, *step.known()]


def _joined(
    there: Bounds | None,
    held: Bounds,
    step: Step,
    system: System,
    at: int,
    directions: list[Polynomial],
) -> Bounds | None:
    """The bounds at the target of a step, lowered to what the step leads to."""
    facts = _facts(system, at, held, step)
    if impossible(facts):
        return there
    lowered: Bounds = {}
    for direction in directions if there is None else there:
        form = direction.at(step.values)
        value = _by_one(form, facts)
        if there is None or value is None or value < there[direction]:
            value = least(form, facts)
        if value is not None:
            lowered[direction] = value if there is None else min(value, there[direction])
    return lowered


def impossible(facts: Sequence[Polynomial]) -> bool:
    """Whether affine facts contradict each other."""
    used = [fact for fact in facts if fact.degree <= 1]
    program = LinearProgram()
    columns = [program.column() for _ in used]
    for monomial in {m: None for fact in used for m in fact.terms} | {(): None}:
        row = {i: p.terms.get(monomial, Fraction(0)) for i, p in zip(columns, used, strict=True)}
        program.row(row, Fraction(-1 if monomial == () else 0))
    return program.solve(None) is not None


def _retry(
    system: System, bounds: list[Bounds | None], at: int, held: Bounds, direction: Polynomial
) -> None:
    """Set a bound that was lowered again and again to what holds without it, if there is such."""
    values = []
    for source, here in enumerate(system.locations):
        for step in here.steps:
            known = bounds[source]
            if step.target is None or step.target[0] != at or known is None:
                continue
            facts = _facts(system, source, known, step)
            if not impossible(facts):
                values.append(least(direction.at(step.values), facts))
    lowest = [value for value in values if value is not None]
    if lowest and len(lowest) == len(values):
        held[direction] = min(lowest)


def _needed(bounds: Bounds) -> list[Polynomial]:
    """The forms without those that follow from the others."""
    kept = _forms(bounds)
    for form in sorted(kept, key=lambda f: -len(f.terms)):
        others = [other for other in kept if other != form]
        value = least(form, others)
        if value is not None and value >= 0:
            kept = others
    return kept
