"""`make calibrate`: how often the audit errs where erring is easiest, measured in full.

Two tables. *False alarms*: runs against a claim that holds with nothing to spare; the share of
runs that ever refute it may not exceed alpha. *Certified leaks*: runs in which `epsilon_lower`
ever exceeds the true epsilon, for claims below, at and above the truth; the share may not exceed
alpha either. The limit of a row is alpha plus three standard errors at that rate.

    python -m benchmarks.calibrate [--runs 2000] [--pairs 5000] [--only TEXT] [--quick] [--list]

The full form takes hours. All cases advance together, `BLOCK` runs at a time, and what was measured
is written at once, with the version of tollens and a digest of the sources of the audit: a later
call goes on where the last one stopped, so it may be stopped at any time. Runs of other sources
count for nothing, and `--again` starts anew. With `--backend dask://host:port` or `ray://host:port`
the workers of a cluster make the runs; seeds belong to runs, so that nothing else changes.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import multiprocessing
import multiprocessing.pool
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

import tollens
from tollens.auditing.sequential import Gambler
from tollens.backends import Pool, is_cluster, open_pool
from tollens.backends.flight import Flight
from tollens.errors import BackendError, UsageError
from tollens.zoo import get

ALPHA = 0.05
RESULTS = Path(__file__).parent / "results" / "calibration.json"
LOOKS = 6
BLOCK = 100
PAIRS_OF_INPUTS = 50

Outputs = NDArray[np.generic]
Draw = Callable[[np.random.Generator, int], Outputs]

Job = tuple[str, int, int, int]
Done = tuple[bool, bool, float]


@dataclass(frozen=True)
class Pair:
    """Two laws of outputs with a known leak: `epsilon` is exact at `delta`."""

    x: Draw
    x_prime: Draw
    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True)
class Case:
    """A pair of laws and the claim that is tested on runs of it.

    `relation` counts pairs of inputs: if there are several, `tollens.audit` chooses among them.
    """

    name: str
    pair: Pair
    claim: tollens.Claim
    holds: bool
    coupling: str = "independent"
    relation: int = 1


@dataclass(frozen=True)
class Row:
    """What was measured for a case: errors are alarms or too large bounds.

    `cost` is the mean CPU time of a run in seconds, drawing included; `digest` names the sources.
    """

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
    cost: float
    tollens: str
    digest: str


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


def of_zoo(name: str) -> Pair:
    """An entry of the zoo on its pair; its draws do not depend on the data."""
    entry = get(name)
    x, x_prime = entry.neighbours
    return Pair(
        lambda rng, n: np.asarray(entry.mechanism(x, n, rng)),
        lambda rng, n: np.asarray(entry.mechanism(x_prime, n, rng)),
        entry.true_epsilon,
    )


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
        ("histogram of 2, a record replaced", of_zoo("histogram-substitution-tight"), pure(1)),
        ("sparse vector 1, its exact epsilon", of_zoo("svt1"), pure(get("svt1").true_epsilon)),
    ]
    return [Case(name, pair, claim, holds=True) for name, pair, claim in tight]


def relation_cases() -> list[Case]:
    """A relation of which every pair is at the boundary, so that no choice helps."""
    case = Case(f"{PAIRS_OF_INPUTS} pairs of counts", laplace(1.0), tollens.pure(1), holds=True)
    couplings = ("independent", "common", "auto")
    return [
        replace(case, name=f"{case.name}, {how}", coupling=how, relation=PAIRS_OF_INPUTS)
        for how in couplings
    ]


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
    kept = ("Laplace", "two-sided", "randomised", "atom", "normal at", "normal, mu", "one-hot")
    kept += ("5 noisy", "histogram", "sparse")
    return [
        Case(f"{case.name}, {coupling}", case.pair, case.claim, case.holds, coupling)
        for case in boundary_cases()
        if case.name.startswith(kept)
    ]


def refutes(case: Case, *, pairs: int, seed: Sequence[int], alpha: float = ALPHA) -> bool:
    """Whether one run of `pairs` pairs ever refutes the claim of the case."""
    if case.relation > 1:
        return _audit_relation(case, pairs, seed, alpha)
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


def _noisy_count(data: float, rng: np.random.Generator) -> float:
    return data + rng.laplace()


def _audit_relation(case: Case, pairs: int, seed: Sequence[int], alpha: float) -> bool:
    """A run on many pairs of inputs: noisy counts with epsilon 1, by `tollens.audit`."""
    relation = [(float(i + 1), float(i)) for i in range(case.relation)]
    verdict = tollens.audit(
        _noisy_count,
        case.claim,
        neighbours=relation,
        alpha=alpha,
        budget=pairs,
        coupling=case.coupling,
        seed=int(np.random.SeedSequence(list(seed)).generate_state(1)[0]),
    )
    return verdict.outcome is tollens.Outcome.REFUTED


def possible(case: Case) -> bool:
    """Whether this version of `tollens.audit` can run the case: it may know single pairs only."""
    if case.relation == 1:
        return True
    try:
        _audit_relation(case, 200, (0,), ALPHA)
    except UsageError:
        return False
    return True


def _draw(pair: Pair, rng: np.random.Generator, n: int, coupled: bool) -> tuple[Outputs, Outputs]:
    """n outputs of both sides; coupled ones take the same draws."""
    if not coupled:
        return pair.x(rng, n), pair.x_prime(rng, n)
    shared = int(rng.integers(2**62))
    first, second = np.random.default_rng(shared), np.random.default_rng(shared)
    return pair.x(first, n), pair.x_prime(second, n)


_TABLES: dict[str, list[Case]] = {
    "false alarms": [
        *boundary_cases(),
        *coupled_cases("common"),
        *coupled_cases("auto"),
        *relation_cases(),
    ],
    "certified leaks": leak_cases(),
}


def digest() -> str:
    """A short digest of the sources of the audit: with others, what was measured is stale."""
    found = hashlib.sha256()
    for path in sorted((Path(tollens.__file__).parent / "auditing").rglob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def _job(job: Job) -> Done:
    """Whether a run refuted, whether it erred, and its CPU seconds."""
    table, number, run, pairs = job
    case = _TABLES[table][number]
    seed = (2026, zlib.crc32(f"{table}: {case.name}".encode()), run)
    started = time.process_time()
    if table == "false alarms":
        refuted = wrong = refutes(case, pairs=pairs, seed=seed)
    else:
        refuted, wrong = overstates(case, pairs=pairs, seed=seed)
    return refuted, wrong, time.process_time() - started


def _one_thread() -> None:
    """The processes share the cores: threads of theirs would only wait for each other."""
    import sklearn.linear_model  # noqa: F401 - its libraries must be loaded to be limited

    threadpool_limits(1)


def chosen_cases(only: str) -> list[tuple[str, int]]:
    """Table and number of the cases that have `only` in their name."""
    return [
        (table, number)
        for table, cases in _TABLES.items()
        for number, case in enumerate(cases)
        if only in case.name or only == table
    ]


class Spread:
    """The workers of a backend with the one method of `multiprocessing.Pool` that is used here."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def map(
        self, job: Callable[[Job], Done], jobs: Sequence[Job], chunksize: int = 1
    ) -> list[Done]:
        """The results in the order of the jobs; those of a lost worker are made once more."""
        done: dict[int, list[Done]] = {}
        starts = range(0, len(jobs), chunksize)
        for _ in range(2):
            waiting = [start for start in reversed(starts) if start not in done]
            flight: Flight[int] = Flight(self._pool, _jobs)
            while waiting or flight:
                while waiting and not flight.full:
                    start = waiting.pop()
                    flight.send(start, job, jobs[start : start + chunksize])
                for start, future in flight.landed():
                    if not isinstance(future.exception(), self._pool.losses):
                        done[start] = future.result()
        if len(done) < len(starts):
            raise BackendError("a worker was lost, and again when its runs were made anew")
        return [result for start in starts for result in done[start]]


