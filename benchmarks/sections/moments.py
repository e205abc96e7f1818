"""The engine of moments by itself: what squares of polynomials show of one draw of noise."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.harness import Row, Runner
from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.refutation.moments import prove as prove_square

TITLE = "Proofs by moments"
NOTE = (
    "What the engine of moments proves of a count with Laplace noise of half the scale (L1, true "
    "ε 2) and of one with normal noise of deviation 1 (L6, true ε ∞), by the degree of the witness "
    "f = p². Both expectations are exact; ε is ln of their ratio, rounded down. The targets are "
    "what a prototype reached; CPU seconds of one core."
)
RUNS = (1, 5)
SECONDS = 30.0

QUICK = 0.04
"""Seconds that the Laplace proofs may take each."""

NOISES = {
    "Laplace, scale 1/2": Draw("laplace", (Fraction(1, 2),)),
    "normal, deviation 1": Draw("gauss", (Fraction(1),)),
}
REACHED = {
    "Laplace, scale 1/2": {2: "1.317", 4: "1.831", 8: "1.995", 16: "2.0000"},
    "normal, deviation 1": {2: "0.96", 4: "1.67", 8: "2.76", 16: "4.38", 24: "5.64"},
}
"""Epsilon at each degree of f, with as many digits as are known."""


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of noise, and a degree of f."""

    noise: str
    degree: int


def prove(job: tuple[Task, int]) -> tuple[float, float, float]:
    """Epsilon, CPU seconds, and seconds by the clock."""
    task, _ = job
    x, x_prime = (Form(Fraction(data), ((0, Fraction(1)),)) for data in (1, 0))
    cpu, wall = time.process_time(), time.perf_counter()
    _, lower, upper = prove_square([NOISES[task.noise]], x, x_prime, task.degree // 2)
    return (
        math.log(lower / upper),
        time.process_time() - cpu,
        time.perf_counter() - wall,
    )


def measure(runner: Runner) -> list[Row]:
    """A row for each noise and degree."""
    tasks = [Task(noise, degree) for noise, known in REACHED.items() for degree in known]
    runs = runner.repeat(prove, tasks)
    return [
        _row(task, sorted(found, key=lambda run: run[1])[len(found) // 2])
        for task, found in zip(tasks, runs, strict=True)
    ]


def _row(task: Task, found: tuple[float, float, float]) -> Row:
    epsilon, cpu, wall = found
    known = REACHED[task.noise][task.degree]
    target, ok = f"≥ {known}", reaches(epsilon, known)
    if task.noise.startswith("Laplace"):
        target, ok = f"{target}, < {1000 * QUICK:g} ms", ok and cpu < QUICK
    return Row(
        what=f"{task.noise}, degree {task.degree}",
        target=target,
        ok=ok,
        more={
            "certified ε": f"{math.floor(epsilon * 1e6) / 1e6:.6f}",
            "CPU s": cpu,
            "by the clock": wall,
        },
    )


def reaches(epsilon: float, known: str) -> bool:
    """Whether a bound is the known one, to its last digit, or above it.

    >>> reaches(1.99996, "2.0000"), reaches(1.9999, "2.0000")
    (True, False)
    """
    digits = len(known.partition(".")[2])
    return epsilon >= float(known) - 0.5 * 10.0**-digits
