"""The engine of martingales: programs with loops, against pure and approximate claims."""

from __future__ import annotations

import math
import time
from fractions import Fraction

from tollens.checker.claims import read_claim
from tollens.checker.errors import CertificateError, Refused
from tollens.refutation.martingale import Proved, refute_loops
from tollens.refutation.task import Attempt, Task

PAIRS = 4
"""So many pairs are tried; each takes a linear program for each degree."""

_SHARE = 0.5


def by_martingale(task: Task) -> Attempt:
    """Polynomial bounds of expectations at the heads of loops, by linear programs."""
    name = "martingale"
    if task.claim["kind"] not in ("pure", "approx"):
        return Attempt(name, "only claims with an epsilon are bounds on two expectations")
    if not task.program.loops:
        return Attempt(name, "the program has no while loop")
    parameters = read_claim(task.claim).parameters
    factor = parameters["epsilon"].exp_upper()
    delta = parameters["delta"].upper() if "delta" in parameters else Fraction(0)
    best = Attempt(name, "no polynomial bounds were found")

    def value() -> float:
        return best.value

    for i, pair in task.each_pair(name, value):
        if i >= PAIRS:
            break
        for swapped in task.orders:
            likely, other = (pair.x_prime, pair.x) if swapped else (pair.x, pair.x_prime)
            until = time.monotonic() + _SHARE * max(0.0, task.deadline - time.monotonic())
            try:
                for found in refute_loops(
                    task.program, likely, other, factor, delta, deadline=until
                ):
                    made = _attempt(task, found, i, swapped)
                    if made.value > best.value:
                        best = made
            except (CertificateError, Refused) as error:
                if best.pair is None:
                    best = Attempt(name, str(error).splitlines()[0])
            if best.document is not None:
                return best
    return best


def _attempt(task: Task, found: Proved, i: int, swapped: bool) -> Attempt:
    lower, upper = float(found.lower), float(found.upper)
    value = task.objective(lower, upper) if lower < math.inf else 0.0
    document = task.document(
        task.pairs[i], swapped, "martingale", found.witness, found.proof, found.lower, found.upper
    )
    return Attempt(
        "martingale", "", value, task.objective.epsilon(lower, upper), task.pairs[i], document
    )
