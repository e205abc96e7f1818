"""`tollens monitor backfill` on real repositories: it finds the commit that broke the claim."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GOOD, BROKEN, UNLOADABLE = "1.00", "0.50", None

MECHANISM = """import tollens


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
@tollens.batched
def count(rows, n, rng):
    revision = "{revision:04}"
    return len(rows) + rng.laplace(scale={scale}, size=n)
"""


def git(folder, *words):
    """Run git. Commits have one date, and so one name in every run: it goes into a step's seed."""
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=no")
    done = subprocess.run(
        ["git", "-C", str(folder), *author, *words], env=os.environ | dates, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def repository(folder, scales, *, below=""):
    """One commit for each scale; None is a version that cannot be imported."""
    (folder / below).mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for i, scale in enumerate(scales):
        text = MECHANISM.format(revision=i, scale=scale)
        text = f"import no_such_module\n{text}" if scale is UNLOADABLE else text
        (folder / below / "counts.py").write_text(text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", f"change {i}")
    return folder


def versions(folder):
    return git(folder, "log", "--reverse", "--format=%H").split()


def command(*arguments, pairs="500", seed="1", target="counts.py::count"):
    step = ("--name", "count", "--pairs", pairs, "--seed", seed)
    words = ("monitor", "backfill", target, *step, *arguments)
    return [sys.executable, "-m", "tollens", *words]


def unset():
    return {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}


def backfill(folder, *arguments, **options):
    return subprocess.run(
        command(*arguments, **options), cwd=folder, env=unset(), capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip


def history(folder):
    words = ("monitor", "history", "count", "--format", "json")
    done = subprocess.run(
        [sys.executable, "-m", "tollens", *words], cwd=folder, env=unset(), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def worktrees(folder):
    return git(folder, "worktree", "list").splitlines()


def test_of_60_commits_the_one_that_halves_the_noise_is_found(tmp_path):
    """One commit in between does not import; the work in progress of the user stays as it is."""
    scales = [GOOD] * 20 + [UNLOADABLE] + [GOOD] * 18 + [BROKEN] * 21
    folder = repository(tmp_path / "project", scales)
    (folder / "counts.py").write_text("work in progress")
    sha = versions(folder)
    # at the default of .05 other streams would bring a true false alarm one day
    done = backfill(folder, "--range", f"{sha[0]}..main", "--alpha", "1e-5")
    assert done.returncode == 1, done.stderr
    assert f"first refuted commit: {sha[39][:12]} change 39\n" in done.stdout
    assert f"{sha[38][:12]} change 38 (not refuted with 20,000 pairs)" in done.stdout
    assert "witness" in done.stdout
    assert f"git show {sha[39][:12]}\n" in done.stdout
    reached = len(re.findall(r"^\d+/59 ", done.stderr, re.MULTILINE))
    assert f"{59 - reached} not reached after the alarm" in " ".join(done.stdout.split())
    assert len(re.findall(r"^\d+/59 ", done.stderr, re.MULTILINE)) <= 45
    assert f"{sha[20][:12]} change 20: failed: counts.py cannot be imported" in done.stderr
    found = history(folder)
    assert [step["version"] for step in found["steps"]][:38] == sha[1:39]
    assert [s["version"] for s in found["steps"] if s["outcome"] == "failed"] == [sha[20]]
    assert worktrees(folder) == worktrees(folder)[:1]
    assert (folder / "counts.py").read_text() == "work in progress"


def test_a_second_walk_goes_on_where_the_first_stopped(tmp_path):
    folder = repository(tmp_path / "project", [GOOD, GOOD, UNLOADABLE, GOOD, BROKEN])
    sha = versions(folder)
    first = backfill(folder, "--range", sha[3])
    assert first.returncode == 0, first.stderr
    assert "3 scored, 1 failed, 0 skipped" in first.stdout
    again = backfill(folder, "--range", "main", "--format", "json")
    assert again.returncode == 1
    document = json.loads(again.stdout)
    assert (document["known"], document["commits"]) == (4, 5)
    assert document["breaking"]["first"]["sha"] == sha[4]
    assert document["breaking"]["before"]["sha"] == sha[3]
    assert document["breaking"]["verdict"]["outcome"] == "REFUTED"
    assert len(history(folder)["steps"]) == 5
    third = backfill(folder, "--range", "main")
    assert third.returncode == 1
    assert "ALARM, recorded already" in third.stderr
    assert len(history(folder)["steps"]) == 5
    store = ("--store", str(folder / ".tollens" / "monitor.db"))
    elsewhere = backfill(tmp_path, "--range", "main", "--path", str(folder), *store)
    assert f"git -C {folder} show {sha[4][:12]}\n" in elsewhere.stdout


def test_settings_of_commits_are_not_read_and_folders_below_work(tmp_path):
    folder = repository(tmp_path / "project", [GOOD], below="lib")
    (folder / "lib" / "tollens.toml").write_text("nonsense = 1\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "settings of another time")
    (folder / "lib" / "tollens.toml").unlink()
    done = backfill(folder / "lib", "--range", "main", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scored"] == 2


def test_commits_before_the_mechanism_are_skipped(tmp_path):
    folder = repository(tmp_path / "project", [GOOD])
    git(folder, "mv", "counts.py", "other.py")
    git(folder, "commit", "--quiet", "--message", "no mechanism")
    git(folder, "mv", "other.py", "counts.py")
    git(folder, "commit", "--quiet", "--message", "here it is")
    done = backfill(folder, "--range", "main~1..main", "--format", "json")
    assert json.loads(done.stdout)["scored"] == 1
    changed = (folder / "counts.py").read_text().replace("size=n)", "size=n - 1)")
    (folder / "counts.py").write_text(changed)
    git(folder, "commit", "--quiet", "--all", "--message", "one output too few")
    document = json.loads(backfill(folder, "--range", "main~3..main", "--format", "json").stdout)
    assert (document["scored"], document["failed"], document["known"]) == (1, 2, 1)


def test_where_no_commit_can_be_run_the_reason_is_said_once_and_the_exit_code_is_3(tmp_path):
    folder = repository(tmp_path / "project", [GOOD] * 3)
    done = backfill(folder, "--range", "main", target="other.py::count")
    assert done.returncode == 3
    assert done.stderr.count("other.py does not exist") == 1
    assert done.stderr.count("skipped, for the same reason") == 2
    text = " ".join(done.stdout.split())
    assert "reason no commit could be run: other.py does not exist advice" in text
    assert "such as package.module:name, and give --claim, --x and --x-prime" in text
    assert f"a new store was made at {Path('.tollens', 'monitor.db')}" in text
    quiet = backfill(folder, "--range", "main", "--quiet", target="other.py::count")
    assert (quiet.returncode, quiet.stderr) == (3, "")
    assert "other.py does not exist" in quiet.stdout
    given = ("--claim", "epsilon=1", "--x", "[1]", "--x-prime", "[]", "--format", "json")
    failed = backfill(folder, "--range", "main", *given, target="counts.py::cuont")
    assert failed.returncode == 3
    document = json.loads(failed.stdout)
    assert (document["failed"], document["unreached"]) == (3, 0)
    assert document["reason"].startswith("counts.py has no 'cuont'; did you mean 'count'?")
    again = backfill(folder, "--range", "main", *given, target="counts.py::cuont")
    assert again.returncode == 3
    already = "all are recorded as failed already: counts.py has no 'cuont'"
    assert json.loads(again.stdout)["reason"].startswith(already)


def test_steps_of_a_workflow_are_known_whole_or_cut_short(tmp_path):
    folder = repository(tmp_path / "project", [GOOD] * 4)
    sha = versions(folder)
    for version in (sha[0], sha[1][:8]):
        words = ["counts.py::count", "--name", "count", "--pairs", "500", "--seed", "1"]
        words += ["--version", version]
        subprocess.run(
            [sys.executable, "-m", "tollens", "monitor", "step", *words], cwd=folder, env=unset(),
            check=True, capture_output=True,
        )  # fmt: skip
    document = json.loads(backfill(folder, "--range", "main", "--format", "json").stdout)
    assert (document["known"], document["scored"], document["notes"]) == (2, 4, [])
    assert [s["version"] for s in history(folder)["steps"]] == [sha[0], sha[1][:8], *sha[2:]]
    other = backfill(folder, "--range", "main", "--alpha", "0.01")
    assert other.stderr.count("other settings than series count had so far (alpha 0.05") == 1
    assert "alpha 0.05 -> 0.01" in other.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return repository(tmp_path_factory.mktemp("small") / "project", [GOOD, GOOD])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--range", "v1..v2"], "the range 'v1..v2' cannot be read"),
        (["--range", "main..main"], "has no commits"),
        (["--range", "--all"], "the range '--all' cannot be read"),
        (["--range", "main", "--path", "/"], "lies in no git repository"),
        (["--range", "main", "--path", "nowhere"], "nowhere is no folder"),
        (["--range", "main", "--pairs", "1"], "pairs is 1"),
        (["--range", "main", "--claim", "nonsense"], "cannot read the claim"),
        (["--range", "main", "--x", "1"], "give both --x and --x-prime"),
    ],
)
def test_wrong_use_exits_with_2_at_once(small, arguments, message):
    done = backfill(small, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(worktrees(small)) == 1


def test_without_git_it_says_so(small):
    done = subprocess.run(
        command("--range", "main"), cwd=small, env={**unset(), "PATH": "/nowhere"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "git is not installed" in done.stderr


def listening():
    """Hear SIGINT even where the shell that runs the tests ignores it (as jobs with `&` do)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_walk_removes_its_worktree(tmp_path, stop):
    folder = repository(tmp_path / "project", [GOOD] * 12)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        command("--range", "main"), cwd=folder, env={**unset(), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=listening,  # noqa: PLW1509 - the tests start no threads
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(Path(temporary).glob("tollens-backfill-*/tree/counts.py")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(worktrees(folder)) == 2
    time.sleep(0.3)
    os.killpg(process.pid, stop)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(worktrees(folder)) == 1
    assert list(temporary.glob("tollens-backfill-*")) == []
