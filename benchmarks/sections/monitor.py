"""The monitor over versions: delays after a break, false alarms before one and without one."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from operator import ge
from typing import NamedTuple

import numpy as np

from benchmarks.harness import ALPHA, Row, Runner
from benchmarks.scenarios import CHANGE, CLAIM, HORIZON, PAIRS, SCENARIOS, truth
from benchmarks.sections import monitor_brownian, monitor_speed
from tollens.monitoring.detectors import Detector, Runs
from tollens.monitoring.methods import make_detector
from tollens.monitoring.plan import Plan, make_plan

TITLE = "The monitor over versions"
NOTE = (
    "Eight mechanisms that change in the middle of 100 steps of 750 pairs of runs, claim ε = 1, "
    "α = 0.05 for the whole horizon. The delay is in steps, 0 where the first changed step raises "
    "the alarm. `learned` is the exact monitor that is told no event, `event` the exact one with "
    "the best event given, `brownian` the published method with that event (200 runs each, from "
    "the exact probabilities of the event). Runs of scenarios with the same mechanism before the "
    "change share those 50 steps. The limit is that of any test of one step's runs."
)
RUNS = (40, 200)
SECONDS = 190.0

TARGETS = {"a": 0.0, "b": 6.0, "c": 1.0, "d": 12.0, "e": 0.0, "f": 2.0}
LIMITS = {"b": 1.8, "d": 4.8, "f": 0.4}
"""log(T/alpha)/(n KL*) of the full output, in steps."""

TOGETHER = (("a", "b"), ("c", "g"), ("d", "e", "h"), ("f",))
"""Scenarios with the same mechanism and pair before the change."""

RARE = (0.2, 0.05, 0.01, 0.003, 0.001, 0.0003, 0.0001)
ABLATIONS = (200, 500, 1000, 2000)
LONG = 1000


EVENTS: dict[str, dict[str, Callable[[object], bool]]] = {
    "event": {"E": bool},
    "panel": {f"output <= {edge:g}": partial(ge, edge) for edge in monitor_brownian.EDGES},
}
"""The events that the exact monitor is given, by method; `learned` has none."""


class Key(NamedTuple):
    """One simulation: scenarios that share their start, the method, pairs a step, steps."""

    names: tuple[str, ...]
    method: str
    pairs: int = PAIRS
    horizon: int = HORIZON
    p_prime: float = 0.0


def plan_of(key: Key) -> Plan:
    """The plan of a simulation."""
    return make_plan(
        CLAIM, method="exact", alpha=ALPHA, horizon=key.horizon, beta=0.25, pairs=key.pairs,
        events=EVENTS.get(key.method), delta=None,
    )  # fmt: skip


def delays(job: tuple[Key, int]) -> dict[str, float]:
    """The step of the first alarm after the change (0: the first one), by scenario.

    Negative where it came before the change, infinite where none came.
    """
    key, seed = job
    plan, change = plan_of(key), key.horizon * CHANGE // HORIZON
    rng = np.random.default_rng([seed, key.pairs, key.horizon, *map(ord, key.names[0])])
    detector = make_detector(plan, None)
    for step in range(change):
        if _alarm(detector, _runs(key, key.names[0], False, rng), seed):
            return dict.fromkeys(key.names, float(step - change))
    start, found = detector.kept(), {}
    for name in key.names:
        detector, found[name] = make_detector(plan, start), math.inf
        for step in range(key.horizon - change):
            if _alarm(detector, _runs(key, name, True, rng), seed):
                found[name] = float(step)
                break
    return found


def boundary(job: tuple[Key, int]) -> bool:
    """Whether an event at the boundary of the claim, P = e P', ever raises an alarm."""
    key, seed = job
    detector = make_detector(plan_of(key), None)
    rng = np.random.default_rng([seed, int(1e6 * key.p_prime)])
    p = (math.e * key.p_prime, key.p_prime)
    return any(_alarm(detector, _event_runs(key, p, rng), seed) for _ in range(key.horizon))


def _alarm(detector: Detector, runs: Runs, seed: int) -> bool:
    return detector.take(runs, latched=False, seed=seed).alarm


def _runs(key: Key, name: str, after: bool, rng: np.random.Generator) -> Runs:
    scenario = SCENARIOS[name]
    if key.method == "event":
        exact = _truth(name)
        pair = (exact.after, exact.after_prime) if after else (exact.before, exact.before_prime)
        return _event_runs(key, pair, rng)
    draw = scenario.after if after else scenario.before
    pair = (scenario.x, scenario.x_prime)
    x, y = (draw(data, key.pairs, rng) for data in pair)
    return Runs(key.pairs, outputs=(x, y))


