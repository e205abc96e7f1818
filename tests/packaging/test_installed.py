"""The wheel in an environment of its own, away from the repository, used as a user does."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

COUNTS = """\
import tollens
from tollens import noise


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
def broken(rows, rng):
    return len(rows) + rng.laplace(scale=0.5)


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
def right(rows, rng):
    return len(rows) + rng.laplace(scale=1.0)


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
def readable(rows):
    return len(rows) + noise.laplace(0.5)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "counts.py").write_text(COUNTS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tollens(scripts, project, run):
    return lambda *words: run(scripts / "tollens", *words, cwd=project)


def test_it_is_the_installed_one(scripts, succeed, tmp_path):
    where = succeed(
        scripts / "python", "-c", "import tollens; print(tollens.__file__)", cwd=tmp_path
    )
    assert Path(where.strip()).is_relative_to(scripts.parent)


def test_version_and_zoo(tollens):
    assert re.search(r"\d+\.\d+\.\d+", tollens("--version").stdout)
    listed = tollens("zoo", "list")
    assert listed.returncode == 0 and "svt6" in listed.stdout


def test_an_audit_and_a_check(tollens):
    assert tollens("audit", "counts.py::right", "--budget", "2000").returncode == 0
    broken = tollens("audit", "counts.py::broken", "--seed", "1")
    assert broken.returncode == 1 and broken.stdout.startswith("REFUTED")
    checked = tollens("check", "--budget", "2000", "--format", "sarif")
    assert checked.returncode == 1, checked.stderr
    assert len(json.loads(checked.stdout)["runs"][0]["results"]) == 2


def test_a_proof_is_found_and_verified(tollens, project):
    found = tollens("refute", "counts.py::readable", "--certificate", "proof.json")
    assert found.returncode == 1, found.stderr
    verified = tollens("verify", "proof.json")
    assert verified.returncode == 1 and "leak" in verified.stdout


def test_a_report_finds_its_templates(tollens, project):
    made = tollens("audit", "counts.py::broken", "--format", "json", "-o", "verdict.json")
    assert made.returncode == 1
    for form in ("html", "markdown"):
        done = tollens("report", "verdict.json", "--format", form, "-o", f"report.{form}")
        assert done.returncode == 0, done.stderr
    assert "<svg" in (project / "report.html").read_text(encoding="utf-8")


def test_a_monitor_finds_its_migrations(tollens, project):
    step = ("monitor", "step", "counts.py::right", "--name", "count", "--version")
    for version in ("1", "2"):
        assert tollens(*step, version, "--pairs", "200", "--alpha", "1e-6").returncode == 0
    assert (project / ".tollens" / "monitor.db").is_file()
    shown = tollens("monitor", "history", "count", "--format", "json")
    assert shown.returncode == 0 and json.loads(shown.stdout)


def test_the_dashboard_finds_its_pages(scripts, succeed, tmp_path):
    script = (
        "from importlib.resources import files\n"
        "server = files('tollens.server')\n"
        "assert (server / 'templates' / 'list.html').is_file()\n"
        "assert any(f.name.startswith('htmx') for f in (server / 'static').iterdir())\n"
    )
    succeed(scripts / "python", "-c", script, cwd=tmp_path)
    assert "--token-file" in succeed(scripts / "tollens", "serve", "--help", cwd=tmp_path)


def test_the_plugin_of_pytest_works(scripts, run, project):
    (project / "test_counts.py").write_text(
        "import counts\n"
        "def test_right(dp): dp.audit(counts.right)\n"
        "def test_broken(dp): dp.audit(counts.broken)\n",
        encoding="utf-8",
    )
    done = run(scripts / "python", "-m", "pytest", "-q", cwd=project)
    assert done.returncode == 1, done.stderr
    assert "1 failed, 1 passed" in done.stdout and "REFUTED" in done.stdout


def test_mypy_of_a_user_sees_types(scripts, run, tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "mine.py").write_text(
        "import tollens\n"
        "def count(rows: list[int]) -> float: return 1.0\n"
        "verdict = tollens.audit(count, 'epsilon=1', neighbours=([1], []))\n"
        "reveal_type(verdict)\n"
        "tollens.audit(count, 'epsilon=1', neighbours=([1], []), budget='many')\n",
        encoding="utf-8",
    )
    words = ("-m", "mypy", "--strict", "--python-executable", scripts / "python", "mine.py")
    done = run(sys.executable, *words, cwd=tmp_path)
    assert 'mine.py:4: note: Revealed type is "tollens.verdict.Verdict"' in done.stdout, done.stdout
    assert "mine.py:5: error" in done.stdout and "Found 1 error" in done.stdout, done.stdout


def test_tests_of_the_sdist_run_against_the_installed_package(sources, scripts, run, tmp_path):
    folder = tmp_path / "sources"
    shutil.copytree(sources, folder, ignore=shutil.ignore_patterns("src"))
    tests = ["tests/unit/test_claims.py", "tests/unit/test_serial.py", "tests/unit/test_lazy.py"]
    words = ("-q", "-o", "addopts=--import-mode=importlib", "-m", "not postgres", *tests)
    done = run(scripts / "python", "-m", "pytest", *words, cwd=folder)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
