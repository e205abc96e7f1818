"""`pytest --dp-promises`: what is declared beside the code, a test each, on the same ledger."""

from __future__ import annotations

import shlex

import pytest

DECLARED = """
import tollens

PAIRS = ([1, 1], [1])

@tollens.promise("epsilon=1", neighbours=PAIRS)
def kept(rows, rng):
    return len(rows) + rng.laplace()

@tollens.promise("epsilon=1", neighbours=PAIRS)
def broken(rows, rng):
    return len(rows) + rng.laplace(scale=0.2)

def plain(rows, rng):
    return len(rows) + rng.laplace(scale=0.2)
"""

TABLES = """
[tool.tollens]
dp-budget = 400

[[tool.tollens.promises]]
target = "declared.py::plain"
claim = "epsilon=1"
neighbours = "PAIRS"

[[tool.tollens.promises]]
target = "declared.py::kept"
claim = "epsilon=1.5"
"""


@pytest.fixture
def declared(project):
    project.makepyfile(declared=DECLARED)
    project.makepyfile(other="import tollens\nraise RuntimeError('no promise is here')")
    return project


def test_promises_are_collected_only_if_asked_for(declared):
    declared.runpytest("declared.py").assert_outcomes()
    result = declared.runpytest("--dp-promises", "--collect-only", "-q", "declared.py")
    result.stdout.fnmatch_lines(["declared.py::kept", "declared.py::broken"])


def test_each_promise_is_a_test(declared):
    result = declared.runpytest("--dp-promises", "--dp-budget=400", "declared.py")
    result.assert_outcomes(passed=1, failed=1)
    out = result.stdout.str()
    assert "promise of declared.py::broken" in out
    assert "error probability: 5e-07 of 1e-06 spent" in out
    line = next(line for line in result.outlines if line.startswith("again"))
    words = shlex.split(line)[2:]
    assert words[:2] == ["declared.py::broken", "--dp-promises"]
    declared.runpytest(*words).assert_outcomes(failed=1)


def test_tables_of_the_settings_file_are_tests_too(declared):
    declared.makepyprojecttoml(TABLES)
    result = declared.runpytest("--dp-promises", "pyproject.toml")
    result.assert_outcomes(passed=1, failed=1)
    out = result.stdout.str()
    assert "REFUTED    pyproject.toml::promise-1: plain against epsilon=1" in out
    assert "tollens audit declared.py::plain --claim epsilon=1" in out
    declared.runpytest("--dp-promises", "pyproject.toml::promise-2").assert_outcomes(passed=1)


def test_what_cannot_be_read_or_imported_is_an_error_of_collection(declared):
    declared.makepyprojecttoml('[[tool.tollens.promises]]\ntarget = "declared.py::none"\n')
    declared.makepyfile(other="from tollens import promise\nraise RuntimeError('broken file')")
    result = declared.runpytest("--dp-promises", ".")
    result.assert_outcomes(errors=2)
    assert "promise 1: target: declared.py has no 'none'" in result.stdout.str()
    assert "other.py cannot be imported: RuntimeError: broken file" in result.stdout.str()


def test_off_skips_promises_too(declared):
    result = declared.runpytest("--dp-promises", "--dp-mode=off", "declared.py")
    result.assert_outcomes(skipped=2)
