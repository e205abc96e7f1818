"""Means of tiny data: the published kernel audit beside the audit of tollens.

The data are D = (0) and D' = (0, 1); every mechanism releases their mean with noise. Pairs of the
kernel audit are counted without its burn-in, as in the publication (Sequentially Auditing
Differential Privacy, NeurIPS 2025), and its runs that never reject are left out of a mean; for
tollens all pairs and all runs count.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import tollens
from benchmarks.harness import (
    ALPHA,
    DELTA,
    Case,
    Found,
    Row,
    Runner,
    audit_case,
    error_of_mean,
    pairs_row,
    spared_row,
)
from benchmarks.limits import laplace_masses, law_limit, normal_masses, two_scales
from tollens.auditing.kernel import BURN_IN, KernelBettor

TITLE = "Means of tiny data"
NOTE = (
    "D = (0), D' = (0, 1); claims ε for Laplace and (ε, 1e-5) for normal noise; α = 0.05. "
    "NonDPGaussian1 has the standard deviation 2/(nε) with which APT was measured, but for the "
    "rows of the kernel audit, which have the published one. The published means of the kernel "
    "audit are of 20 runs; a careful reproduction of it is the target, within 15 %."
)
RUNS = (100, 200)
SECONDS = 65.0

Array = NDArray[np.float64]

PAIR: tuple[tuple[float, ...], ...] = ((0.0,), (0.0, 1.0))
FLOOR = 1e-12
BUDGET = 5000
CLOSE = 0.15
"""How far from a careful reproduction a mean of the kernel audit may lie."""

ALMOST_ALL = 0.99

_CHUNK = 64
_GAUSSIAN = math.sqrt(2.0 * math.log(1.25 / DELTA))


def mean(
    data: Sequence[float],
    runs: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    gaussian: bool,
    divide_by: str = "n",
    noise_by: str = "n",
    floor: str = "count",
    factor: float | None = None,
) -> Array:
    """Noisy means of the same data, one for each run.

    The count of records is n, and "noisy" stands for n + Lap(2 / epsilon). The sum is divided by
    one of them and the noise has scale 2 / (epsilon count) by one of them, times `factor` (for
    Gaussian noise sqrt(2 ln(1.25 / delta)) unless given). Either the noisy count is floored at
    1e-12, or the scale.

    >>> rng = np.random.default_rng(0)
    >>> mean((0.0, 1.0), 3, rng, epsilon=1e9, gaussian=False).round(6).tolist()
    [0.5, 0.5, 0.5]
    """
    noisy = len(data) + rng.laplace(scale=2.0 / epsilon, size=runs)
    if floor == "count":
        noisy = np.maximum(FLOOR, noisy)
    exact = np.full(runs, float(len(data)))
    scale = 2.0 / (epsilon * (noisy if noise_by == "noisy" else exact))
    scale = scale * (factor if factor is not None else _GAUSSIAN if gaussian else 1.0)
    scale = np.maximum(FLOOR, scale)
    noise = rng.normal(size=runs) if gaussian else rng.laplace(size=runs)
    return np.asarray(sum(data) / (noisy if divide_by == "noisy" else exact) + scale * noise)


_KINDS: dict[str, dict[str, object]] = {
    "NonDPGaussian1": {"gaussian": True},
    "NonDPGaussian1, sd 2/(nε)": {"gaussian": True, "factor": 1.0},
    "NonDPLaplace1": {"gaussian": False},
    "NonDPGaussian2": {"gaussian": True, "noise_by": "noisy", "floor": "scale"},
    "NonDPLaplace2": {"gaussian": False, "noise_by": "noisy", "floor": "scale"},
    "DPGaussian": {"gaussian": True, "divide_by": "noisy", "noise_by": "noisy"},
    "DPLaplace": {"gaussian": False, "divide_by": "noisy", "noise_by": "noisy"},
}

FEW = {
    ("NonDPGaussian1, sd 2/(nε)", 0.01): (45.0, 59),
    ("NonDPGaussian1, sd 2/(nε)", 0.1): (52.0, 68),
    ("NonDPLaplace1", 0.01): (70.0, 86),
    ("NonDPLaplace1", 0.1): (85.0, 114),
}
"""Targets for the mean pairs of tollens, and those of APT."""

KERNEL: dict[tuple[str, float], tuple[int, str]] = {
    ("NonDPGaussian1", 0.01): (253, "264 ± 9"),
    ("NonDPGaussian1", 0.1): (557, "562 ± 29"),
    ("NonDPLaplace1", 0.01): (345, "331 ± 14"),
    ("NonDPLaplace1", 0.1): (1003, "920 ± 62"),
    ("NonDPLaplace2", 0.01): (189, "192 ± 18"),
    ("NonDPLaplace2", 0.1): (559, "770 (rejects .95)"),
    ("NonDPGaussian2", 0.01): (1192, "1139 (rejects .85)"),
}
"""The kernel audit: mean pairs of a careful reproduction, and as published."""


@dataclass(frozen=True)
class Mean:
    """A mechanism of the publication at one epsilon."""

    name: str
    epsilon: float

    @property
    def claim(self) -> tollens.Claim:
        """Pure for Laplace noise, (epsilon, 1e-5) for Gaussian noise."""
        pure = not _KINDS[self.name]["gaussian"]
        return tollens.pure(self.epsilon) if pure else tollens.approx(self.epsilon, DELTA)

    def draw(self, data: Sequence[float], runs: int, rng: np.random.Generator) -> Array:
        """Outputs on one of the inputs."""
        return mean(data, runs, rng, epsilon=self.epsilon, **_KINDS[self.name])  # type: ignore[arg-type]

    def case(self, coupling: str, budget: int = BUDGET) -> Case:
        """To be audited by tollens."""
        mechanism = tollens.batched(partial(mean, epsilon=self.epsilon, **_KINDS[self.name]))
        name = f"{self.name}, ε = {self.epsilon:g}, {coupling}"
        return Case(name, mechanism, self.claim, PAIR, budget, coupling)  # type: ignore[arg-type]

    def limit(self) -> float:
        """The physical limit where the law is a normal or a Laplace law on both sides."""
        gaussian = bool(_KINDS[self.name]["gaussian"])
        wide = 2 / self.epsilon
        pair = two_scales(
            normal_masses if gaussian else laplace_masses, (0.0, wide), (0.5, wide / 2)
        )
        return law_limit(*pair, self.claim, ALPHA)


def kernel_pairs(job: tuple[Mean, int]) -> Found:
    """The kernel audit in its published setting: pairs without the burn-in."""
    each, seed = job
    rng = np.random.default_rng([seed, round(each.epsilon * 1000), *each.name.encode()])
    x, y = (each.draw(data, BUDGET + BURN_IN, rng) for data in PAIR)
    bettor = KernelBettor(each.claim, setting="paper")
    for start in range(0, len(x), _CHUNK):
        path = bettor.update(x[start : start + _CHUNK], y[start : start + _CHUNK])
        above = np.flatnonzero(path >= -math.log(ALPHA))
        if len(above):
            return Found(start + int(above[0]) + 1 - BURN_IN, True)
    return Found(BUDGET, False)


def measure(runner: Runner) -> list[Row]:
    """Few pairs, almost always found, private means spared, and the kernel audit."""
    kernel = [Mean(*key) for key in KERNEL]
    rows = [
        _kernel_row(each, found)
        for each, found in zip(kernel, runner.repeat(kernel_pairs, kernel), strict=True)
    ]
    few = [Mean(*key) for key in FEW for _ in range(2)]
    cases = [each.case(("independent", "auto")[i % 2]) for i, each in enumerate(few)]
    second = [Mean(name, 0.01) for name in ("NonDPLaplace2", "NonDPGaussian2")]
    always = [each.case(coupling) for each in second for coupling in ("independent", "auto")]
    private = [Mean(name, 0.1).case("auto", 500) for name in ("DPLaplace", "DPGaussian")]
    found = runner.repeat(
        audit_case,
        [*cases, *always, *private],
        runs=lambda case: runner.runs if case.budget == BUDGET else runner.runs // 4,
    )
    limits = {each: each.limit() for each in dict.fromkeys(few)}
    own = []
    for each, case, runs in zip(few, cases, found[: len(few)], strict=True):
        bound, apt = FEW[each.name, each.epsilon]
        own.append(pairs_row(case.name, runs, at_most=bound, limit=limits[each], APT=apt))
    for case, runs in zip(always, found[len(few) :], strict=False):
        own.append(_always_row(case, runs))
    for case, runs in zip(private, found[len(few) + len(always) :], strict=True):
        own.append(spared_row(f"{case.name}, {case.budget} pairs", runs, ALPHA))
    return [*own, *rows]


def _always_row(case: Case, runs: list[Found]) -> Row:
    row = pairs_row(case.name, runs)
    return Row(
        what=case.name,
        target=f"refuted in ≥ {100 * ALMOST_ALL:.0f} % of runs",
        ok=sum(run.refuted for run in runs) >= ALMOST_ALL * len(runs),
        mean=row.mean,
        standard_error=row.standard_error,
        median=row.median,
        refuted=row.refuted,
        of=row.of,
    )


def _kernel_row(each: Mean, found: list[Found]) -> Row:
    target, published = KERNEL[each.name, each.epsilon]
    pairs = [run.pairs for run in found if run.refuted]
    middle = statistics.fmean(pairs) if pairs else None
    return Row(
        what=f"{each.name}, ε = {each.epsilon:g}, kernel audit",
        target=f"mean within 15 % of {target}",
        ok=middle is not None and abs(middle / target - 1.0) <= CLOSE,
        mean=middle,
        standard_error=error_of_mean(pairs),
        median=statistics.median(pairs) if pairs else None,
        refuted=len(pairs),
        of=len(found),
        more={"published": published},
    )
