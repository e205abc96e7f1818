"""A count with too little noise: pairs to refutation beside the physical limit."""

from __future__ import annotations

import statistics

import numpy as np

import tollens
from benchmarks.harness import ALPHA, Found, Row, Runner, pairs_row
from benchmarks.limits import laplace_limit

TITLE = "A count with too little noise"
NOTE = (
    "Laplace counts with claim ε whose true ε is a multiple of it, independent pairs of runs, "
    "α = 0.05 (and once 1e-6)."
)
RUNS = (60, 200)
SECONDS = 75.0

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)
RATIOS = (1.5, 2.0, 4.0)
GIVE_UP = 20
"""Audits end after so many times the limit."""

EACH, MIDDLE = 3.5, 2.0
"""Targets for the mean in units of the limit: of each row, and the median over the rows."""

_PAIRS = 12_000_000
"""Pairs that a row of the short form takes at most, roughly."""

_PIECE = 65_536

Point = tuple[float, float, float, float]


def one(job: tuple[Point, int]) -> Found:
    """One audit of (claim, true epsilon, alpha, limit) as a stream."""
    (claimed, true, alpha, limit), seed = job
    rng = np.random.default_rng([seed, round(1000 * claimed), round(1000 * true)])
    audit = tollens.Audit(tollens.pure(claimed), alpha=alpha)
    budget = int(GIVE_UP * limit + 200)
    while audit.pairs < budget and not audit.refuted:
        n = min(max(16, audit.pairs // 4), budget - audit.pairs, _PIECE)
        audit.update(1 + rng.laplace(scale=1 / true, size=n), rng.laplace(scale=1 / true, size=n))
    crossed = audit.refuted_at
    return Found(budget if crossed is None else crossed, crossed is not None)


def measure(runner: Runner) -> list[Row]:
    """The rows of the grid, the median over them, and half the noise at alpha = 1e-6."""
    points = [(e, r * e, ALPHA) for e in EPSILONS for r in RATIOS] + [(1.0, 2.0, 1e-6)]
    cases = [(*point, laplace_limit(point[0], point[1], alpha=point[2])) for point in points]

    def most(case: Point) -> int:
        return runner.runs if runner.full else int(_PAIRS / (2 * case[3]))

    rows = []
    for (claimed, true, alpha, limit), found in zip(
        cases, runner.repeat(one, cases, runs=most), strict=True
    ):
        rows.append(
            pairs_row(
                f"claim {claimed:g}, true / claim {true / claimed:g}"
                + (f", α = {alpha:g}" if alpha != ALPHA else ""),
                found,
                limit=limit,
                times_limit=EACH,
                **{"median / limit": statistics.median(f.pairs for f in found) / limit},
            )
        )
    ratios = [row.ratio or 0.0 for row in rows[:-1]]
    middle = statistics.median(ratios)
    return [
        *rows,
        Row(
            what="median of mean / limit over the rows at α = 0.05",
            target=f"≤ {MIDDLE:g}",
            ok=middle <= MIDDLE,
            more={"median over rows": middle},
        ),
    ]


def grid(rows: list[Row]) -> list[dict[str, object]]:
    """The rows of the grid as the documentation reads them."""
    points = [(e, r) for e in EPSILONS for r in RATIOS]
    return [
        {
            "claim": claimed,
            "ratio": ratio,
            "limit": row.limit,
            "mean": row.mean,
            "median": row.median,
            "runs": row.of,
            "not_refuted": (row.of or 0) - (row.refuted or 0),
        }
        for (claimed, ratio), row in zip(points, rows, strict=False)
    ]
