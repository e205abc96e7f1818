"""The task that other tools were measured on: a noisy count, claim 1, half the noise."""

from __future__ import annotations

import statistics
import time

import numpy as np

import tollens
from benchmarks.harness import Row, Runner

TITLE = "The same task for all: a noisy count, claim ε = 1, half the noise"
NOTE = "At α = 1e-6 for the whole run; other tools are in related work."
RUNS = (25, 75)
SECONDS = 30.0

PAIRS = 5000
STREAMS = 4
"""The runs are made in so many streams of seeds, with RUNS in each."""


def one(job: tuple[int, int]) -> tuple[bool, int, float, bool]:
    """Broken found, its runs, CPU seconds; correct flagged."""
    stream, seed = job
    rng = np.random.default_rng([77, stream, seed])
    started = time.process_time()
    audit = tollens.Audit(tollens.pure(1.0))
    while audit.pairs < PAIRS and not audit.refuted:
        audit.update(1 + rng.laplace(scale=0.5, size=32), rng.laplace(scale=0.5, size=32))
    seconds = time.process_time() - started
    correct = tollens.Audit(tollens.pure(1.0))
    correct.update(1 + rng.laplace(size=PAIRS), rng.laplace(size=PAIRS))
    return audit.refuted, 2 * (audit.refuted_at or PAIRS), seconds, correct.refuted


def measure(runner: Runner) -> list[Row]:
    """Two rows: the broken count and the correct one."""
    streams = runner.repeat(one, range(STREAMS))
    found = [run for stream in streams for run in stream]
    times = len(found)
    refuted, flagged = sum(run[0] for run in found), sum(run[3] for run in found)
    return [
        Row(
            what="half the noise",
            target="found in every run",
            ok=refuted == times,
            refuted=refuted,
            of=times,
            more={
                "median runs of the mechanism": statistics.median(run[1] for run in found),
                "CPU seconds": statistics.median(run[2] for run in found),
            },
        ),
        Row(
            what="correct, 5000 pairs",
            target="flagged in none",
            ok=flagged == 0,
            refuted=flagged,
            of=times,
        ),
    ]


def facts(rows: list[Row]) -> dict[str, object]:
    """The figures as the documentation reads them."""
    broken, correct = rows
    return {
        "repeats": broken.of,
        "found": broken.refuted,
        "median_runs": broken.more["median runs of the mechanism"],
        "cpu": broken.more["CPU seconds"],
        "flagged": correct.refuted,
    }
