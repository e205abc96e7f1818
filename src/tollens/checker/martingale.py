"""Proofs by martingales: polynomial bounds on the expectation of an output, at every loop head.

The witness f is max(0, p) for a polynomial p in the output (0 where the output has another shape;
min(1, max(0, p)) for a witness of values in [0, 1]). A run that never ends has f = 0. Let s_0, s_1,
... be the states at the successive heads of loops of a run, T the number of them before its end.

**Upper bound.** Let h be a polynomial with h >= max(0, p) at all outputs that can occur, and U a
function of the states with U >= 0 and U(s) >= E[U(next state) or h(output)] at every s that can
occur. Then E f <= U(start): U(s_k) 1[T > k] + h(output) 1[T <= k] is a supermartingale of terms
>= 0, so that E[h(output); T <= k] <= U(start) for all k; let k grow. Nothing is assumed of
termination.

**Lower bound.** Let h be a polynomial with h <= p (and h <= 1 for a witness in [0, 1]) at all
outputs that can occur, let L and R be functions of the states, polynomials on each of finitely many
parts, with L(s) <= E[L(next state) or h(output)], R >= 0 and R(s) - E[R(next state)] >= max(0,
L(s)), where R counts 0 at the end. Then E f >= L(start). Proof. States are affine images of
finitely many draws that have all moments, so that E|L(s_k)| is finite for each k. By induction,
L(start) <= E[h(output); T <= k] + E[L(s_k); T > k]. With V = R - E[R(next)] >= 0, induction gives
E[R(s_0)] >= sum over j < k of E[V(s_j); T > j], for all k, as R >= 0. So the series of the
E[V(s_j); T > j] converges, its terms tend to 0, and so do the E[max(0, L(s_k)); T > k], which are
not larger. As E[h(output); T <= k] <= E[f; T < infinity], the claim follows.

So R replaces the usual side conditions of optional stopping (a finite mean of T with bounded
differences, or exponential tails of T with polynomial growth): it is a ranking function whose
decrease pays for L itself. It fails where those fail: on a symmetric random walk no polynomial R
pays for an L that is positive, and for a stake that doubles R would have to double as well.

Every inequality `goal >= 0` on `facts >= 0` is proved by an identity: goal (or -1, if there is no
such state) = sum of weights >= 0 times products of facts and squares. By Handelman's theorem
(Pacific Journal of Mathematics 132, 1988) positive polynomials on compact polyhedra have such
proofs. For martingale bounds of programs see Chakarov and Sankaranarayanan (CAV 2013), for refuting
differential privacy with them Chatterjee, Goharshady and Zikelic (PLDI 2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.clock import within
from tollens.checker.documents import entries, rational, whole
from tollens.checker.errors import CertificateError
from tollens.checker.polynomials import Polynomial, read, total
from tollens.checker.program import Program
from tollens.checker.tails import facts
from tollens.checker.transitions import (
    Cell,
    Guard,
    Place,
    Step,
    System,
    is_integer,
    output_names,
)

MOST_TERMS, MOST_FACTORS, MOST_FACTS, MOST_ROOM = 50_000, 24, 256, 1_000_000
Bounds = tuple[Fraction, Fraction]
_ONE = Polynomial.constant(1)


@dataclass(frozen=True, slots=True)
class Witness:
    """max(0, polynomial of the output), below 1 if `unit`; `shape` as in `Step`."""

    polynomial: Polynomial
    shape: int | None
    unit: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What is claimed of the states of a location.

    `invariants` are >= 0 in all states that occur. So are q (q - 1) for each q of `integers`, which
    must have integer values.
    """

    invariants: tuple[Polynomial, ...] = ()
    integers: tuple[Polynomial, ...] = ()


@dataclass(frozen=True, slots=True)
class Obligation:
    """To prove: `goal` >= 0 wherever all `facts` are >= 0, at a location or in a step from it."""

    name: str
    at: int
    facts: tuple[Polynomial, ...]
    goal: Polynomial
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Functions:
    """U, or L with its R, at each place, and h; the start of the program is the place (0, 0)."""

    output: Polynomial
    bound: Mapping[Place, Polynomial]
    potential: Mapping[Place, Polynomial] | None

    @property
    def upper(self) -> bool:
        """Whether they bound from above."""
        return self.potential is None


