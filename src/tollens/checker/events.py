"""Proofs by events: the probability of a set of outputs, path by path.

An event is a list of patterns that exclude each other. On the likely side every path that ends in
the event counts, so the sum is a lower bound of its probability even if some paths were cut; on the
other side the paths that were cut count as if they ended in the event, so the sum is an upper
bound (the witness is the indicator of the event, and a run that never ends is no output).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tollens.checker.documents import entries, rational, value, whole
from tollens.checker.draws import Draw, Path
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form, plus, scaled
from tollens.checker.integration import Integrator, enclosure
from tollens.checker.machine import Limits, explore
from tollens.checker.program import Program

MAX_ROUNDS, MAX_PATTERNS = 10_000, 1_000
BITS = 96

Pattern = dict[str, object]
Bounds = tuple[Fraction, Fraction]


def bounds(
    program: Program, likely: object, other: object, witness: object, proof: object, seconds: float
) -> Bounds:
    """(lower, upper): P(event) is at least `lower` on likely data, at most `upper` on the other."""
    patterns = event(witness)
    given = entries(proof, "the proof", allowed=("kind", "rounds", "rounds_other"))
    if given["kind"] != "paths":
        raise CertificateError(f"a proof of the kind {given['kind']!r}; events have paths")
    rounds = whole(given["rounds"], "rounds", MAX_ROUNDS)
    rounds_other = whole(given["rounds_other"], "rounds_other", MAX_ROUNDS)
    integrator = Integrator()
    lower = upper = Fraction(0)
    for path in explore(program, likely, Limits(rounds, seconds=seconds)).paths:
        if path.finished:
            lower += inside(path, patterns, integrator)[0]
    for path in explore(program, other, Limits(rounds_other, seconds=seconds)).paths:
        upper += inside(path, patterns, integrator)[1]
    return max(lower, Fraction(0)), min(upper, Fraction(1))


def event(witness: object) -> list[Pattern]:
    """The patterns of an event, which must exclude each other."""
    given = entries(witness, "the witness", allowed=("kind", "patterns"))
    patterns = given["patterns"]
    if given["kind"] != "event" or not isinstance(patterns, list) or not patterns:
        raise CertificateError("the witness is no event with patterns")
    if len(patterns) > MAX_PATTERNS:
        raise CertificateError(f"the event has more than {MAX_PATTERNS} patterns")
    read = [_pattern(pattern, 0) for pattern in patterns]
    for i, one in enumerate(read):
        if any(not disjoint(one, other) for other in read[:i]):
            raise CertificateError(f"pattern {i + 1} of the event overlaps one before it")
    return read


def _pattern(data: object, depth: int) -> Pattern:
    """A pattern with its values read."""
    if depth > 20:
        raise CertificateError("a pattern is nested too deeply")
    match data:
        case {"any": True} if len(data) == 1:
            return {"any": True}
        case {"equals": inner} if len(data) == 1:
            return {"equals": _frozen(value(inner, "the event"))}
        case {"between": [low, high]} if len(data) == 1:
            ends = [None if end is None else rational(end, "the event") for end in (low, high)]
            if None not in ends and ends[0] >= ends[1]:
                raise CertificateError("an interval of the event is empty")
            return {"between": tuple(ends)}
        case {"items": list(items)} if len(data) == 1:
            return {"items": tuple(_pattern(item, depth + 1) for item in items)}
    raise CertificateError("a pattern is one of any, equals, between, items")


def _frozen(data: object) -> object:
    """An output has tuples where data has lists."""
    return tuple(map(_frozen, data)) if isinstance(data, list | tuple) else data


def disjoint(one: Pattern, other: Pattern) -> bool:
    """Whether no output can match both patterns."""
    (kind, a), (kind_other, b) = next(iter(one.items())), next(iter(other.items()))
    match kind, kind_other:
        case "equals", "equals":
            return type(a) is not type(b) or a != b
        case "between", "between":
            (low, high), (low_other, high_other) = a, b
            return (high is not None and low_other is not None and high < low_other) or (
                high_other is not None and low is not None and high_other < low
            )
        case "items", "items":
            return len(a) != len(b) or any(map(disjoint, a, b))
        case "equals", "items":
            return (
                not isinstance(a, tuple)
                or len(a) != len(b)
                or any(disjoint({"equals": item}, inner) for item, inner in zip(a, b, strict=True))
            )
        case "equals", "between":
            return not isinstance(a, Fraction) or match(other, a) is None
        case "items", "between":
            return True
        case ("items", "equals") | ("between", "equals") | ("between", "items"):
            return disjoint(other, one)
    return False


def match(pattern: Pattern, found: object) -> list[Form] | None:
    """The constraints (each >= 0) under which an output matches; None if it never does.

    An output that depends on a continuous draw equals a constant with probability 0.
    """
    ((kind, wanted),) = pattern.items()
    if kind == "any":
        return []
    if kind == "items":
        if not isinstance(found, tuple) or len(found) != len(wanted):
            return None
        made: list[Form] = []
        for inner, item in zip(wanted, found, strict=True):
            constraints = match(inner, item)
            if constraints is None:
                return None
            made += constraints
        return made
    if kind == "equals":
        return [] if _same(wanted, found) else None
    low, high = wanted
    if not isinstance(found, Fraction | Form):
        return None
    needed = []
    if low is not None:
        needed.append(plus(found, -low))
    if high is not None:
        needed.append(plus(scaled(found, Fraction(-1)), high))
    if any(isinstance(side, Fraction) and side < 0 for side in needed):
        return None
    return [side for side in needed if isinstance(side, Form)]


def _same(wanted: object, found: object) -> bool:
    """Equality that tells truth values from numbers."""
    if isinstance(wanted, tuple) and isinstance(found, tuple):
        return len(wanted) == len(found) and all(map(_same, wanted, found))
    return type(wanted) is type(found) and wanted == found


def inside(path: Path, patterns: Sequence[Pattern], integrator: Integrator) -> Bounds:
    """Bounds of the probability that a run takes a path and ends in the event.

    A path that was cut counts as if it ended there.
    """
    low = high = Fraction(0)
    for pattern in patterns if path.finished else [None]:
        constraints = [] if pattern is None else match(pattern, path.output)
        if constraints is not None:
            below, above = probability(path.draws, (*path.constraints, *constraints), integrator)
            low, high = low + path.mass * below, high + path.mass * above
    return low, high


def probability(
    draws: Sequence[Draw], constraints: Sequence[Form], integrator: Integrator
) -> Bounds:
    """Bounds of P(all constraints >= 0): exact but for the exponentials, unless a draw is normal."""
    return enclosure(integrator.probability(draws, constraints), BITS)
