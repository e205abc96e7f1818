"""Texts that name mechanisms: what they lead to, and what is said where they lead nowhere."""

from __future__ import annotations

import sys

import pytest

import tollens
from tollens.errors import TargetError, TollensError
from tollens.targets import load_file, load_target, split_target


@pytest.fixture
def write(tmp_path):
    def make(text, name="mechanisms.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.mark.parametrize(
    "text, parts",
    [
        ("a.py::f", ("a.py", "f")),
        ("dir/a.py::C.f", ("dir/a.py", "C.f")),
        ("package.module:name", ("package.module", "name")),
        ("C:/dir/a.py::f", ("C:/dir/a.py", "f")),
    ],
)
def test_split(text, parts):
    assert split_target(text) == parts


@pytest.mark.parametrize("text", ["", "a.py", "::", "a.py::", "::f", ":f", "module:", "count"])
def test_texts_that_are_no_targets(text):
    with pytest.raises(TargetError, match="cannot read the target"):
        split_target(text)


def test_a_name_in_a_file(write):
    path = write("def count(rows):\n    return len(rows)\n")
    assert load_target(f"{path}::count")([1, 2]) == 2


def test_a_name_inside_a_class(write):
    path = write("class C:\n    @staticmethod\n    def f(rows):\n        return 7\n")
    assert load_target(f"{path}::C.f")(1) == 7


def test_a_name_in_a_module():
    assert load_target("os.path:join")("a", "b").startswith("a")


def test_a_file_may_import_its_neighbours(write):
    write("SCALE = 3\n", "target_neighbour_settings.py")
    path = write("from target_neighbour_settings import SCALE\n\ndef f(rows):\n    return SCALE\n")
    before = list(sys.path)
    assert load_target(f"{path}::f")(1) == 3
    assert sys.path == before
    del sys.modules["target_neighbour_settings"]


def test_dataclasses_in_a_file_know_their_module(write):
    path = write(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n"
        "@dataclass\nclass C:\n    n: int = 3\n    def __call__(self, rows):\n"
        "        return self.n\n\nf = C()\n"
    )
    assert load_target(f"{path}::f")(1) == 3


def test_two_files_of_one_name_do_not_meet(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "same.py").write_text(f"def f(rows):\n    return {name!r}\n", encoding="utf-8")
    assert load_target(f"{tmp_path}/one/same.py::f")(1) == "one"
    assert load_target(f"{tmp_path}/two/same.py::f")(1) == "two"


@pytest.mark.parametrize(
    "content, problem",
    [
        ("def f(:\n", r"cannot be imported: .*\(line 1\)"),
        ("x = 1\n\nraise ValueError('no')\n", r"ValueError: no \(line 3\)"),
        ("import a_module_that_is_not_there\n", "ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", r"SystemExit: 3 \(line 2\)"),
        ("def count(rows):\n    return 1\n", "has no 'f'"),
        ("def ff(rows):\n    return 1\n", "did you mean 'ff'"),
        ("", "has no 'f'"),
    ],
)
def test_files_that_do_not_lead_to_the_name(write, content, problem):
    path = write(content)
    with pytest.raises(TargetError, match=problem):
        load_target(f"{path}::f")


def test_a_file_that_cannot_be_imported_leaves_no_trace(write):
    path = write("raise ValueError\n")
    modules, folders = set(sys.modules), list(sys.path)
    with pytest.raises(TargetError):
        load_file(path)
    assert {name for name in set(sys.modules) - modules if "tollens_target" in name} == set()
    assert sys.path == folders


def test_places_that_are_not_there(tmp_path):
    with pytest.raises(TargetError, match="does not exist"):
        load_target(f"{tmp_path}/missing.py::f")
    folder = tmp_path / "folder.py"
    folder.mkdir()
    with pytest.raises(TargetError, match="is a folder"):
        load_target(f"{folder}::f")
    with pytest.raises(TargetError, match="there is no module 'no_such_module'"):
        load_target("no_such_module.inner:f")
    with pytest.raises(TargetError, match="math has no 'sqrd'"):
        load_target("math:sqrd")


@pytest.mark.parametrize("name", ["bytes", "latin"])
def test_files_that_are_not_python_text(tmp_path, name):
    path = tmp_path / f"{name}.py"
    path.write_bytes(b"\0\xff" if name == "bytes" else b"x = '\xff'\n")
    with pytest.raises(TargetError, match="cannot be imported"):
        load_target(f"{path}::f")


def test_audit_reads_targets(write):
    path = write("def count(rows, rng):\n    return len(rows) + rng.laplace(scale=0.25)\n")
    verdict = tollens.audit(f"{path}::count", "epsilon=1", neighbours=([1, 1], [1]), seed=1)
    assert verdict.refuted
    assert verdict.mechanism == "count"
    with pytest.raises(TollensError, match="has no 'coumt'; did you mean 'count'"):
        tollens.audit(f"{path}::coumt", "epsilon=1", neighbours=([1, 1], [1]))


def test_a_text_that_is_no_python_is_named_where_it_stands(write, monkeypatch, tmp_path):
    write("x = 1\n\ndef g(:\n", "target_broken_neighbour.py")
    path = write("import target_broken_neighbour\n\ndef f(rows):\n    return 1\n")
    with pytest.raises(TargetError, match=r"target_broken_neighbour\.py, line 3\)"):
        load_target(f"{path}::f")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        TargetError, match=r"SyntaxError: .* \(target_broken_neighbour\.py, line 3\)"
    ):
        load_target("target_broken_neighbour:f")


def test_a_project_that_is_not_installed_is_hinted_at(write, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    package = tmp_path / "src" / "project_in_src"
    package.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "privacy").mkdir()
    path = write("from project_in_src.noise import f\n", "privacy/promises.py")
    monkeypatch.chdir(tmp_path)
    hint = r"; src/project_in_src is there: install the project \(pip install -e \.\) or set "
    hint += "PYTHONPATH=src"
    with pytest.raises(TargetError, match=hint):
        load_target(f"{path}::f")
    with pytest.raises(TargetError, match=f"there is no module 'project_in_src' .*{hint}"):
        load_target("project_in_src.noise:f")
    monkeypatch.chdir(tmp_path / "privacy")
    with pytest.raises(TargetError, match=f"PYTHONPATH={tmp_path / 'src'}"):
        load_target("promises.py::f")
    package.rename(tmp_path / "project_at_the_top")
    path.write_text("import project_at_the_top.noise\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sys.path.remove(str(tmp_path))  # put there by the target that was a module
    with pytest.raises(TargetError, match=r"; project_at_the_top is there: .*PYTHONPATH=\."):
        load_target("privacy/promises.py::f")
    path.write_text("import nowhere_at_all\n", encoding="utf-8")
    with pytest.raises(TargetError, match=r"No module named 'nowhere_at_all' \(line 1\)$"):
        load_target("privacy/promises.py::f")
