"""What a report costs: time and size of one with 200 verdicts."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import tollens
from benchmarks.harness import Row, Runner

TITLE = "Reports"
NOTE = (
    "`tollens report` on 200 files of verdicts, half of them refuted, each with all its figures: "
    "from reading the files to the HTML."
)
RUNS = (1, 3)
SECONDS = 60.0

VERDICTS = 200
MOST_SECONDS, MOST_MEGABYTES = 5.0, 3.0


def verdict_text(seed: int) -> str:
    """The JSON of an audit of Laplace noise: too small for odd seeds, right for even ones."""
    rng, scale = np.random.default_rng(seed), 0.5 if seed % 2 else 1.0
    audit = tollens.Audit(tollens.pure(1.0))
    audit.update(1 + rng.laplace(scale=scale, size=400), rng.laplace(scale=scale, size=400))
    return audit.verdict().to_json()


def report_cost() -> tuple[float, float]:
    """Seconds and megabytes of the report."""
    from tollens.report.gather import gather
    from tollens.report.page import html_page

    with tempfile.TemporaryDirectory() as folder:
        for seed in range(VERDICTS):
            (Path(folder) / f"{seed}.json").write_text(verdict_text(seed), encoding="utf-8")
        started = time.perf_counter()
        page = html_page(gather([Path(folder)]))
        return time.perf_counter() - started, len(page.encode("utf-8")) / 1e6


def measure(runner: Runner) -> list[Row]:
    """Seconds and megabytes; the least of `runs` measurements counts."""
    found = [report_cost() for _ in range(runner.runs)]
    seconds, size = min(found)
    return [
        Row(
            what=f"report of {VERDICTS} verdicts (seconds)",
            target=f"< {MOST_SECONDS:g}",
            ok=seconds < MOST_SECONDS,
            more={"measured": seconds},
        ),
        Row(
            what=f"report of {VERDICTS} verdicts (megabytes)",
            target=f"< {MOST_MEGABYTES:g}",
            ok=size < MOST_MEGABYTES,
            more={"measured": size},
        ),
    ]
