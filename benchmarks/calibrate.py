"""`make calibrate`: how often the audit errs where erring is easiest, measured in full.

Two tables. *False alarms*: runs against a claim that holds with nothing to spare; the share of
runs that ever refute it may not exceed alpha. *Certified leaks*: runs in which `epsilon_lower`
ever exceeds the true epsilon, for claims below, at and above the truth; the share may not exceed
alpha either. The limit of a row is alpha plus three standard errors at that rate.

    python -m benchmarks.calibrate [--runs 1000] [--pairs 2000] [--only TEXT] [--quick]
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

import tollens
from tollens.auditing.sequential import Gambler

ALPHA = 0.05
RESULTS = Path(__file__).parent / "results" / "calibration.json"
LOOKS = 6

Outputs = NDArray[np.generic]
Draw = Callable[[np.random.Generator, int], Outputs]


@dataclass(frozen=True)
class Pair:
    """Two laws of outputs with a known leak: `epsilon` is exact at `delta`."""

    x: Draw
    x_prime: Draw
    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True)
class Case:
    """A pair of laws and the claim that is tested on runs of it."""

    name: str
    pair: Pair
    claim: tollens.Claim
    holds: bool
    coupling: str = "independent"


@dataclass(frozen=True)
class Row:
    """What was measured for a case: errors are alarms or too large bounds."""

    table: str
    case: str
    runs: int
    pairs: int
    errors: int
    rate: float
    standard_error: float
    limit: float
    passed: bool
    refuted: int
    seconds: float


def limit(runs: int, alpha: float = ALPHA) -> float:
    """The largest share of errors that passes: alpha and three standard errors.

    >>> round(limit(1000), 4)
    0.0707
    """
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def laplace(epsilon: float) -> Pair:
    """A count with Laplace noise: the ratio is e^epsilon wherever it can be."""
    return Pair(
        lambda rng, n: 1 + rng.laplace(scale=1 / epsilon, size=n),
        lambda rng, n: rng.laplace(scale=1 / epsilon, size=n),
        epsilon,
    )


def geometric(epsilon: float) -> Pair:
    """A count with two-sided geometric noise (whole numbers)."""
    p = 1 - math.exp(-epsilon)

    def noise(rng: np.random.Generator, n: int) -> Outputs:
        return rng.geometric(p, n) - rng.geometric(p, n)

    return Pair(lambda rng, n: 1 + noise(rng, n), noise, epsilon)


def randomised_response(epsilon: float) -> Pair:
    """A bit that is true with probability e^epsilon / (1 + e^epsilon)."""
    truth = 1 / (1 + math.exp(-epsilon))
    return Pair(
        lambda rng, n: rng.random(n) < truth, lambda rng, n: rng.random(n) >= truth, epsilon
    )


def rare_atom(epsilon: float, mass: float = 0.001) -> Pair:
    """Uniform numbers, but for one exact value of probability `mass` and e^epsilon times that."""

    def law(probability: float) -> Draw:
        def draw(rng: np.random.Generator, n: int) -> Outputs:
            return np.where(rng.random(n) < probability, 0.5, rng.random(n))

        return draw

    return Pair(law(mass * math.exp(epsilon)), law(mass), epsilon)


def gaussian_noise(mu: float, epsilon: float = math.nan, delta: float = 0.0) -> Pair:
    """A count with normal noise of standard deviation 1/mu."""
    return Pair(
        lambda rng, n: mu + rng.normal(size=n), lambda rng, n: rng.normal(size=n), epsilon, delta
    )


def gaussian_at(epsilon: float, delta: float) -> Pair:
    """Normal noise whose profile passes through (epsilon, delta) exactly."""
    mu = brentq(lambda m: tollens.gaussian(m).delta(epsilon) - delta, 1e-3, 20.0, xtol=1e-14)
    return gaussian_noise(float(mu), epsilon, delta)


def noisy_counts(epsilon: float, d: int = 5) -> Pair:
    """A histogram of d counts with Laplace noise; the neighbours differ in one count."""

    def draw(rng: np.random.Generator, n: int) -> Outputs:
        return rng.laplace(scale=1 / epsilon, size=(n, d))

    def shifted(rng: np.random.Generator, n: int) -> Outputs:
        return draw(rng, n) + np.eye(d)[d // 2]

    return Pair(shifted, draw, epsilon)


def spread_counts(epsilon: float, d: int = 3) -> Pair:
    """d noisy sums that all move, by 1/d each: only a score of all of them sees the leak."""

    def draw(rng: np.random.Generator, n: int) -> Outputs:
        return rng.laplace(scale=1 / epsilon, size=(n, d))

    return Pair(lambda rng, n: draw(rng, n) + 1 / d, draw, epsilon)


def one_hot(epsilon: float, k: int = 5) -> Pair:
    """k-ary randomised response released as a one-hot vector."""
    others = 1 / (math.exp(epsilon) + k - 1)

    def law(truth: int) -> Draw:
        masses = np.full(k, others)
        masses[truth] = math.exp(epsilon) * others
        return lambda rng, n: np.eye(k)[rng.choice(k, size=n, p=masses)]

    return Pair(law(0), law(1), epsilon)


def boundary_cases() -> list[Case]:
    """Claims that hold with nothing to spare."""
    pure, ln3 = tollens.pure, math.log(3)
    tight = [
        ("Laplace, epsilon 0.1", laplace(0.1), pure(0.1)),
        ("Laplace, epsilon 1", laplace(1.0), pure(1)),
        ("Laplace, epsilon 4", laplace(4.0), pure(4)),
        ("two-sided geometric, epsilon 1", geometric(1.0), pure(1)),
        ("randomised response, epsilon ln 3", randomised_response(ln3), pure("ln 3")),
        ("atom of probability 0.001, epsilon 1", rare_atom(1.0), pure(1)),
        ("normal at (0.5, 0.01)", gaussian_at(0.5, 0.01), tollens.approx(0.5, 0.01)),
        ("normal, mu 1", gaussian_noise(1.0), tollens.gaussian(1)),
        ("normal, rho 0.5", gaussian_noise(1.0), tollens.zcdp(0.5)),
        ("5 noisy counts, epsilon 1", noisy_counts(1.0), pure(1)),
        ("3 noisy sums that all move, epsilon 1", spread_counts(1.0), pure(1)),
        ("one-hot of 5, epsilon 1", one_hot(1.0), pure(1)),
    ]
    return [Case(name, pair, claim, holds=True) for name, pair, claim in tight]


def leak_cases() -> list[Case]:
    """Claims below, at and above the truth, where `epsilon_lower` has an exact target."""
    response, normal, hot = randomised_response(1.0), gaussian_at(0.5, 0.01), one_hot(1.0)
    pure, approx = tollens.pure, tollens.approx
    return [
        Case("randomised response, true 1, claim 0.25", response, pure(0.25), holds=False),
        Case("randomised response, true 1, claim 1", response, pure(1), holds=True),
        Case("randomised response, true 1, claim 3", response, pure(3), holds=True),
        Case("Laplace, true 1, claim 0.25", laplace(1.0), pure(0.25), holds=False),
        Case("Laplace, true 1, claim 3", laplace(1.0), pure(3), holds=True),
        Case("one-hot of 5, true 1, claim 0.25", hot, pure(0.25), holds=False),
        Case("normal, true (0.5, 0.01), claim 0.1", normal, approx(0.1, 0.01), holds=False),
        Case("normal, true (0.5, 0.01), claim 1.5", normal, approx(1.5, 0.01), holds=True),
        Case("response, true 1, claim 0.25, auto", response, pure(0.25), False, "auto"),
        Case("response, true 1, claim 3, common", response, pure(3), True, "common"),
        Case("Laplace, true 1, claim 0.25, common", laplace(1.0), pure(0.25), False, "common"),
        Case("normal, true (0.5, 0.01), claim 0.1, auto", normal, approx(0.1, 0.01), False, "auto"),
    ]


def coupled_cases(coupling: str) -> list[Case]:
    """Claims of `boundary_cases` again, on runs that may share their draws."""
    kept = ("Laplace, epsilon 1", "randomised", "atom", "normal at", "one-hot", "5 noisy")
    return [
        Case(f"{case.name}, {coupling}", case.pair, case.claim, case.holds, coupling)
        for case in boundary_cases()
        if case.name.startswith(kept)
    ]


def refutes(case: Case, *, pairs: int, seed: Sequence[int], alpha: float = ALPHA) -> bool:
    """Whether one run of `pairs` pairs ever refutes the claim of the case."""
    return _gamble(case, pairs, seed, alpha, stop=True)[0]


def overstates(
    case: Case, *, pairs: int, seed: Sequence[int], alpha: float = ALPHA
) -> tuple[bool, bool]:
    """Whether one run refutes, and whether its certified leak ever exceeds the truth."""
    return _gamble(case, pairs, seed, alpha, stop=False)


def _gamble(
    case: Case, pairs: int, seed: Sequence[int], alpha: float, *, stop: bool
) -> tuple[bool, bool]:
    rng, search = np.random.default_rng(list(seed)), int(seed[-1])
    gambler = Gambler(case.claim, alpha=alpha, delta=None, seed=search, coupling=case.coupling)
    drawn = {
        coupled: tuple(
            gambler.encoder.encode(side) for side in _draw(case.pair, rng, pairs, coupled)
        )
        for coupled in ([False] if case.coupling == "independent" else [False, True])
    }
    # while the claim is not refuted its bound lies below the claim, so not above a larger truth
    can_exceed = case.pair.epsilon < case.claim.promises()[0].epsilon
    exceeded, seen = False, 0
    for look in np.unique(np.geomspace(20, pairs, LOOKS).astype(int)).tolist():
        while seen < look and not (stop and gambler.refuted):
            end = min(seen + gambler.until_next_bet(), look)
            x, y = drawn[gambler.next_coupled]
            gambler.update(x[seen:end], y[seen:end])
            seen = end
        if not stop and (can_exceed or gambler.refuted):
            exceeded |= gambler.epsilon_lower > case.pair.epsilon + 1e-9
    return gambler.refuted, exceeded


def _draw(pair: Pair, rng: np.random.Generator, n: int, coupled: bool) -> tuple[Outputs, Outputs]:
    """n outputs of both sides; coupled ones take the same draws."""
    if not coupled:
        return pair.x(rng, n), pair.x_prime(rng, n)
    shared = int(rng.integers(2**62))
    first, second = np.random.default_rng(shared), np.random.default_rng(shared)
    return pair.x(first, n), pair.x_prime(second, n)


_TABLES: dict[str, list[Case]] = {
    "false alarms": [*boundary_cases(), *coupled_cases("common"), *coupled_cases("auto")],
    "certified leaks": leak_cases(),
}


def _job(job: tuple[str, int, int, int]) -> tuple[bool, bool]:
    table, number, run, pairs = job
    case = _TABLES[table][number]
    seed = (2026, sorted(_TABLES).index(table), number, run)
    if table == "false alarms":
        refuted = refutes(case, pairs=pairs, seed=seed)
        return refuted, refuted
    return overstates(case, pairs=pairs, seed=seed)


def _one_thread() -> None:
    """The processes share the cores: threads of theirs would only wait for each other."""
    import sklearn.linear_model  # noqa: F401 - its libraries must be loaded to be limited

    threadpool_limits(1)


def measure(
    alarm_runs: int, leak_runs: int, pairs: int, processes: int, only: str = ""
) -> list[Row]:
    """The rows of both tables whose case has `only` in its name; progress goes to stderr."""
    rows = []
    context = multiprocessing.get_context("fork")
    with context.Pool(processes, initializer=_one_thread) as pool:
        for (table, cases), runs in zip(_TABLES.items(), (alarm_runs, leak_runs), strict=True):
            for number, case in enumerate(cases):
                if only not in case.name:
                    continue
                started = time.perf_counter()
                jobs = [(table, number, run, pairs) for run in range(runs)]
                found = pool.map(_job, jobs, chunksize=max(1, runs // (8 * processes)))
                errors = sum(wrong for _, wrong in found)
                rate = errors / runs
                row = Row(
                    table=table,
                    case=case.name,
                    runs=runs,
                    pairs=pairs,
                    errors=errors,
                    rate=rate,
                    standard_error=math.sqrt(rate * (1 - rate) / runs),
                    limit=limit(runs),
                    passed=rate <= limit(runs),
                    refuted=sum(refuted for refuted, _ in found),
                    seconds=time.perf_counter() - started,
                )
                rows.append(row)
                print(_line(row), file=sys.stderr, flush=True)
    return rows


def _line(row: Row) -> str:
    verdict = "pass" if row.passed else "FAIL"
    return (
        f"{row.table:<16} {row.case:<46} {row.rate:7.4f} ± {row.standard_error:.4f}"
        f"  limit {row.limit:.4f}  refuted {row.refuted:>5}/{row.runs}"
        f"  {verdict}  {row.seconds:6.1f} s"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, write it as JSON; 1 where a row fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=1000, help="runs a claim that holds (1000)")
    parser.add_argument("--leak-runs", type=int, default=500, help="runs a certified leak (500)")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs a run (2000)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has TEXT")
    parser.add_argument("--quick", action="store_true", help="40 runs of 300 pairs, to try it")
    cores = os.cpu_count() or 1
    parser.add_argument("--processes", type=int, default=cores, help=f"processes ({cores})")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    sizes = (40, 20, 300) if chosen.quick else (chosen.runs, chosen.leak_runs, chosen.pairs)
    rows = measure(*sizes, chosen.processes, chosen.only)
    print("\n".join(_line(row) for row in rows))
    content = {"alpha": ALPHA, "tollens": tollens.__version__, "rows": [asdict(r) for r in rows]}
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
