"""What an audit costs beside the runs of the mechanism: time and memory."""

from __future__ import annotations

import functools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import tollens
from benchmarks.harness import Row, Runner

TITLE = "Speed and memory"
NOTE = (
    "Seconds of one core. The audit's own time is everything but the calls of the mechanism, here "
    "OpenDP's Laplace measurement called for one output at a time."
)
RUNS = (1, 3)
SECONDS = 60.0

MILLION = 1_000_000
SIZES = (10_000, 100_000, 1_000_000)
OWN_PAIRS = 20_000
OWN_SHARE = 1 / 3
"""The audit's own time in units of the sampling time may be so much."""

GROWTH = 1.1
"""Cost per pair may not grow by more, which is what timing scatters by."""

STREAM_PAIRS = 2_000_000
PIECE = 65_536

_IMPORT = "import time; t = time.perf_counter(); import tollens; print(time.perf_counter() - t)"

_MEMORY = """
import json, resource, sys
import numpy as np, tollens
from tollens.auditing import sequential
import sklearn.linear_model, scipy.optimize
pairs, piece = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(5)
def peak():
    try:  # what getrusage says includes the process that started this one
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def draw(n):
    return rng.laplace(size=n)
audit = tollens.Audit(tollens.pure(1.0))
audit.update(1 + draw(100), draw(100))
before, marks = peak(), []
seen = 100
while seen < pairs:
    n = min(piece, pairs - seen)
    audit.update(1 + draw(n), draw(n))
    seen += n
    marks.append((seen, peak()))
half = next(mark for at, mark in marks if at >= pairs / 2)
print(json.dumps({"peak": marks[-1][1], "before": before, "half": half,
                  "kept": getattr(sequential, "MEMORY", 0)}))
"""


def scoring_seconds(pairs: int) -> float:
    """CPU seconds to score so many pairs of numbers of a correct mechanism."""
    rng = np.random.default_rng(5)
    x, y = 1 + rng.laplace(size=pairs), rng.laplace(size=pairs)
    audit = tollens.Audit(tollens.pure(1.0))
    started = time.process_time()
    audit.update(x, y)
    return time.process_time() - started


def import_seconds(repeats: int = 5) -> float:
    """The least wall time of `import tollens` in a fresh interpreter."""
    return min(
        float(
            subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, check=True).stdout
        )
        for _ in range(repeats)
    )


def _measurement() -> Callable[[float], float] | None:
    """OpenDP's Laplace measurement on one number; None where OpenDP is missing."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.atom_domain(T=float, nan=False)
    return dp.m.make_laplace(domain, dp.absolute_distance(T=float), scale=1.0)  # type: ignore[no-any-return]


def _call(mechanism: Callable[[float], float], data: float) -> float:
    """A plain function, as `Timed` is: the adapter for OpenDP's objects is not measured here."""
    return mechanism(data)


class Timed:
    """A mechanism that adds up the time of its calls."""

    def __init__(self, mechanism: Callable[[float], float]) -> None:
        self._mechanism, self.seconds = mechanism, 0.0

    def __call__(self, data: float) -> float:
        """One output, timed."""
        started = time.perf_counter()
        output = self._mechanism(data)
        self.seconds += time.perf_counter() - started
        return output


def own_time(mechanism: Callable[[float], float], pairs: int = OWN_PAIRS) -> dict[str, float]:
    """The audit's own time over the sampling time: by a timed wrapper, and without one."""

    def audit(function: Callable[[float], float], budget: int = pairs) -> float:
        started = time.perf_counter()
        tollens.audit(
            function, tollens.pure(1), neighbours=(1.0, 0.0), budget=budget, until="budget"
        )
        return time.perf_counter() - started

    audit(mechanism, 1000)  # what is imported on first use is no time of an audit
    timed = Timed(mechanism)
    whole = audit(timed)
    started = time.perf_counter()
    for _ in range(pairs):
        mechanism(1.0)
        mechanism(0.0)
    sampling = time.perf_counter() - started
    bare = audit(functools.partial(_call, mechanism))
    return {
        "wrapped": (whole - timed.seconds) / timed.seconds,
        "bare": (bare - sampling) / sampling,
        "sampling": sampling,
    }


def peak_memory(pairs: int = STREAM_PAIRS) -> dict[str, float]:
    """Mebibytes at most in a stream fed in pieces: in all, at half of it, and at its beginning."""
    command = [sys.executable, "-c", _MEMORY, str(pairs), str(PIECE)]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


def measure(runner: Runner) -> list[Row]:
    """One row for each figure; the least of `runs` measurements counts."""
    repeats = range(runner.runs)
    costs = {n: min(scoring_seconds(n) for _ in repeats) / n for n in SIZES}
    rows = [
        Row(
            what=f"cost per pair, {size:,} pairs (microseconds)",
            target="" if before is None else "no more than with fewer pairs",
            ok=None if before is None else costs[size] <= GROWTH * costs[before],
            more={"measured": 1e6 * costs[size]},
        )
        for before, size in zip((None, *SIZES), SIZES, strict=False)
    ]
    rows.append(Row(what="one million pairs scored", more={"measured": MILLION * costs[SIZES[-1]]}))
    rows.append(Row(what="`import tollens`", more={"measured": import_seconds()}))
    rows += _own_rows(runner)
    memory = peak_memory()
    grown, at_half = memory["peak"] - memory["before"], memory["half"] - memory["before"]
    rows.append(
        Row(
            what=f"memory that a stream of {STREAM_PAIRS:,} pairs adds (MiB)",
            target=f"that of its first half, {at_half:.0f}",
            ok=grown <= at_half + 1.0,
            more={"measured": grown},
        )
    )
    if memory["kept"]:
        rows.append(
            Row(what="pairs whose outputs are kept at most", more={"measured": memory["kept"]})
        )
    return rows


def _own_rows(runner: Runner) -> list[Row]:
    measurement = _measurement()
    if measurement is None:
        return [Row(what="own time beside sampling (OpenDP is not installed)")]
    found = [own_time(measurement) for _ in range(runner.runs)]
    names = {"wrapped": "timed calls", "bare": "difference to a bare loop"}
    return [
        Row(
            what=f"own time / sampling time, {OWN_PAIRS:,} pairs, {title}",
            target="< 1/3",
            ok=statistics.median(run[key] for run in found) < OWN_SHARE,
            more={"measured": statistics.median(run[key] for run in found)},
        )
        for key, title in names.items()
    ]
