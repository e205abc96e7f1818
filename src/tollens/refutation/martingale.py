"""Search for proofs by martingales: one linear program gives witness, both bounds and their proof.

For given inputs everything that `tollens.checker.martingale` asks for is linear in what is unknown:
the coefficients of the witness p, of U, L and R at every head, and the multiples of products of
facts. With U(start) = 1 the largest L(start) is the best ratio of expectations that polynomials of
this degree can show; epsilon is its logarithm, and need not be known before. For witnesses in
[0, 1] the largest L(start) - e^epsilon U(start) is sought, which must exceed delta.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement

from tollens.checker.clock import within
from tollens.checker.errors import CertificateError
from tollens.checker.martingale import (
    MOST_FACTS,
    Functions,
    Obligation,
    Witness,
    bounds,
    obligations,
)
from tollens.checker.polynomials import Polynomial, total, written
from tollens.checker.program import Program
from tollens.checker.transitions import Place, output_names
from tollens.refutation.handelman import Multiples, Proof, require, unknown
from tollens.refutation.invariants import impossible
from tollens.refutation.linear import LinearProgram
from tollens.refutation.loops import Loops, read_loops

Json = dict[str, object]
_MINUS_ONE = Polynomial.constant(-1)
_CHECKED = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What is tried: `degree` of p, U and L (R has one more, as its decrease must pay for L).

    `extra` is added to the degree of the products of facts; `pieces`, `finer` and `pairs` are
    those of `read_loops`.
    """

    degree: int
    extra: int = 0
    pieces: bool = True
    finer: bool = False
    pairs: bool = True


CHEAP = tuple(Settings(degree) for degree in range(1, 4))
"""Less than half a second each, with two or three variables."""

DEAR = (
    Settings(4),
    Settings(2, extra=1, finer=True),
    Settings(3, extra=1, finer=True),
    Settings(5),
    Settings(4, extra=1, finer=True),
)
"""What is tried where these show too little."""


@dataclass(frozen=True, slots=True)
class Proved:
    """A witness with E f >= lower on the likely input and E f <= upper on the other."""

    witness: Json
    proof: Json
    lower: Fraction
    upper: Fraction

    @property
    def epsilon(self) -> float:
        """ln(lower/upper), about."""
        if self.lower <= 0 or self.upper == 0:
            return -math.inf if self.lower <= 0 else math.inf
        return math.log(self.lower / self.upper)


def prove(
    program: Program,
    likely: object,
    other: object,
    settings: Settings,
    *,
    factor: Fraction | None = None,
    seconds: float = 30.0,
) -> Proved | None:
    """The best bounds on one pair of inputs; see `Search.best`."""
    return Search(program, likely, other).best(settings, factor=factor, seconds=seconds)


