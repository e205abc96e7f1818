"""The examples of programs in Python, Node.js and C, run as the documentation says."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import tollens
from tollens.errors import UsageError
from tollens.outputs import Raised

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
ROWS = {"claim": "epsilon=1", "neighbours": tollens.add_remove([1, 1, 1]), "seed": 1}
RNG = np.random.default_rng(0)


def need(name: str) -> str:
    found = which(name)
    if found is None:
        pytest.skip(f"needs {name}")
    return found


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """The words of an example, by its language; C is compiled once."""
    built: dict[str, list[str]] = {}

    def words(language: str) -> list[str]:
        if language == "python":
            return [sys.executable, "-I", str(EXAMPLES / "noisy_count.py")]
        if language == "node":
            return [need("node"), str(EXAMPLES / "noisy_count.js")]
        if "c" not in built:
            program = tmp_path_factory.mktemp("c") / "noisy_count"
            source = str(EXAMPLES / "noisy_count.c")
            flags = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
            compiler = need("cc")
            subprocess.run([compiler, *flags, "-o", program, source, "-lm"], check=True)
            built["c"] = [str(program)]
        return built["c"]

    return words


LANGUAGES = ["python", "node", "c"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_right_one_is_spared_and_a_broken_one_is_caught(build, language):
    seeded = language == "c"
    broken, right = (
        tollens.audit(
            tollens.command([*build(language), scale], seeded=seeded, name=language),
            **ROWS,
            budget=3000,
        )
        for scale in ("0.5", "1.0")
    )
    assert broken.refuted and broken.replayable == seeded
    assert right.outcome is tollens.Outcome.UNREFUTED
    assert {"python": "counts", "node": "node", "c": "numpy"}[language] in right.versions


@pytest.mark.parametrize("language", LANGUAGES)
def test_outputs_are_floats_with_the_law_that_they_should_have(build, language):
    mechanism = tollens.command([*build(language), "1.0"])
    outputs = mechanism.sample([7] * 100, 4000, RNG)
    assert all(type(output) is float for output in outputs)
    noise = np.array(outputs) - 100
    assert abs(np.median(noise)) < 0.1 and abs(np.mean(np.abs(noise)) - 1) < 0.1
    assert len(set(outputs)) > 3990
    assert mechanism.sample([], 1, RNG)[0] != mechanism.sample([], 1, RNG)[0]


def test_the_documentation_shows_the_program_in_python():
    page = (EXAMPLES.parents[1] / "docs" / "programs.md").read_text(encoding="utf-8")
    assert (EXAMPLES / "noisy_count.py").read_text(encoding="utf-8") in page


def test_node_sends_what_its_json_lacks(build):
    (output,) = tollens.command([*build("node"), "Infinity"]).sample([1], 1, RNG)
    assert math.isinf(output)


@pytest.mark.parametrize("language, kind", [("python", "TypeError"), ("node", "TypeError")])
def test_what_is_raised_is_an_output(build, language, kind):
    mechanism = tollens.command([*build(language), "1.0"])
    assert mechanism.sample(None, 2, RNG) == [Raised(kind)] * 2


def test_a_fault_ends_the_audit(build):
    with pytest.raises(UsageError, match="data must be a list of numbers"):
        tollens.command(build("c"), name="c").sample({"a": 1}, 1, RNG)


def test_the_seeded_one_repeats_with_workers_too(build):
    mechanism = tollens.command([*build("c"), "0.5"], seeded=True)
    one, two = (tollens.audit(mechanism, **ROWS, workers=workers) for workers in (1, 2))
    assert one.refuted and one.log_e_value == two.log_e_value


class TestCommandLine:
    def run(self, *words: str, **settings: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tollens", *words],
            capture_output=True, text=True, timeout=120, check=False, **settings,
        )  # fmt: skip

    def test_a_program_as_target(self):
        words = f"command:'{sys.executable}' noisy_count.py 0.5"
        pair = ("--claim", "epsilon=1", "--x", "[1]", "--x-prime", "[]")
        done = self.run("audit", words, *pair, cwd=EXAMPLES)
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("REFUTED") and "noisy_count.py 0.5" in done.stdout

    def test_a_program_in_a_monitor(self, tmp_path):
        words = f"command:'{sys.executable}' '{EXAMPLES / 'noisy_count.py'}' 1.0"
        pair = ("--claim", "epsilon=1", "--x", "[1]", "--x-prime", "[]")
        series = ("--name", "count", "--version", "1", "--alpha", "1e-9")
        done = self.run("monitor", "step", words, *pair, *series, cwd=tmp_path)
        assert done.returncode == 0, done.stderr

    def test_a_function_in_another_interpreter(self, tmp_path):
        (tmp_path / "counts.py").write_text(
            "import random\nCLAIMS = {'noisy': 'epsilon=1'}\n"
            "def noisy(rows): return len(rows) + random.gauss(0, .2)\n"
        )
        words = ("counts.py::noisy", "--python", sys.executable, "--neighbours", "add_remove:[1]")
        done = self.run("audit", *words, "--workers", "2", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "noisy against epsilon=1" in done.stdout

    def test_promises_on_programs_in_a_file_are_checked(self, tmp_path):
        (tmp_path / "promised.py").write_text(
            "import tollens\n"
            "declare = tollens.promise('epsilon=1', neighbours=tollens.add_remove([1]))\n"
            f"words = [{sys.executable!r}, {str(EXAMPLES / 'noisy_count.py')!r}]\n"
            "right = declare(tollens.command([*words, '1.0']))\n"
            "broken = declare(tollens.command([*words, '0.5']))\n"
        )
        done = self.run("check", "promised.py", "--budget", "2000", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "2 promises tested, 1 refuted" in done.stdout

    @pytest.mark.parametrize(
        "words, message",
        [
            (("command:", "--neighbours", "queries:3"), "names no program"),
            (("command:'", "--neighbours", "queries:3"), "No closing quotation"),
            (("command:no-such", "--neighbours", "queries:3"), "there is no program 'no-such'"),
            (("command:cat", "--neighbours", "pair"), "for a program give a relation"),
            (("command:cat", "--neighbours", "queries:3"), "is no answer"),
            (("command:cat", "--python", "x", "--neighbours", "queries:3"), "for functions"),
            (("a.py::f", "--python", "no-such", "--neighbours", "queries:3"), "no interpreter"),
        ],
    )
    def test_mistakes(self, words, message):
        done = self.run("audit", *words, "--claim", "epsilon=1")
        assert done.returncode == 2 and message in " ".join(done.stderr.split()), done.stderr
        assert "Traceback" not in done.stderr
