"""Runs in a process of their own: hangs, crashes, and that nothing is left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest

import tollens
from tollens import Outcome, Reason
from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, from_callable
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.streams import EvidenceStream, Side
from tollens.timed import TIMEOUT, TimedRuns

CRASH = Raised("Crash")
FOREVER = 60.0


class OnePair(TimedRuns):
    """Timed runs that remember the pair of a test."""

    pair = Pair(0, 1)


def runs(mechanism, timeout=5.0, x=0, x_prime=1, seed=3):
    timed = OnePair(from_callable(mechanism), EvidenceStream(seed), timeout)
    timed.pair = Pair(x, x_prime)
    return timed


def ask(timed, block, n, side=Side.X, *, coupled=False):
    return timed.sample(timed.pair, side, block, n, coupled=coupled)


def children():
    """Processes of ours that still run or were never waited for."""
    return multiprocessing.active_children()


def no_zombie():
    try:
        pid, _ = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return pid == 0


@pytest.fixture(autouse=True)
def _nothing_is_left():
    before = set(children())
    yield
    assert set(children()) <= before
    assert no_zombie()


def draw(data, rng):
    return rng.random()


class TestOutputs:
    def test_they_are_those_of_the_main_process(self):
        with runs(draw) as timed:
            outputs = ask(timed, 0, 5)
        assert outputs == list(EvidenceStream(3).generator(Side.X, 0).random(5))

    def test_they_are_those_of_the_main_process_in_every_block(self):
        with runs(draw) as timed:
            for block in range(3):
                for side in Side:
                    outputs = ask(timed, block, 4, side)
                    assert outputs == list(EvidenceStream(3).generator(side, block).random(4))

    def test_both_sides_see_their_data(self):
        with runs(lambda data: data, x="left", x_prime=["right"]) as timed:
            assert ask(timed, 0, 2) == ["left"] * 2
            assert ask(timed, 0, 2, Side.X_PRIME) == [["right"]] * 2

    def test_batched_mechanisms_send_arrays(self):
        with runs(tollens.batched(lambda data, n, rng: rng.random(n))) as timed:
            outputs = ask(timed, 0, 1000)
        assert isinstance(outputs, np.ndarray)
        assert np.array_equal(outputs, EvidenceStream(3).generator(Side.X, 0).random(1000))

    def test_large_outputs(self):
        with runs(lambda data, rng: rng.random(50_000)) as timed:
            outputs = ask(timed, 0, 3)
        assert [len(output) for output in outputs] == [50_000] * 3

    def test_a_changed_input_is_an_error(self):
        timed = runs(lambda data: data.append(1), x=[], x_prime=[1])
        with timed, pytest.raises(MechanismError, match="changes its input"):
            ask(timed, 0, 2)

    def test_exceptions_are_outputs(self):
        with runs(lambda data: 1 / data) as timed:
            assert ask(timed, 0, 2) == [Raised("ZeroDivisionError")] * 2

    def test_outputs_that_cannot_be_sent(self):
        with runs(lambda data: lambda: 0) as timed, pytest.raises(MechanismError, match="sent"):
            ask(timed, 0, 2)

    def test_the_caller_may_hold_what_cannot_be_pickled(self):
        with open(os.devnull) as file, runs(lambda data: file.name) as timed:  # noqa: PTH123
            assert ask(timed, 0, 1) == [os.devnull]

    def test_global_generators_are_seeded_anew_in_each_process(self):
        def global_draw(data):
            return float(np.random.random())  # noqa: NPY002 - what is audited may do so

        first, second = runs(global_draw), runs(global_draw)
        with first, second:
            assert ask(first, 0, 3) != ask(second, 0, 3)


class TestPairs:
    """Several pairs in one audit: the process keeps its state, and each run sees its own data."""

    def test_each_run_sees_its_own_data(self):
        pairs = [Pair(i, [i]) for i in range(70)]  # more than the process keeps at a time
        with runs(lambda data: data) as timed:
            for block, pair in enumerate(pairs + pairs[:3]):
                assert timed.both(pair, block, 2, coupled=False) == (
                    [pair.x] * 2,
                    [pair.x_prime] * 2,
                )

    def test_a_generator_of_the_mechanism_goes_on(self):
        own = np.random.default_rng(1)
        with runs(lambda data: own.random()) as timed:
            both = [timed.both(Pair(i, 0), i, 4, coupled=False) for i in range(3)]
        values = [value for x, y in both for value in (*x, *y)]
        assert len(set(values)) == len(values)

    def test_data_that_cannot_be_sent_start_a_new_process(self):
        with open(os.devnull) as file, runs(lambda data, rng: (str(data), rng.random())) as timed:  # noqa: PTH123
            ask(timed, 0, 2)
            x, _ = timed.both(Pair(file, file), 1, 2, coupled=False)
        expected = EvidenceStream(3).generator(Side.X, 1).random(2)
        assert x == [(str(file), value) for value in expected]

    def test_data_that_cannot_be_sent_to_a_mechanism_with_a_generator(self):
        with open(os.devnull) as file, runs(lambda data: 1) as timed:  # noqa: PTH123
            ask(timed, 0, 2)
            with pytest.raises(UsageError, match="another pair cannot be sent"):
                timed.both(Pair(file, file), 1, 2, coupled=False)


class TestCoupled:
    """Run i of a block gets the same draws on both sides, whatever happened to runs before it."""

    @staticmethod
    def unequal_appetite(data, rng):
        """Takes more draws on one side than on the other."""
        first = rng.random()
        for _ in range(data * 3):
            rng.random()
        return first

    def test_both_sides_get_the_same_draws(self):
        with runs(self.unequal_appetite) as timed:
            for block in range(3):
                x, y = (ask(timed, block, 6, side, coupled=True) for side in Side)
                assert x == y
                assert len(set(x)) == 6

    def test_they_are_those_of_the_main_process(self):
        stream = EvidenceStream(3)
        with runs(draw) as timed:
            outputs = ask(timed, 2, 4, coupled=True)
        assert outputs == [rng.random() for rng in stream.shared(2, 4)]

    def test_blocks_and_couplings_share_nothing(self):
        with runs(draw) as timed:
            outputs = [
                value for block in range(4) for side in Side for value in ask(timed, block, 5, side)
            ]
            outputs += [v for block in range(4) for v in ask(timed, block, 5, coupled=True)]
        assert len(set(outputs)) == len(outputs) == 60

    def test_they_stay_aligned_after_a_hang(self):
        def hangs_on_one_side(data, rng):
            value = rng.random()
            if data and value < 0.4:
                time.sleep(FOREVER)
            return value

        with runs(hangs_on_one_side, timeout=0.1) as timed:
            x, y = (ask(timed, 0, 8, side, coupled=True) for side in Side)
        assert TIMEOUT in y
        assert TIMEOUT not in x
        assert all(b in (TIMEOUT, a) for a, b in zip(x, y, strict=True))

    def test_children_of_the_generator_are_fresh_too(self):
        def spawns(data, rng):
            return rng.spawn(1)[0].random()

        with runs(spawns) as timed:
            first, second = (ask(timed, block, 3, coupled=True) for block in range(2))
            assert ask(timed, 0, 3, Side.X_PRIME, coupled=True) == first
        assert len({*first, *second}) == 6


class TestHangs:
    def test_a_hang_is_an_output(self):
        started = time.perf_counter()
        with runs(lambda data: time.sleep(FOREVER), timeout=0.05) as timed:
            assert ask(timed, 0, 3) == [TIMEOUT] * 3
        assert time.perf_counter() - started < 20

    def test_only_the_runs_that_hang(self):
        def sometimes(data, rng):
            value = rng.random()
            if value < 0.3:
                time.sleep(FOREVER)
            return value

        with runs(sometimes, timeout=0.2) as timed:
            outputs = ask(timed, 0, 30)
        late = [output for output in outputs if output == TIMEOUT]
        assert len(outputs) == 30
        assert 2 <= len(late) <= 18
        assert all(output >= 0.3 for output in outputs if output != TIMEOUT)

    def test_no_draw_is_used_twice(self):
        def sometimes(data, rng):
            value = rng.random()
            if value < 0.2:
                time.sleep(FOREVER)
            return value

        with runs(sometimes, timeout=0.1, seed=5) as timed:
            outputs = [o for block in range(4) for o in ask(timed, block, 12)]
        values = [output for output in outputs if output != TIMEOUT]
        assert len(values) < len(outputs)
        assert len(set(values)) == len(values)

    def test_a_batch_that_hangs_says_nothing_about_its_runs(self):
        def hang(data, n, rng):
            time.sleep(FOREVER)

        with runs(tollens.batched(hang), timeout=0.01) as timed, pytest.raises(BatchFailed):
            ask(timed, 0, 4)

    def test_an_audit_of_batches_that_hang_goes_on_one_by_one(self):
        def hang(data, n, rng):
            values = rng.random(n)
            if data and np.any(values < 0.5):
                time.sleep(FOREVER)
            return values

        verdict = tollens.audit(
            tollens.batched(hang), "epsilon=0.5", neighbours=(0, 1), timeout=0.02, alpha=0.1, seed=2
        )
        assert verdict.outcome is Outcome.REFUTED
        assert any("one by one" in note for note in verdict.notes)

    def test_a_run_that_cannot_be_interrupted(self):
        def stubborn(data, rng):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
            value = rng.random()
            time.sleep(FOREVER)
            return value

        with runs(stubborn, timeout=0.05) as timed:
            assert ask(timed, 0, 2) == [TIMEOUT] * 2

    def test_on_one_side_only_it_is_a_leak(self):
        verdict = tollens.audit(
            lambda data: time.sleep(FOREVER * data) or 1,
            "epsilon=1",
            neighbours=(0, 1),
            alpha=0.05,
            timeout=0.1,
        )
        assert verdict.outcome is Outcome.REFUTED
        assert "Timeout" in str(verdict)

    def test_on_both_sides_nothing_is_decided(self):
        started = time.perf_counter()
        verdict = tollens.audit(
            lambda data: time.sleep(FOREVER), "epsilon=1", neighbours=(0, 1), timeout=0.05
        )
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.ALWAYS_TIMES_OUT)
        assert verdict.pairs <= 10
        assert time.perf_counter() - started < 20


class TestCrashes:
    def test_a_crash_is_an_output(self):
        with runs(lambda data, rng: os._exit(3)) as timed:
            assert ask(timed, 0, 1) == [CRASH]
            assert ask(timed, 1, 1) == [CRASH]

    def test_only_the_runs_that_crash(self):
        def sometimes(data, rng):
            value = rng.random()
            if value < 0.3:
                os._exit(3)
            return value

        with runs(sometimes) as timed:
            outputs = ask(timed, 0, 30)
        values = [output for output in outputs if output != CRASH]
        assert 2 <= len(outputs) - len(values) <= 18
        assert len(outputs) == 30
        assert len(set(values)) == len(values)

    def test_on_one_side_only_it_is_a_leak(self):
        verdict = tollens.audit(
            lambda data, rng: os._exit(3) if data else rng.random(),
            "epsilon=1",
            neighbours=(0, 1),
            alpha=0.05,
            timeout=5.0,
        )
        assert verdict.outcome is Outcome.REFUTED

    def test_on_both_sides_nothing_is_decided(self):
        verdict = tollens.audit(
            lambda data, rng: os._exit(3), "epsilon=1", neighbours=(0, 1), timeout=5.0, budget=50
        )
        assert verdict.outcome is Outcome.UNDECIDED

    def test_a_mechanism_that_keeps_its_own_generator_is_not_started_again(self):
        with runs(lambda data: os._exit(3)) as timed, pytest.raises(MechanismError, match="rng"):
            ask(timed, 0, 1)

    def test_a_batch_that_crashes(self):
        timed = runs(tollens.batched(lambda data, n, rng: os._exit(3)))
        with timed, pytest.raises(BatchFailed):
            ask(timed, 0, 2)


class TestEnd:
    @pytest.fixture(autouse=True)
    def _no_process_is_left(self):
        before = set(children())  # a cluster of other tests may have some
        yield
        assert set(children()) <= before

    def test_an_interrupted_audit_ends_its_process(self):
        def stop(state):
            raise KeyboardInterrupt

        with pytest.raises(tollens.Interrupted):
            tollens.audit(draw, "epsilon=1", neighbours=(0, 1), timeout=5.0, progress=stop, seed=1)

    def test_an_error_ends_the_process(self):
        with pytest.raises(MechanismError):
            tollens.audit(lambda data: lambda: 0, "epsilon=1", neighbours=(0, 1), timeout=5.0)

    def test_closing_twice_is_fine(self):
        timed = runs(draw)
        ask(timed, 0, 1)
        timed.close()
        timed.close()

    def test_it_can_go_on_after_closing(self):
        timed = runs(draw)
        timed.close()
        assert len(ask(timed, 0, 2)) == 2
        timed.close()
