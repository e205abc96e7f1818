"""What is recorded comes back as it was, and what cannot be stored is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tollens.store import Store, StoreError


def record(store, series, step, **extras):
    with store.turn(series.id) as turn:
        turn.record(step, **({"checkpoint": None} | extras))
    return list(store.steps(series.id))[-1]


def test_a_step_comes_back_as_it_was(store, series, step):
    summary = {"counts": {"a": [1, 2]}, "low": -math.inf, "text": "naïve \0 \ud800 ∞", "raw": b"\0"}
    sent = step(
        outcome="failed", pairs=2**63 - 1, summary=summary, experts=bytes(range(256)), run_id=""
    )
    assert record(store, series, sent) == sent


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, 0.1, 5e-324, -1.7976931348623157e308, 2.0**53 + 2, 0.0]
)
def test_numbers_survive_exactly(store, series, step, value):
    found = record(store, series, step(log_e_value=value, epsilon_lower=-value))
    assert (found.log_e_value, found.epsilon_lower) == (value, -value)


def test_nan_survives(store, series, step):
    found = record(store, series, step(log_e_value=math.nan, summary={"x": math.nan}))
    assert math.isnan(found.log_e_value)
    assert math.isnan(found.summary["x"])
    assert found.epsilon_lower == 0.0


def test_moments_are_utc(store, series, step):
    there = datetime(2024, 3, 1, 1, 30, 0, 7, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    found = record(store, series, step(recorded_at=there))
    assert found.recorded_at == there
    assert found.recorded_at.tzinfo is UTC
    assert abs(series.opened_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_outputs_of_both_sides(store, series, step):
    record(store, series, step(), raw=(b"\0x", b""))
    assert store.raw(series.id, 1) == (b"\0x", b"")
    assert store.raw(series.id, 2) is None


def test_all_that_cannot_be_stored_is_named_at_once(store, series, step):
    wrong = step(
        version="v" * 256,
        run_id="\0",
        outcome="good",
        pairs=-1,
        recorded_at=datetime(2024, 1, 1),
        fingerprint="\ud800",
        log_e_value="1",
        summary=[],
        experts="",
    )
    with store.turn(series.id) as turn:
        with pytest.raises(StoreError) as caught:
            turn.record(wrong, checkpoint=None)
        turn.record(step(), checkpoint=None)  # nothing was sent: the turn goes on
    assert len(caught.value.findings) == 9
    assert [one.number for one in store.steps(series.id)] == [1]


@pytest.mark.parametrize("stale_after", [0, -1, math.nan, "1"])
def test_stale_after_is_seconds(store, stale_after):
    with pytest.raises(StoreError, match="stale_after"):
        store.enter("counts", "d", {}, stale_after=stale_after)


def test_an_integer_of_thousands_of_digits(store, series, step):
    with store.turn(series.id) as turn, pytest.raises(StoreError, match="summary cannot"):
        turn.record(step(summary={"n": 10**5000}), checkpoint=None)


def test_entering_a_series_twice_is_the_same_series(store):
    first = store.enter("counts", "d1", {"alpha": 0.05}, stale_after=60)
    again = store.enter("counts", "d1", {"alpha": 0.01}, stale_after=90.5)
    assert (again.id, again.settings, again.stale_after) == (first.id, {"alpha": 0.05}, 90.5)
    assert again.opened_at == first.opened_at
    assert store.enter("counts", "d1", {}).stale_after is None


def test_the_newest_series_is_the_last(store):
    for name, digest in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "1")]:
        store.enter(name, digest, {"limit": math.inf})
    assert [(one.name, one.digest) for one in store.series()] == [
        ("a", "1"),
        ("b", "1"),
        ("a", "2"),
    ]
    assert [one.digest for one in store.series("a")] == ["1", "2"]
    assert store.series("c") == []
    assert store.series()[0].settings == {"limit": math.inf}


def test_what_was_recorded_is_there_after_opening_again(where, step):
    with Store.open(where) as store:
        series = store.enter("counts", "d", {})
        with store.turn(series.id) as turn:
            turn.record(step(), checkpoint=b"state", alarm={"break": 1})
    with Store.open(where, create=False) as store:
        assert store.series() == [series]
        assert list(store.steps(series.id)) == [step()]
        assert store.checkpoint(series.id) == b"state"
        assert [alarm.details for alarm in store.alarms(series.id)] == [{"break": 1}]


def test_importing_tollens_does_not_load_sqlalchemy():
    program = "import sys, tollens, tollens.cli; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