def _jobs(job: Callable[[Job], Done], jobs: Sequence[Job]) -> list[Done]:
    _one_thread()
    return [job(each) for each in jobs]


@contextlib.contextmanager
def workers(backend: str | None, processes: int) -> Iterator[multiprocessing.pool.Pool | Spread]:
    """Forks of this process, or the workers of a backend."""
    if is_cluster(backend):
        with contextlib.closing(open_pool(backend, processes)) as pool:
            yield Spread(pool)
    else:
        context = multiprocessing.get_context("fork")
        with context.Pool(processes, initializer=_one_thread) as forks:
            yield forks


def measure_block(
    pool: multiprocessing.pool.Pool | Spread,
    case: tuple[str, int],
    runs: range,
    pairs: int,
    source: str,
    before: Row | None,
) -> Row:
    """The row of a case with these further runs; `before` has those that came before them."""
    table, number = case
    started = time.perf_counter()
    jobs = [(table, number, run, pairs) for run in runs]
    found = pool.map(_job, jobs, chunksize=max(1, min(20, len(runs) // 16)))
    errors = sum(wrong for _, wrong, _ in found) + (before.errors if before else 0)
    cost = sum(cost for _, _, cost in found) + (before.cost * before.runs if before else 0.0)
    rate = errors / runs.stop
    return Row(
        table=table,
        case=_TABLES[table][number].name,
        runs=runs.stop,
        pairs=pairs,
        errors=errors,
        rate=rate,
        standard_error=math.sqrt(rate * (1 - rate) / runs.stop),
        limit=limit(runs.stop),
        passed=rate <= limit(runs.stop),
        refuted=sum(refuted for refuted, _, _ in found) + (before.refuted if before else 0),
        seconds=time.perf_counter() - started + (before.seconds if before else 0.0),
        cost=cost / runs.stop,
        tollens=tollens.__version__,
        digest=source,
    )


def kept_rows(path: Path) -> dict[tuple[str, str], Row]:
    """The rows that were measured before, by table and case; none of an older form."""
    if not path.exists():
        return {}
    names = set(Row.__dataclass_fields__)
    rows = json.loads(path.read_text(encoding="utf-8")).get("rows", [])
    return {(row["table"], row["case"]): Row(**row) for row in rows if set(row) == names}


def write(path: Path, rows: dict[tuple[str, str], Row]) -> None:
    """All rows as JSON, in the order of the tables."""
    order = [(table, case.name) for table, cases in _TABLES.items() for case in cases]
    content = {
        "alpha": ALPHA,
        "tollens": tollens.__version__,
        "rows": [asdict(rows[key]) for key in order if key in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _line(row: Row) -> str:
    verdict = "pass" if row.passed else "FAIL"
    return (
        f"{row.table:<16} {row.case:<46} {row.rate:7.4f} ± {row.standard_error:.4f}"
        f"  limit {row.limit:.4f}  refuted {row.refuted:>5}/{row.runs}"
        f"  {verdict}  {row.seconds:6.1f} s, {row.cost:.2f} s CPU a run of {row.pairs}"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000, help="runs a claim that holds (2000)")
    parser.add_argument("--leak-runs", type=int, default=500, help="runs a certified leak (500)")
    parser.add_argument("--pairs", type=int, default=5000, help="pairs a run (5000)")
    only = "cases whose name has TEXT, or a whole table"
    parser.add_argument("--only", default="", metavar="TEXT", help=only)
    parser.add_argument("--list", action="store_true", help="name the cases and do nothing")
    parser.add_argument("--again", action="store_true", help="measure what was measured before too")
    parser.add_argument("--quick", action="store_true", help="40 runs of 300 pairs, to try it")
    cores = os.cpu_count() or 1
    parser.add_argument("--processes", type=int, default=cores, help=f"processes ({cores})")
    parser.add_argument("--backend", metavar="URL", help="dask://host:port or ray://host:port")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.runs, chosen.leak_runs, chosen.pairs = 40, 20, 300
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, print the table, keep it as JSON; 1 where a row fails."""
    chosen = _options(arguments)
    cases = chosen_cases(chosen.only)
    if chosen.list:
        print("\n".join(f"{table:<16} {_TABLES[table][number].name}" for table, number in cases))
        return 0
    rows, source = kept_rows(chosen.output), digest()
    fresh = (chosen.pairs, tollens.__version__, source)
    for key, row in list(rows.items()):
        if chosen.again or (row.pairs, row.tollens, row.digest) != fresh:
            del rows[key]
    measured = [case for case in cases if possible(_TABLES[case[0]][case[1]])]
    for table, number in (case for case in cases if case not in measured):
        print(f"{table:<16} {_TABLES[table][number].name:<46} skipped: audit takes one pair only")
    with workers(chosen.backend, chosen.processes) as pool:
        for start in range(0, max(chosen.runs, chosen.leak_runs), BLOCK):
            for table, number in measured:
                runs = chosen.runs if table == "false alarms" else chosen.leak_runs
                key = (table, _TABLES[table][number].name)
                before = rows.get(key)
                block = range(before.runs if before else 0, min(start + BLOCK, runs))
                if block:
                    row = measure_block(pool, (table, number), block, chosen.pairs, source, before)
                    rows[key] = row
                    write(chosen.output, rows)
                    print(_line(row), file=sys.stderr, flush=True)
    shown = [rows[table, _TABLES[table][number].name] for table, number in measured]
    print("\n".join(_line(row) for row in shown))
    return 0 if all(row.passed for row in shown) else 1


if __name__ == "__main__":
    sys.exit(main())
