"""The monitor with its store: bad input, repeated steps, many processes, and strange mechanisms."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import random
import signal
import sqlite3
import time
import tracemalloc
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import tollens
from tollens.adapters import adapt
from tollens.errors import StoreError, UsageError
from tollens.mechanism import from_callable
from tollens.monitoring.archive import unpacked
from tollens.monitoring.detectors import Runs
from tollens.monitoring.methods import make_detector
from tollens.monitoring.monitor import Monitor
from tollens.monitoring.recording import LONGEST
from tollens.monitoring.sampling import draw, step_seed
from tollens.neighbours import as_pair
from tollens.outputs import Encoder
from tollens.store import StepRecord, Store

NEIGHBOURS = ([1, 1], [1])


def noisy(scale):
    return tollens.batched(lambda rows, n, rng: len(rows) + rng.laplace(scale=scale, size=n))


GOOD, BROKEN = noisy(1.0), noisy(0.15)


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "monitor.db")


def opened(place, name="counts", claim="epsilon=1", **settings):
    return Monitor.open(name, claim, **{"store": place, "pairs": 40, "seed": 1, **settings})


def step(monitor, mechanism=GOOD, version="v1", **settings):
    return monitor.step(mechanism, neighbours=NEIGHBOURS, version=version, **settings)


def everything_kept(place):
    """All bytes of a database, as they are and with what is compressed in it undone."""
    found = []
    with sqlite3.connect(place) as connection:
        names = [row[0] for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )]  # fmt: skip
        for name in names:
            for row in connection.execute(f"SELECT * FROM {name}"):
                for value in row:
                    found.append(value if isinstance(value, bytes) else str(value).encode())
                    with suppress(zlib.error, TypeError):
                        found.append(zlib.decompress(value))
    return b"\n".join(found)


# Settings and arguments of wrong kinds

SETTINGS = [
    {"name": 5}, {"name": None}, {"name": " "}, {"name": ["a"]}, {"claim": None}, {"claim": 5},
    {"claim": "epsilon"}, {"claim": "epsilon=-1"}, {"method": "best"}, {"method": []},
    {"alpha": 0}, {"alpha": 1}, {"alpha": math.nan}, {"alpha": "x"}, {"alpha": True},
    {"horizon": 0}, {"horizon": -3}, {"horizon": 2.0}, {"horizon": "long"}, {"horizon": True},
    {"horizon": 10**5000}, {"beta": 0.5}, {"beta": None}, {"pairs": 19}, {"pairs": 20.0},
    {"pairs": None}, {"pairs": "20"}, {"delta": -0.1}, {"delta": "x"}, {"delta": math.nan},
    {"events": 5}, {"events": ["a", "a"]}, {"events": {"a": 5}}, {"events": ["output <= x"]},
    {"stale_after": "soon"}, {"stale_after": -1}, {"stale_after": 10**400}, {"stale_after": True},
    {"stale_after": math.inf}, {"small_counts": "ignore"}, {"keep_outputs": "yes"},
    {"seed": "x"}, {"seed": -1}, {"seed": 1.5}, {"workers": 0}, {"workers": "x"},
    {"timeout": 0}, {"timeout": "x"}, {"timeout": math.nan}, {"store": 5}, {"store": None},
    {"store": ""}, {"store": "mysql://host/name"},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: next(iter(s)))
def test_settings_of_a_wrong_kind(place, settings):
    with pytest.raises(UsageError):
        opened(place, **settings)


def test_all_that_is_wrong_is_said_at_once(place):
    with pytest.raises(UsageError) as caught:
        opened(place, "", "epsilon=x", alpha=2, pairs=3, seed=-1, workers=0, stale_after="soon")
    assert len(caught.value.findings) == 7
    assert not Path(place).exists()


@pytest.mark.parametrize("version", [None, 5, b"v", ["v"], "a\0b", "\ud800", "v" * (LONGEST + 1)])
def test_versions_and_runs_of_a_wrong_kind(place, version):
    def unwanted(rows):
        raise AssertionError("nothing may be run")

    with opened(place) as monitor:
        with pytest.raises(UsageError):
            step(monitor, unwanted, version)
        if version is not None:
            with pytest.raises(UsageError):
                step(monitor, unwanted, "v1", run_id=version)
        assert list(monitor.history()) == []


@pytest.mark.parametrize("neighbours", [None, 5, [1, 2], (1,), (1, 2, 3), (iter([1]), [1])])
@pytest.mark.parametrize("mechanism", [GOOD, None, 5, lambda: 1, lambda a, b, c: 1])
def test_mechanisms_and_neighbours_of_a_wrong_kind(place, mechanism, neighbours):
    with opened(place) as monitor:
        with pytest.raises(UsageError):
            monitor.step(mechanism, neighbours=neighbours, version="v1")
        if mechanism is not GOOD:
            with pytest.raises(UsageError):
                step(monitor, mechanism)
        assert monitor.state.steps == monitor.state.failed == 0


@pytest.mark.parametrize("last", ["x", 1.5, True, -1])
def test_histories_of_a_wrong_length(place, last):
    with opened(place) as monitor, pytest.raises(UsageError):
        list(monitor.history(last))


COUNTS = [
    None, 5, [], "ef", {}, {"e": (1, 2)}, {"e": (1, 2), "f": (1,)}, {"e": (1, 2), "f": (1, 2, 3)},
    {"e": (1, 2), "f": 5}, {"e": (1, 2), "f": None}, {"e": (1, 2), "f": "12"},
    {"e": (1, 2), "f": (True, 1)}, {"e": (1, 2), "f": (1.0, 1)}, {"e": (1, 2), "f": (-1, 1)},
    {"e": (1, 2), "f": (41, 1)}, {"e": (1, 2), "f": (math.nan, 1)}, {"e": (1, 2), "f": {1: 2}},
    {"e": (1, 2), "f": (3, 4), "g": (5, 6)}, {"e": (1, 2), "f": (3, 4), 5: (5, 6)},
]  # fmt: skip


@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_counts_of_a_wrong_kind(place, counts):
    with opened(place, events=["e", "f"]) as monitor:
        with pytest.raises(UsageError):
            monitor.step_counts(counts, version="v1")
        assert monitor.state.steps == 0


@pytest.mark.parametrize("n", [0, -1, 1.5, "x", True, math.nan, 10**30, 3])
def test_numbers_of_runs_of_a_wrong_kind(place, n):
    with opened(place, events=["e"]) as monitor:
        with pytest.raises(UsageError):
            monitor.step_counts({"e": (4, 2)}, version="v1", n=n)
        assert monitor.state.steps == 0


def test_counts_and_runs_need_the_series_for_them(place):
    with opened(place) as monitor, pytest.raises(UsageError, match="events"):
        monitor.step_counts({"e": (1, 2)}, version="v1")
    with opened(place, "named", events=["e"]) as monitor:
        with pytest.raises(UsageError, match="only a name"):
            step(monitor)
        assert monitor.state.steps == 0


def test_an_event_that_fails_records_nothing(place):
    with opened(place, events={"odd": lambda output: 1 / 0}) as monitor:
        with pytest.raises(UsageError, match="ZeroDivisionError"):
            step(monitor)
        assert monitor.state.steps == 0


# The store


def test_files_that_are_no_store(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no database\n" * 100)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE steps (x)")
        connection.execute("INSERT INTO steps VALUES (1)")
    for path in (text, other, tmp_path):
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(StoreError):
            opened(str(path))
        assert before is None or path.read_bytes() == before


def test_a_store_that_is_locked_or_gone(place, monkeypatch):
    original = Store.open.__func__
    monkeypatch.setattr(
        Store, "open", classmethod(lambda cls, where: original(cls, where, wait=0.05))
    )
    with opened(place) as monitor:
        step(monitor)
        before = monitor.state.evidence
        holder = sqlite3.connect(place, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            step(monitor, version="v2")
        holder.execute("ROLLBACK")
        holder.close()
        assert (monitor.state.steps, monitor.state.evidence) == (1, before)
        assert step(monitor, version="v2").steps == 2
        Path(place).rename(place + ".away")
        with pytest.raises(StoreError, match="gone"):
            step(monitor, version="v3")


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is writable for root")
def test_a_store_that_is_read_only(place):
    with opened(place) as monitor:
        step(monitor)
    Path(place).chmod(0o444)
    with opened(place) as monitor:
        assert monitor.state.steps == 1
        with pytest.raises(StoreError, match="read-only"):
            step(monitor, version="v2")


def test_a_damaged_state_is_said_and_nothing_is_recorded(place):
    with opened(place) as monitor:
        step(monitor)
        with sqlite3.connect(place) as other:
            other.execute("UPDATE checkpoints SET state = ?", (b"\x00damaged",))
        with pytest.raises(UsageError, match="stored state"):
            step(monitor, version="v2")
        assert monitor.state.steps == 1


# Which steps count


def test_a_step_that_is_sent_again_counts_once(place):
    with opened(place) as monitor:
        first = step(monitor)
        again = step(monitor, lambda rows: 1 / 0)
        assert (again.steps, again.failed, again.evidence) == (1, 0, first.evidence)
        assert any("not run again" in note for note in again.notes)
        assert step(monitor, run_id="2").steps == 2
        assert step(monitor, run_id="2").steps == 2
    with opened(place) as monitor:
        assert step(monitor).steps == 2


def test_counts_that_are_given_again(place):
    with opened(place, events=["e"]) as monitor:
        first = monitor.step_counts({"e": (9, 2)}, version="v1")
        again = monitor.step_counts({"e": [np.int64(9), 2]}, version="v1")
        assert (again.steps, again.evidence) == (1, first.evidence)
        for other in ({"e": (9, 3)}, {"e": (2, 9)}):
            with pytest.raises(UsageError, match="other numbers"):
                monitor.step_counts(other, version="v1")
        with pytest.raises(UsageError, match="other numbers"):
            monitor.step_counts({"e": (9, 2)}, version="v1", n=41)
        assert monitor.step_counts({"e": (9, 3)}, version="v1", run_id="2").steps == 2


def test_a_run_that_failed_may_be_tried_again_until_it_counts(place):
    with opened(place) as monitor:
        for number in (1, 2):
            failed = step(monitor, lambda rows: 1 / 0)
            assert (failed.steps, failed.failed, failed.word) == (0, number, "failing")
            assert any("ZeroDivisionError" in note for note in failed.notes)
        assert step(monitor).steps == 1
        again = step(monitor)
        assert (again.steps, again.failed) == (1, 2)
        assert [row.run_id for row in monitor.history()] == ["1", "1~2", "1~3"]


@pytest.mark.parametrize(
    "target",
    ["nothing.py::f", "no text", "{folder}/raises.py::f", "{folder}/empty.py::f", "os::getcwd::x"],
)
def test_a_version_that_cannot_be_loaded_is_a_failed_step(place, tmp_path, target):
    (tmp_path / "raises.py").write_text("raise RuntimeError('at import')\n")
    (tmp_path / "empty.py").write_text("")
    with opened(place) as monitor:
        before = step(monitor)
        failed = step(monitor, target.format(folder=tmp_path), "v2")
        assert (failed.steps, failed.failed, failed.word) == (1, 1, "failing")
        assert failed.evidence == before.evidence
        assert step(monitor, version="v3").word != "failing"


def on_one_side(rows):
    if len(rows) == 1:
        raise ValueError("too few")
    return 1


def a_batch_on_one_side(rows, n, rng):
    if len(rows) == 1:
        raise ValueError("too few")
    return rng.random(n)


def sometimes(rows, rng):
    if rng.random() < 0.3:
        raise ValueError("by chance")
    return float(len(rows) + rng.laplace())


@pytest.mark.parametrize("mechanism", [on_one_side, tollens.batched(a_batch_on_one_side)])
def test_raising_on_one_side_only_is_evidence(place, mechanism):
    with opened(place) as monitor:
        for number in range(6):
            state = step(monitor, mechanism, f"v{number}")
        assert (state.alarm, state.failed) == (True, 0)
        assert state.raised.witness is not None


def test_raising_by_chance_on_both_sides_is_no_evidence(place):
    with opened(place) as monitor:
        for number in range(6):
            state = step(monitor, sometimes, f"v{number}")
        assert (state.alarm, state.failed, state.steps) == (False, 0, 6)


def test_a_version_that_hangs_is_a_failed_step(place):
    def hang(rows):
        time.sleep(5)

    with opened(place, pairs=20, timeout=0.01) as monitor:
        started = time.monotonic()
        state = step(monitor, hang)
        assert (state.steps, state.failed) == (0, 1)
        assert time.monotonic() - started < 30
        assert step(monitor, version="v2").steps == 1


@pytest.mark.parametrize("batch", [lambda rows, n, rng: [1], lambda rows, n, rng: 5])
def test_a_batch_of_a_wrong_length(place, batch):
    with opened(place) as monitor:
        state = step(monitor, tollens.batched(batch))
        assert (state.word, state.steps, state.failed) == ("failing", 0, 1)
        assert "a batched mechanism" in str(state)


def test_an_output_that_cannot_be_looked_at(place):
    with opened(place) as monitor:
        with pytest.raises(UsageError, match="cannot compare"):
            step(monitor, lambda rows: object())
        assert monitor.state.steps == 0


# A series


def test_changed_settings_are_another_series(place):
    with opened(place) as monitor:
        for number in range(3):
            step(monitor, version=f"v{number}")
        old = monitor.state
    low = ["output <= 0"]
    changes = [
        {"claim": "epsilon=2"}, {"alpha": 0.1}, {"horizon": 50}, {"pairs": 60}, {"events": low},
        {"delta": 0.01}, {"method": "brownian", "events": low, "horizon": 50},
    ]  # fmt: skip
    for change in changes:
        with opened(place, **change) as monitor:
            assert monitor.state.word == "new"
            assert step(monitor, version="v0").steps == 1
    with opened(place) as monitor:
        assert monitor.step(GOOD, neighbours=([1, 1, 1], [1, 1]), version="v0").steps == 1
    with opened(place) as monitor:
        assert step(monitor, version="v2").evidence == old.evidence
        assert [row.version for row in monitor.history()] == ["v0", "v1", "v2"]
    with Store.open(place) as store:
        assert len(store.series("counts")) == len(changes) + 2


def test_an_alarm_is_latched_until_it_is_acknowledged(place):
    with opened(place) as monitor:
        with pytest.raises(UsageError, match="no steps"):
            monitor.acknowledge("nothing")
        step(monitor)
        with pytest.raises(StoreError, match="no open alarm"):
            monitor.acknowledge("nothing")
        for number in range(2, 5):
            state = step(monitor, BROKEN, f"v{number}")
        assert state.alarm and state.likely_break.version == "v2"
        assert state.likely_break.version_before == "v1"
        assert state.epsilon_lower > 1
        for number in range(5, 8):
            assert step(monitor, version=f"v{number}").alarm
        (alarm,) = monitor.alarms()
        for reason in (None, 5, "", " \n", "a\0b"):
            with pytest.raises(UsageError):
                monitor.acknowledge(reason)
    with opened(place) as monitor:
        assert monitor.state.alarm
        state = monitor.acknowledge("wrong scale: 'fixed' in v5 🙂")
        assert not state.alarm
        assert state.raised.step == alarm.step
        after = step(monitor, version="v8")
        assert not after.alarm and after.evidence < 0
        for number in range(9, 13):
            state = step(monitor, BROKEN, f"v{number}")
        assert state.alarm
        assert state.likely_break.step >= 8
        first, second = monitor.alarms()
        assert first.reason == "wrong scale: 'fixed' in v5 🙂"
        assert second.acknowledged_at is None


def test_a_new_break_is_looked_for_after_the_acknowledged_one(place):
    """However long the acknowledged one lasted."""
    with opened(place) as monitor:
        for number in range(1, 24):
            state = step(monitor, BROKEN if number <= 20 else GOOD, f"v{number}")
        assert state.likely_break.step == 1
        monitor.acknowledge("mended in v21")
        for number in range(24, 40):
            state = step(monitor, GOOD if number < 30 else BROKEN, f"v{number}")
            if state.alarm:
                break
        assert (state.likely_break.version, state.likely_break.version_before) == ("v30", "v29")


def test_a_series_that_is_not_fed_is_stale(place):
    with opened(place, stale_after=0.05) as monitor:
        assert not step(monitor).stale
        time.sleep(0.1)
        state = monitor.state
        assert (state.stale, state.word) == (True, "stale")
        assert any("stale" in note for note in state.notes)
        assert not step(monitor, version="v2").stale
    with opened(place, stale_after="2d") as monitor:
        assert not step(monitor, version="v3").stale


def tagged(rows, rng):
    return f"released-{rng.integers(10**9)}-to-nobody"


def tagged_numbers(rows, rng):
    return 1234567 + 1000 * len(rows) + rng.random()


def outputs_of(mechanism, series_step, pairs):
    return draw(adapt(mechanism), as_pair(NEIGHBOURS), pairs, seed=series_step.summary["seed"])


@pytest.mark.parametrize("mechanism", [tagged, tagged_numbers, sometimes])
def test_outputs_are_kept_only_where_they_are_to_be(place, mechanism):
    with opened(place, pairs=20) as monitor:
        for number in range(3):
            step(monitor, mechanism, f"v{number}")
    with Store.open(place) as store:
        (series,) = store.series()
        drawn = [outputs_of(mechanism, one, 20) for one in store.steps(series.id)]
        assert store.raw(series.id, 1) is None
    kept = everything_kept(place)
    assert b"released" not in kept
    assert b"by chance" not in kept
    for x, y in drawn:
        for output in (*x, *y):
            if isinstance(output, str):
                assert output.encode() not in kept
            elif isinstance(output, float):
                assert repr(output).encode() not in kept


def test_kept_outputs_come_back(place):
    def mixed(rows, rng):
        return [None, math.nan, "text", (1, 2.5), {"a": True}, 7, b"x"][int(rng.integers(7))]

    with opened(place, keep_outputs=True, pairs=20) as monitor:
        for version, mechanism in (("v1", mixed), ("v2", GOOD), ("v3", sometimes)):
            step(monitor, mechanism, version)
    with Store.open(place) as store:
        (series,) = store.series()
        for one, mechanism in zip(store.steps(series.id), (mixed, GOOD, sometimes), strict=True):
            raw = store.raw(series.id, one.number)
            for data, outputs in zip(raw, outputs_of(mechanism, one, 20), strict=True):
                found, encoder = unpacked(data)
                expected = Encoder().encode(outputs)
                assert np.array_equal(found.shapes, expected.shapes)
                assert np.array_equal(found.keys, expected.keys)
                assert np.array_equal(found.numbers, expected.numbers, equal_nan=True)
                assert encoder.knows(found.shapes)


@pytest.mark.parametrize("events", [
    {"high": lambda output: output > 1.5, "two's\n\"event\" 🙂": lambda output: output > 9},
    {"@": "output > 1.5"}, ["output > 1.5", "output > 9"], "output > 1.5",
])  # fmt: skip
@pytest.mark.parametrize("method", ["exact", "brownian"])
def test_events_of_all_forms(place, events, method):
    with opened(place, events=events, method=method, horizon=20, small_counts="warn") as monitor:
        for number in range(3):
            state = step(monitor, GOOD, f"v{number}")
        assert not state.alarm
        for number in range(3, 15):
            state = step(monitor, BROKEN, f"v{number}")
        assert state.alarm
        row = list(monitor.history())[-1]
        assert next(iter(row.summary["counts"].values()))[0] > 20
        assert math.isnan(state.log_e_value) == (method == "brownian")
        json.dumps(state.to_dict(), allow_nan=False)
        json.dumps(row.to_dict(), allow_nan=False)
        assert state.name in str(state)
    with opened(place, events=events, method=method, horizon=20, small_counts="warn") as monitor:
        assert monitor.state.alarm
        assert not monitor.acknowledge("known").alarm


NAMES = ["it's", '"quoted"; DROP TABLE steps;--', "two\nlines\ttab", "🙂 é 漢字", "%s {x} \\n",
         "NaN", "Infinity", "-Infinity", "null", "x" * LONGEST]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_strange_names_and_versions(place, name):
    event = name[:200]
    with opened(place, name, events=[event]) as monitor:
        monitor.step_counts({event: (20, 20)}, version="first", run_id=name)
        for number in range(4):
            state = monitor.step_counts({event: (40, 0)}, version=name, run_id=f"{number}")
        assert state.alarm
    with opened(place, name, events=[event]) as monitor:
        state = monitor.state
        assert (state.name, state.version, state.steps) == (name, name, 5)
        assert (state.raised.version, state.likely_break.version) == (name, name)
        assert state.likely_break.version_before == "first"
        assert event in state.raised.witness.text
        assert [row.version for row in monitor.history()] == ["first", *[name] * 4]
        json.dumps(state.to_dict(), allow_nan=False)
        assert not monitor.acknowledge(name).alarm
        assert monitor.alarms()[0].reason == name


def test_names_that_are_too_long(place):
    with opened(place, "x" * 10_000) as monitor, pytest.raises(UsageError, match="10000"):
        step(monitor)


# Strange mechanisms and settings


def changing(rows, n, rng):
    """Outputs of another type at each call."""
    kind = int(rng.integers(5))
    numbers = len(rows) + rng.laplace(size=n)
    return [
        numbers, np.round(numbers).astype(int), [str(round(v)) for v in numbers.tolist()],
        [(v,) * (1 + i % 4) for i, v in enumerate(numbers.tolist())], [None] * n,
    ][kind]  # fmt: skip


STRANGE = {
    "constant": lambda rows, n, rng: np.full(n, 3.0),
    "none": lambda rows, n, rng: [None] * n,
    "empty": lambda rows, n, rng: [()] * n,
    "no columns": lambda rows, n, rng: np.zeros((n, 0)),
    "huge": lambda rows, n, rng: rng.choice([1e308, -1e308, 1.7e308, 5e-324], n),
    "infinite": lambda rows, n, rng: rng.choice([np.inf, -np.inf, 0.0], n),
    "nan": lambda rows, n, rng: np.full(n, np.nan),
    "integers": lambda rows, n, rng: [10 ** int(rng.integers(400)) for _ in range(n)],
    "huge vectors": lambda rows, n, rng: rng.choice([1e308, np.inf, np.nan, -1e308], (n, 5)),
    "wide": lambda rows, n, rng: rng.normal(size=(n, 300)),
    "many texts": lambda rows, n, rng: [f"{v}" for v in rng.random(n)],
    "long texts": lambda rows, n, rng: ["x" * int(v) for v in rng.integers(1, 9000, n)],
    "half a character": lambda rows, n, rng: ["\ud800"[int(v) :] for v in rng.integers(0, 2, n)],
    "many keys": lambda rows, n, rng: [{str(v): 1} for v in rng.random(n)],
}


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of the arithmetic, on nobody's screen
@pytest.mark.parametrize("name", STRANGE)
def test_strange_outputs_of_equal_laws_raise_no_alarm(place, name):
    with opened(place) as monitor:
        for number in range(4):
            state = step(monitor, tollens.batched(STRANGE[name]), f"v{number}")
        assert (state.alarm, state.steps) == (False, 4)
        assert math.isfinite(state.evidence)


DIFFERENT = [
    (1.0, 2.0), (1e308, -1e308), (math.inf, -math.inf), (math.nan, 1.0), (None, 1.0), ("a", "b"),
    (1, 10**30), (0.0, 5e-324), ((1,), (1, 1)), ({"a": 1}, {"b": 1}),
]  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of the arithmetic, on nobody's screen
@pytest.mark.parametrize("values", DIFFERENT, ids=str)
def test_constants_that_differ_raise_the_alarm_at_once(place, values):
    with opened(place) as monitor:
        state = step(monitor, lambda rows: values[len(rows) - 1])
        assert state.alarm
        assert state.epsilon_lower > 1


def test_outputs_that_are_too_large_to_be_kept_do_not_end_the_series(place):
    def long_names(rows, rng):
        return {f"{rng.random()}" * 30_000: 1}

    with opened(place, pairs=30) as monitor:
        step(monitor)
        with pytest.raises(UsageError, match="may have"):
            step(monitor, long_names, "v2")
        assert step(monitor, version="v3").steps == 2


def test_outputs_may_change_their_type(place):
    for seed in range(3):
        with opened(place, f"name {seed}", seed=seed) as monitor:
            for number in range(8):

                def mechanism(rows, n, rng, number=number):
                    return changing(rows, n, _Kind(rng, number))

                state = step(monitor, tollens.batched(mechanism), f"v{number}")
            assert state.steps == 8
            assert not state.alarm


class _Kind:
    """A generator whose first whole number is given."""

    def __init__(self, rng, number):
        self.integers, self.laplace = lambda high: number % high, rng.laplace


EXTREMES = [
    {"pairs": 20}, {"pairs": 20_000}, {"alpha": 1e-6}, {"alpha": 1e-300}, {"alpha": 0.999},
    {"horizon": 1}, {"horizon": "arl"}, {"horizon": 10**12},
]  # fmt: skip


@pytest.mark.parametrize("settings", EXTREMES, ids=str)
def test_extreme_settings(place, settings):
    with opened(place, **settings) as monitor:
        for number in range(2):
            state = step(monitor, GOOD, f"v{number}")
        assert not state.alarm or settings.get("alpha") == 0.999
        for number in range(2, 5):
            state = step(monitor, noisy(0.02), f"v{number}")
        assert state.alarm == (settings.get("alpha") != 1e-300)
        assert any("horizon" in note for note in state.notes) == (settings.get("horizon") == 1)


CLAIMS = [
    tollens.pure(0), tollens.pure(20), tollens.pure(700), tollens.approx(0.1, 0.5),
    tollens.approx(0, 0), tollens.approx(1, 1), tollens.approx(0, 0.999999), tollens.gaussian(5),
    tollens.gaussian(0), tollens.gaussian(1e-3), tollens.renyi(8, 0.3), tollens.renyi(1.01, 5),
    tollens.zcdp(1e-4), tollens.pure(1, ordered=True),
    tollens.tradeoff(lambda a: max(0.0, 1 - 3 * a, (1 - a) / 3)), tollens.profile(
        tollens.gaussian(1).delta),
]  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: str(claim)[:30])
def test_claims_of_all_kinds(place, claim):
    """Equal laws keep every claim; a constant that differs breaks all but the emptiest."""
    with opened(place, claim=claim, pairs=30) as monitor:
        for number in range(3):
            mechanism = tollens.batched(lambda rows, n, rng: rng.normal(size=n))
            state = step(monitor, mechanism, f"v{number}")
            assert not state.alarm
            assert math.isfinite(state.evidence)
        for number in range(3, 6):
            state = step(monitor, lambda rows: float(len(rows)), f"v{number}")
        assert state.alarm == (claim.support(1, 1) < 0.9)
        assert state.epsilon_lower >= 0
    with opened(place, claim=claim, pairs=30) as monitor:
        assert monitor.state.steps == 6


# Several processes


def replayed(place, mechanism, name="counts"):
    """The evidence after each step, worked out again from seeds in the recorded order."""
    with Store.open(place) as store, opened(place, name, pairs=20, seed=None) as monitor:
        (series,) = store.series(name)
        kept, path = None, []
        for one in store.steps(series.id):
            runs = Runs(20, outputs_of(mechanism, one, 20))
            detector = make_detector(monitor.plan, kept)
            seed = step_seed(0, one.version, one.run_id, one.number)
            path.append(detector.take(runs, latched=False, seed=seed).evidence)
            kept = detector.kept()
        recorded = list(store.steps(series.id))
        assert [one.number for one in recorded] == list(range(1, len(recorded) + 1))
        assert store.checkpoint(series.id) == kept
        return recorded, path


def at_once(function, count):
    """Run a function of a number in so many forked processes; what each returns."""
    fork = multiprocessing.get_context("fork")
    gate, answers = fork.Barrier(count), fork.Queue()

    def work(number):
        gate.wait(30)
        try:
            answers.put(function(number))
        except BaseException as error:
            answers.put(error)

    children = [fork.Process(target=work, args=(number,)) for number in range(count)]
    for child in children:
        child.start()
    found = [answers.get(timeout=60) for _ in children]
    for child in children:
        child.join(30)
    assert not [answer for answer in found if isinstance(answer, BaseException)]
    return found


@pytest.mark.parametrize("same", [False, True], ids=["their own versions", "the same versions"])
def test_eight_processes_at_once(place, same):
    def work(number):
        with opened(place, pairs=20, seed=None) as monitor:
            for i in range(3):
                step(monitor, version=f"v{i}" if same else f"v{number}.{i}")
            return monitor.state.steps

    at_once(work, 8)
    recorded, path = replayed(place, GOOD)
    assert len(recorded) == (3 if same else 24)
    assert [one.log_e_value for one in recorded] == path
    assert [one.summary["scored"] for one in recorded] == list(range(1, len(path) + 1))


def endless(place, number, pipe):
    with opened(place, pairs=20, seed=None) as monitor:
        for i in range(10**6):
            step(monitor, version=f"v{number}.{i}")
            os.write(pipe, b".")


def test_processes_that_are_killed_leave_whole_steps(place):
    rng, reported, kills = random.Random(5), 0, 30
    for number in range(kills):
        mine, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                endless(place, number, theirs)
            finally:
                os._exit(1)
        os.close(theirs)
        assert os.read(mine, 1) == b"."
        reported += 1
        time.sleep(rng.random() * 0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while some := os.read(mine, 4096):
            reported += len(some)
        os.close(mine)
    recorded, path = replayed(place, GOOD)
    assert reported <= len(recorded) <= reported + kills
    assert [one.log_e_value for one in recorded] == path
    for number in range(kills):
        mine = [one.version for one in recorded if one.version.startswith(f"v{number}.")]
        assert mine == [f"v{number}.{i}" for i in range(len(mine))]
    with sqlite3.connect(place) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# A long life


def lengthened(place, count):
    """Add so many steps to the series of a store, copies of its last one."""
    with Store.open(place) as store:
        (series,) = store.series()
        last = next(iter(store.steps(series.id, last=1)))
        with store.turn(series.id) as turn:
            for _ in range(count):
                number = turn.number
                turn.record(
                    StepRecord(
                        number, f"w{number}", "1", "scored", last.pairs, datetime.now(UTC),
                        last.fingerprint, last.log_e_value, last.epsilon_lower,
                        {**last.summary, "scored": number}, last.experts,
                    ),
                    checkpoint=None,
                )  # fmt: skip


def test_a_step_costs_the_same_after_many(place):
    with opened(place, pairs=60) as monitor:
        step(monitor)
    used = []
    for count in (20, 2000):
        lengthened(place, count)
        with opened(place, pairs=60) as monitor:
            step(monitor, version=f"warm {count}")
            tracemalloc.start()
            state = step(monitor, version=f"timed {count}")
            used.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert state.steps == 2025
    assert used[1] < 1.5 * used[0] + 2**20


def test_nothing_of_the_store_is_needed_to_draw(place):
    """Draws depend on the seed alone: the same in a store with a past and in a new one."""
    ready = from_callable(GOOD)
    one = draw(ready, as_pair(NEIGHBOURS), 40, seed=step_seed(1, "v1", "1", 1))
    with opened(place, keep_outputs=True) as monitor:
        step(monitor)
    with Store.open(place) as store:
        (series,) = store.series()
        raw = store.raw(series.id, 1)
    for data, outputs in zip(raw, one, strict=True):
        assert np.array_equal(unpacked(data)[0].numbers[:, 0], outputs)
