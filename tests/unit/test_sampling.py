"""Runs in one process and in several: the same outputs, whatever happens to the processes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from tollens.adapters import adapt
from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, batched, from_callable, one_by_one
from tollens.neighbours import Pair
from tollens.outputs import Raised
from tollens.parallel import ParallelRuns, parallel_finding
from tollens.sampling import DirectRuns, open_runs
from tollens.streams import EvidenceStream, Side
from tollens.targets import load_target
from tollens.timed import CRASH, TIMEOUT, TimedRuns
from tollens.worker import BATCH_CHUNK, CHUNK, chunks_of, draw, join

STREAM = EvidenceStream(3)
PAIR = Pair(0, 1)


def mechanism_of(kind):
    """A mechanism inside a function, which is sent as it is: no process can import this file."""

    def one_at_a_time(data, rng):
        return (data + rng.normal(), rng.integers(5))

    def in_batches(data, n, rng):
        return data + rng.normal(size=(n, 2))

    def raises(data, rng):
        value = rng.random()
        if value < 0.3:
            raise ValueError("too small")
        return {"value": value, "nested": [(data, None, "a"), np.arange(3), b"b"]}

    made = {"one at a time": one_at_a_time, "batched": batched(in_batches), "raises": raises}
    return from_callable(made[kind])


def equal(one, other):
    """Whether batches hold the same, arrays included."""
    return type(one) is type(other) and repr(one) == repr(other) and len(one) == len(other)


def named(tmp_path, text):
    """The mechanism `f` of a file of this text, given as a target."""
    path = tmp_path / "mechanisms.py"
    path.write_text(textwrap.dedent(text))
    target = f"{path}::f"
    return replace(adapt(load_target(target)), target=target)


class TestChunks:
    def test_they_cover_the_runs(self):
        for mechanism in map(mechanism_of, ("one at a time", "batched")):
            for n in (1, 7, 8, 9, 2048, 5000):
                chunks = chunks_of(mechanism, Side.X, 4, n, coupled=False)
                assert sum(chunk.n for chunk in chunks) == n
                assert [chunk.number for chunk in chunks] == list(range(len(chunks)))

    def test_each_has_streams_of_its_own(self):
        mechanism = from_callable(lambda data, rng: rng.random())
        outputs = draw(mechanism, 0, 3 * CHUNK, STREAM, Side.X, 0, coupled=False)
        again = draw(mechanism, 0, CHUNK + 1, STREAM, Side.X, 0, coupled=False)
        assert len(set(outputs)) == 3 * CHUNK
        assert again == outputs[: CHUNK + 1]
        assert outputs[CHUNK : 2 * CHUNK] == list(STREAM.generator(Side.X, 0, 1).random(CHUNK))

    def test_batched_mechanisms_are_asked_for_many(self):
        asked = []

        def note(data, n, rng):
            asked.append(n)
            return rng.random(n)

        outputs = draw(from_callable(batched(note)), 0, 5000, STREAM, Side.X, 0, coupled=False)
        assert asked == [BATCH_CHUNK, BATCH_CHUNK, 5000 - 2 * BATCH_CHUNK]
        assert isinstance(outputs, np.ndarray)
        assert len(np.unique(outputs)) == 5000

    def test_coupled_runs_get_the_same_draws_in_every_chunk(self):
        mechanism = from_callable(lambda data, rng: rng.random(1 + 3 * data)[0])
        x, y = DirectRuns(mechanism, STREAM).both(PAIR, 0, 40, coupled=True)
        assert x == y
        assert len(set(x)) == 40

    def test_arrays_that_differ_become_a_list(self):
        whole, broken = np.array([1, 2]), np.array([0.5])
        joined = join([whole, broken])
        assert [type(value) for value in joined] == [np.int64, np.int64, np.float64]
        masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
        assert join([masked, masked])[0] is np.ma.masked


class TestDirect:
    def test_a_changed_input_is_an_error(self):
        runs = DirectRuns(from_callable(lambda data: data.append(1)), STREAM)
        with pytest.raises(MechanismError, match="changes its input"):
            runs.both(Pair([], [1]), 0, 2, coupled=False)

    def test_a_late_change_is_found_on_each_pair(self):
        count = []

        def late(data):
            count.append(1)
            if len(count) > 100 and data[0] == 2:
                data.append(1)

        runs, pairs = DirectRuns(from_callable(late), STREAM), (Pair([0], [1]), Pair([2], [3]))
        with pytest.raises(MechanismError, match="changes its input"):
            for block in range(200):
                runs.both(pairs[block % 2], block, CHUNK, coupled=False)
        assert pairs[0] == Pair([0], [1])

    def test_a_change_is_found_before_a_pair_is_forgotten(self):
        pairs = [Pair([i], [i]) for i in range(100)]
        runs = DirectRuns(from_callable(lambda data: 1), STREAM)
        runs.both(pairs[0], 0, 1, coupled=False)
        pairs[0].x.append(2)
        with pytest.raises(MechanismError, match="changes its input"):
            for block, pair in enumerate(pairs[1:], start=1):
                runs.both(pair, block, 1, coupled=False)


class TestSameOutputs:
    @pytest.mark.parametrize(
        ("workers", "kind"),
        [(2, "one at a time"), (3, "one at a time"), (2, "batched"), (3, "raises")],
    )
    def test_whatever_the_number_of_processes(self, workers, kind):
        mechanism, other = mechanism_of(kind), Pair(5, 6)
        asked = [
            (PAIR, 0, 5, False),
            (PAIR, 1, 70, False),
            (other, 2, 5, True),
            (PAIR, 3, 70, True),
        ]
        if mechanism.vectorised:
            asked += [(other, 4, 5000, False), (other, 5, 2100, True)]
        direct = DirectRuns(mechanism, STREAM)
        with ParallelRuns(mechanism, STREAM, workers) as parallel:
            for pair, block, n, coupled in asked:
                x, y = parallel.both(pair, block, n, coupled=coupled)
                expected = direct.both(pair, block, n, coupled=coupled)
                assert equal(x, expected[0])
                assert equal(y, expected[1])
            assert equal(
                parallel.sample(other, Side.X_PRIME, 1, 70, coupled=False),
                direct.sample(other, Side.X_PRIME, 1, 70, coupled=False),
            )

    def test_with_a_time_limit_too(self):
        def crashes_and_hangs(data, rng):
            value = rng.random()
            if data and value < 0.1:
                os._exit(3)
            if value > 0.95:
                time.sleep(60)
            return value

        mechanism = from_callable(crashes_and_hangs)
        with TimedRuns(mechanism, STREAM, 0.5) as timed:
            expected = timed.both(PAIR, 0, 48, coupled=False)
        with ParallelRuns(mechanism, STREAM, 2, timeout=0.5) as parallel:
            assert parallel.both(PAIR, 0, 48, coupled=False) == expected
        assert CRASH in expected[1]
        assert TIMEOUT in (*expected[0], *expected[1])

    def test_open_runs_chooses(self):
        mechanism = mechanism_of("one at a time")
        kinds = []
        for workers, timeout in ((1, None), (1, 5.0), (2, None)):
            with open_runs(mechanism, STREAM, workers=workers, timeout=timeout) as runs:
                kinds.append(type(runs))
        assert kinds == [DirectRuns, TimedRuns, ParallelRuns]

    def test_many_pairs(self):
        mechanism, pairs = mechanism_of("one at a time"), [Pair(i, -i) for i in range(1, 80)]
        direct = DirectRuns(mechanism, STREAM)
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            for block, pair in enumerate(pairs + pairs[:3]):
                one, other = (r.both(pair, block, 2, coupled=False) for r in (parallel, direct))
                assert equal(one[0], other[0])
                assert equal(one[1], other[1])


class TestTargets:
    def test_each_process_loads_the_target_itself(self, tmp_path):
        mechanism = named(tmp_path, "def f(data, rng):\n    return data + rng.random()")
        with pytest.raises(UsageError, match=r"cannot be sent .*path/file\.py::name"):
            ParallelRuns(replace(mechanism, target=None), STREAM, 2).both(PAIR, 0, 1, coupled=False)
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            outputs = parallel.both(PAIR, 0, 20, coupled=False)
        assert outputs == DirectRuns(mechanism, STREAM).both(PAIR, 0, 20, coupled=False)

    def test_batches_that_raise_go_on_one_by_one(self, tmp_path):
        text = """
        import tollens

        @tollens.batched
        def f(data, n, rng):
            values = rng.random(n)
            if values[0] < 0.5:
                raise ValueError("no")
            return values
        """
        mechanism = named(tmp_path, text)
        with ParallelRuns(mechanism, STREAM, 2) as parallel, pytest.raises(BatchFailed, match="no"):
            parallel.both(PAIR, 0, 20_000, coupled=False)
        single = one_by_one(mechanism)
        with ParallelRuns(single, STREAM, 2) as parallel:
            outputs = parallel.both(PAIR, 0, 20, coupled=False)
        assert outputs == DirectRuns(single, STREAM).both(PAIR, 0, 20, coupled=False)
        assert Raised("ValueError") in outputs[0]

    def test_global_generators_are_seeded_anew_after_loading(self, tmp_path):
        text = """
        import random
        import numpy as np

        np.random.seed(1)
        random.seed(1)

        def f(data):
            return float(np.random.random()), random.random()
        """
        mechanism = replace(named(tmp_path, text), own_entropy=True)
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            x, y = parallel.both(PAIR, 0, 64, coupled=False)
        for i in range(2):
            assert len({output[i] for output in (*x, *y)}) == 128


class TestRefusals:
    def test_a_mechanism_that_takes_no_rng(self):
        own = np.random.default_rng(1)
        mechanism = from_callable(lambda data: own.random())
        assert "takes no rng" in parallel_finding(mechanism)
        with pytest.raises(UsageError, match="workers=1"):
            ParallelRuns(mechanism, STREAM, 2)

    def test_unless_it_draws_from_the_operating_system(self):
        system = random.SystemRandom()
        mechanism = replace(from_callable(lambda data: system.random()), own_entropy=True)
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            x, y = parallel.both(PAIR, 0, 64, coupled=False)
        assert len({*x, *y}) == 128

    def test_a_mechanism_that_cannot_be_sent(self):
        lock = threading.Lock()
        mechanism = from_callable(lambda data, rng: lock.locked(), name="locked")
        with (
            ParallelRuns(mechanism, STREAM, 2) as parallel,
            pytest.raises(UsageError, match=r"locked cannot be sent .*lock.*; give it as a text"),
        ):
            parallel.both(PAIR, 0, 1, coupled=False)
        assert parallel._pool._executor is None

    def test_data_and_outputs_that_cannot_be_sent(self):
        mechanism = from_callable(lambda data, rng: threading.Lock() if data else 1)
        lock = threading.Lock()
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            with pytest.raises(UsageError, match="data of a pair cannot be sent"):
                parallel.both(Pair(lock, lock), 0, 1, coupled=False)
            with pytest.raises(MechanismError, match=r"output could not be sent .*lock"):
                parallel.both(PAIR, 0, 1, coupled=False)

    def test_a_mechanism_that_changes_its_input(self):
        mechanism = from_callable(lambda data, rng: data.append(1))
        with (
            ParallelRuns(mechanism, STREAM, 2) as parallel,
            pytest.raises(MechanismError, match="changes its input"),
        ):
            parallel.both(Pair([], [1]), 0, 1, coupled=False)


class TestCrashes:
    def test_lost_chunks_are_drawn_again(self, tmp_path):
        flag = tmp_path / "crashed"

        def crashes_once(data, rng):
            value = rng.random()
            if value > 0.9 and not flag.exists():
                flag.touch()
                os._exit(3)
            return data + value

        mechanism = from_callable(crashes_once)
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            outputs = parallel.both(PAIR, 0, 64, coupled=False)
            assert flag.exists()
            after = parallel.both(PAIR, 1, 64, coupled=True)
        direct = DirectRuns(mechanism, STREAM)
        assert outputs == direct.both(PAIR, 0, 64, coupled=False)
        assert after == direct.both(PAIR, 1, 64, coupled=True)

    def test_but_only_once(self):
        mechanism = from_callable(lambda data, rng: os._exit(3), name="fatal")
        with (
            ParallelRuns(mechanism, STREAM, 2) as parallel,
            pytest.raises(MechanismError, match=r"fatal: .*did so again.* set timeout"),
        ):
            parallel.both(PAIR, 0, 4, coupled=False)

    def test_and_never_where_the_draws_would_be_others(self):
        mechanism = replace(from_callable(lambda data: os._exit(3)), own_entropy=True)
        with (
            ParallelRuns(mechanism, STREAM, 2) as parallel,
            pytest.raises(MechanismError, match="cannot be repeated"),
        ):
            parallel.both(PAIR, 0, 4, coupled=False)


@pytest.mark.libraries
class TestLibraries:
    def test_opendp(self, tmp_path):
        pytest.importorskip("opendp.prelude")
        text = """
        import opendp.prelude as dp

        dp.enable_features("contrib")
        f = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), 1e6)
        """
        mechanism = named(tmp_path, text)
        assert mechanism.own_entropy
        with pytest.raises(UsageError, match=r"pointers.*path/file\.py::name"):
            ParallelRuns(replace(mechanism, target=None), STREAM, 2).both(PAIR, 0, 1, coupled=False)
        with ParallelRuns(mechanism, STREAM, 2) as parallel:
            x, y = parallel.both(PAIR, 0, 64, coupled=False)
        assert len({*x, *y}) > 100

    def test_opendp_vouches_for_no_functions_of_python(self):
        dp = pytest.importorskip("opendp.prelude")
        space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
        dp.enable_features("contrib", "honest-but-curious")
        try:
            measurement = dp.m.make_user_measurement(
                *space, dp.max_divergence(), lambda x: x, lambda d: 0.0, TO=int
            )
            assert not adapt(measurement).own_entropy
        finally:
            dp.disable_features("honest-but-curious")

    def test_diffprivlib(self):
        mechanisms = pytest.importorskip("diffprivlib.mechanisms")
        laplace = mechanisms.Laplace(epsilon=1, sensitivity=1)
        with ParallelRuns(adapt(laplace), STREAM, 2) as parallel:
            x, y = parallel.both(PAIR, 0, 64, coupled=False)
        assert len({*x, *y}) == 128

    def test_diffprivlib_with_a_random_state(self):
        pytest.importorskip("diffprivlib")
        from functools import partial

        from diffprivlib import mechanisms, tools

        assert not adapt(mechanisms.Laplace(epsilon=1, sensitivity=1, random_state=1)).own_entropy
        assert not adapt(mechanisms.Staircase(epsilon=1, sensitivity=1)).own_entropy
        bounded = partial(tools.mean, epsilon=1.0, bounds=(0, 1))
        assert adapt(bounded).own_entropy
        assert not adapt(partial(bounded, random_state=1)).own_entropy


SCRIPT = """
import sys, time
from tollens.mechanism import from_callable
from tollens.neighbours import Pair
from tollens.sampling import open_runs
from tollens.streams import EvidenceStream