def _event_runs(key: Key, p: tuple[float, float], rng: np.random.Generator) -> Runs:
    """Outputs that say whether the event came."""
    x, y = (rng.random(key.pairs) < each for each in p)
    return Runs(key.pairs, outputs=(x, y))


_truth = cache(truth)


def measure(runner: Runner) -> list[Row]:
    """Scenarios, ablations and rare events; the published method beside ours."""
    groups = [Key(names, "learned") for names in TOGETHER]
    given = [Key((name,), "event") for name in TARGETS]
    rare = [Key((), "event", p_prime=p) for p in RARE]
    small = [Key((name,), "learned", pairs=n) for name in "bd" for n in ABLATIONS if n != PAIRS]
    panel = [Key((name,), "panel") for name in "ab"]
    long = [Key((name,), "learned", horizon=LONG) for name in "bd"] if runner.full else []
    speed = monitor_speed.rows()
    scenarios = _part(runner, 0.5).repeat(delays, [*groups, *given])
    alarms = _part(runner, 0.25).repeat(boundary, rare)
    ablations = _part(runner, 0.25).repeat(delays, [*small, *panel, *long])
    learned = {
        name: [run[name] for run in found]
        for key, found in zip(groups, scenarios, strict=False)
        for name in key.names
    }
    rows = [
        _row(f"{name}: {SCENARIOS[name].title}", "learned", learned[name], name)
        for name in sorted(learned)
    ]
    rows += [
        _row(name, "event", [run[name] for run in found], None)
        for name, found in zip(TARGETS, scenarios[len(groups) :], strict=True)
    ]
    rows += [_published(row) for row in monitor_brownian.delay_rows()]
    rows += [
        _row(f"{key.names[0]}, n = {key.pairs}, T = {key.horizon}", key.method,
             [run[key.names[0]] for run in found], None)
        for key, found in zip([*small, *panel, *long], ablations, strict=True)
    ]  # fmt: skip
    rows += [_published(row) for row in monitor_brownian.ablation_rows()]
    rows += [_published(row) for row in monitor_brownian.panel_rows()]
    levels = {row.p_prime: row.alarms for row in monitor_brownian.level_rows(ns=(PAIRS,))}
    rows += [_level(p, found, levels[p]) for p, found in zip(RARE, alarms, strict=True)]
    return rows + speed


def _part(runner: Runner, share: float) -> Runner:
    """A runner with a part of the time of the section, from now on."""
    return replace(runner, seconds=share * runner.seconds, started=time.perf_counter())


def most(runs: int) -> float:
    """The largest share of false alarms that alpha explains: three standard errors above it."""
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)


def _row(what: str, method: str, found: Sequence[float], target: str | None) -> Row:
    early = sum(delay < 0 for delay in found)
    after = [delay for delay in found if delay >= 0]
    detected = sum(math.isfinite(delay) for delay in after)
    median = statistics.median(after) if after else math.inf
    fine = early <= most(len(found)) * len(found)
    text, ok = "", None
    if target in TARGETS:
        text = f"median ≤ {TARGETS[target]:g}, all detected, early ≤ {most(len(found)):.0%}"
        ok = fine and median <= TARGETS[target] and detected == len(after)
    elif target is not None:
        text = f"false alarms ≤ {most(len(found)):.0%}"
        ok = early + detected <= most(len(found)) * len(found)
    return Row(
        what=what, target=text, ok=ok, median=_finite(median), refuted=detected, of=len(after),
        limit=LIMITS.get(target or ""),
        more={"method": method, "alarms before": f"{early} of {len(found)}"},
    )  # fmt: skip


def _finite(median: float) -> float | None:
    """None where most runs raised no alarm."""
    return median if math.isfinite(median) else None


def _published(row: monitor_brownian.DelayRow) -> Row:
    early = round(row.early * row.runs)
    return Row(
        what=f"{row.scenario}, n = {row.n}, T = {row.horizon}",
        median=_finite(row.median_delay),
        refuted=round(row.detected * (row.runs - early)),
        of=row.runs - early,
        more={"method": "brownian", "alarms before": f"{early} of {row.runs}"},
    )


def _level(p_prime: float, found: Sequence[bool], published: float) -> Row:
    alarms = sum(found)
    return Row(
        what=f"event of probability {p_prime:g} at the edge of the claim",
        target=f"false alarms ≤ {most(len(found)):.0%}",
        ok=alarms <= most(len(found)) * len(found),
        refuted=alarms,
        of=len(found),
        more={"method": "event", "brownian false alarms": f"{published:.0%}"},
    )
