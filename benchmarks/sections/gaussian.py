"""Gaussian claims: the whole curve is claimed, and the whole curve is bet against."""

from __future__ import annotations

from functools import partial

import tollens
from benchmarks.harness import (
    ALPHA,
    Case,
    Row,
    Runner,
    audit_case,
    laplace_count,
    normal_count,
    pairs_row,
)
from benchmarks.limits import gaussian_pair, laplace_pair, law_limit

TITLE = "Gaussian claims"
NOTE = (
    "A count with normal noise of standard deviation 1 (true μ = 1), and one with Laplace noise "
    "of scale 1 (true ε = 1), against claims of μ-GDP; α = 0.05. APT holds its level only in the "
    "limit of many samples."
)
RUNS = (24, 200)
SECONDS = 45.0

TARGETS = {
    ("normal", 0.5): (153.0, 80.0, 188),
    ("normal", 0.8): (1023.0, 423.0, 1453),
    ("Laplace", 0.5): (198.0, 95.0, 220),
    ("Laplace", 0.8): (1169.0, 678.0, 1700),
}
"""Mean pairs with independent and with common random numbers, and those of APT."""


def measure(runner: Runner) -> list[Row]:
    """Two rows for each noise and claim."""
    laws = {"normal": gaussian_pair(1.0, 400), "Laplace": laplace_pair(1.0, 400)}
    counts = {"normal": normal_count, "Laplace": laplace_count}
    cases, bounds, limits, others = [], [], [], []
    for (noise, mu), (independent, common, apt) in TARGETS.items():
        limit = law_limit(*laws[noise], tollens.gaussian(mu), ALPHA)
        mechanism = tollens.batched(partial(counts[noise], scale=1.0))
        for design, bound in (("independent", independent), ("common", common)):
            name = f"{noise} noise, claim μ = {mu:g}, {design}"
            budget = int(20 * limit)
            cases.append(Case(name, mechanism, tollens.gaussian(mu), (1.0, 0.0), budget, design))
            bounds.append(bound)
            limits.append(limit)
            others.append(apt)
    found = runner.repeat(audit_case, cases)
    return [
        pairs_row(case.name, runs, at_most=bound, limit=limit, APT=apt)
        for case, runs, bound, limit, apt in zip(cases, found, bounds, limits, others, strict=True)
    ]
