"""Functions in another interpreter: how they are called, what they say of themselves, mistakes."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tollens
from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, from_callable
from tollens.outputs import CRASH, TIMEOUT, Raised

FUNCTIONS = """
import os, random, sys, time

CLAIMS = {"noisy": "epsilon=1"}

def noisy(rows, rng): return len(rows) + rng.normal()
def second(rows, generator): return rows, generator.random()
def keyword(rows, *, rng): return rng.random()
def optional(rows, rng=None): return rng.random()
def plain(rows): return random.random()
def digits(rows, digits=3): return digits
def batched(rows, n, rng): return [rng.random() for _ in range(n)]
def batched_alone(rows, n): return [n] * n
def batched_keyword(rows, n, *, rng): return rng.random(n)
def wrong_batch(rows, n): return [0] * (n + 1)
def no_batch(rows, n): return 5
def raising_batch(rows, n): raise ValueError("no rows")
def four(a, b, c, d): return 0
def nothing(): return 0
def odd_claim(rows): return 0
odd_claim.__tollens_claim__ = 3
def own_claim(rows): return 0
own_claim.__tollens_claim__ = "epsilon=ln 3"
def identity(data): return data
def raising(rows): raise KeyError(rows)
def leaving(rows): sys.exit(3)
def ending(rows): os._exit(3)
def printing(rows):
    print("to stdout"); os.write(1, b"and below\\n"); os.system("echo and by a program")
    return sys.stdin.read()
def yielding(rows):
    yield 1
    yield 2
def slow(rows): time.sleep(60 if rows else 0); return 1
def odd_output(rows): return object()
def changing(rows): rows.append(1); return len(rows)
class Model:
    def release(self, rows): return len(rows)
    def __call__(self, rows, rng): return rng.random()
