"""Outputs with several dimensions: nothing tells the audit which of them leak."""

from __future__ import annotations

from dataclasses import replace

import tollens
from benchmarks import mechanisms
from benchmarks.harness import ALPHA, Case, Row, Runner, audit_case, pairs_row, spared_row
from benchmarks.limits import Masses, entry_masses, law_limit
from tollens.zoo import get

TITLE = "Outputs with several dimensions"
NOTE = (
    "The limit is that of the full law, known beforehand; α = 0.05. In the histogram of 50 cells "
    "the audit is not told that cell 17 changes. Below: correct ones, to be spared."
)
RUNS = (12, 40)
SECONDS = 90.0

TIMES = 4.0
"""Target for the mean, in units of the limit."""

GIVE_UP = 12
"""Audits end after so many times the limit."""

SPARED_PAIRS = 1000
DESIGNS = ("independent", "auto")


def _broken() -> list[tuple[Case, float]]:
    """The broken ones with their limits."""
    laws: list[tuple[str, object, tollens.Claim, object, Masses]] = []
    for name in ("svt6", "svt5", "svt3"):
        entry = get(name)
        laws.append((name, entry.mechanism, entry.claim, entry.neighbours, entry_masses(entry)))
    rule, pair = mechanisms.ONE_POSITIVE, mechanisms.TEN
    laws.append(
        (
            "svt4, one positive",
            mechanisms.sparse_vector_of(rule),
            tollens.pure(1),
            pair,
            mechanisms.sparse_vector_masses(rule, pair),
        )
    )
    laws.append(
        (
            "histogram of 50, half the noise",
            mechanisms.histogram(0.5),
            tollens.pure(1),
            mechanisms.one_more(50, 17),
            mechanisms.histogram_masses(0.5),
        )
    )
    cases = []
    for name, mechanism, claim, inputs, masses in laws:
        limit = law_limit(*masses, claim, ALPHA)
        budget = int(GIVE_UP * limit + 100)
        cases.append((Case(name, mechanism, claim, inputs, budget), limit))  # type: ignore[arg-type]
    return cases


def _correct() -> list[Case]:
    """The correct ones."""
    cases = [
        Case(name, get(name).mechanism, get(name).claim, get(name).neighbours, SPARED_PAIRS)
        for name in ("svt1", "svt2")
    ]
    inputs = mechanisms.one_more(50, 17)
    whole = mechanisms.histogram(1.0)
    return [*cases, Case("histogram of 50", whole, tollens.pure(1), inputs, SPARED_PAIRS)]


def _designs(case: Case) -> list[Case]:
    return [replace(case, name=f"{case.name}, {name}", coupling=name) for name in DESIGNS]


def measure(runner: Runner) -> list[Row]:
    """Two rows for each mechanism."""
    broken = [(each, limit) for case, limit in _broken() for each in _designs(case)]
    correct = [each for case in _correct() for each in _designs(case)]
    found = runner.repeat(audit_case, [*(case for case, _ in broken), *correct])
    rows = [
        pairs_row(case.name, runs, limit=limit, times_limit=TIMES)
        for (case, limit), runs in zip(broken, found, strict=False)
    ]
    spared = [
        spared_row(f"{case.name}, {SPARED_PAIRS} pairs", runs, ALPHA)
        for case, runs in zip(correct, found[len(broken) :], strict=True)
    ]
    return [*rows, *spared]
