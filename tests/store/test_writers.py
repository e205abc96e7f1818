"""Eight processes at once, and processes that are killed: no step lost, doubled or left out."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time

from tollens.store import Store

WRITERS = 8


def agree(store, series):
    """The numbers of all steps, after checking them against the running state."""
    numbers = [one.number for one in store.steps(series.id)]
    assert numbers == list(range(1, len(numbers) + 1))
    state = store.checkpoint(series.id)
    assert (json.loads(state)["count"] if state else 0) == len(numbers)
    return numbers


def add(store, series_id, step, version, run_id):
    """One step as a monitor makes it: the state goes on from what the last step left."""
    with store.turn(series_id) as turn:
        known = turn.find(version, run_id)
        if known is not None:
            return known.number
        count = json.loads(turn.checkpoint or b'{"count": 0}')["count"] + 1
        turn.record(
            step(turn.number, version, run_id), checkpoint=json.dumps({"count": count}).encode()
        )
        return count


def test_eight_writers_of_different_steps(where, step, at_once):
    def work(writer):
        with Store.open(where) as store:  # all of them make the store at once
            series = store.enter("counts", "d", {})
            return [add(store, series.id, step, f"v{writer}", str(i)) for i in range(12)]

    told = at_once(work, WRITERS)
    with Store.open(where) as store:
        (series,) = store.series()
        assert agree(store, series) == sorted(itertools.chain(*told))
        assert len(agree(store, series)) == WRITERS * 12


def test_eight_writers_of_the_same_steps(where, step, at_once):
    def work(_writer):
        with Store.open(where) as store:
            series = store.enter("counts", "d", {})
            return [add(store, series.id, step, f"v{i}", "same") for i in range(12)]

    told = at_once(work, WRITERS)
    with Store.open(where) as store:
        (series,) = store.series()
        assert agree(store, series) == list(range(1, 13))
        found = {one.version: one.number for one in store.steps(series.id)}
    assert all(answer == [found[f"v{i}"] for i in range(12)] for answer in told)


def killed(where, series_id, step, run_id, steps, seconds):
    """Record in a process that is killed so many seconds after it reported so many steps.

    All numbers that it reported, each after its commit.
    """
    mine, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(mine)
            with Store.open(where) as store:
                os.write(theirs, bytes(8))
                for number in range(10**6):
                    done = add(store, series_id, step, f"v{number}", run_id)
                    os.write(theirs, done.to_bytes(8, "big"))
        finally:
            os._exit(1)
    os.close(theirs)
    with os.fdopen(mine, "rb") as pipe:
        told = pipe.read(8 * (1 + steps))
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        told += pipe.read()
    return [int.from_bytes(told[i : i + 8], "big") for i in range(8, len(told), 8)]


def test_killed_at_any_moment(where, step):
    times = 20 if where.startswith("postgres") else 100
    rng = random.Random(7)
    reported = []
    with Store.open(where) as store:
        series = store.enter("counts", "d", {})
        for kill in range(times):
            reported += killed(
                where, series.id, step, str(kill), rng.randrange(4), rng.uniform(0, 0.01)
            )
            numbers = agree(store, series)
            assert set(reported) <= set(numbers)
    assert len(set(reported)) == len(reported) > times
    assert len(numbers) - len(reported) <= times  # at most the step under way at each kill