class Search:
    """A search on one pair of inputs; what is known of the loops there is found out once."""

    def __init__(self, program: Program, likely: object, other: object) -> None:
        self._program, self._inputs = program, (likely, other)
        self._loops: dict[tuple[bool, bool, bool], tuple[Loops, Loops]] = {}

    def best(
        self, settings: Settings, *, factor: Fraction | None = None, seconds: float = 30.0
    ) -> Proved | None:
        """The best bounds that these settings give, as the checker confirms; None: there are none.

        With a `factor` e^epsilon the witness has values in [0, 1], and lower - factor upper is the
        largest; without, the ratio is. Raises `CertificateError` or `Refused` where the engine
        does not apply or gives up.
        """
        ends = time.monotonic() + seconds
        with within(seconds):
            found = _solved(self._read(settings), settings, factor, ends)
        if found is None:
            return None
        checked = bounds(self._program, *self._inputs, found.witness, found.proof, _CHECKED)
        if checked != (found.lower, found.upper):
            raise CertificateError("the checker does not find the same bounds")
        return found

    def _read(self, settings: Settings) -> tuple[Loops, Loops]:
        key = settings.pieces, settings.finer, settings.pairs
        if key not in self._loops:
            first, second = (
                read_loops(
                    self._program, data,
                    pieces=settings.pieces, finer=settings.finer, pairs=settings.pairs,
                )
                for data in self._inputs
            )  # fmt: skip
            self._loops[key] = first, second.with_integers()
        return self._loops[key]


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a proof: what is sought, and how each obligation is to be proved."""

    loops: Loops
    functions: Functions
    plan: list[tuple[Obligation, Multiples | Proof]]


def _solved(
    both: tuple[Loops, Loops], settings: Settings, factor: Fraction | None, ends: float
) -> Proved | None:
    """The linear program: its rows, its optimum, and what it says."""
    shape, degree = _shape(both[0]), settings.degree
    lp = LinearProgram()
    goal, low, top = lp.column(free=True), lp.column(free=True), lp.column()
    lp.row({goal: Fraction(1), low: Fraction(-1), top: factor or Fraction(0)}, Fraction(0))
    normal = len(lp.rows)
    lp.row({top: Fraction(int(factor is None))}, Fraction(int(factor is None)))
    p, cap = (_template(lp, output_names(shape), degree) for _ in both)
    f = Witness(p, shape, unit=factor is not None)
    floor = _template(lp, output_names(shape), degree) if f.unit else p
    lower = Functions(
        floor,
        {(0, 0): unknown(low), **_templates(lp, both[0], degree)},
        _templates(lp, both[0], degree + 1),
    )
    upper = Functions(cap, {(0, 0): unknown(top), **_templates(lp, both[1], degree)}, None)
    sides = []
    for loops, functions in zip(both, (lower, upper), strict=True):
        todo = obligations(loops.system, loops.known, f, functions)
        plan = [(one, _planned(lp, loops, one, settings.extra)) for one in todo]
        sides.append(_Side(loops, functions, plan))
    values = lp.solve(goal, ends - time.monotonic())
    if values is None and lp.unbounded:  # a witness that is never positive on the other side
        lp.right[normal] = Fraction(0)
        lp.row({low: Fraction(1)}, Fraction(1))
        values = lp.solve(None, ends - time.monotonic())
    if values is None or values[low] <= 0:
        return None
    written_sides = [_written(side, values) for side in sides]
    return Proved(
        {
            "kind": "polynomial",
            "items": shape,
            "terms": written(_filled(p, values)),
            "unit": f.unit,
        },
        {"kind": "martingale", "lower": written_sides[0], "upper": written_sides[1]},
        values[low],
        values[top],
    )


def _shape(loops: Loops) -> int | None:
    """The shape of the outputs that the witness is about: the first that is of numbers."""
    for here in loops.system.locations:
        for step in here.steps:
            if step.target is None and step.shape != -1:
                return step.shape
    raise CertificateError("no output is a number or a tuple of numbers")


def _template(lp: LinearProgram, names: Sequence[str], degree: int) -> Polynomial:
    """A polynomial with unknown coefficients."""
    return total(
        Polynomial({monomial: Fraction(1)}) * unknown(lp.column(free=True))
        for d in range(degree + 1)
        for monomial in combinations_with_replacement(sorted(names), d)
    )


def _templates(lp: LinearProgram, loops: Loops, degree: int) -> dict[Place, Polynomial]:
    return {
        (at, number): _template(lp, here.names, degree)
        for at, here in enumerate(loops.system.locations)
        for number in range(len(loops.system.parts(at)))
        if at > 0
    }


def _planned(lp: LinearProgram, loops: Loops, todo: Obligation, extra: int) -> Multiples | Proof:
    """The columns that prove an obligation, or its proof if that needs no unknowns."""
    degree = max((sum(name[0] != "?" for name in m) for m in todo.goal.terms), default=0)
    if impossible(todo.facts):
        return _proved(replace(todo, goal=_MINUS_ONE), 1)
    if not any(name[0] == "?" for name in todo.goal.symbols):
        return _proved(todo, degree)
    roots = loops.roots(todo.at) if todo.step is None else loops.output_roots(todo.step, todo.at)
    unused = loops.gaps(todo.at) if todo.name != "witness" else frozenset()
    return require(lp, todo, degree + extra, roots, unused)


def _proved(todo: Obligation, degree: int) -> Proof:
    alone = LinearProgram()
    plan = require(alone, todo, degree)
    values = alone.solve(None)
    if values is None:
        raise CertificateError(f"no proof that {todo.goal} is never negative")
    return plan.proof(values)


def _filled(polynomial: Polynomial, values: Sequence[Fraction]) -> Polynomial:
    """The polynomial with the values of its unknowns."""
    sought = [name for name in polynomial.symbols if name[0] == "?"]
    return polynomial.at({name: Polynomial.constant(values[int(name[1:])]) for name in sought})


def _written(side: _Side, values: Sequence[Fraction]) -> Json:
    """One side of the proof as JSON; forms of integers that no proof uses are left out."""
    system, functions = side.loops.system, side.functions
    proofs = [plan.proof(values) if isinstance(plan, Multiples) else plan for _, plan in side.plan]
    locations: list[Json] = []
    numbers: list[list[int]] = []
    for at, known in enumerate(side.loops.known):
        first, last = len(known.invariants), len(known.invariants) + len(known.integers)
        used = {
            factor
            for (obligation, _), proof in zip(side.plan, proofs, strict=True)
            for _, factors, _ in proof
            for factor in factors
            if obligation.at == at and first <= factor < last
        }
        kept = [*range(first), *sorted(used), *range(last, last + MOST_FACTS)]
        numbers.append([kept.index(i) if i in kept else -1 for i in range(last + MOST_FACTS)])
        locations.append(
            {
                "invariants": [written(form) for form in known.invariants],
                "integers": [written(known.integers[i - first]) for i in sorted(used)],
                "bound": _listed(functions.bound, at, values),
                "potential": _listed(functions.potential or {}, at, values),
            }
        )
    return {
        "opened": {str(head): list(names) for head, names in system.opened.items()},
        "kept": {str(head): list(names) for head, names in system.kept.items()},
        "cuts": {str(head): [written(c) for c in forms] for head, forms in system.cuts.items()},
        "output": written(_filled(functions.output, values)),
        "locations": locations,
        "proofs": [
            [
                [weight, [numbers[one.at][i] for i in factors], root]
                for weight, factors, root in proof
            ]
            for (one, _), proof in zip(side.plan, proofs, strict=True)
        ],
    }


def _listed(
    table: Mapping[Place, Polynomial], at: int, values: Sequence[Fraction]
) -> list[dict[str, str]]:
    places = sorted(place for place in table if place[0] == at)
    return [written(_filled(table[place], values)) for place in places]
