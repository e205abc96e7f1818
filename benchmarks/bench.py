"""`make bench`: the figures by which the audit is judged, measured now and written down.

Pairs to refutation beside the physical limit computed in the same run, false alarms in short
form, scoring speed and import time. The tables go to stdout and to `benchmarks/results/`.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import tollens
from benchmarks.limits import laplace_limit

ALPHA = 0.05
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
RATIOS = (1.5, 2.0, 4.0)
RESULTS = Path(__file__).parent / "results"
GIVE_UP = 20  # times the limit

Job = tuple[float, float, int, float, int]


def pairs_to_refute(job: Job) -> float:
    """Pairs at which one audit of a noisy count refutes; infinity if it gave up."""
    claimed, true, budget, alpha, seed = job
    rng = np.random.default_rng([seed, int(1000 * claimed), int(1000 * true)])
    audit = tollens.Audit(tollens.pure(claimed), alpha=alpha)
    while audit.pairs < budget and not audit.refuted:
        n = min(max(16, audit.pairs // 4), budget - audit.pairs)
        audit.update(1 + rng.laplace(scale=1 / true, size=n), rng.laplace(scale=1 / true, size=n))
    crossed = audit.refuted_at
    return math.inf if crossed is None else float(crossed)


def half_noise(pool: multiprocessing.pool.Pool, runs: int) -> dict[str, object]:
    """A count with half the noise at alpha = .05 and 1e-6."""
    rows = {}
    for alpha in (ALPHA, 1e-6):
        limit = laplace_limit(1.0, 2.0, alpha=alpha)
        pairs = pool.map(pairs_to_refute, [(1.0, 2.0, 5000, alpha, s) for s in range(runs)], 8)
        rows[f"{alpha:g}"] = {
            "limit": limit,
            "mean": statistics.fmean(pairs),
            "median": statistics.median(pairs),
            "runs": runs,
            "refuted": sum(map(math.isfinite, pairs)),
        }
    return rows


def power_grid(pool: multiprocessing.pool.Pool, runs: int) -> list[dict[str, float]]:
    """Median and mean pairs for a grid of claims and true epsilons, beside the limit."""
    rows = []
    for claimed in EPSILONS:
        for ratio in RATIOS:
            limit = laplace_limit(claimed, claimed * ratio, alpha=ALPHA)
            budget = int(GIVE_UP * limit + 200)
            jobs = [(claimed, claimed * ratio, budget, ALPHA, seed) for seed in range(runs)]
            pairs = pool.map(pairs_to_refute, jobs, 2)
            found = [p for p in pairs if math.isfinite(p)]
            rows.append(
                {
                    "claim": claimed,
                    "ratio": ratio,
                    "limit": limit,
                    "median": statistics.median(pairs),
                    "mean": statistics.fmean(found),
                    "not_refuted": len(pairs) - len(found),
                    "runs": runs,
                }
            )
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def scoring_seconds(pairs: int = 1_000_000) -> float:
    """Seconds of one core to score a million pairs of numbers of a correct mechanism."""
    rng = np.random.default_rng(5)
    x, y = 1 + rng.laplace(size=pairs), rng.laplace(size=pairs)
    audit = tollens.Audit(tollens.pure(1.0))
    started = time.process_time()
    audit.update(x, y)
    return time.process_time() - started


def import_seconds(repeats: int = 5) -> float:
    """The least wall time of `import tollens` in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import tollens; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(repeats)
    ]
    return min(runs)


def one_count(seed: int) -> tuple[bool, int, float, bool]:
    """The peers' task at alpha = 1e-6: broken found, its runs, CPU seconds; correct flagged."""
    rng = np.random.default_rng([77, seed])
    started = time.process_time()
    audit = tollens.Audit(tollens.pure(1.0))
    while audit.pairs < 5000 and not audit.refuted:
        audit.update(1 + rng.laplace(scale=0.5, size=32), rng.laplace(scale=0.5, size=32))
    seconds = time.process_time() - started
    correct = tollens.Audit(tollens.pure(1.0))
    correct.update(1 + rng.laplace(size=5000), rng.laplace(size=5000))
    return audit.refuted, 2 * (audit.refuted_at or 5000), seconds, correct.refuted


def tables(result: dict) -> str:
    """The result as Markdown."""
    lines = ["### Half the noise: claim ε = 1, true ε = 2", ""]
    lines += ["| α | limit | mean | mean / limit | median / limit | refuted |"]
    lines += ["|---|---|---|---|---|---|"]
    for alpha, row in result["half_noise"].items():
        limit = row["limit"]
        lines.append(
            f"| {alpha} | {limit:.1f} | {row['mean']:.1f} | {row['mean'] / limit:.2f} | "
            f"{row['median'] / limit:.2f} | {row['refuted']} of {row['runs']} |"
        )
    lines += ["", f"### Pairs to refutation beside the physical limit, α = {ALPHA}", ""]
    lines += [
        "| claim ε | true / claim | limit | median | median / limit | mean / limit | missed |"
    ]
    lines += ["|---|---|---|---|---|---|---|"]
    for row in result["grid"]:
        lines.append(
            f"| {row['claim']:g} | {row['ratio']:g} | {row['limit']:.1f} | {row['median']:.0f} | "
            f"{row['median'] / row['limit']:.2f} | {row['mean'] / row['limit']:.2f} | "
            f"{row['not_refuted']} of {row['runs']} |"
        )
    ours = result["peers"]
    lines += ["", "### The same task for all: a noisy count, claim ε = 1, half the noise", ""]
    lines += [
        "| tool | runs of the mechanism | broken found | correct flagged |",
        "|---|---|---|---|",
    ]
    lines.append(
        f"| **tollens**, α = 1e-6 for the whole run | {ours['median_runs']:.0f} (median) | "
        f"{ours['found']} of {ours['repeats']} | {ours['flagged']} of {ours['repeats']} |"
    )
    for row in json.loads((Path(__file__).parent / "peers.json").read_text())["rows"]:
        lines.append(
            f"| {row['tool']} | {row['runs']} | {row['broken_found']} | {row['correct_flagged']} |"
        )
    lines += ["", "### Speed", "", "| what | seconds |", "|---|---|"]
    lines.append(f"| one million pairs of numbers scored, one core | {result['scoring']:.2f} |")
    lines.append(f"| `import tollens` | {result['import']:.3f} |")
    lines.append(f"| one audit of the broken count, CPU | {ours['cpu']:.3f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="audits for each row of the grid")
    parser.add_argument("--half-noise-runs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=100, help="of the peers' task")
    options = parser.parse_args()
    started = time.perf_counter()
    with multiprocessing.Pool() as pool:
        half = half_noise(pool, options.half_noise_runs)
        grid = power_grid(pool, options.runs)
        peers = pool.map(one_count, range(options.repeats))
    result = {
        "version": tollens.__version__,
        "python": platform.python_version(),
        "alpha": ALPHA,
        "half_noise": half,
        "grid": grid,
        "peers": {
            "repeats": options.repeats,
            "found": sum(found for found, *_ in peers),
            "median_runs": statistics.median(runs for _, runs, *_ in peers),
            "cpu": statistics.median(seconds for *_, seconds, _ in peers),
            "flagged": sum(flagged for *_, flagged in peers),
        },
        "scoring": scoring_seconds(),
        "import": import_seconds(),
    }
    text = tables(result)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "bench.md").write_text(text)
    print(text)
    print(f"measured in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
