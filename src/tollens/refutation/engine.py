"""The search for a proof: engines in the order of their cost, on one pair after the other."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tollens.checker import CertificateError, verify
from tollens.checker.compiling import compile_text
from tollens.checker.errors import Refused
from tollens.checker.patterns import write
from tollens.checker.program import Program
from tollens.refutation import program as texts
from tollens.refutation.documents import certificate
from tollens.refutation.events import Candidate, best_event
from tollens.refutation.found import Found, Json, Progress, Step
from tollens.refutation.objectives import Objective, objective
from tollens.relations import Relation

ENGINES = ("auto", "events", "moments", "martingale", "balls")
PAIRS = 12
"""So many pairs are looked at before the largest leak is certified; more if none is broken."""


@dataclass(frozen=True)
class Task:
    """What is to be refuted: a program, its text, a claim in exact form, and the pairs."""

    program: Program
    text: str
    claim: Json
    objective: Objective
    pairs: Relation
    deadline: float

    @property
    def orders(self) -> Sequence[bool]:
        """The orders of a pair that the claim binds; True swaps x and x'."""
        return (False,) if self.claim["ordered"] else (False, True)


def search(
    source: texts.Program,
    claim: Json,
    pairs: Relation,
    engine: str,
    deadline: float,
    progress: Progress | None = None,
) -> Found:
    """Look for a proof that the claim is false; inputs and claim are in exact form.

    `deadline` is a time of `time.monotonic`.
    """
    try:
        program = compile_text(source.text, source.name)
    except Refused as refused:
        return Found(refusals=refused.findings)
    task = Task(program, source.text, claim, objective(claim), pairs, deadline)
    return _by_events(task, progress)


def _by_events(task: Task, progress: Progress | None) -> Found:
    best: tuple[Candidate, int] | None = None
    refused: Refused | None = None
    for i in range(len(task.pairs)):
        if time.monotonic() > task.deadline:
            break
        pair = task.pairs[i]
        try:
            found = best_event(
                task.program, pair.x, pair.x_prime, task.objective, task.orders, task.deadline
            )
        except Refused as error:
            refused = error
            continue
        except CertificateError as error:
            return Found(notes=(f"events: {error}",))
        if found is not None and (best is None or found.value > best[0].value):
            best = (found, i)
        if progress is not None:
            progress(Step("events", i + 1, len(task.pairs), best[0].value if best else 0.0))
        if best is not None and best[0].value > task.objective.bound and i + 1 >= PAIRS:
            break
        if best is not None and best[0].value == math.inf:
            break
    late = time.monotonic() > task.deadline
    if best is None:
        return Found(refusals=refused.findings if refused else (), timed_out=late)
    candidate, i = best
    pair = task.pairs[i]
    event: Json = {"kind": "event", "patterns": [write(p) for p in candidate.patterns]}
    side = "x_prime" if candidate.swapped else "x"
    lower, upper = candidate.lower, candidate.upper
    found = Found(
        best_epsilon=task.objective.epsilon(float(lower), float(upper)),
        pair=pair,
        engine="events",
        timed_out=late,
        witness={"event": event["patterns"], "likely_under": side},
    )
    document = certificate(
        task.text, task.program, task.claim, task.objective, task.pairs.exact, pair,
        candidate.swapped, "events", event,
        {"kind": "paths", "rounds": candidate.rounds[0], "rounds_other": candidate.rounds[1]},
        lower, upper,
    )  # fmt: skip
    try:
        verify(document)
    except CertificateError as error:
        return Found(
            best_epsilon=found.best_epsilon, pair=pair, engine="events", timed_out=late,
            notes=(f"events: the best event proves nothing: {error}",), witness=found.witness,
        )  # fmt: skip
    return Found(
        document, found.best_epsilon, pair, "events", timed_out=late, witness=found.witness
    )
