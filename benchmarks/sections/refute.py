"""The suite of programs: what is proved of each text, how near to the truth, and how long it takes.

Each program is searched on the pair that its truth is stated for, by the engine that
`engine="auto"` comes to; the checker then confirms the certificate. Beside it stands what other
tools published about the same program, from `benchmarks/peers.json`.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from benchmarks.harness import Row, Runner
from tollens.checker import Verified, verify
from tollens.checker.enclosures import ln_bounds
from tollens.exact import exact_claim
from tollens.refutation.engine import search
from tollens.refutation.inputs import exact_relation
from tollens.refutation.program import read_program
from tollens.relations import as_relation
from tollens.zoo.programs import Program, entries, get

TITLE = "Proofs from the text of a program"
NOTE = (
    "Every program of the suite on the pair that its truth is stated for. The certified ε is an "
    "exact rational; the error is its distance from the true ε. Seconds are CPU seconds of one "
    "core, and by the clock beside them; targets are about the former, which other work on the "
    "machine does not change. `mart.` is the engine of martingales. Other tools: the claim that "
    "they were measured at, the size if it was another, the ε that they reported and their "
    "seconds; with the claim 1, as measured for the task above, otherwise as published with "
    "DP-Sniper (S&P 2021) for DP-Sniper with logistic regression and for the first of two runs of "
    "StatDP, whose findings were verified there; those times are of that machine. These tools "
    "report bounds with an error probability, from runs alone. SuperDP (PLDI 2026), which proves "
    "as we do, reports 13 of 15 programs of these families refuted, mostly under 3 s, and names "
    "branches on a continuous draw as its limit."
)
RUNS = (1, 3)
SECONDS = 50.0

PEERS = Path(__file__).parents[1] / "peers.json"

LIMIT = 60.0
"""Seconds by the clock that a search may take."""

CLOSE = 0.01
"""The certified epsilon may lie so far below the truth, in units of it."""

MEDIAN, EACH, LARGE, ALL, CHECK = 0.3, 3.0, 10.0, 120.0, 1.0
"""Targets in seconds: the median search, each at n <= SMALL, each of LARGEST, all, a check."""

SMALL = 5
LARGEST = ("S2-n10", "N1-n8", "N2-n8")

UNBOUNDED = {"L6"}
"""The truth is infinite, but no event has probability 0 on one side: any proof will do."""


@dataclass(frozen=True, slots=True)
class Proved:
    """What one search came to; `certified` is None without a proof, and infinite as a float."""

    engine: str
    certified: Fraction | float | None
    search: tuple[float, float]
    check: tuple[float, float]
    late: bool
    problem: str = ""


class _Timer:
    """CPU seconds and seconds by the clock since it was made or last asked."""

    def __init__(self) -> None:
        self._last = (time.process_time(), time.perf_counter())

    def lap(self) -> tuple[float, float]:
        now = (time.process_time(), time.perf_counter())
        cpu, wall = (b - a for a, b in zip(self._last, now, strict=True))
        self._last = now
        return cpu, wall


def prove(job: tuple[str, int]) -> Proved:
    """Search and check one program, timed."""
    program = get(job[0])
    timer = _Timer()
    source = read_program(program.function)
    relation = exact_relation(as_relation(program.pair))
    found = search(source, exact_claim(program.claim), relation, "auto", time.monotonic() + LIMIT)
    searched = timer.lap()
    if found.certificate is None:
        return Proved("", None, searched, (0.0, 0.0), found.timed_out)
    try:
        verified = verify(found.certificate)
    except Exception as error:  # noqa: BLE001 - whatever it is, the certificate is worth nothing
        return Proved("", None, searched, timer.lap(), False, f"{type(error).__name__}: {error}")
    checked = timer.lap()
    return Proved(verified.engine, certified(verified, program), searched, checked, False)


def certified(verified: Verified, program: Program) -> Fraction | float:
    """The lower bound of epsilon at the delta that the program's truth is stated at."""
    if program.claim.leak_delta is not None:
        return math.inf if verified.epsilon is None else verified.epsilon
    rest = verified.lower - Fraction(str(program.delta))
    if rest <= 0:
        return Fraction(0)
    if verified.upper == 0:
        return math.inf
    return Fraction(math.floor(ln_bounds(rest / verified.upper, 96)[0] * 10**9), 10**9)


def measure(runner: Runner) -> list[Row]:
    """A row for each program, and the targets over all of them."""
    programs = entries()
    runs = runner.repeat(prove, [program.id for program in programs])
    each = [_middle(found) for found in runs]
    rows = [program_row(program, found) for program, found in zip(programs, each, strict=True)]
    return [*rows, *_over_all(programs, each, rows)]


