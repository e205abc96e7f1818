"""Functions that run in other versions of Python, those that are on this machine."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens import values
from tollens.errors import UsageError
from tollens.external import agent
from tollens.outputs import Raised

MINORS = range(6, 15)
RNG = np.random.default_rng(0)

FUNCTIONS = """
import random, sys

CLAIMS = {"noisy": "epsilon=1"}
SOURCE = random.SystemRandom()

def noisy(rows):
    return len(rows) + SOURCE.gauss(0, .3)
def drawn(rows, rng):
    return rng.random()
def echo(data):
    return data
def raising(rows):
    return {}[rows[0]]
def changing(rows):
    rows.append(1)
def version(data):
    return sys.version_info[:2]
"""


def interpreter(major: int, minor: int) -> str:
    """An interpreter on PATH that starts, or one of pyenv; the test is skipped where none is."""
    name = f"python{major}.{minor}"
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [str(path) for path in root.glob(f"versions/{major}.{minor}.*/bin/python")]
    for path in [*found, *filter(None, [which(name)])]:
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip(f"needs {name}")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("interpreters") / "functions.py"
    path.write_text(FUNCTIONS)
    return path


@pytest.fixture(params=MINORS, ids=lambda minor: f"3.{minor}")
def load(request, file):
    python = interpreter(3, request.param)

    def load(name):
        return tollens.in_environment(python, f"{file}::{name}")

    load.minor = request.param
    return load


def test_it_is_that_interpreter(load):
    mechanism = load("version")
    assert mechanism.sample(0, 1, RNG) == [(3, load.minor)]
    assert mechanism.installed()["python"].startswith(f"3.{load.minor}.")


def test_a_broken_promise_is_found(load):
    verdict = tollens.audit(load("noisy"), neighbours=tollens.add_remove([1, 1]))
    assert verdict.refuted and str(verdict.claim) == "epsilon=1"


def test_seeds_repeat_there(load):
    mechanism = load("drawn")
    one, two = (mechanism.sample([1], 3, np.random.default_rng(7)) for _ in range(2))
    assert mechanism.takes_rng and one == two and len(set(one)) == 3


def test_what_is_raised_and_what_is_changed(load):
    assert load("raising").sample([1], 2, RNG) == [Raised("KeyError")] * 2
    with pytest.raises(UsageError, match="changes its input"):
        mechanism = load("changing")
        for _ in range(3):
            mechanism.sample([1], 2, RNG)


TEXTS = st.text() | st.sampled_from(["NaN", "Infinity", "$tuple", "bytes"])
HASHABLE = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.binary()
    | st.fractions() | st.decimals(allow_nan=False) | st.dates() | st.timedeltas()
    | st.datetimes().map(lambda date: date.replace(fold=0))
)  # fmt: skip
VALUES = st.recursive(
    HASHABLE | st.frozensets(HASHABLE, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(HASHABLE, inner, max_size=3)
    ),
    max_leaves=8,
)


def test_values_come_back(load):
    mechanism = load("echo")

    @settings(max_examples=60, deadline=None)
    @given(VALUES)
    def check(value):
        (output,) = mechanism.sample(value, 1, RNG)
        assert output == value and type(output) is type(value)

    check()
    big, tiny, zero = 10**5000, 5e-324, -0.0
    assert mechanism.sample([big, tiny, str(zero)], 1, RNG) == [[big, tiny, "-0.0"]]
    assert str(mechanism.sample(zero, 1, RNG)[0]) == "-0.0"


def test_arrays_are_lists_where_there_is_no_numpy(load):
    (output,) = load("echo").sample(np.arange(6.0).reshape(3, 2), 1, RNG)
    assert np.asarray(output).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_an_interpreter_that_is_too_old_is_named(file):
    python = interpreter(2, 7)
    with pytest.raises(UsageError, match=r"2\.7.* is older than Python 3\.6"):
        tollens.in_environment(python, f"{file}::noisy")


@pytest.mark.parametrize("module", [agent, values])
def test_what_runs_there_is_python_of_then(module):
    ast.parse(Path(module.__file__).read_text(encoding="utf-8"), feature_version=(3, 6))
