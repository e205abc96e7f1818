"""Queries over all series and over long ones, against what reading every step would give."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

NOW = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)


def filled(store, step, name, values, failed=()):
    """A series with a step for each value of evidence; leaks are something else of it."""
    series = store.enter(name, "d", {"alpha": 0.05})
    with store.turn(series.id) as turn:
        for i, value in enumerate(values, 1):
            outcome = "failed" if i in failed else "scored"
            turn.record(
                step(i, outcome=outcome, log_e_value=value, epsilon_lower=float(-value % 1)),
                checkpoint=None,
            )
    return series


def test_the_last_step_and_alarm_of_each_series(store, step):
    long = filled(store, step, "long", [0.1 * i for i in range(250)])
    short = filled(store, step, "short", [1.0])
    empty = store.enter("empty", "d", {})
    with store.turn(short.id) as turn:
        turn.record(step(2), checkpoint=None, alarm={"n": 1})
        turn.acknowledge("mended", checkpoint=None)
        turn.record(step(3), checkpoint=None, alarm={"n": 2})
    newest, alarms = store.newest_steps(), store.newest_alarms()
    assert newest == {series.id: list(store.steps(series.id))[-1] for series in (long, short)}
    assert empty.id not in newest
    assert alarms == {short.id: store.alarms(short.id)[-1]}
    assert alarms[short.id].details == {"n": 2}


def test_a_short_series_is_not_thinned(store, step):
    series = filled(store, step, "short", [0.5, math.nan, -math.inf, math.inf], failed=[3])
    found = store.points(series.id)
    assert [(p.number, p.version, p.outcome) for p in found] == [
        (1, "v1", "scored"), (2, "v2", "scored"), (3, "v3", "failed"), (4, "v4", "scored"),
    ]  # fmt: skip
    assert math.isnan(found[1].log_e_value)
    assert [found[i].log_e_value for i in (0, 2, 3)] == [0.5, -math.inf, math.inf]
    assert store.points(series.id + 1) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_long_series_keeps_its_extremes(store, step, seed):
    rng = np.random.default_rng(seed)
    values = [float(v) for v in np.cumsum(rng.normal(size=700))]
    failed = {int(n) for n in rng.integers(1, 701, size=4)}
    series = filled(store, step, "long", values, failed)
    stretches = 10
    found = store.points(series.id, stretches=stretches)
    numbers = [p.number for p in found]
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= 6 * stretches + 1
    steps = list(store.steps(series.id))
    wanted = {700}
    for k in range(stretches):
        part = steps[70 * k : 70 * (k + 1)]
        scored = [one for one in part if one.outcome == "scored"]
        wanted.add(part[0].number)
        for key in ("log_e_value", "epsilon_lower"):
            for best in (min, max):
                wanted.add(best(scored, key=lambda one, key=key: getattr(one, key)).number)
        wanted |= {one.number for one in part if one.outcome == "failed"} and {
            min(one.number for one in part if one.outcome == "failed")
        }
    assert set(numbers) == wanted
    by_number = {one.number: one for one in steps}
    assert all(p.log_e_value == by_number[p.number].log_e_value for p in found)


def test_steps_scored_after_a_moment(store, step):
    series = filled(store, step, "s", [0.0])
    with store.turn(series.id) as turn:
        turn.record(step(2, recorded_at=NOW + timedelta(hours=1)), checkpoint=None)
        turn.record(
            step(3, recorded_at=NOW + timedelta(hours=2), outcome="failed"), checkpoint=None
        )
    assert store.scored_since(series.id, 1, NOW)
    assert not store.scored_since(series.id, 2, NOW)
    assert not store.scored_since(series.id, 0, NOW + timedelta(hours=1))
    assert store.scored_since(series.id, 0, NOW + timedelta(minutes=59))


SUMMARIES = [
    {"plain": [1, 2.5, "text", None, True]},
    {"special": [math.inf, -math.inf]},
    {"text": "costs $5", "other": "a NaN in words"},
    {"bytes": b"\x00\xff", "more": 1},
    {"deep": json.loads("[" * 60 + "]" * 60)},
]


@pytest.mark.parametrize("summary", SUMMARIES)
def test_json_comes_back_whichever_way_it_is_read(store, step, summary):
    series = store.enter("s", "d", {})
    with store.turn(series.id) as turn:
        turn.record(step(1, summary=summary), checkpoint=None)
    assert store.newest_steps()[series.id].summary == summary
