"""Promises in a settings file: what they say, what is wrong with them, and how they are tested."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import tollens
from tollens.cli import main
from tollens.errors import UsageError
from tollens.promise_tables import load_tables, read_tables
from tollens.settings import promise_tables, resolve

COUNTS = """
import tollens

PAIRS = [([1, 1], [1]), ([1], [])]

def kept(rows, rng):
    return len(rows) + rng.laplace()

def broken(rows, rng):
    return len(rows) + rng.laplace(scale=0.2)

@tollens.promise("epsilon=1", neighbours=([1, 1], [1]))
def declared(rows, rng):
    return len(rows) + rng.laplace()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "counts.py").write_text(COUNTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(place, *tables):
    found, problems = load_tables(read_tables(place, list(tables)))
    assert problems == []
    return found


def test_the_forms_of_neighbours(folder):
    claim = {"target": "counts.py::kept", "claim": "epsilon=1"}
    one, many, named, text, bare = loaded(
        folder / "tollens.toml",
        {**claim, "neighbours": {"x": [1, "NaN"], "x_prime": [{"bytes": "AA=="}]}},
        {**claim, "neighbours": [{"x": [1], "x_prime": []}, {"x": [2], "x_prime": []}]},
        {**claim, "neighbours": "PAIRS"},
        {**claim, "neighbours": "queries:3:one"},
        {"target": "counts.py::declared"},
    )
    x, x_prime = one.promise.neighbours
    assert x[0] == 1 and x[1] != x[1] and x_prime == [b"\x00"]
    assert many.promise.neighbours == [([1], []), ([2], [])]
    assert named.promise.neighbours == [([1, 1], [1]), ([1], [])]
    assert len(text.promise.neighbours[0].x) == 3
    assert str(bare.promise.claim) == "epsilon=1" and bare.promise.neighbours == ([1, 1], [1])


def test_a_table_wins_over_the_declaration_key_by_key(folder):
    (item,) = loaded(
        folder / "tollens.toml", {"target": "counts.py::declared", "claim": "epsilon=2"}
    )
    assert str(item.promise.claim) == "epsilon=2" and item.promise.neighbours == ([1, 1], [1])


def test_every_fault_is_named_by_file_number_and_key(tmp_path):
    place = tmp_path / "pyproject.toml"
    with pytest.raises(UsageError) as caught:
        read_tables(
            place,
            [
                {"target": "counts", "claim": "epsilon=-1", "neighbours": {"x": [1]}},
                {"target": "counts.py::kept", "neighbors": "queries:2"},
                {"claim": 1, "neighbours": []},
            ],
        )
    found = [finding.removeprefix(f"{place}, ") for finding in caught.value.findings]
    assert [finding[:22] for finding in found] == [
        "promise 1: target: can",
        "promise 1: claim: epsi",
        "promise 1: neighbours:",
        "promise 2: unknown key",
        "promise 3: target: it ",
        "promise 3: claim: it i",
        "promise 3: neighbours:",
    ]
    assert found[3].endswith("'neighbors'; did you mean 'neighbours'?")


@pytest.mark.parametrize("tables", ["counts.py::kept", {"target": "counts.py::kept"}, [1]])
def test_what_is_no_list_of_tables_is_refused(tmp_path, tables):
    with pytest.raises(UsageError, match=r"write \[\[tool.tollens.promises\]\] in pyproject"):
        read_tables(tmp_path / "pyproject.toml", tables)


def test_what_cannot_be_loaded_is_a_problem_and_the_others_are_kept(folder):
    found, problems = load_tables(
        read_tables(
            folder / "tollens.toml",
            [
                {"target": "counts.py::keep", "neighbours": "PAIRS"},
                {"target": "counts.py::kept", "claim": "epsilon=1", "neighbours": "PAIR"},
                {"target": "counts.py::kept", "claim": "epsilon=1", "neighbours": "querys:3"},
                {"target": "counts.py::kept", "claim": "epsilon=1"},
                {"target": "no_such_module:kept", "claim": "epsilon=1", "neighbours": "PAIRS"},
                {"target": "counts.py::declared"},
            ],
        )
    )
    assert [item.target for item in found] == ["counts.py::declared"]
    for number, said in enumerate(
        (
            "target: counts.py has no 'keep'; did you mean 'kept'?",
            "neighbours: counts.py has no 'PAIR'; did you mean 'PAIRS'?",
            "neighbours: there is no relation 'querys'; did you mean 'queries'?",
            "neighbours: missing, and counts.py::kept declares none",
            "target: there is no module 'no_such_module'",
        ),
        1,
    ):
        assert f"promise {number}: {said}" in problems[number - 1]


def test_targets_are_seen_from_the_folder_of_the_file(folder, monkeypatch):
    inner = folder / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    (item,) = loaded(
        folder / "tollens.toml", {"target": "counts.py::declared", "claim": "epsilon=1"}
    )
    assert item.target == f"{(folder / 'counts.py').as_posix()}::declared"


def test_settings_find_the_tables_and_do_not_mind_them(folder):
    place = folder / "pyproject.toml"
    place.write_text(
        '[project]\nname = "x"\n[[tool.tollens.promises]]\ntarget = "counts.py::declared"\n',
        encoding="utf-8",
    )
    assert promise_tables(None, folder) == (place, [{"target": "counts.py::declared"}])
    assert resolve({}, environ={}, config=None, folder=folder)["budget"] == 20_000


def check(*words):
    done = CliRunner().invoke(main, ["check", "--quiet", "--budget", "400", *words])
    return done.exit_code, done.output


def test_check_tests_declarations_and_tables_under_one_alpha(folder):
    (folder / "tollens.toml").write_text(
        """
        [[promises]]
        target = "counts.py::broken"
        claim = "epsilon=1"
        neighbours = {x = [1, 1], x_prime = [1]}
        """,
        encoding="utf-8",
    )
    code, out = check("--format", "json")
    verdicts = json.loads(out)["verdicts"]
    assert code == 1
    assert [verdict["target"] for verdict in verdicts] == [
        "counts.py::declared",
        "counts.py::broken",
    ]
    assert {verdict["verdict"]["alpha"] for verdict in verdicts} == {5e-7}


def test_check_of_nothing_but_a_wrong_table_is_wrong_use(folder):
    (folder / "counts.py").write_text(COUNTS.partition("@")[0], encoding="utf-8")
    (folder / "own.toml").write_text(
        '[[promises]]\ntarget = "counts.py::kept"\nclaim = "epsilon: 1"\n', encoding="utf-8"
    )
    code, out = check("--config", "own.toml")
    assert code == 2
    assert "own.toml, promise 1: claim: cannot read the claim 'epsilon: 1'" in out


def test_a_promise_may_name_what_an_installed_package_has(folder):
    """Code that is not to be touched at all."""
    (item,) = loaded(
        folder / "tollens.toml",
        {"target": "math:sqrt", "claim": "epsilon=1", "neighbours": {"x": 4.0, "x_prime": 1.0}},
    )
    verdict = tollens.audit(
        item.mechanism, item.promise.claim, neighbours=item.promise.neighbours, budget=400
    )
    assert verdict.refuted
