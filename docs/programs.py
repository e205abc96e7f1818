"""The measured part of the page on programs; `generate.py` calls `blocks`.

`python docs/programs.py` builds the examples in `examples/programs`, samples them for a second
each, and writes how many runs a second they made to `programs-measured.json`. It needs gcc, rustc,
a JDK and Node.js.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tollens

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples" / "programs"
MEASURED = DOCS / "programs-measured.json"

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]

SIZES = (1, 64, 2048)
ROWS = [1] * 10
SECONDS = 1.0

BUILDS = (
    ("cc", "-O2", "-o", "noisy_count", "noisy_count.c", "-lm"),
    ("cc", "-O2", "-o", "randomised_response", "randomised_response.c"),
    ("rustc", "-O", "discrete_gaussian.rs"),
    ("javac", "GeometricCount.java"),
    ("javac", "CountService.java"),
)
PROGRAMS: dict[str, tuple[str, ...]] = {
    "noisy_count.py": (sys.executable, "noisy_count.py", "1"),
    "noisy_count.js": ("node", "noisy_count.js", "1"),
    "noisy_count.c": ("./noisy_count", "1"),
    "GeometricCount.java": ("java", "GeometricCount", "1"),
    "discrete_gaussian.rs": ("./discrete_gaussian", "4"),
    "randomised_response.c": ("./randomised_response",),
}
SERVICES: dict[str, tuple[str, ...]] = {
    "count_service.py": (sys.executable, "count_service.py", "0"),
    "CountService.java": ("java", "CountService", "0"),
}


def blocks(table: Table) -> dict[str, Callable[[], str]]:
    """All blocks by their names; `table` writes Markdown."""
    return {"programs-speed": lambda: speed(table)}


def speed(table: Table) -> str:
    """Runs a second of each program, by the runs that one request asks for."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    head = ("mechanism", "one run a request", *(f"{size:,}" for size in SIZES[1:]))
    rows = [(f"`{row['name']}`", *map(_rounded, row["runs"])) for row in measured["rows"]]
    return f"On {measured['machine']}:\n\n{table(head, rows)}"


def _rounded(runs: float) -> str:
    return f"{float(f'{runs:.2g}'):,.0f}"


def measure() -> dict[str, Any]:
    """Build and sample everything."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for source in EXAMPLES.iterdir():
            if source.is_file():
                shutil.copy(source, name)
        for build in BUILDS:
            subprocess.run(build, check=True)  # noqa: S603 - our own recipes
        for program, words in PROGRAMS.items():
            rows.append(_row(program, lambda batch, w=words: tollens.command(w, batch=batch)))
        for service, words in SERVICES.items():
            with _serving(words) as url:
                shim = (sys.executable, "http_shim.py", f"{url}/count")
                rows.append(
                    _row(f"http_shim.py {service}", lambda b, w=shim: tollens.command(w, batch=b))
                )
    return {"machine": f"{os.cpu_count()} cores, {sys.platform}", "rows": rows}


def _row(name: str, make: Callable[[int], Any]) -> dict[str, Any]:
    print(name, file=sys.stderr)
    return {"name": name, "runs": [_runs_a_second(make(size), size) for size in SIZES]}


def _runs_a_second(mechanism: Any, size: int) -> float:
    """How many runs were made in about a second, the start of the program left out."""
    rng = np.random.default_rng(0)
    mechanism.sample(ROWS, size, rng)
    done, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + SECONDS:
        mechanism.sample(ROWS, 16 * size, rng)
        done += 16 * size
    return done / (time.perf_counter() - begin)


@contextlib.contextmanager
def _serving(words: tuple[str, ...]) -> Iterator[str]:
    service = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    try:
        yield f"http://127.0.0.1:{service.stdout.readline().split()[-1]}"
    finally:
        service.kill()
        service.wait()
        service.stdout.close()


if __name__ == "__main__":
    found = measure()
    MEASURED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
