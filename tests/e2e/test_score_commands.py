"""`tollens audit` on files of scores, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tollens
from tollens import cli


def run(*arguments, cwd, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}
    return subprocess.run(
        [sys.executable, "-m", "tollens", "audit", *arguments],
        capture_output=True, text=True, cwd=cwd, env=clean | environment, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of scores that leak and that do not."""
    place, rng = tmp_path_factory.mktemp("scores"), np.random.default_rng(0)

    def save(name, header, *columns):
        rows = [",".join(f"{value:.6g}" for value in row) for row in zip(*columns, strict=True)]
        (place / name).write_text("\n".join([header, *rows, ""]), encoding="utf-8")

    save("leak.csv", "in,out", rng.normal(3.0, size=200), rng.normal(size=200))
    save("same.csv", "in,out", rng.normal(size=200), rng.normal(size=200))
    bits = rng.random(500) < 0.5
    save("run.csv", "score,included", rng.normal(3.0 * bits), bits.astype(int))
    save("quiet.csv", "score,included", rng.normal(size=500), bits.astype(int))
    np.save(place / "leak.npy", np.column_stack([rng.normal(3.0, size=200), rng.normal(size=200)]))
    (place / "broken.csv").write_text("in,out\n1,\n2,x\n3,4,5\n", encoding="utf-8")
    return place


def test_pairs_that_leak_exit_with_1_and_show_bounds_that_are_no_verdict(folder):
    done = run("leak.csv", "--claim", "epsilon=1", cwd=folder)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.startswith("REFUTED    leak.csv against epsilon=1\n")
    assert "after 200 pairs of scores" in text
    assert "(canary in or out)" in text
    assert text.count("not part of the verdict, valid at this size only") == 3
    assert text.count("not part of the verdict, valid at every size: normal scores") == 1
    assert "the same scores again with seed=0" in text
    assert run("leak.npy", "--claim", "epsilon=1", "--exit-zero", cwd=folder).returncode == 0


def test_pairs_that_do_not_leak_exit_with_0_and_say_what_could_have_been_found(folder):
    done = run("same.csv", "--claim", "epsilon=1", "--alpha", "0.05", cwd=folder)
    text = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert done.stdout.startswith("UNREFUTED")
    assert "nine times in ten" in text
    assert "all scores are looked at and the claim is not refuted" in text


def test_canaries_of_one_run(folder):
    done = run("run.csv", "--claim", "epsilon=1", "--alpha", "0.05", cwd=folder)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "after 500 canaries of one run" in text
    assert "of the canaries that were in" in text
    assert "each canary was included by a fair coin" in text
    quiet = run("quiet.csv", "--claim", "epsilon=1, delta=1e-5", "--alpha", "0.05", cwd=folder)
    assert quiet.returncode == 0
    assert "these canaries would have refuted" in " ".join(quiet.stdout.split())


@pytest.mark.parametrize("name", ["leak.csv", "run.csv"])
def test_the_json_document_is_the_verdict(folder, name):
    arguments = (name, "--claim", "epsilon=1", "--alpha", "0.05", "--format", "json")
    done = run(*arguments, cwd=folder)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["schema"] == "tollens/verdict/1"
    verdict = tollens.Verdict.from_json(done.stdout)
    assert verdict.refuted
    assert json.loads(verdict.to_json()) == document
    again = json.loads(run(*arguments, cwd=folder).stdout)
    assert {**again, "seconds": 0} == {**document, "seconds": 0}


def test_other_formats_and_a_file(folder, tmp_path):
    for form in ("junit", "sarif"):
        done = run("run.csv", "--claim", "epsilon=1", "--format", form, cwd=folder)
        assert done.returncode == 1
        assert "run.csv" in done.stdout
    out = tmp_path / "verdict.txt"
    done = run("run.csv", "--claim", "epsilon=1", "-o", str(out), cwd=folder)
    assert done.stdout == ""
    assert out.read_text(encoding="utf-8").startswith("REFUTED")


def test_settings_in_force_are_those_of_audit(folder):
    done = run("run.csv", "--claim", "epsilon=1", "--format", "json", cwd=folder,
               TOLLENS_ALPHA="0.01", TOLLENS_SEED="5", TOLLENS_BUDGET="7")  # fmt: skip
    document = json.loads(done.stdout)
    assert (document["alpha"], document["seed"]) == (0.01, 5)


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["leak.csv"], ["no claim was given; say what was promised"]),
        (["leak.csv", "--claim", "mu"], ["cannot read the claim 'mu'"]),
        (["nothing.csv", "--claim", "mu=1"], ["nothing.csv does not exist"]),
        (
            ["broken.csv", "--claim", "mu=1"],
            ["broken.csv, line 4: 3 columns where the first line has 2"],
        ),
        (
            ["nothing.csv", "--claim", "no", "--evidence", "e.json", "--budget", "5", "--x", "1"],
            [
                "--evidence: the file of scores is the evidence",
                "--budget: all rows of the file are looked at",
                "--x: the inputs are those behind the file",
                "nothing.csv does not exist",
            ],
        ),
        (
            ["run.csv", "--claim", "epsilon=9"],
            ["500 canaries of one run can never refute epsilon=9 at alpha = 1e-06"],
        ),
        (["leak.csv", "--claim", "epsilon=40"], ["200 pairs of scores can never refute"]),
        (["run.csv", "--claim", "mu=1", "--coupling", "common"], ["come in no pairs"]),
        (["leak.csv", "--claim", "epsilon=1", "--coupling", "odd"], ["coupling is 'odd'"]),
    ],
)
def test_wrong_use_exits_with_2_and_says_all_that_is_wrong(
    folder, arguments, messages, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as done:
        cli.main(["audit", *arguments])
    out, err = capsys.readouterr()
    said = " ".join(err.split())
    assert done.value.code == 2
    assert out == ""
    assert all(message in said for message in messages), said
    assert "Traceback" not in err