def program_row(program: Program, found: Proved) -> Row:
    """One program: refuted near the truth if it is broken, and spared if it is not."""
    refuted = found.certified is not None
    target, ok = "spared", not refuted
    if program.broken:
        target, ok = _target(program), refuted and _is_near(program, found)
    error = error_of(program, found)
    return Row(
        what=f"{program.id}: {program.title}",
        target=target,
        ok=ok,
        more={
            "claim": str(program.claim),
            "true ε": _epsilon(program.epsilon),
            "certified ε": "" if found.certified is None else _rational(found.certified),
            "error": "" if error is None else f"{100 * error:.2g} %",
            "engine": "mart." if found.engine == "martingale" else found.engine,
            "search, CPU s": found.search[0],
            "by the clock": found.search[1],
            "check, CPU s": found.check[0] if refuted else "",
            "verdict": found.problem or _verdict(program, found),
            "other tools": "; ".join(published(program.id)),
        },
    )


def error_of(program: Program, found: Proved) -> float | None:
    """How far the certified epsilon lies below the truth, in units of it.

    None where that says nothing: without a proof, or with a finite bound for an infinite truth.
    """
    if found.certified is None or not program.broken:
        return None
    if math.isinf(program.epsilon):
        return 0.0 if found.certified == math.inf else None
    return 1.0 - float(found.certified) / program.epsilon


def _target(program: Program) -> str:
    if program.id in UNBOUNDED:
        return "refuted"
    if math.isinf(program.epsilon):
        return "refuted, ε = ∞"
    return f"refuted, within {100 * CLOSE:g} %"


def _is_near(program: Program, found: Proved) -> bool:
    error = error_of(program, found)
    return program.id in UNBOUNDED or (error is not None and abs(error) <= CLOSE)


def _over_all(programs: Sequence[Program], each: list[Proved], rows: list[Row]) -> Iterator[Row]:
    """The targets over the suite."""
    broken = [row.ok for row, program in zip(rows, programs, strict=True) if program.broken]
    yield Row(
        what="broken programs refuted as their rows ask",
        target="all",
        ok=all(broken),
        refuted=sum(map(bool, broken)),
        of=len(broken),
    )
    spared = [row.ok for row, program in zip(rows, programs, strict=True) if not program.broken]
    yield Row(
        what="controls and near-ties refuted",
        target="none",
        ok=all(spared),
        refuted=len(spared) - sum(map(bool, spared)),
        of=len(spared),
    )
    times = {program.id: found.search for program, found in zip(programs, each, strict=True)}
    cpu, wall = (statistics.median(pair[i] for pair in times.values()) for i in range(2))
    yield _seconds("median search", (cpu, wall), MEDIAN)
    small = [program.id for program in programs if size(program) <= SMALL]
    slowest = max(small, key=lambda key: times[key][0])
    yield _seconds(f"slowest search at n ≤ {SMALL}: {slowest}", times[slowest], EACH)
    for key in LARGEST:
        yield _seconds(f"search on {key}", times[key], LARGE)
    checks = {program.id: found.check for program, found in zip(programs, each, strict=True)}
    totals = [sum(found.search[i] + found.check[i] for found in each) for i in range(2)]
    yield _seconds("the whole suite, searches and checks", (totals[0], totals[1]), ALL)
    slowest = max(checks, key=lambda key: checks[key][0])
    yield Row(
        what=f"slowest check: {slowest}",
        target=f"< {CHECK:g} s",
        ok=checks[slowest][0] < CHECK,
        more={"check, CPU s": checks[slowest][0]},
    )


def _seconds(what: str, seconds: tuple[float, float], bound: float) -> Row:
    cpu, wall = seconds
    return Row(
        what=what,
        target=f"< {bound:g} s",
        ok=cpu < bound,
        more={"search, CPU s": cpu, "by the clock": wall},
    )


def size(program: Program) -> int:
    """The length of its input; a number or a tuple counts as one.

    >>> size(get("S2-n10")), size(get("L1"))
    (10, 1)
    """
    return len(program.pair[0]) if isinstance(program.pair[0], list) else 1


@cache
def _facts() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for fact in json.loads(PEERS.read_text(encoding="utf-8"))["programs"]:
        shown = fact.get("result") or f"ε ≥ {fact['epsilon']:.4g}"
        claim = f"{fact['tool']}, claim {fact['claim']:g}"
        about = ", ".join(filter(None, (claim, fact.get("but", ""))))
        found.setdefault(fact["id"], []).append(f"{about}: {shown} ({fact['seconds']:g} s)")
    return found


def published(key: str) -> list[str]:
    """What other tools reported about a program.

    >>> published("S1-n4")[0]
    'DP-Sniper, claim 0.1, n = 10: ε ≥ 1.761 (59 s)'
    """
    return _facts().get(key, [])


def _middle(found: list[Proved]) -> Proved:
    """The run with the middle time of several, which differ in nothing else."""
    return sorted(found, key=lambda run: run.search[0])[len(found) // 2]


def _verdict(program: Program, found: Proved) -> str:
    if found.certified is not None:
        return "refuted"
    if found.late:
        return "time was up"
    return "no proof" if program.broken else "spared"


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4f}"


def _rational(value: Fraction | float) -> str:
    """A certified bound: exact, and four places rounded down.

    >>> _rational(Fraction(3, 2)), _rational(math.inf)
    ('3/2 = 1.5', '∞')
    """
    if isinstance(value, float):
        return "∞"
    near = math.floor(value * 10**4) / 10**4
    return f"{value} {'=' if Fraction(str(near)) == value else '≈'} {near:g}"
