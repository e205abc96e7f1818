"""Worst cases found by the tool itself: a mechanism and a relation, no pair and no event."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from catalogue.entries import entries
from catalogue.environments import environments
from catalogue.running import audited

import tollens
from benchmarks.harness import Row, Runner
from benchmarks.worst_cases import CASES, OF_LIBRARIES, Case
from tollens.keys import key_of

TITLE = "Worst cases, found from a relation"
NOTE = (
    "α = 1e-6. Each mechanism is given with a relation over the type of its data, as its user "
    "would write it; which pair breaks the claim, and by which event, is left to the audit. "
    "*fixed test*: samples a side at which a test of 95 % that is given both is expected to fire."
    " *smallest pair*: records or answers in both inputs, and how many differ. Entries of "
    "libraries run in environments of their own (`python -m catalogue.environments`), and are "
    "left out where those are not made; *given* says that the catalogue gives the pair, because "
    "nobody would guess it."
)
RUNS = (1, 1)
SECONDS = 600.0

ALPHA = 1e-6
AT_LEAST_A_BILLION = "flwr114-local-gaussian-large"
"""Broken, but by so little that about a billion runs are needed."""


class Ended(NamedTuple):
    """How the audit of a case ended."""

    outcome: str
    pairs: int
    seconds: float
    size: tuple[int, int]
    excess: float | None


def measure(runner: Runner) -> list[Row]:
    """A row for each case."""
    known, made = entries(), environments()
    ready = [name for name in OF_LIBRARIES if made[known[name].environment].ready]
    cases = [case for case in CASES if runner.full or not case.long]
    found = runner.repeat(_local, [case.name for case in cases])
    rows = [_row(case, ended[0]) for case, ended in zip(cases, found, strict=True)]
    for name, ended in zip(ready, runner.repeat(_of_library, ready), strict=True):
        entry = known[name]
        fixed, smallest = OF_LIBRARIES[name]
        case = Case(
            f"{name}{', given' if entry.given else ''}", None, "", None, entry.truth == "broken",
            entry.source, entry.outputs, fixed, smallest, entry.pairs,
        )  # fmt: skip
        rows.append(_row(case, ended[0], hidden=name == AT_LEAST_A_BILLION))
    return rows


def _local(job: tuple[str, int]) -> Ended:
    name, seed = job
    case = next(case for case in CASES if case.name == name)
    started = time.perf_counter()
    verdict = tollens.audit(
        case.mechanism, case.claim, neighbours=case.neighbours, alpha=ALPHA, budget=case.budget,
        outputs=case.outputs, seed=seed,
    )  # fmt: skip
    return _ended(verdict, started)


def _of_library(job: tuple[str, int]) -> Ended:
    name, seed = job
    started = time.perf_counter()
    return _ended(audited(entries()[name], seed=seed), started)


def _ended(verdict: tollens.Verdict, started: float) -> Ended:
    return Ended(
        verdict.outcome.name,
        verdict.pairs,
        time.perf_counter() - started,
        _size(verdict.neighbours.x, verdict.neighbours.x_prime),
        verdict.detectable_excess,
    )


def _size(x: object, x_prime: object) -> tuple[int, int]:
    """Records (or answers) in both inputs, and how many of them differ."""
    if not isinstance(x, list | tuple | np.ndarray) or not isinstance(x_prime, type(x)):
        return 2, 1
    a, b = [key_of(each) for each in x], [key_of(each) for each in x_prime]
    if len(a) == len(b):
        return len(a) + len(b), sum(i != j for i, j in zip(a, b, strict=True))
    return len(a) + len(b), abs(len(a) - len(b))


def _row(case: Case, ended: Ended, *, hidden: bool = False) -> Row:
    refuted = ended.outcome == "REFUTED"
    small = case.smallest is None or all(
        got <= most for got, most in zip(ended.size, case.smallest, strict=True)
    )
    if case.broken and not hidden:
        target, ok = f"refuted within {case.budget:,}", refuted and small
        if case.smallest is not None:
            target += ", a pair of {} that differ in {} or less".format(*case.smallest)
    else:
        target, ok = "not refuted", not refuted
    more: dict[str, float | int | str] = {
        "outcome": ended.outcome,
        "smallest pair": f"{ended.size[0]}, {ended.size[1]} differ" if refuted else "",
        "fixed test": case.fixed_test or "",
        "outputs": case.outputs,
        "seconds": round(ended.seconds, 1),
    }
    if not refuted and ended.excess is not None:
        more["detectable"] = round(ended.excess, 2) if math.isfinite(ended.excess) else "none"
    return Row(what=case.name, target=target, ok=ok, mean=float(ended.pairs), refuted=int(refuted),
               of=1, more=more)  # fmt: skip
