"""The catalogue: entries, environments and results agree; nothing of a library is run here."""

import ast
import json

import click.testing
import pytest
from catalogue import __main__ as command
from catalogue import environments as made
from catalogue.entries import entries
from catalogue.entry import MECHANISMS
from catalogue.results import Result, load, saved, shown

from tollens.relations import as_relation

ENTRIES = entries()
RESULTS = saved()


def names_in(file):
    """The names that stand at the top of a file of mechanisms."""
    found = set()
    for node in ast.walk(ast.parse((MECHANISMS / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return found


def test_there_are_enough_of_them():
    assert len(ENTRIES) >= 60
    old_and_broken = [e for e in ENTRIES.values() if e.truth == "broken" and "016" not in e.id]
    assert len(old_and_broken) >= 15


@pytest.mark.parametrize("file", sorted({entry.file for entry in ENTRIES.values()}))
def test_entries_name_what_stands_in_the_files(file):
    there = names_in(file)
    missing = {e.name for e in ENTRIES.values() if e.file == file} - there
    assert not missing


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.id)
def test_an_entry_can_be_audited(entry):
    assert entry.environment in made.environments()
    relation = as_relation(entry.neighbours)
    assert len(relation) >= 1 and (len(relation) == 1 or not entry.given)
    assert entry.pairs >= 100
    assert entry.truth in ("broken", "sound", "unknown")
    assert entry.truth != "broken" or entry.source, "say where it is known from"


def test_every_release_is_pinned_and_every_environment_used():
    used = {entry.environment for entry in ENTRIES.values()}
    for label, environment in made.environments().items():
        assert all("==" in package for package in environment.packages), label
        assert label in used, label


def test_mechanisms_are_python_that_old_interpreters_read():
    for path in MECHANISMS.glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


# Environments


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TOLLENS_ENVIRONMENTS", str(tmp_path))
    return tmp_path


def test_an_environment_is_ready_once_it_was_made_of_these_words(folder):
    environment = made.Environment("small", "3.11", ("numpy==2.4.6",))
    assert environment.folder == folder / "small" and not environment.ready
    environment.folder.mkdir()
    stamp = environment.folder / made.STAMP
    stamp.write_text(json.dumps({"digest": environment.digest}), encoding="utf-8")
    assert environment.ready
    assert not made.Environment("small", "3.11", ("numpy==2.4.5",)).ready
    stamp.write_text("{", encoding="utf-8")
    assert not environment.ready


def test_an_interpreter_that_is_not_there_is_said(folder, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(folder))
    with pytest.raises(made.CannotBeHad, match=r"no python2\.99 on the path"):
        made.find_interpreter("2.99")
    unknown = {"lost": made.Environment("lost", "2.99", ("numpy==1.0",))}
    monkeypatch.setattr(made, "environments", lambda: unknown)
    done = click.testing.CliRunner().invoke(made.main, [])
    assert done.exit_code == 1 and "lost: cannot be had: no python2.99" in done.output


def test_an_interpreter_of_the_wrong_version_is_passed_over(folder, monkeypatch):
    wrong = folder / "versions" / "2.99.1" / "bin" / "python"
    wrong.parent.mkdir(parents=True)
    wrong.write_text("#!/bin/sh\necho 2.98\n", encoding="utf-8")
    wrong.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(folder))
    with pytest.raises(made.CannotBeHad):
        made.find_interpreter("2.99")


def test_an_unknown_label_is_refused():
    done = click.testing.CliRunner().invoke(made.main, ["opendp999"])
    assert done.exit_code == 2 and "no environment opendp999; there are opendp" in done.output


# Commands


def test_an_entry_whose_environment_is_missing_is_named_and_counts_as_a_failure(folder):
    done = click.testing.CliRunner().invoke(command.main, ["run", "opendp016-count", "--look"])
    assert done.exit_code == 1
    assert "opendp016-count: not audited: opendp016 is not made; run:" in done.output


def test_an_unknown_entry_is_refused():
    done = click.testing.CliRunner().invoke(command.main, ["show", "nothing-*"])
    assert done.exit_code == 2 and "no entry is named nothing-*" in done.output


# Results


def test_every_entry_has_a_result_and_every_result_an_entry():
    assert set(RESULTS) == set(ENTRIES), "run `python -m catalogue run --missing`"


@pytest.mark.parametrize("result", RESULTS.values(), ids=lambda result: result.id)
def test_a_result_is_that_of_its_entry(result):
    entry = ENTRIES[result.id]
    same = ("library", "environment", "given", "outputs", "source")
    assert [getattr(result, key) for key in same] == [getattr(entry, key) for key in same]
    assert (result.mechanism, result.known, result.budget) == (
        entry.name, entry.truth, entry.pairs,
    )  # fmt: skip
    pinned = dict(p.split("==") for p in made.environments()[entry.environment].packages)
    for name, version in pinned.items():
        assert result.versions[name.partition("[")[0]] == version
    assert result.command == f"python -m catalogue run {entry.id} --seed {result.seed}"


@pytest.mark.parametrize("result", RESULTS.values(), ids=lambda result: result.id)
def test_what_is_known_to_be_right_is_not_refuted(result):
    assert (result.known, result.outcome) != ("sound", "REFUTED")


def test_a_result_is_read_as_it_was_written(tmp_path, monkeypatch):
    from catalogue import results

    monkeypatch.setattr(results, "FOLDER", tmp_path)
    first = next(iter(RESULTS.values()))
    first.save()
    assert load(results.path_of(first.id)) == first
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="not a result"):
        load(tmp_path / "other.json")
    assert isinstance(first, Result)


def test_long_inputs_are_cut_in_the_middle():
    assert shown([1, 2]) == "[1, 2]"
    assert len(shown(list(range(1000)))) <= 160 and " ... " in shown(list(range(1000)))
