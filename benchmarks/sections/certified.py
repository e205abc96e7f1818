"""How much leak is certified with 100 000 pairs of runs, on the mechanisms of DP-Sniper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import NamedTuple

import tollens
from benchmarks import mechanisms
from benchmarks.harness import ALPHA, Row, Runner
from benchmarks.limits import Masses, certifiable, entry_masses, laplace_pair
from tollens.zoo import get

TITLE = "Certified leaks"
NOTE = (
    "The lower bound for ε after 100 000 independent pairs (200 000 runs), α = 0.05, beside the "
    "truth on the pair and what any test could certify with so many pairs. DP-Sniper's bounds "
    "take millions of runs. The full form of RAPPOR (with hashes) is left out."
)
RUNS = (1, 5)
SECONDS = 60.0

PAIRS = 100_000
SHARE = 0.92
"""Of the truth to be certified, where any test could."""

ENOUGH = 5.0
"""To be certified where the truth is infinite."""


class Leak(NamedTuple):
    """A mechanism of known truth, and the claim that the audit starts from."""

    name: str
    mechanism: object
    claim: tollens.Claim
    pair: tuple[object, object]
    truth: float
    masses: Masses
    sniper: str = ""


def _of_zoo(title: str, name: str, sniper: str = "", masses: Masses | None = None) -> Leak:
    """An entry; where its claim holds, half of its truth is claimed instead."""
    entry = get(name)
    truth = entry.true_epsilon
    claim = tollens.pure(truth / 2) if entry.holds else entry.claim
    law = entry_masses(entry) if masses is None else masses
    return Leak(title, entry.mechanism, claim, entry.neighbours, truth, law, sniper)


def _histogram(title: str, epsilon: float, claim: float, sniper: str = "") -> Leak:
    """Five counts with Lap(1 / epsilon)."""
    scale = 1 / epsilon
    return Leak(
        title,
        mechanisms.histogram(scale),
        tollens.pure(claim),
        mechanisms.one_more(5, 0),
        epsilon,
        mechanisms.histogram_masses(scale),
        sniper,
    )


def _max_index() -> Leak:
    inputs = ((1, 1, 1, 1, 1), (2, 2, 2, 2, 0))
    masses = Masses(*(mechanisms.laplace_max_masses(data) for data in inputs))
    ratios = [abs(math.log(p / q)) for p, q in zip(*masses, strict=True)]
    truth = max(ratios)
    mechanism = tollens.batched(mechanisms.laplace_max_index)
    return Leak("noisy max 1", mechanism, tollens.pure(truth / 2), inputs, truth, masses)


def _max_value() -> Leak:
    inputs = ((1, 1, 1, 1, 1), (2, 2, 2, 2, 2))
    masses = Masses(*(mechanisms.exponential_max_masses(data) for data in inputs))
    mechanism = tollens.batched(mechanisms.exponential_max)
    return Leak("noisy max 4", mechanism, tollens.pure(1), inputs, math.inf, masses)


MAKERS: tuple[Callable[[], Leak], ...] = (
    lambda: _of_zoo("Laplace count", "laplace-tight", ".9957", laplace_pair(1.0)),
    lambda: _of_zoo(
        "Laplace count, half the noise", "laplace-half-noise", "1.9991", laplace_pair(2.0)
    ),
    lambda: _histogram("noisy histogram 1", 0.1, 0.05),
    lambda: _histogram("noisy histogram 2 (scale ε)", 10.0, 0.1, "4.60"),
    _max_index,
    lambda: _of_zoo("noisy max 2", "noisy-max-exponential-tight"),
    lambda: _of_zoo("noisy max 3", "noisy-max-value"),
    _max_value,
    lambda: _of_zoo("sparse vector 1", "svt1"),
    lambda: _of_zoo("sparse vector 2", "svt2"),
    lambda: _of_zoo("sparse vector 3", "svt3"),
    lambda: _of_zoo("sparse vector 4", "svt4"),
    lambda: _of_zoo("sparse vector 5", "svt5", "1.76"),
    lambda: _of_zoo("sparse vector 6", "svt6"),
    lambda: _of_zoo("sparse vector with numbers", "numerical-svt"),
    lambda: _of_zoo("prefix sums", "prefix-sums-tight"),
    lambda: _of_zoo("RAPPOR, one time", "rappor-tight"),
    lambda: _of_zoo("truncated geometric", "truncated-geometric-tight"),
)


def one(job: tuple[int, int]) -> tuple[float, bool]:
    """The bound of one audit that goes on to its budget, and whether its claim was refuted."""
    number, seed = job
    leak = MAKERS[number]()
    verdict = tollens.audit(
        leak.mechanism,
        leak.claim,
        neighbours=leak.pair,
        alpha=ALPHA,
        budget=PAIRS,
        until="budget",
        coupling="independent",
        seed=seed,
    )
    return verdict.epsilon_lower, verdict.outcome.name == "REFUTED"


def limit_of(number: int) -> float:
    """What any test could certify of a mechanism."""
    return certifiable(*MAKERS[number]().masses, 0.0, PAIRS, ALPHA)


def measure(runner: Runner) -> list[Row]:
    """A row for each mechanism."""
    numbers = range(len(MAKERS))
    limits = runner.pool.map(limit_of, numbers, chunksize=1)
    found = runner.repeat(one, numbers)
    return [
        _row(MAKERS[i](), limit, runs)
        for i, limit, runs in zip(numbers, limits, found, strict=True)
    ]


def _row(leak: Leak, limit: float, runs: list[tuple[float, bool]]) -> Row:
    mean = statistics.fmean(bound for bound, _ in runs)
    infinite = math.isinf(leak.truth)
    if infinite:
        target, ok = f"≥ {ENOUGH:g}", mean >= ENOUGH
    elif limit >= SHARE * leak.truth:
        target, ok = f"≥ {SHARE:g} of the truth", mean >= SHARE * leak.truth
    else:
        target, ok = "", None
    return Row(
        what=leak.name,
        target=target,
        ok=ok,
        refuted=sum(refuted for _, refuted in runs),
        of=len(runs),
        more={
            "claim": str(leak.claim),
            "true ε": "∞" if infinite else leak.truth,
            "any test": limit,
            "certified ε": mean,
            "of the truth": "" if infinite else mean / leak.truth,
            "of any test": mean / limit if limit > 0 else "",
            "DP-Sniper": leak.sniper,
        },
    )