def slow(data, rng):
    if data:
        time.sleep(60)

timeout = float(sys.argv[1]) or None
with open_runs(from_callable(slow), EvidenceStream(1), workers=2, timeout=timeout) as runs:
    runs.both(Pair(0, 0), 0, 4, coupled=False)
    try:
        print("ready", flush=True)
        runs.both(Pair(1, 1), 1, 4, coupled=False)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def listening():
    """Hear SIGINT even where the shell that runs the tests ignores it (as jobs with `&` do)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class TestEnd:
    @staticmethod
    def end(timeout, signal_number):
        """Stop a script as a terminal would, in the middle of runs; what it wrote."""
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(timeout)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=listening,  # noqa: PLW1509 - the tests start no threads
        )
        try:
            assert process.stdout.readline() == "ready\n"
            if signal_number == signal.SIGINT:
                os.killpg(process.pid, signal_number)
            else:
                process.send_signal(signal_number)
            written = process.communicate(timeout=20)
            for _ in range(200):
                try:
                    os.killpg(process.pid, 0)
                except ProcessLookupError:
                    return written
                time.sleep(0.05)
            raise AssertionError("processes are left")
        finally:
            process.kill()
            process.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    @pytest.mark.parametrize("timeout", [0, 60])
    def test_an_interrupt_ends_everything_quietly(self, timeout):
        assert self.end(timeout, signal.SIGINT) == ("interrupted\n", "")

    def test_processes_end_with_the_one_that_started_them(self):
        out, _ = self.end(60, signal.SIGKILL)
        assert out == ""
