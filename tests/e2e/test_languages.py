"""The examples in Java, Rust and C: the recipe at the head of each file is run as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from math import exp, sqrt
from pathlib import Path
from shutil import copy, which

import numpy as np
import pytest

import tollens
from tollens.mechanism import Mechanism

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
RECIPES = {
    "GeometricCount.java": "javac",
    "discrete_gaussian.rs": "rustc",
    "randomised_response.c": "cc",
}
RNG = np.random.default_rng(0)


def recipe(source: str) -> list[str]:
    """The commands at the head of a file: how it is built, then two audits."""
    head = (EXAMPLES / source).read_text(encoding="utf-8").splitlines()[:10]
    return [line.partition("$ ")[2] for line in head if " $ " in line]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a user does, with the `tollens` of these tests on the path."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder,
        env={**clean, "PATH": places, "TOLLENS_BUDGET": "8000"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of an example that was built by the first line of its recipe."""
    folders: dict[str, Path] = {}

    def folder(source: str) -> Path:
        if which(RECIPES[source]) is None:
            pytest.skip(f"needs {RECIPES[source]}")
        if source not in folders:
            folders[source] = tmp_path_factory.mktemp("program")
            copy(EXAMPLES / source, folders[source])
            done = shell(recipe(source)[0], folders[source])
            assert done.returncode == 0 and not done.stderr, done.stderr
        return folders[source]

    return folder


def program(source: str, folder: Path, *arguments: str) -> Mechanism:
    """The mechanism that the first audit of a recipe names, with other arguments."""
    words = re.search(r'"command:(\S*\w)(.*?)( \d+)?"', recipe(source)[1])
    assert words is not None
    return tollens.command([words[1], *words[2].split(), *arguments], cwd=folder)


@pytest.mark.parametrize("source", RECIPES)
def test_the_recipe_spares_the_right_one_and_refutes_the_broken_one(built, source):
    folder = built(source)
    build, right, broken = recipe(source)
    assert build.startswith(RECIPES[source])
    spared, caught = shell(right, folder), shell(broken, folder)
    assert spared.returncode == 0, spared.stderr
    assert spared.stdout.startswith("UNREFUTED")
    assert caught.returncode == 1, caught.stderr
    assert caught.stdout.startswith("REFUTED")


def test_c_has_no_warnings(built, tmp_path):
    built("randomised_response.c")
    flags = "-std=c11 -O2 -Wall -Wextra -Werror"
    done = shell(f"cc {flags} -o {tmp_path}/program randomised_response.c", EXAMPLES)
    assert done.returncode == 0, done.stderr


def test_rust_has_no_warnings(built, tmp_path):
    built("discrete_gaussian.rs")
    done = shell(f"rustc -O -D warnings -o {tmp_path}/program discrete_gaussian.rs", EXAMPLES)
    assert done.returncode == 0, done.stderr


def test_java_draws_from_the_two_sided_geometric_law(built):
    source = "GeometricCount.java"
    outputs = program(source, built(source), "2").sample([7] * 100, 30_000, RNG)
    decay = exp(-1 / 2)
    zero = (1 - decay) / (1 + decay)
    near(outputs, {100 + k: zero * decay ** abs(k) for k in range(-6, 7)})


def test_rust_draws_from_the_discrete_gaussian_law(built):
    source = "discrete_gaussian.rs"
    outputs = program(source, built(source), "4").sample([7] * 100, 30_000, RNG)
    weights = {k: exp(-k * k / 8) for k in range(-40, 41)}
    total = sum(weights.values())
    near(outputs, {100 + k: weights[k] / total for k in range(-6, 7)})


def test_c_keeps_three_bits_in_four(built):
    source = "randomised_response.c"
    outputs = program(source, built(source)).sample([0, 1], 30_000, RNG)
    keep = {True: 3 / 4, False: 1 / 4}
    near(
        [tuple(output) for output in outputs],
        {(a, b): keep[a == 0] * keep[b == 1] for a in (0, 1) for b in (0, 1)},
    )


def near(outputs: list[object], law: dict[object, float]) -> None:
    """Every frequency is within six standard deviations of its probability."""
    n, seen = len(outputs), Counter(outputs)
    for value, p in law.items():
        assert abs(seen[value] - n * p) < 6 * sqrt(n * p * (1 - p)), (value, p, seen[value] / n)


@pytest.mark.parametrize("source", RECIPES)
def test_no_rows_and_data_that_are_no_list(built, source):
    arguments = () if source.endswith(".c") else ("1",)
    mechanism = program(source, built(source), *arguments)
    (output,) = mechanism.sample([], 1, RNG)
    assert output == [] if source.endswith(".c") else isinstance(output, int)
    with pytest.raises(tollens.TollensError, match="data must be a list of"):
        mechanism.sample({"a": 1}, 1, RNG)


@pytest.mark.parametrize("source", RECIPES)
def test_outputs_are_json_with_one_line_a_request(built, source):
    words = recipe(source)[1].split('"')[1].removeprefix("command:")
    request = '{"data": [1, 0], "n": 3, "seed": 5}\n'
    done = subprocess.run(
        ["sh", "-c", words], cwd=built(source), input=request * 2,
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    hello, *answers = map(json.loads, done.stdout.splitlines())
    assert hello["tollens"] == 1
    assert [len(answer["outputs"]) for answer in answers] == [3, 3]
