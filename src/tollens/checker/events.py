"""Proofs by events: the probability of a set of outputs, path by path.

An event is a list of patterns that exclude each other. On the likely side every path that ends in
the event counts, so the sum is a lower bound of its probability even if some paths were cut; on the
other side the paths that were cut count as if they ended in the event, so the sum is an upper
bound (the witness is the indicator of the event, and a run that never ends is no output).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tollens.checker import balls
from tollens.checker.clock import tick
from tollens.checker.documents import entries, whole
from tollens.checker.draws import Draw, Path
from tollens.checker.enclosures import dyadic, fixed
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.integration import Integrator, enclosure
from tollens.checker.machine import Limits, explore
from tollens.checker.patterns import Between, Equals, Items, Pattern, matched, read_event
from tollens.checker.program import Program
from tollens.checker.reach import CLOSED

MAX_ROUNDS = 10_000
BITS = 96
LONG = 40_000

Bounds = tuple[Fraction, Fraction]


def bounds(
    program: Program, likely: object, other: object, witness: object, proof: object, seconds: float
) -> Bounds:
    """(lower, upper): P(event) is at least `lower` on likely data, at most `upper` on the other."""
    patterns = read_event(witness)
    given = entries(proof, "the proof", allowed=("kind", "rounds", "rounds_other", "small"))
    if given["kind"] != "paths":
        raise CertificateError("events are proved by paths")
    rounds = whole(given["rounds"], "rounds", MAX_ROUNDS)
    rounds_other = whole(given["rounds_other"], "rounds_other", MAX_ROUNDS)
    small = whole(given["small"], "small", MAX_ROUNDS)
    integrator = Integrator()
    finished = explore(program, likely, Limits(rounds, small, seconds=seconds)).paths
    lower = total((path for path in finished if path.finished), patterns, integrator)[0]
    every = explore(program, other, Limits(rounds_other, small, seconds=seconds)).paths
    upper = total(every, patterns, integrator)[1]
    return lower, upper


def total(paths: Iterable[Path], patterns: Sequence[Pattern], integrator: Integrator) -> Bounds:
    """Bounds of the probability to take one of the paths and to end in the event.

    A path that was cut counts as if it ended there, unless it cannot: because of its reach, or
    because `paths` are all that there are and none of those that finished does.
    """
    low = high = Fraction(0)
    known = tuple(paths)
    finished = any(path.finished and ends(path, patterns) for path in known)
    for path in known:
        tick()
        if path.reach == CLOSED and not finished:
            continue
        for constraints in ends(path, patterns):
            below, above = probability(path.draws, (*path.constraints, *constraints), integrator)
            least, most = weight(path, integrator)
            low, high = _short(low + least * below, high + most * above)
    return max(low, Fraction(0)), min(high, Fraction(1))


def ends(path: Path, patterns: Sequence[Pattern]) -> list[list[Form]]:
    """The constraints under which a path ends in each of the patterns in which it may."""
    if not path.finished:
        return [] if all(out_of_reach(pattern, path.reach) for pattern in patterns) else [[]]
    found = [matched(pattern, path.output) for pattern in patterns]
    return [constraints for constraints in found if constraints is not None]


def weight(path: Path, integrator: Integrator) -> Bounds:
    """Bounds of the probability of all draws of a path on which its end does not depend."""
    low = high = Fraction(0)
    for share, groups in path.spent:
        least = most = path.mass * share
        for draws, constraints in groups:
            below, above = probability(draws, constraints, integrator)
            least, most = least * max(below, Fraction(0)), most * above
        low, high = _short(low + least, high + most)
    return low, high


def _short(low: Fraction, high: Fraction) -> Bounds:
    """Bounds whose digits are not too many to go on with."""
    if max(low.denominator.bit_length(), high.denominator.bit_length()) <= LONG:
        return low, high
    return dyadic(fixed(low, LONG)[0], -LONG), dyadic(fixed(high, LONG)[1], -LONG)


def out_of_reach(pattern: Pattern, reach: object) -> bool:
    """Whether a path that was cut cannot end in a pattern."""
    if not isinstance(reach, tuple):
        return False
    low, high = reach
    match pattern:
        case Equals(value) if isinstance(value, Fraction):
            first = last = value
        case Between(first, last):
            pass
        case Equals() | Items():
            return True
        case _:
            return False
    below = last is not None and low is not None and last < low
    return below or (first is not None and high is not None and first > high)


def probability(
    draws: Sequence[Draw], constraints: Sequence[Form], integrator: Integrator
) -> Bounds:
    """Bounds of P(all constraints >= 0): exact but for exponentials, unless a draw is normal."""
    if any(draws[i].kind == "gauss" for constraint in constraints for i, _ in constraint.terms):
        return balls.probability(draws, constraints)
    return enclosure(integrator.probability(draws, constraints), BITS)
