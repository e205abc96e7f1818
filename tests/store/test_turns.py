"""Turns: all or nothing, in order, one at a time; alarms open and close."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from tollens.store import OutOfDateError, Store, StoreError


def test_a_turn_starts_where_the_last_one_ended(store, series, step):
    with store.turn(series.id) as turn:
        assert (turn.number, turn.last, turn.checkpoint, turn.alarm) == (1, None, None, None)
        assert turn.series == series
        turn.record(step(1), checkpoint=b"one")
        assert (turn.number, turn.last, turn.checkpoint) == (2, step(1), b"one")
        turn.record(step(2), checkpoint=None)
    with store.turn(series.id) as turn:
        assert (turn.number, turn.last, turn.checkpoint) == (3, step(2), b"one")
        turn.record(step(3), checkpoint=b"")
    assert store.checkpoint(series.id) == b""


def test_nothing_is_kept_of_a_turn_that_raises(store, series, step):
    with pytest.raises(ZeroDivisionError), store.turn(series.id) as turn:
        turn.record(step(), checkpoint=b"state", alarm={}, raw=(b"", b""))
        raise ZeroDivisionError
    assert list(store.steps(series.id)) == store.alarms(series.id) == []
    assert store.checkpoint(series.id) is store.raw(series.id, 1) is None


def test_errors_of_other_databases_are_left_alone(store, series):
    from sqlalchemy.exc import OperationalError

    mine = OperationalError("SELECT", {}, Exception("not yours"))
    with pytest.raises(OperationalError) as caught, store.turn(series.id):
        raise mine
    assert caught.value is mine


def test_a_run_is_found_again(store, series, step):
    with store.turn(series.id) as turn:
        assert turn.find("v1", "r") is None
        turn.record(step(1), checkpoint=None)
        assert turn.find("v1", "r") == step(1)
        assert turn.find("v1", "other") is None


@pytest.mark.parametrize("number", [0, 2, 7])
def test_numbers_have_no_gaps(store, series, step, number):
    with store.turn(series.id) as turn, pytest.raises(StoreError, match="the next is 1"):
        turn.record(step(number), checkpoint=None)


def test_a_run_cannot_be_recorded_twice(store, series, step):
    with store.turn(series.id) as turn:
        turn.record(step(1), checkpoint=b"kept")
    twice = pytest.raises(StoreError, match="version v1, run r is recorded already")
    with twice, store.turn(series.id) as turn:
        turn.record(step(2, version="v1"), checkpoint=b"lost")
    assert store.checkpoint(series.id) == b"kept"


def test_an_error_that_was_swallowed_does_not_commit_a_part(store, series, step):
    failed = "a part of the turn failed"
    with pytest.raises(StoreError, match=failed), store.turn(series.id) as turn:
        turn.record(step(1), checkpoint=b"lost")
        with pytest.raises(StoreError):
            turn.record(step(2, version="v1"), checkpoint=None)
        with pytest.raises(StoreError, match=failed):
            turn.find("v1", "r")
    assert list(store.steps(series.id)) == []


def test_a_turn_ends(store, series, step):
    with store.turn(series.id) as turn:
        pass
    with pytest.raises(StoreError, match="the turn is over"):
        turn.record(step(), checkpoint=None)


def test_series_do_not_mix(store, series, step):
    other = store.enter("counts", "d2", {})
    for one in (series, other):
        with store.turn(one.id) as turn:
            turn.record(step(1, fingerprint=one.digest), checkpoint=one.digest.encode())
    assert [one.fingerprint for one in store.steps(series.id)] == ["d1"]
    assert store.checkpoint(other.id) == b"d2"


def test_a_series_that_is_not_there(store):
    with pytest.raises(StoreError, match="has no series 99"), store.turn(99):
        pass
    assert list(store.steps(99)) == list(store.steps(99, last=3)) == store.alarms(99) == []
    assert store.checkpoint(99) is None


def test_steps_are_read_in_order_from_anywhere(store, series, step):
    with store.turn(series.id) as turn:
        for number in range(1, 251):
            turn.record(step(number), checkpoint=None)

    def numbers(**options):
        return [one.number for one in store.steps(series.id, **options)]

    assert numbers() == list(range(1, 251))
    assert numbers(after=48) == list(range(49, 251))
    assert numbers(after=250) == numbers(last=0) == []
    assert numbers(last=3) == [248, 249, 250]
    assert numbers(after=249, last=3) == [250]
    assert numbers(last=1000) == list(range(1, 251))


def test_alarms_open_and_close(store, series, step):
    with store.turn(series.id) as turn:
        turn.record(step(1), checkpoint=b"1", alarm={"since": 1})
        opened = turn.alarm
        assert (opened.step, opened.details, opened.acknowledged_at) == (1, {"since": 1}, None)
        assert opened.raised_at == step(1).recorded_at
    with store.turn(series.id) as turn:
        assert turn.alarm == opened
        with pytest.raises(StoreError, match="alarm of step 1 is open"):
            turn.record(step(2), checkpoint=None, alarm={})
        turn.record(step(2), checkpoint=b"2")
        assert turn.alarm == opened
        for reason in ("", " \n"):
            with pytest.raises(StoreError, match="reason is empty"):
                turn.acknowledge(reason, checkpoint=None)
        with pytest.raises(OutOfDateError, match="another is open, of step 1"):
            turn.acknowledge("of an alarm before this one", checkpoint=b"fresh", step=0)
        assert turn.alarm == opened
        closed = turn.acknowledge("noise was halved; fixed in v3", checkpoint=b"fresh", step=1)
        assert closed.reason == "noise was halved; fixed in v3"
        assert abs(closed.acknowledged_at - datetime.now(UTC)) < timedelta(minutes=1)
        with pytest.raises(OutOfDateError, match="no open alarm"):
            turn.acknowledge("again", checkpoint=None)
    with store.turn(series.id) as turn:
        assert (turn.alarm, turn.checkpoint) == (None, b"fresh")
        turn.record(step(3), checkpoint=None, alarm={"since": 3})
    assert [(one.step, one.reason) for one in store.alarms(series.id)] == [
        (1, closed.reason),
        (3, None),
    ]


def test_another_waits_for_its_turn(where, store, series, step):
    """A second writer is told that the store is locked; a reader is not held up."""
    with Store.open(where, wait=0.2) as other:
        with store.turn(series.id) as turn:
            turn.record(step(), checkpoint=None)
            locked = pytest.raises(StoreError, match="locked by another process")
            with locked, other.turn(series.id):
                pass
            assert list(other.steps(series.id)) == []
        with other.turn(series.id) as turn:
            assert turn.number == 2


def test_threads_take_turns(store, series, step):
    def work(name):
        for number in range(5):
            with store.turn(series.id) as turn:
                turn.record(step(turn.number, name, str(number)), checkpoint=None)

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.number for one in store.steps(series.id)] == list(range(1, 21))


def test_a_store_that_was_open_before_a_fork(store, series, step, at_once):
    def work(number):
        for part in range(5):
            with store.turn(series.id) as turn:
                turn.record(step(turn.number, f"p{number}", str(part)), checkpoint=b"")
        return True

    assert all(at_once(work, 3))
    with store.turn(series.id) as turn:
        assert turn.number == 16


def test_a_closed_store_says_so(store, series):
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.series()
    with pytest.raises(StoreError, match="is closed"), store.turn(series.id):
        pass
