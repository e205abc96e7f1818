"""What a person reads of monitors, word for word; run with --snapshot-update after a change."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from tollens.monitoring.backfill.repository import Commit
from tollens.monitoring.backfill.walk import Backfill, Breaking
from tollens.monitoring.overview import History, Standing
from tollens.monitoring.state import AlarmState, HistoryRow, LikelyBreak, MonitorState
from tollens.report import backfill_text, series_text
from tollens.witness import Witness

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WITNESS = Witness("output <= 2.01762", "x_prime", 0.15, 0.516, 1.0, 0.0)
SHA = "7cc9f28b8f7c3f1a7cc9f28b8f7c3f1a7cc9f28b"


def shown(*parts, width=100, terminal=False):
    stream = io.StringIO()
    colors = "standard" if terminal else None
    console = Console(file=stream, width=width, force_terminal=terminal, color_system=colors)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def step(number, evidence, **changes):
    values = {
        "version": f"v{number}", "run_id": "1", "outcome": "scored", "pairs": 750,
        "recorded_at": NOON + timedelta(hours=number), "epsilon_lower": 0.1 * number,
        "summary": {}, **changes,
    }  # fmt: skip
    return HistoryRow(number=number, evidence=evidence, **values)


ROWS = (
    step(1, -0.73, epsilon_lower=0.0),
    step(2, -0.5),
    step(3, -0.5, outcome="failed", summary={"error": "counts.py cannot be imported: SyntaxError"}),
    step(4, 0.4, run_id="2"),
    step(5, 1.51),
    step(6, 8.94, version=SHA, epsilon_lower=1.02),
)


def alarm(**changes):
    place = LikelyBreak(4, "v4", "v2", 4, 5)
    return AlarmState(6, SHA, NOON, place, WITNESS, 1.02, peak=9.31, **changes)


def state(name="count", **changes):
    values = {
        "method": "exact", "alarm": False, "evidence": -0.5, "threshold": 3.02,
        "epsilon_lower": 0.474, "steps": 5, "failed": 1, "version": "v5",
        "last_outcome": "scored", "updated_at": NOON, "stale": False, "raised": None, **changes,
    }  # fmt: skip
    return MonitorState(name=name, **values)


def standing(name="count", *, recent=ROWS, current=True, horizon=None, elsewhere=(), **changes):
    made = state(name, **changes)
    return Standing(made, "epsilon=1", 0.05, horizon, 750, 0.0, current, recent, elsewhere)


ALARM = {
    "alarm": True, "raised": alarm(), "evidence": 8.94, "epsilon_lower": 1.02, "version": SHA,
}  # fmt: skip


def all_kinds():
    return [
        standing("counts/alarm", **ALARM),
        standing("failing", last_outcome="failed", recent=ROWS[:3]),
        standing("fresh", steps=0, failed=0, evidence=float("-inf"), version=None,
                 updated_at=None, recent=(), epsilon_lower=0.0),
        standing("long", recent=tuple(step(i, i / 40) for i in range(1, 41)), evidence=1.1),
        standing("stale", stale=True, updated_at=NOON - timedelta(days=9)),
        standing("stale", current=False, **ALARM),
    ]  # fmt: skip


def test_step_with_an_alarm(snapshot):
    assert shown(series_text.standing_text(standing(**ALARM))) == snapshot


def test_step_with_an_alarm_on_a_narrow_terminal_in_colour(snapshot):
    text = series_text.standing_text(standing(**ALARM), width=60)
    assert shown(text, width=60, terminal=True) == snapshot


@pytest.mark.parametrize("horizon", [None, 100, "arl"])
def test_quiet_step(snapshot, horizon):
    assert shown(series_text.standing_text(standing(horizon=horizon))) == snapshot


def test_failed_step(snapshot):
    row = standing(last_outcome="failed", notes=("version v6 could not be run: no file",))
    assert shown(series_text.standing_text(row)) == snapshot


def test_quiet_step_beside_an_open_alarm_of_another_series(snapshot):
    assert shown(series_text.standing_text(standing(elsewhere=(alarm(),)))) == snapshot


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_status(snapshot, width):
    table = series_text.status_table(all_kinds(), width=width, now=NOON + timedelta(hours=3))
    assert shown(table, width=width) == snapshot


def test_status_of_nothing(snapshot):
    assert shown(series_text.status_table([])) == snapshot


@pytest.mark.parametrize("width", [60, 100])
def test_history(snapshot, width):
    closed = alarm(acknowledged_at=NOON, reason="the noise\nwas halved")
    older = standing(current=False, recent=())
    found = History(standing(recent=(), failed=3), ROWS, (closed,), (older,))
    assert shown(*series_text.history_parts(found, width=width), width=width) == snapshot


def test_acknowledged(snapshot):
    closed = alarm(acknowledged_at=NOON, reason="the noise was halved")
    assert shown(series_text.acknowledged_text("count", closed)) == snapshot


def commit(number):
    return Commit(f"{number:012x}" + 28 * "0", f"change {number}")


def backfilled(**changes):
    verdict = {"witness": WITNESS.to_json(), "epsilon_lower": 1.25}
    values = {
        "first": commit(39),
        "before": commit(37),
        "untested": (commit(38),),
        "verdict": verdict,
        "audits": 7,
        "alpha": 0.05 / 15,
        "confirm": 20_000,
        **changes,
    }
    breaking = Breaking(**values)  # fmt: skip
    return Backfill(
        "count", "/srv/project", 59, 3, 38, 1, 0, standing(**ALARM), commit(41), breaking, 17
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"before": None, "untested": ()}, {"first": None, "before": None, "verdict": None}],
    ids=["found", "at the first", "not found"],
)
def test_backfill(snapshot, changes):
    assert shown(backfill_text.backfill_text(backfilled(**changes))) == snapshot


def test_backfill_without_an_alarm(snapshot):
    found = Backfill("count", "/srv/project", 59, 0, 58, 1, 0, standing())
    assert shown(backfill_text.backfill_text(found)) == snapshot


def test_backfill_of_nothing_that_runs(snapshot):
    found = Backfill(
        "count", "/srv/project", 3, 0, 0, 0, 3, None, reason="counts.py does not exist",
        notes=("a new store was made at .tollens/monitor.db",),
    )  # fmt: skip
    assert shown(backfill_text.backfill_text(found)) == snapshot
