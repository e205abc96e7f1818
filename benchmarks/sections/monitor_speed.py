"""What a step of a long series costs beside the runs of the mechanism: time and memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tollens
from benchmarks.harness import Row

SHORT, LONG, TIMED = 100, 100_000, 15
CLAIMS = ("epsilon=1", "epsilon=1, delta=1e-05", "mu=1")
MOST = 0.05
"""Seconds that a step may cost."""

GROWN = 1.3
"""A step of the long series may cost so many times one of the short."""


class Timed:
    """A batched count with enough noise for every claim here, which adds up its own time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, data: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """n outputs, timed."""
        started = time.perf_counter()
        output = data + rng.laplace(scale=2.0, size=n)
        self.seconds += time.perf_counter() - started
        return output


def fill(store: Path, series: int, steps: int) -> None:
    """Copy the last step of a series until it has so many, below all checks but the database's."""
    from sqlalchemy import create_engine, insert, select

    from tollens.store.tables import CHECKPOINTS, STEPS

    engine = create_engine(f"sqlite:///{store}")
    with engine.begin() as connection:
        newest = select(STEPS).where(STEPS.c.series_id == series).order_by(STEPS.c.number.desc())
        last = dict(connection.execute(newest.limit(1)).mappings().one())
        for first in range(last["number"] + 1, steps + 1, 5000):
            numbers = range(first, min(first + 5000, steps + 1))
            connection.execute(
                insert(STEPS), [{**last, "number": n, "version": f"f{n}"} for n in numbers]
            )
        connection.execute(
            CHECKPOINTS.update().where(CHECKPOINTS.c.series_id == series).values(step=steps)
        )
    engine.dispose()


def one(claim: str, steps: int) -> dict[str, float]:
    """Median seconds of a step beside sampling, and the memory of the process in MiB."""
    mechanism = Timed()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "monitor.db"
        with tollens.Monitor.open("count", claim, store=where, seed=1) as monitor:
            for step in range(20):
                monitor.step(tollens.batched(mechanism), neighbours=(1, 0), version=f"v{step}")
            fill(where, 1, steps)
            seconds = []
            for step in range(TIMED):
                mechanism.seconds = 0.0
                started = time.perf_counter()
                monitor.step(tollens.batched(mechanism), neighbours=(1, 0), version=f"w{step}")
                seconds.append(time.perf_counter() - started - mechanism.seconds)
    return {"seconds": statistics.median(seconds), "memory": _peak()}


def _peak() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def apart(claim: str, steps: int) -> dict[str, float]:
    """`one` in a process of its own."""
    code = (
        "import json, sys; from benchmarks.sections.monitor_speed import one; "
        "print(json.dumps(one(sys.argv[1], int(sys.argv[2]))))"
    )
    command = [sys.executable, "-c", code, claim, str(steps)]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


def rows() -> list[Row]:
    """A step of a short and of a long series; the last row is about memory."""
    found = {(claim, steps): apart(claim, steps) for claim in CLAIMS for steps in (SHORT, LONG)}
    made = [
        Row(
            what=f"a step of a series of {LONG:,} steps, claim {claim} (ms beside sampling)",
            target=f"< {1000 * MOST:.0f}, ≤ {GROWN} x one of {SHORT} steps",
            ok=found[claim, LONG]["seconds"] < MOST
            and found[claim, LONG]["seconds"] <= GROWN * found[claim, SHORT]["seconds"],
            mean=1000 * found[claim, LONG]["seconds"],
            more={f"of {SHORT} steps": 1000 * found[claim, SHORT]["seconds"]},
        )
        for claim in CLAIMS
    ]
    short, long = (
        max(found[claim, steps]["memory"] for claim in CLAIMS) for steps in (SHORT, LONG)
    )
    made.append(
        Row(
            what=f"memory of the process with {LONG:,} steps (MiB)",
            target=f"≤ 1.2 x that with {SHORT} steps",
            ok=long <= 1.2 * short,
            mean=long,
            more={f"of {SHORT} steps": short},
        )
    )
    return made