def bounds(
    program: Program, likely: object, other: object, witness: object, proof: object, seconds: float
) -> Bounds:
    """(lower, upper): E f is at least `lower` on likely data, at most `upper` on the other."""
    f = read_witness(witness)
    given = entries(proof, "the proof", allowed=("kind", "lower", "upper"))
    if given["kind"] != "martingale":
        raise CertificateError(f"a proof of the kind {given['kind']!r}, not martingale")
    with within(seconds):
        return (
            _side(program, likely, f, given["lower"], upper=False),
            _side(program, other, f, given["upper"], upper=True),
        )


def read_witness(data: object) -> Witness:
    """The witness of a certificate."""
    given = entries(data, "the witness", allowed=("kind", "items", "terms", "unit"))
    items, unit = given["items"], given["unit"]
    if given["kind"] != "polynomial" or not isinstance(unit, bool):
        raise CertificateError("the witness is no polynomial")
    shape = None if items is None else whole(items, "items", 16)
    return Witness(read(given["terms"], output_names(shape)), shape, unit)


def obligations(
    system: System, known: Sequence[Known], f: Witness, functions: Functions
) -> Iterator[Obligation]:
    """All that is to be proved of one side, in the order of its proofs."""
    held = [_facts(system, at, here) for at, here in enumerate(known)]
    for at, here in enumerate(system.locations):
        for step in here.steps:
            given = (*held[at], *_closed(system, at, step.guards), *step.known())
            if step.target is not None:
                for invariant in known[step.target[0]].invariants:
                    yield Obligation("invariant", at, given, invariant.at(step.values))
            elif step.shape == f.shape:
                value = functions.output.at(step.values)
                over = value - f.polynomial.at(step.values)
                yield Obligation("witness", at, given, over if functions.upper else -over, step)
                if functions.upper or f.unit:
                    limit = value if functions.upper else _ONE - value
                    yield Obligation("witness", at, given, limit, step)
    for at in range(len(system.locations)):
        for number, part in enumerate(system.parts(at)):
            place = (at, number)
            sign = functions.bound if functions.potential is None else functions.potential
            if at > 0:
                given = (*held[at], *_closed(system, at, part))
                yield Obligation("sign", at, given, sign[place])
            for cell in system.cells(at, part):
                given = _in_cell(system, at, held[at], cell)
                yield from _decreases(place, given, cell, f.shape, functions)


def _decreases(
    place: Place,
    given: tuple[Polynomial, ...],
    cell: Cell,
    shape: int | None,
    functions: Functions,
) -> Iterator[Obligation]:
    at, bound = place[0], functions.bound[place]

    def mean(table: Mapping[Place, Polynomial], output: Polynomial) -> Polynomial:
        values = []
        for step in cell.steps:
            found = output if step.target is None else table[step.target]
            if step.target is not None or step.shape == shape:
                values.append(step.mean(found.at(step.values)))
        return total(values)

    ahead = mean(functions.bound, functions.output)
    if functions.potential is None:
        yield Obligation("upper", at, given, bound - ahead)
        return
    yield Obligation("lower", at, given, ahead - bound)
    if at > 0:
        decrease = functions.potential[place] - mean(functions.potential, Polynomial({}))
        yield Obligation("decrease", at, given, decrease)
        yield Obligation("potential", at, given, decrease - bound)


def _facts(system: System, at: int, known: Known) -> tuple[Polynomial, ...]:
    if not all(is_integer(q, system.integers[at]) for q in known.integers):
        raise CertificateError("a form that need not be an integer is used as one")
    return (*known.invariants, *(q * (q - _ONE) for q in known.integers))


def _closed(system: System, at: int, guards: tuple[Guard, ...]) -> list[Polynomial]:
    return [guard.closed(system.integers[at]) for guard in guards]


def _in_cell(
    system: System, at: int, held: tuple[Polynomial, ...], cell: Cell
) -> tuple[Polynomial, ...]:
    given = [*held, *_closed(system, at, cell.guards)]
    exponents = dict.fromkeys(u for step in cell.steps for u in step.exponents())
    return (*given, *(fact for u in exponents for fact in facts(u, given)))


