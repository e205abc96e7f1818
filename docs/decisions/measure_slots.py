"""Measure the slots of experts and their smoothing on the broken mechanisms of the zoo.

`python docs/decisions/measure_slots.py` takes some minutes and writes `slots-measured.md`, which
record 3 includes. Slots that look at the same have the same share; the first of them is named. The
favourite is named where it has earned most.
"""

from __future__ import annotations

import math
import multiprocessing
from collections import Counter
from pathlib import Path
from statistics import fmean

import numpy as np
from threadpoolctl import threadpool_limits

from tollens.auditing import experts
from tollens.auditing.sequential import Gambler
from tollens.zoo import entries

OUT = Path(__file__).with_name("slots-measured.md")
SMOOTHINGS = (0.1, 0.25, 0.5, 1.0)
SEEDS = range(16)


def pairs_and_richest(job: tuple[str, float, int]) -> tuple[int, str]:
    """Pairs at which one audit refuted, and the slot with the largest share of its wealth."""
    name, smoothing, seed = job
    experts.SMOOTHING = smoothing
    entry = next(entry for entry in entries() if entry.name == name)
    rng = np.random.default_rng(seed)
    gambler = Gambler(entry.claim, alpha=0.05, delta=None, seed=seed)
    with threadpool_limits(1):
        while not gambler.refuted and gambler.pairs < 4 * entry.budget:
            n = gambler.until_next_bet()
            x, y = (entry.mechanism(data, n, rng) for data in entry.neighbours)
            gambler.update(gambler.encoder.encode(x), gambler.encoder.encode(y))
    evidence = gambler.evidence(at_crossing=True)
    shares = evidence.shares
    return evidence.curve[-1][0], max(shares, key=lambda slot: shares[slot])


def main() -> None:
    """Measure and write."""
    broken = [entry.name for entry in entries() if not entry.holds]
    jobs = [(name, value, seed) for name in broken for value in SMOOTHINGS for seed in SEEDS]
    with multiprocessing.Pool() as pool:
        found = dict(zip(jobs, pool.map(pairs_and_richest, jobs, 4), strict=True))
    chosen = experts.SMOOTHING

    def typical(name: str, value: float) -> float:
        return math.exp(fmean(math.log(found[name, value, seed][0]) for seed in SEEDS))

    lines = [
        f"Pairs to refutation at α = 0.05, geometric mean of {len(SEEDS)} audits each, by the",
        "number that is added to the count of each cell; the number in use stands in bold.",
        "",
        "| mechanism | " + " | ".join(
            f"**{value:g}**" if value == chosen else f"{value:g}" for value in SMOOTHINGS
        ) + " | slots that earned most |",
        "|---" * (len(SMOOTHINGS) + 2) + "|",
    ]  # fmt: skip
    for name in broken:
        richest = Counter(found[name, chosen, seed][1] for seed in SEEDS).most_common(3)
        slots = ", ".join(f"{slot} ({times})" for slot, times in richest)
        cells = " | ".join(f"{typical(name, value):.0f}" for value in SMOOTHINGS)
        lines.append(f"| `{name}` | {cells} | {slots} |")
    means = {v: math.exp(fmean(math.log(typical(n, v)) for n in broken)) for v in SMOOTHINGS}
    lines.append(
        "| all, geometric mean | " + " | ".join(f"{means[v]:.0f}" for v in SMOOTHINGS) + " | |"
    )
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
