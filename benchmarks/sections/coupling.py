"""Common random numbers: the same draws on both inputs, beside independent runs."""

from __future__ import annotations

from functools import partial

import tollens
from benchmarks.harness import Case, Row, Runner, audit_case, laplace_count, pairs_row
from benchmarks.limits import laplace_limit

TITLE = "Common random numbers"
NOTE = (
    "Laplace counts through `tollens.audit`, α = 0.05. The limit is that of independent runs; "
    "runs with the same draws may go below it."
)
RUNS = (30, 200)
SECONDS = 55.0

POINTS: tuple[tuple[float, float, float | None], ...] = (
    (0.01, 0.02, 2300.0),
    (0.1, 0.2, 265.0),
    (0.5, 1.0, 96.0),
    (1.0, 2.0, 83.0),
    (4.0, 8.0, None),
)
"""Claim, true epsilon, target for the mean with common random numbers."""

DESIGNS = ("independent", "common", "auto")
SLACK = 1.3
"""The automatic choice may need so many times the pairs of the better design."""

_LONG = 50_000


def measure(runner: Runner) -> list[Row]:
    """Three rows for each point: independent, common, and the automatic choice."""
    cases, limits = [], []
    for claimed, true, _ in POINTS:
        limit = laplace_limit(claimed, true, alpha=0.05)
        mechanism = tollens.batched(partial(laplace_count, scale=1 / true))
        for design in DESIGNS:
            budget = int(20 * limit + 1000)
            name = f"claim {claimed:g}, true {true:g}, {design}"
            cases.append(Case(name, mechanism, tollens.pure(claimed), (1.0, 0.0), budget, design))
            limits.append(limit)

    def most(case: Case) -> int:
        long = case.coupling == "independent" and case.budget > 20 * _LONG
        return max(3, runner.runs // 3) if long else runner.runs

    found = runner.repeat(audit_case, cases, runs=most)
    rows: list[Row] = []
    for number, (_, _, bound) in enumerate(POINTS):
        at = slice(3 * number, 3 * number + 3)
        (independent, common, auto), limit = cases[at], limits[3 * number]
        by_design = found[at]
        first = pairs_row(independent.name, by_design[0], limit=limit)
        second = pairs_row(common.name, by_design[1], limit=limit, at_most=bound)
        best = min(first.mean or 0.0, second.mean or 0.0)
        third = pairs_row(auto.name, by_design[2], limit=limit, at_most=SLACK * best, better=best)
        rows += [first, second, third]
    return rows
