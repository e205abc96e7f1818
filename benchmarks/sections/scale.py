"""Runs per second with one process, two, and the two workers of a Dask cluster on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import time
from collections.abc import Iterator

from benchmarks.harness import Row, Runner
from tollens.adapters import adapt
from tollens.auditing.run import LONGEST_BLOCK
from tollens.neighbours import Pair
from tollens.sampling import open_runs
from tollens.streams import EvidenceStream
from tollens.worker import CHUNK

TITLE = "Several processes, and a cluster"
NOTE = (
    "Runs per second of a mechanism that waits 1 ms a run, as one that asks a service does: what "
    "is measured is the transport, not how many cores are free. A cluster of one machine; a "
    "network adds its latency to each block. Rows marked as model are computed from these figures."
)
RUNS = (3, 5)
SECONDS = 60.0

BLOCKS, TARGET, MANY = 12, 1.7, 100
_PAIR = Pair(0, 1)


def _waits(data: float, rng: object) -> float:
    time.sleep(0.001)
    return data


def runs_a_second(workers: int = 1, backend: str | None = None) -> float:
    """Runs per second, once all processes are there."""
    mechanism = adapt(_waits)
    with open_runs(mechanism, EvidenceStream(1), workers=workers, backend=backend) as runs:
        runs.both(_PAIR, 0, LONGEST_BLOCK, coupled=False)
        started = time.perf_counter()
        for block in range(1, BLOCKS + 1):
            runs.both(_PAIR, block, LONGEST_BLOCK, coupled=False)
        return 2 * BLOCKS * LONGEST_BLOCK / (time.perf_counter() - started)


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a Dask cluster with so many worker processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made.scheduler_address.replace("tcp://", "dask://")


def model(single: float, several: float, workers: int, more: int) -> float:
    """Runs per second of one audit with `more` workers, from those of one and of `workers`.

    A block of 2 n runs has 2 n / CHUNK chunks, so that no more workers have something to do; its
    time is the runs of the busiest worker, and an overhead that does not depend on their number.
    """
    block, run = 2 * LONGEST_BLOCK, 1 / single
    chunks = -(-block // CHUNK)
    overhead = max(0.0, block / several - -(-chunks // workers) * CHUNK * run)
    return block / (-(-chunks // more) * CHUNK * run + overhead)


def measure(runner: Runner) -> list[Row]:
    """The best of `runs` measurements each; others on the machine only make it slower."""

    def best(workers: int = 1, backend: str | None = None) -> float:
        return max(runs_a_second(workers, backend) for _ in range(runner.runs))

    single, two = best(), best(2)
    rows = [
        Row(what="one process", more={"runs a second": single}),
        _against("two processes", two, single),
    ]
    if importlib.util.find_spec("distributed") is None:
        return [*rows, Row(what="Dask (distributed is not installed)")]
    with cluster(1) as url:
        alone = best(backend=url)
    with cluster(2) as url:
        both = best(backend=url)
    rows += [
        Row(what="Dask, one worker", more={"runs a second": alone}),
        _against("Dask, two workers", both, alone),
        Row(
            what=f"model: {MANY} workers, one audit",
            more={"runs a second": model(single, both, 2, MANY)},
        ),
        Row(
            what=f"model: {MANY} workers, a promise each",
            more={"runs a second": MANY * single},
        ),
    ]
    return rows


def _against(what: str, found: float, one: float) -> Row:
    return Row(
        what=what,
        target=f"at least {TARGET} x one",
        ok=found >= TARGET * one,
        more={"runs a second": found, "times one": found / one},
    )
