"""The engine of martingales: programs with loops, against pure and approximate claims."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction

from tollens.checker.claims import read_claim
from tollens.checker.errors import CertificateError, Refused
from tollens.refutation.martingale import CHEAP, DEAR, Proved, Search, Settings
from tollens.refutation.task import Attempt, Task

PAIRS = 4
"""So many pairs are tried; each takes a linear program for each degree."""

_LEVEL = 30.0


def by_martingale(task: Task) -> Attempt:
    """Polynomial bounds of expectations at the heads of loops, by linear programs.

    First all pairs with cheap settings, then all of them with dear ones, if no other engine was
    asked before: those take many seconds and seldom show what events do not.
    """
    name = "martingale"
    if task.claim["kind"] not in ("pure", "approx"):
        return Attempt(name, "only claims with an epsilon are bounds on two expectations")
    if not task.program.loops:
        return Attempt(name, "the program has no while loop")
    best = Attempt(name, "no polynomial bounds were found")
    searches: dict[tuple[int, bool], Search] = {}

    def value() -> float:
        return best.value

    for levels in (CHEAP, DEAR) if task.alone else (CHEAP,):
        for i, _ in task.each_pair(name, value):
            if i >= PAIRS:
                break
            for made in _attempts(task, i, levels, searches):
                if made.value > best.value or (best.pair is None and made.note):
                    best = made
                if made.document is not None:
                    return made
    return best


def _attempts(
    task: Task, i: int, levels: tuple[Settings, ...], searches: dict[tuple[int, bool], Search]
) -> Iterator[Attempt]:
    """What one pair shows with each of the settings, in the orders that the claim binds."""
    parameters = read_claim(task.claim).parameters
    delta = parameters["delta"].upper() if "delta" in parameters else Fraction(0)
    factor = parameters["epsilon"].exp_upper() if delta else None
    pair = task.pairs[i]
    for settings in levels:
        for swapped in task.orders:
            seconds = min(task.deadline - time.monotonic(), _LEVEL)
            if seconds <= 0:
                return
            likely, other = (pair.x_prime, pair.x) if swapped else (pair.x, pair.x_prime)
            if (i, swapped) not in searches:
                searches[i, swapped] = Search(task.program, likely, other)
            try:
                found = searches[i, swapped].best(settings, factor=factor, seconds=seconds)
            except (CertificateError, Refused) as error:
                yield Attempt("martingale", str(error).splitlines()[0])
                continue
            if found is not None:
                yield _attempt(task, found, i, swapped)


def _attempt(task: Task, found: Proved, i: int, swapped: bool) -> Attempt:
    lower, upper = float(found.lower), float(found.upper)
    value = task.objective(lower, upper) if lower < math.inf else 0.0
    document = task.document(
        task.pairs[i], swapped, "martingale", found.witness, found.proof, found.lower, found.upper
    )
    return Attempt(
        "martingale", "", value, task.objective.epsilon(lower, upper), task.pairs[i], document
    )
