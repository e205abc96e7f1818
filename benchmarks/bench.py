"""`make bench`: the figures by which the audit is judged, each with its target.

    python -m benchmarks.bench [--full] [--only SECTION ...] [--runs N]

The short form takes about twenty minutes on two cores. Limits are computed in the same run, and so
is everything that a ratio is made of. The tables go to stdout and to `benchmarks/results/`; with
`--only` the other sections stay there as they were measured before. A target that is not met is
shown as such; the exit code is 0 all the same, unless `--strict` is given.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import platform
import sys
import time
from pathlib import Path
from typing import Any

import tollens
from benchmarks.harness import ALPHA, Row, Runner, table
from benchmarks.sections import SECTIONS, noise, peers

RESULTS = Path(__file__).parent / "results"


def _one_thread() -> None:
    """The processes share the cores: threads of theirs would only wait for each other."""
    import sklearn.linear_model  # noqa: F401 - its libraries must be loaded to be limited
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def measure(name: str, *, full: bool, runs: int | None, processes: int) -> dict[str, Any]:
    """One section: its rows and how they were made."""
    section = SECTIONS[name]
    started = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(processes, initializer=_one_thread) as pool:
        runner = Runner(
            pool,
            runs=runs or section.RUNS[full],
            seconds=math.inf if full else section.SECONDS,
            full=full,
        )
        rows: list[Row] = section.measure(runner)
    return {
        "version": tollens.__version__,
        "form": "full" if full else "short",
        "runs": runner.runs,
        "seconds": round(time.perf_counter() - started, 1),
        "rows": [row.to_json() for row in rows],
    }


def rows_of(section: dict[str, Any]) -> list[Row]:
    """The rows of a section that was measured, now or before."""
    return [Row(**row) for row in section["rows"]]


def text(name: str, section: dict[str, Any]) -> str:
    """A section as Markdown."""
    about = SECTIONS[name]
    return f"### {about.TITLE}\n\n{about.NOTE}\n\n{table(rows_of(section))}\n"


def unmet(sections: dict[str, Any]) -> list[str]:
    """The rows whose target was not met."""
    return [
        f"{name}: {row.what} ({row.target})"
        for name, section in sections.items()
        for row in rows_of(section)
        if row.ok is False
    ]


def summary(sections: dict[str, Any]) -> str:
    """How many targets were met, and which were not."""
    rows = [row for section in sections.values() for row in rows_of(section)]
    asked, missed = [row for row in rows if row.ok is not None], unmet(sections)
    lines = ["### Targets", "", f"{len(asked) - len(missed)} of {len(asked)} targets are met."]
    if missed:
        lines += ["Not met:", "", *(f"- {line}" for line in missed)]
    return "\n".join(lines) + "\n"


def write(sections: dict[str, Any], folder: Path) -> None:
    """`bench.json` and `bench.md`; the peers' task and the grid have keys of their own as well."""
    result: dict[str, Any] = {
        "version": tollens.__version__,
        "python": platform.python_version(),
        "alpha": ALPHA,
        "sections": sections,
    }
    if "noise" in sections:
        result["grid"] = noise.grid(rows_of(sections["noise"]))
    if "peers" in sections:
        result["peers"] = peers.facts(rows_of(sections["peers"]))
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(result, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    (folder / "bench.json").write_text(content, encoding="utf-8")
    parts = [text(name, sections[name]) for name in SECTIONS if name in sections]
    (folder / "bench.md").write_text("\n".join([summary(sections), *parts]), encoding="utf-8")


def earlier(folder: Path) -> dict[str, Any]:
    """The sections that were measured before; none where there is no file of this form."""
    path = folder / "bench.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    sections = found.get("sections", {})
    return {name: sections[name] for name in SECTIONS if name in sections}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="more runs, however long they take")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, metavar="SECTION", help=", ".join(SECTIONS)
    )
    parser.add_argument("--runs", type=int, help="runs of each row at most, to try it")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--strict", action="store_true", help="exit code 1 where a target is unmet")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    sections = earlier(options.output) if options.only else {}
    for name in options.only or SECTIONS:
        sections[name] = measure(
            name, full=options.full, runs=options.runs, processes=options.processes
        )
        write(sections, options.output)
        print(text(name, sections[name]), flush=True)
        print(f"{name}: {sections[name]['seconds']} s", file=sys.stderr, flush=True)
    print(summary(sections))
    print(f"measured in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 1 if options.strict and unmet(sections) else 0


if __name__ == "__main__":
    sys.exit(main())