model = Model()
not_a_function = 3
def where(rows): return __name__, sys.path[0], os.getcwd()
"""

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("environment") / "functions.py"
    path.write_text(FUNCTIONS)
    return path


@pytest.fixture
def load(file):
    made = []

    def load(name, **settings):
        made.append(tollens.in_environment(sys.executable, f"{file}::{name}", **settings))
        return made[-1]

    yield load
    for mechanism in made:
        mechanism.sampler.close()


class TestCalls:
    @pytest.mark.parametrize(
        "name", ["second", "keyword", "optional", "batched", "batched_keyword", "model"]
    )
    def test_a_generator_comes_from_our_seed(self, load, name):
        mechanism = load(name)
        assert mechanism.takes_rng
        one, two = (mechanism.sample([1], 3, np.random.default_rng(7)) for _ in range(2))
        assert list(one) == list(two) and len(set(map(str, one))) == 3

    @pytest.mark.parametrize("name", ["plain", "digits", "batched_alone", "identity"])
    def test_a_function_of_the_data_alone_has_its_own(self, load, name):
        mechanism = load(name)
        assert not mechanism.takes_rng and mechanism.own_entropy

    def test_functions_are_read_as_those_of_this_process(self, load, file):
        space: dict[str, object] = {}
        exec(FUNCTIONS, space)
        for name in ("noisy", "second", "keyword", "optional", "plain", "digits", "model"):
            assert load(name).takes_rng == from_callable(space[name]).takes_rng, name

    def test_outputs_are_those_of_a_batch(self, load):
        assert load("batched_alone").sample([], 3, RNG) == [3, 3, 3]
        assert load("batched_alone", batch=2).sample([], 3, RNG) == [2, 2, 1]

    def test_two_processes_do_not_repeat_each_other(self, file):
        seeded = file.with_name("seeded.py")
        seeded.write_text("import random\nrandom.seed(1)\ndef f(data): return random.random()\n")
        one, two = (tollens.in_environment(sys.executable, f"{seeded}::f") for _ in range(2))
        assert one.sample(0, 2, RNG) != two.sample(0, 2, RNG)

    def test_methods_modules_and_places(self, load, file, monkeypatch):
        assert load("model.release").sample([1, 2], 1, RNG) == [2]
        _, path, folder = load("where", cwd=file.parent.parent).sample(0, 1, RNG)[0]
        assert (path, folder) == (str(file.parent), str(file.parent.parent))
        monkeypatch.chdir(file.parent)
        mechanism = tollens.in_environment(sys.executable, "functions:identity")
        assert mechanism.sample((1,), 1, RNG) == [(1,)]
        assert tollens.in_environment(sys.executable, "math:sqrt").sample(4, 1, RNG) == [2.0]


class TestOutputs:
    def test_what_is_raised_is_an_output(self, load):
        outputs = load("raising").sample([1], 2, RNG)
        assert outputs == [Raised("KeyError")] * 2 and outputs[0].message == "[1]"
        assert load("leaving").sample([1], 2, RNG) == [Raised("SystemExit")] * 2

    def test_a_batch_that_raises_says_nothing_about_its_runs(self, load):
        mechanism = load("raising_batch")
        with pytest.raises(BatchFailed, match="batch of 2 runs raised ValueError: no rows"):
            mechanism.sample([], 2, RNG)
        assert mechanism.sample([], 1, RNG) == [Raised("ValueError")]

    def test_crashes_and_time_limits(self, load):
        assert load("ending").sample([], 1, RNG) == [CRASH]
        mechanism = load("slow", timeout=0.3)
        assert mechanism.sample([], 2, RNG) == [1, 1]
        assert mechanism.sample([1], 1, RNG) == [TIMEOUT]

    def test_what_it_prints_is_no_output_and_its_stdin_is_empty(self, load):
        assert load("printing").sample([], 3, RNG) == [""] * 3

    def test_all_that_is_yielded(self, load):
        assert load("yielding").sample([], 2, RNG) == [(1, 2)] * 2

    def test_arrays_and_numbers_of_numpy(self, load):
        array = np.array([[1.5, np.nan], [-0.0, np.inf]], dtype=np.float32)
        (output,) = load("identity").sample({"a": array, "b": np.int8(3)}, 1, RNG)
        assert output["a"].tobytes() == array.tobytes() and output["b"] == 3

    def test_an_output_of_another_type_is_refused(self, load):
        with pytest.raises(
            UsageError, match=r"odd_output: an output cannot be looked at: .*object"
        ):
            load("odd_output").sample(0, 2, RNG)

    def test_data_of_another_type_are_refused(self, load):
        with pytest.raises(UsageError, match="a value of type object cannot be written"):
            load("identity").sample([object()], 1, RNG)

    @pytest.mark.parametrize("name, got", [("wrong_batch", "got 4"), ("no_batch", "got a int")])
    def test_a_batch_of_another_size_is_refused(self, load, name, got):
        with pytest.raises(UsageError, match=f"asked for n=3 outputs, {got}"):
            load(name).sample([], 3, RNG)

    def test_a_function_that_changes_its_input_is_refused(self, load):
        with pytest.raises((UsageError, MechanismError), match="changes its input"):
            for _ in range(5):
                load("changing").sample([1], 2, RNG)

    def test_data_that_change_between_audits_are_sent_anew(self, load):
        mechanism, data = load("identity"), [1, (2,)]
        assert mechanism.sample(data, 1, RNG) == [[1, (2,)]]
        data[1] = True
        assert mechanism.sample(data, 1, RNG) == [[1, True]]
        data[0] = 1.0
        (output,) = mechanism.sample(data, 1, RNG)
        assert type(output[0]) is float


class TestPromises:
    def test_they_are_read_from_the_file(self, load):
        assert load("noisy").promise == tollens.pure(1)
        assert load("own_claim").promise == tollens.pure("ln 3")
        assert load("plain").promise is None
        assert load("noisy", claim="epsilon=2").promise == tollens.pure(2)

    def test_one_that_is_no_text_is_refused(self, load):
        with pytest.raises(UsageError, match="the claim of odd_claim is 3"):
            load("odd_claim")

    def test_an_audit_takes_it(self, load):
        verdict = tollens.audit(load("noisy"), neighbours=([1, 1, 1, 1], []), seed=1)
        assert verdict.refuted and verdict.replayable and str(verdict.claim) == "epsilon=1"
        assert verdict.versions["python of the program"] == sys.version.split()[0]

    def test_workers_give_the_same_verdict(self, load):
        mechanism = load("noisy")
        one, two = (
            tollens.audit(mechanism, neighbours=([1] * 4, []), seed=1, workers=workers)
            for workers in (1, 2)
        )
        assert one.log_e_value == two.log_e_value


class TestMistakes:
    @pytest.mark.parametrize(
        "name, message",
        [
            ("four", r"four needs the arguments a, b, c, d"),
            ("nothing", "nothing takes no argument"),
            ("not_a_function", "is a int, no function of the data"),
            ("noisi", r"has no 'noisi'; did you mean 'noisy'\?"),
            ("model.relase", "did you mean 'release'"),
        ],
    )
    def test_of_the_function(self, load, name, message):
        with pytest.raises(UsageError, match=message):
            load(name)

    @pytest.mark.parametrize(
        "text, message",
        [
            ("import nothing_like_this", "No module named 'nothing_like_this'.*line 1"),
            ("x = 1\nx = (", r"SyntaxError.*line 2"),
            ("\nraise ValueError('no licence')", r"ValueError: no licence \(line 2\)"),
            ("import sys; sys.exit(3)", "SystemExit"),
        ],
    )
    def test_of_the_file(self, tmp_path, text, message):
        (tmp_path / "broken.py").write_text(text)
        with pytest.raises(UsageError, match=message) as caught:
            tollens.in_environment(sys.executable, f"{tmp_path}/broken.py::f")
        assert "cannot be imported by Python" in str(caught.value)

    def test_of_the_place(self, tmp_path):
        with pytest.raises(UsageError) as caught:
            tollens.in_environment(tmp_path / "none", "none.py::f", claim="epsilon", batch=0)
        text = str(caught.value)
        assert len(caught.value.findings) == 4
        assert "there is no interpreter" in text and "none.py does not exist" in text
        with pytest.raises(UsageError, match="is no virtual environment"):
            tollens.in_environment(tmp_path, "math:sqrt")
        with pytest.raises(UsageError, match="cannot read the target"):
            tollens.in_environment(sys.executable, "math")
        with pytest.raises(UsageError, match="No module named 'no_such_module'"):
            tollens.in_environment(sys.executable, "no_such_module:f")

    def test_of_the_interpreter(self, tmp_path):
        script = tmp_path / "python"
        script.write_text("#!/bin/sh\necho no such python >&2\nexit 4\n")
        script.chmod(0o755)
        with pytest.raises(UsageError, match="exit code 4 at its start; its stderr ends: no such"):
            tollens.in_environment(script, "math:sqrt")

    def test_a_file_that_never_ends_to_load(self, tmp_path):
        (tmp_path / "slow.py").write_text("import time\ntime.sleep(60)")
        with pytest.raises(UsageError, match=r"has not said hello for 0\.5 s"):
            tollens.in_environment(sys.executable, f"{tmp_path}/slow.py::f", start=0.5)


def test_a_virtual_environment_by_its_folder(tmp_path, file):
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "tiny.py").write_text("def noisy(rows): return 1\n")
    (packages / "tiny_dp-0.7.dist-info").mkdir()
    (packages / "tiny_dp-0.7.dist-info" / "top_level.txt").write_text("tiny\n")
    script = tmp_path / "uses.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, tiny
            noisy = tiny.noisy
            def prefix(data): return sys.prefix
            """
        )
    )
    mechanism = tollens.in_environment(folder, f"{script}::prefix")
    assert mechanism.sample(0, 1, RNG) == [str(folder)]
    assert mechanism.installed()["tiny-dp"] == "0.7"
