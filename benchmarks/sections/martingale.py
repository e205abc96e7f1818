"""The engine of martingales by itself: what polynomials of each degree can show of two loops."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from benchmarks.harness import Row, Runner
from tollens.checker.compiling import compile_text
from tollens.refutation.inputs import exact_data
from tollens.refutation.martingale import Settings
from tollens.refutation.martingale import prove as prove_loops
from tollens.refutation.program import read_program
from tollens.zoo.programs import get

TITLE = "Proofs by martingales"
NOTE = (
    "What the engine of martingales proves of a random walk (D13, whose true ε is ∞) and of a "
    "number with a drift and Laplace noise (P1, true ε 2), by the degree of its polynomials. Each "
    "bound is exact and was confirmed by the checker; CPU seconds of one core. The targets for D13 "
    "are what a prototype reached with x = 2 as the likelier input. Without a piecewise "
    "pre-expectation the branch of P1 on its Laplace draw leaves polynomials nothing to prove."
)
RUNS = (1, 1)
SECONDS = 60.0

CLOSE = 0.0005
"""The targets have three digits behind the point."""

REACHED = {1: math.log(2), 2: 1.030, 3: 1.128, 4: 1.166, 5: 1.185}
"""Epsilon of the walk at each degree."""

DEGREES = (1, 2, 3, 4)
"""Degrees that are tried on the drift."""


@dataclass(frozen=True, slots=True)
class Task:
    """A program, whether the second of its inputs is the likelier, and the settings."""

    key: str
    swapped: bool
    settings: Settings


def prove(job: tuple[Task, int]) -> tuple[float, float, float]:
    """Epsilon (0 without a proof), CPU seconds, and seconds by the clock."""
    task, _ = job
    program = get(task.key)
    source = read_program(program.function)
    compiled = compile_text(source.text, source.name)
    likely, other = map(exact_data, program.pair[::-1] if task.swapped else program.pair)
    cpu, wall = time.process_time(), time.perf_counter()
    found = prove_loops(compiled, likely, other, task.settings)
    seconds = time.process_time() - cpu, time.perf_counter() - wall
    return (max(0.0, found.epsilon) if found is not None else 0.0, *seconds)


def measure(runner: Runner) -> list[Row]:
    """The walk in both orders, and the drift with and without pieces."""
    walk = [Task("D13", swapped, Settings(n)) for swapped in (False, True) for n in REACHED]
    drift = [Task("P1", True, Settings(n, pieces=p)) for p in (True, False) for n in DEGREES]
    runs = runner.repeat(prove, [*walk, *drift])
    found = [each[0] for each in runs]
    rows = [_row(task, values) for task, values in zip([*walk, *drift], found, strict=True)]
    pieces = max(values[0] for values in found[len(walk) : len(walk) + len(DEGREES)])
    plain = max(values[0] for values in found[len(walk) + len(DEGREES) :])
    return [
        *rows,
        Row(
            what="P1, best with pieces",
            target="more than 0, and than without",
            ok=pieces > plain,
            more={"certified ε": pieces, "without pieces": plain},
        ),
    ]


def _row(task: Task, found: tuple[float, float, float]) -> Row:
    epsilon, cpu, wall = found
    settings = task.settings
    likely = get(task.key).pair[task.swapped]
    pieces = "" if task.key == "D13" else f", {'with' if settings.pieces else 'without'} pieces"
    asked = None if task.key == "P1" or task.swapped else REACHED[settings.degree]
    return Row(
        what=f"{task.key}, x = {likely} likelier, degree {settings.degree}{pieces}",
        target="" if asked is None else f"≥ {asked:.3f}",
        ok=None if asked is None else epsilon >= asked - CLOSE,
        more={
            "certified ε": "∞" if math.isinf(epsilon) else f"{math.floor(epsilon * 1e4) / 1e4:g}",
            "CPU s": cpu,
            "by the clock": wall,
        },
    )
