"""`check` by several workers: the report of one, in the same order, whatever becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tollens.checking import check
from tollens.claim import parse_claim
from tollens.errors import UsageError
from tollens.promise_tables import Table
from tollens.settings import ALL_OF_CHECK

TEXT = """
import random
import tollens
from tollens import noise

shared = random.Random(3)

@tollens.promise("epsilon=1", neighbours=(1, 0))
def proved(data):
    return data + noise.laplace(0.5)

@tollens.promise("epsilon=1", neighbours=(1, 0))
def broken(data, rng):
    return data + rng.laplace(scale=0.5)

@tollens.promise("epsilon=1", neighbours=(1, 0))
def right(data, rng):
    return data + rng.laplace()

@tollens.promise("epsilon=1", neighbours=(1, 0))
def own(data):
    return data + 0 * shared.random()

@tollens.promise("mu=1", neighbours=3)
def misused(data, rng):
    return data
"""


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "counts.py"
    path.write_text(TEXT)
    return path


def settings(**given):
    defaults = {name: key.default for name, key in ALL_OF_CHECK.items()}
    return {**defaults, "budget": 800, "seed": 1, **given}


def content(report):
    verdicts = []
    for target, verdict in report.verdicts:
        found = json.loads(verdict.to_json())
        found["notes"] = [note.rpartition(", in ")[0] or note for note in found.get("notes", [])]
        del found["seconds"]
        verdicts.append((target, found))
    return verdicts, report.problems, report.alpha, report.interrupted


def test_the_report_is_the_same_whatever_the_number_and_the_place(place, dask_url):
    table = Table("tollens.toml, promise 1", f"{place}::right", parse_claim("epsilon=0.5"), (1, 0))
    seen = []
    one = check([place], settings(), tables=[table])
    names = [target.split("::")[1] for target, _ in one.verdicts]
    assert names == ["proved", "broken", "right", "own", "right"]
    assert len(one.problems) == 1
    assert "misused" in one.problems[0]
    for given in ({"workers": 2}, {"workers": 9}, {"backend": dask_url}):
        report = check(
            [place],
            settings(**given),
            tables=[table],
            progress=lambda target, state: seen.append(target),
        )
        assert content(report) == content(one)
        assert {target.split("::")[1] for target in seen} == {"broken", "right", "own", "proved"}


def test_a_promise_whose_worker_dies_is_tested_once_more(place, tmp_path):
    flag = tmp_path / "died"
    path = tmp_path / "mortal.py"
    path.write_text(
        textwrap.dedent(f"""
        import os, pathlib, tollens

        here, flag = {os.getpid()}, pathlib.Path({str(flag)!r})

        @tollens.promise("epsilon=1", neighbours=(1, 0))
        def once(data, rng):
            if os.getpid() != here and not flag.exists():
                flag.touch()
                os._exit(3)
            return data + rng.laplace()
        """)
    )
    report = check([path, place], settings(workers=2))
    assert flag.exists()
    assert [target.split("::")[1] for target, _ in report.verdicts] == [
        *("once", "proved", "broken", "right", "own")
    ]
    assert not any("its worker was lost" in problem for problem in report.problems)


def test_a_promise_whose_worker_dies_again_is_a_problem_and_no_other_is(place, tmp_path):
    path = tmp_path / "mortal.py"
    path.write_text(
        textwrap.dedent(f"""
        import os, tollens

        @tollens.promise("epsilon=1", neighbours=(1, 0))
        def always(data, rng):
            if os.getpid() != {os.getpid()}:
                os._exit(3)
            return data
        """)
    )
    report = check([path, place], settings(workers=2))
    assert [target.split("::")[1] for target, _ in report.verdicts] == [
        *("proved", "broken", "right", "own")
    ]
    lost = [problem for problem in report.problems if "its worker was lost, and again" in problem]
    assert len(lost) == 1
    assert "::always" in lost[0]


def test_a_file_that_is_not_where_a_worker_looks(place, dask_url, monkeypatch):
    monkeypatch.setattr(
        "tollens.checking.from_anywhere", lambda target: target.replace("counts", "elsewhere")
    )
    report = check([place], settings(backend=dask_url))
    found = [problem for problem in report.problems if "::right" in problem]
    assert "cannot load it: " in found[0]
    assert "must be at the same place on every worker" in found[0]


def test_settings_of_a_backend(place):
    with pytest.raises(UsageError, match="must be local, dask://host:port") as caught:
        check([place], settings(backend="dask:/head"))
    assert len(caught.value.findings) == 1
    with pytest.raises(UsageError, match="timeout does not go with a backend"):
        check([place], settings(backend="dask://head:1", timeout=1.0))


def hear():
    """Hear SIGINT even where the shell that runs the tests ignores it (as jobs with `&` do)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_prints_the_verdicts_so_far(tmp_path):
    started = tmp_path / "started"
    (tmp_path / "counts.py").write_text(
        textwrap.dedent(f"""
        import pathlib, time, tollens

        @tollens.promise("epsilon=1", neighbours=(1, 0))
        def quick(data, rng):
            return data + rng.laplace()

        @tollens.promise("epsilon=1", neighbours=(1, 0))
        def slow(data, rng):
            pathlib.Path({str(started)!r}).touch()
            time.sleep(0.2)
            return data + rng.laplace()
        """)
    )
    command = [sys.executable, "-m", "tollens", "check", "counts.py", "--workers", "2"]
    command += ["--budget", "500", "--format", "json", "--alpha", "0.01"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=hear,  # noqa: PLW1509
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + 60
            while not started.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()  # does nothing to one that has ended
    assert process.returncode == 130, errors
    found = json.loads(output)
    assert found["interrupted"] is True
    assert "Traceback" not in errors