def _side(program: Program, data: object, f: Witness, given: object, *, upper: bool) -> Fraction:
    """The bound that the proof of one side shows."""
    allowed = ("opened", "kept", "cuts", "output", "locations", "proofs")
    side = entries(given, "a side", allowed=allowed)
    opened, kept, cuts = (_by_head(program, side[key], key) for key in ("opened", "kept", "cuts"))
    names = {head: _names(found) for head, found in opened.items()}
    system = System(
        program,
        data,
        names,
        {head: _names(found) for head, found in kept.items()},
        {head: _polynomials(found, names.get(head, [])) for head, found in cuts.items()},
    )
    known: list[Known] = []
    bound: dict[Place, Polynomial] = {}
    potential: dict[Place, Polynomial] = {}
    locations = _items(side["locations"], "locations", len(system.locations))
    for at, (here, found) in enumerate(zip(system.locations, locations, strict=True)):
        allowed_here = ("invariants", "integers", "bound", "potential")
        data_here = entries(found, "a location", allowed=allowed_here)
        invariants, integers, low, high = (
            _polynomials(data_here[key], here.names) for key in allowed_here
        )
        parts = len(system.parts(at))
        if len(low) != parts or len(high) != (0 if upper or at == 0 else parts):
            raise CertificateError("the functions do not fit the parts of a location")
        if invariants and at == 0:
            raise CertificateError("the start of the program has no invariants")
        known.append(Known(invariants, integers))
        bound |= {(at, number): form for number, form in enumerate(low)}
        potential |= {(at, number): form for number, form in enumerate(high)}
    output = read(side["output"], output_names(f.shape))
    functions = Functions(output, bound, None if upper else potential)
    proofs = iter(_items(side["proofs"], "proofs"))
    for obligation in obligations(system, known, f, functions):
        check(obligation, next(proofs, None))
    if next(proofs, None) is not None:
        raise CertificateError("there are proofs that prove nothing")
    value = bound[0, 0].value()
    assert value is not None  # noqa: S101 - no names are open at the start
    return value


def check(obligation: Obligation, proof: object) -> None:
    """Check the identity that proves an obligation.

    Its terms are [weight, numbers of facts, None or a polynomial whose square is a factor too].

    >>> x = Polynomial.variable("x")
    >>> check(Obligation("square", 0, (x,), x * x), [["1", [0, 0], None]])
    >>> check(Obligation("square", 0, (x,), x * x - x), [["1", [0, 0], None], ["-1", [0], None]])
    Traceback (most recent call last):
    ...
    tollens.checker.errors.CertificateError: the proof of square has a negative weight
    """
    found = obligation.facts
    if len(found) > MOST_FACTS:
        raise CertificateError(f"{obligation.name} has more than {MOST_FACTS} facts")
    products: dict[tuple[int, ...], Polynomial] = {(): _ONE}
    room = 0

    def multiplied(factors: tuple[int, ...]) -> Polynomial:
        nonlocal room
        if factors not in products:
            products[factors] = multiplied(factors[:-1]) * found[factors[-1]]
            room += len(products[factors].terms)
            if room > MOST_ROOM:
                raise CertificateError(f"the proof of {obligation.name} has too many products")
        return products[factors]

    def part_of(term: object) -> Polynomial:
        weight, numbers, root = _items(term, "a term", 3)
        factors = [whole(i, "a fact", len(found) - 1) for i in _items(numbers, "factors")]
        if len(factors) > MOST_FACTORS:
            raise CertificateError(f"the proof of {obligation.name} has too many factors")
        value = rational(weight, "a weight")
        if value < 0:
            raise CertificateError(f"the proof of {obligation.name} has a negative weight")
        part = multiplied(tuple(factors)).scaled(value)
        if root is not None:
            part *= (q := read(root, None)) * q
        return part

    proved = total(map(part_of, _items(proof, f"the proof of {obligation.name}")))
    if proved not in (obligation.goal, -_ONE):
        raise CertificateError(f"the proof of {obligation.name} is no identity")


def _items(data: object, where: str, count: int | None = None) -> list[object]:
    if not isinstance(data, list) or len(data) > MOST_TERMS or count not in (None, len(data)):
        raise CertificateError(f"{where}: no list of {'entries' if count is None else count}")
    return data


def _polynomials(data: object, names: Sequence[str]) -> tuple[Polynomial, ...]:
    return tuple(read(terms, names) for terms in _items(data, "polynomials"))


def _names(data: object) -> list[str]:
    names = _items(data, "names")
    if not all(isinstance(name, str) for name in names):
        raise CertificateError("a name is no text")
    return sorted({str(name) for name in names})


def _by_head(program: Program, data: object, where: str) -> dict[int, object]:
    if not isinstance(data, dict) or len(data) > program.heads:
        raise CertificateError(f"{where} is no object by heads of loops")
    heads = {str(head): head for head in range(program.heads)}
    if not data.keys() <= heads.keys():
        raise CertificateError(f"{where} names a head that the program has not")
    return {heads[head]: found for head, found in data.items()}
