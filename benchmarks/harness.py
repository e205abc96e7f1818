"""What the sections of the benchmark share: runs in rounds, rows with targets, tables."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.pool import Pool
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import tollens

ALPHA = 0.05
DELTA = 1e-5

K = TypeVar("K")
R = TypeVar("R")


class Found(NamedTuple):
    """How one audit ended: after how many pairs, and whether the claim was refuted by then."""

    pairs: int
    refuted: bool


@dataclass
class Runner:
    """How much a section may do: `runs` of each row, or fewer if `seconds` are over before."""

    pool: Pool
    runs: int
    seconds: float = math.inf
    full: bool = False
    started: float = field(default_factory=time.perf_counter)

    @property
    def late(self) -> bool:
        """Whether the time of the section is over."""
        return time.perf_counter() - self.started > self.seconds

    def repeat(
        self,
        job: Callable[[tuple[K, int]], R],
        keys: Sequence[K],
        *,
        runs: Callable[[K], int] | None = None,
    ) -> list[list[R]]:
        """Results of `job((key, seed))` for each key and seeds 0, 1, ...

        Every round makes one run of each key. Whether there is another round depends on the clock
        and not on what was found, so long runs are not left out. `runs` says how many a key gets
        at most; the first round is always made.
        """
        wanted = [self.runs if runs is None else max(1, min(self.runs, runs(key))) for key in keys]
        results: list[list[R]] = [[] for _ in keys]
        for seed in range(max(wanted, default=0)):
            if seed > 0 and self.late:
                break
            chosen = [i for i, most in enumerate(wanted) if seed < most]
            made = self.pool.map(job, [(keys[i], seed) for i in chosen], chunksize=1)
            for i, result in zip(chosen, made, strict=True):
                results[i].append(result)
        return results


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table: what was measured, the target, and whether it was met.

    `ok` is None where nothing is asked for. `limit` is the physical limit, computed in this run.
    A run that did not refute counts with all its pairs, so that the mean is then a lower bound.
    """

    what: str
    target: str = ""
    ok: bool | None = None
    limit: float | None = None
    mean: float | None = None
    standard_error: float | None = None
    median: float | None = None
    refuted: int | None = None
    of: int | None = None
    more: dict[str, float | int | str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """The mean in units of the limit."""
        if self.mean is None or not self.limit or math.isinf(self.limit):
            return None
        return self.mean / self.limit

    def to_json(self) -> dict[str, Any]:
        """All fields; `Row(**row.to_json())` is the same row."""
        return asdict(self)


def pairs_row(
    what: str,
    found: Sequence[Found],
    *,
    at_most: float | None = None,
    limit: float | None = None,
    times_limit: float | None = None,
    **more: float | int | str,
) -> Row:
    """A row about pairs to refutation; the target is a mean, or a multiple of the limit.

    >>> pairs_row("a", [Found(10, True), Found(20, True)], at_most=16).ok
    True
    >>> pairs_row("a", [Found(10, True)], limit=4.0, times_limit=2.0).target
    'mean ≤ 2 x limit'
    """
    pairs = [each.pairs for each in found]
    mean = statistics.fmean(pairs)
    target, bound = "", at_most
    if at_most is not None:
        target = f"mean ≤ {at_most:.4g}"
    elif times_limit is not None and limit is not None:
        target, bound = f"mean ≤ {times_limit:g} x limit", times_limit * limit
    return Row(
        what=what,
        target=target,
        ok=None if bound is None else mean <= bound,
        limit=limit,
        mean=mean,
        standard_error=error_of_mean(pairs),
        median=statistics.median(pairs),
        refuted=sum(each.refuted for each in found),
        of=len(found),
        more=more,
    )


def spared_row(what: str, found: Sequence[Found], alpha: float) -> Row:
    """A row about a claim that holds: refuted in no more runs than alpha explains.

    >>> spared_row("a", [Found(100, False)] * 20, 0.05).ok
    True
    """
    refuted = sum(each.refuted for each in found)
    most = alpha + 3 * math.sqrt(alpha * (1 - alpha) / len(found))
    return Row(
        what=what,
        target=f"refuted in ≤ {100 * most:.0f} % of runs",
        ok=refuted <= most * len(found),
        refuted=refuted,
        of=len(found),
    )


def error_of_mean(values: Sequence[float]) -> float | None:
    """The standard error of the mean; None of a single value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


# Audits


@dataclass(frozen=True)
class Case:
    """A mechanism on a pair with a claim, to be audited until it is refuted."""

    name: str
    mechanism: object
    claim: tollens.Claim
    pair: tuple[object, object]
    budget: int
    coupling: str = "independent"


def audit_case(job: tuple[Case, int]) -> Found:
    """One audit of a case through `tollens.audit`, at alpha = .05."""
    case, seed = job
    verdict = tollens.audit(
        case.mechanism,
        case.claim,
        neighbours=case.pair,
        alpha=ALPHA,
        budget=case.budget,
        coupling=case.coupling,
        seed=seed,
    )
    crossed = verdict.evidence.crossed_at
    return Found(verdict.pairs if crossed is None else crossed, crossed is not None)


def laplace_count(data: float, n: int, rng: np.random.Generator, *, scale: float) -> NDArray:
    """A count with Laplace noise."""
    return data + rng.laplace(0.0, scale, n)


def normal_count(data: float, n: int, rng: np.random.Generator, *, scale: float) -> NDArray:
    """A count with normal noise."""
    return data + rng.normal(0.0, scale, n)


# Tables

_COLUMNS = ("limit", "mean", "median", "ratio", "refuted")
_HEADS = {"ratio": "mean / limit", "standard_error": "±"}


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table; columns that no row fills are left out."""
    used = [name for name in _COLUMNS if any(getattr(row, name) is not None for row in rows)]
    extra = list(dict.fromkeys(name for row in rows for name in row.more))
    head = ["what", *(_HEADS.get(name, name) for name in used), *extra, "target", "met"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cells = [_cell(row, name) for name in used]
        cells += [_number(row.more.get(name)) for name in extra]
        met = {None: "", True: "yes", False: "**no**"}[row.ok]
        lines.append([row.what, *cells, row.target, met])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: Row, name: str) -> str:
    if name == "refuted":
        return "" if row.refuted is None else f"{row.refuted} of {row.of}"
    if name == "mean" and row.mean is not None and row.standard_error is not None:
        return f"{_number(row.mean)} ± {_number(row.standard_error)}"
    return _number(getattr(row, name))


def _number(value: float | int | str | None) -> str:
    """A number with three digits or more, without an exponent.

    >>> _number(123456.7), _number(12.34), _number(0.01234), _number(float("inf"))
    ('123457', '12.3', '0.0123', '∞')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if math.isinf(value):
        return "∞"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
