"""The engines of exact events and of balls: the best event over the pairs."""

from __future__ import annotations

import math
from dataclasses import replace

from tollens.checker.errors import Refused
from tollens.checker.events import total
from tollens.checker.integration import Integrator
from tollens.checker.machine import Limits, explore
from tollens.checker.patterns import write
from tollens.neighbours import Pair
from tollens.refutation.events import Candidate, best_event
from tollens.refutation.exact import NotAForest
from tollens.refutation.measure import NoIntegral
from tollens.refutation.task import Attempt, Task

PAIRS = 12
"""So many pairs are looked at before the largest leak is certified; more if none is broken."""


def by_events(task: Task) -> Attempt:
    """Events whose probabilities are exact: no normal draws."""
    return _attempt(task, "events", normal=False)


def by_balls(task: Task) -> Attempt:
    """Events of programs with normal draws, whose probabilities are enclosed in balls."""
    return _attempt(task, "balls", normal=True)


def _attempt(task: Task, engine: str, *, normal: bool) -> Attempt:
    best: tuple[Candidate, int] | None = None
    refused: Refused | None = None
    note, looked = "", False

    def value() -> float:
        return 0.0 if best is None else best[0].value

    for i, pair in task.each_pair(engine, value):
        try:
            found = best_event(
                task.program, pair.x, pair.x_prime, task.objective, task.orders, task.deadline,
                normal=normal,
            )  # fmt: skip
        except Refused as error:
            refused = error
            continue
        except (NoIntegral, NotAForest) as error:
            note = str(error)
            if isinstance(error, NoIntegral):
                break
            continue
        looked = looked or found is not None
        if found is not None and found.value > value():
            best = (found, i)
        broken = best is not None and _implied(task, best[0]) > task.objective.bound
        if value() == math.inf or (broken and i + 1 >= PAIRS):
            break
    if best is None:
        if refused is not None:
            raise refused
        if looked:
            return Attempt(engine, note or "no event is more likely on one side", looked=True)
        return Attempt(engine, note or "no run came to an end within the limits of the search")
    candidate, i = best
    pair = task.pairs[i]
    if normal:
        candidate = _checked(task, candidate, pair)
    patterns = [write(pattern) for pattern in candidate.patterns]
    side = "x_prime" if candidate.swapped else "x"
    document = task.document(
        pair,
        candidate.swapped,
        engine,
        {"kind": "event", "patterns": patterns},
        {
            "kind": "paths",
            "rounds": candidate.rounds[0],
            "rounds_other": candidate.rounds[1],
            "small": candidate.small,
        },
        candidate.lower,
        candidate.upper,
    )
    return Attempt(
        engine,
        note if document is None else "",
        _implied(task, candidate),
        task.objective.epsilon(float(candidate.lower), float(candidate.upper)),
        pair,
        document,
        {"event": patterns, "likely_under": side},
    )


def _checked(task: Task, candidate: Candidate, pair: Pair) -> Candidate:
    """The candidate with the bounds of the checker, which are wider than those of the search."""
    likely, other = (pair.x_prime, pair.x) if candidate.swapped else (pair.x, pair.x_prime)
    limits = (
        Limits(candidate.rounds[0], candidate.small),
        Limits(candidate.rounds[1], candidate.small),
    )
    integrator = Integrator()
    finished = [p for p in explore(task.program, likely, limits[0]).paths if p.finished]
    lower = total(finished, candidate.patterns, integrator)[0]
    every = explore(task.program, other, limits[1]).paths
    upper = total(every, candidate.patterns, integrator)[1]
    return replace(candidate, lower=lower, upper=upper)


def _implied(task: Task, candidate: Candidate) -> float:
    return task.objective(float(candidate.lower), float(candidate.upper))
