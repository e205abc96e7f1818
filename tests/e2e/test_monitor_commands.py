"""The commands of `tollens monitor` as a user runs them: exit codes, streams, documents."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from tollens.cli import main

TARGETS = Path(__file__).with_name("targets_for_tests.py")
SERIES = ("--pairs", "200", "--seed", "1")


class Monitors:
    """Runs commands in a folder of its own, against the store that is made there."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, **environment):
        """Run a command within this process: most tests look at words and exit codes only."""
        with chdir(self.folder):
            done = CliRunner().invoke(
                main, ["monitor", *arguments], env=unset() | environment, prog_name="tollens"
            )
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    def step(self, target, version, *arguments, name="count"):
        words = (f"{TARGETS}::{target}", "--name", name, "--version", version)
        return self("step", *words, *SERIES, *arguments)

    def counts(self, version, counts, *arguments, name="events"):
        words = ("--version", version, "--counts", json.dumps(counts), "--claim", "epsilon=1")
        return self("counts", name, *words, *arguments)

    def document(self, *arguments, code=0):
        done = self(*arguments, "--format", "json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)


class Processes(Monitors):
    """The same, each command in a process of its own."""

    def __call__(self, *arguments, before=(), **environment):
        clean = {k: v for k, v in os.environ.items() if k not in unset()}
        return subprocess.run(
            [*before, sys.executable, "-m", "tollens", "monitor", *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=clean | environment,
            timeout=120,
            check=False,
        )


def unset():
    """Settings from outside, taken away."""
    return {name: None for name in os.environ if name.startswith("TOLLENS_")}


@pytest.fixture
def monitor(tmp_path):
    return Monitors(tmp_path)


@pytest.fixture(scope="module")
def alarmed(tmp_path_factory):
    """A series with a good version, one that fails, and one that breaks the claim."""
    found = Processes(tmp_path_factory.mktemp("alarmed"))
    assert found.step("right_noise", "v1").returncode == 0
    assert found.step("no_such_name", "v2").returncode == 3
    assert found.step("half_noise", "v3", "--pairs", "200").returncode == 1
    return found


# step


def test_a_quiet_step_exits_with_0_and_makes_the_default_store(monitor):
    done = monitor.step("right_noise", "v1")
    assert done.returncode == 0
    assert done.stdout.startswith("quiet")
    assert done.stderr == ""
    assert (monitor.folder / ".tollens" / "monitor.db").is_file()


def test_an_alarm_exits_with_1_and_says_what_broke_where(alarmed):
    done = alarmed.step("half_noise", "v3")
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert text.startswith("ALARM count at version v3")
    assert "broke likely at step 3, between version v1 and v3" in text
    assert "witness output" in text
    assert "tollens monitor acknowledge count --reason TEXT" in text
    assert "version v3, run 1 is recorded already; not run again" in text
    assert alarmed.step("half_noise", "v3", "--exit-zero").returncode == 0


def test_the_document_of_a_step(monitor):
    done = monitor.step("right_noise", "v1", "--format", "json", "--horizon", "arl")
    document = json.loads(done.stdout)
    assert document["schema"] == "tollens/monitor-step/1"
    assert (document["name"], document["version"], document["steps"]) == ("count", "v1", 1)
    assert (document["alarm"], document["word"], document["horizon"]) == (False, "quiet", "arl")
    assert document["claim"] == "epsilon=1"
    assert isinstance(document["evidence"], float)


def test_a_target_that_raises_or_is_missing_is_a_failed_step(monitor):
    given = ("--claim", "epsilon=1", "--x", "[1,1,1]", "--x-prime", "[1,1]")
    done = monitor.step("always_raises", "v1", *given)
    assert done.returncode == 3
    assert done.stdout.startswith("failing")
    assert "every run on both inputs raises ValueError: no such table" in done.stdout
    gone = monitor("step", "gone.py::f", "--name", "count", "--version", "v2", *given, *SERIES)
    assert gone.returncode == 3
    assert "gone.py does not exist" in gone.stdout
    (monitor.folder / "broken.py").write_text("def f(:\n")
    unknown = monitor("step", "broken.py::f", "--name", "count", "--version", "v3")
    assert unknown.returncode == 3, "claim and pair are those of the series in force"
    steps = monitor.document("history", "count")["steps"]
    assert [step["outcome"] for step in steps] == ["failed"] * 3


def test_a_target_that_cannot_be_loaded_is_no_series_of_its_own(monitor):
    done = monitor("step", "gone.py::f", "--name", "count", "--version", "v1")
    assert done.returncode == 2
    assert "nothing was recorded" in done.stderr


def test_a_pair_may_be_named_and_several_pairs_are_refused(monitor):
    given = ("--claim", "epsilon=1", "--neighbours", "pair", "--alpha", "1e-9")
    named = monitor.step("own_randomness", "v1", *given)
    assert named.returncode == 0
    many = monitor.step("right_noise", "v1", "--neighbours", "queries:3:all")
    assert many.returncode == 2
    assert "a series watches one" in many.stderr


def test_settings_come_from_their_own_table(monitor):
    (monitor.folder / "tollens.toml").write_text(
        'alpha = 1e-9\n[monitor]\nstore = "mine.db"\nalpha = 0.125\nstale-after = "2d"\n'
    )
    done = monitor.step("right_noise", "v1", "--format", "json")
    assert json.loads(done.stdout)["alpha"] == 0.125
    assert (monitor.folder / "mine.db").is_file()
    assert monitor("status", TOLLENS_STORE="other.db").returncode == 2
    assert monitor("status", "--store", "mine.db").returncode == 0


def test_outputs_are_kept_only_if_asked_for(monitor):
    for version, options in (("v1", ()), ("v2", ("--keep-outputs",))):
        assert monitor.step("right_noise", version, *options).returncode == 0
        database = sqlite3.connect(monitor.folder / ".tollens" / "monitor.db")
        kept = database.execute("select count(*) from outputs").fetchone()[0]
        database.close()
        assert kept == (version == "v2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--claim", "private"], "cannot read the claim 'private'"),
        (["--pairs", "3"], "pairs is 3; use 20 to"),
        (["--alpha", "0"], "alpha is 0.0; it must lie strictly between"),
        (["--horizon", "soon"], "--horizon is 'soon'; it must be a whole number or \"arl\""),
        (["--horizon", "0"], "horizon is 0"),
        (["--method", "bayes"], "it must be one of exact, brownian"),
        (["--method", "brownian"], "needs a horizon"),
        (["--stale-after", "soon"], "write a time such as 36h"),
        (["--small-counts", "hide"], "it must be one of refuse, warn"),
        (["--x", "[1]"], "give both --x and --x-prime"),
        (["--x", "[1", "--x-prime", "[1]"], "--x is not JSON"),
        (["--x", "1", "--x-prime", "2", "--neighbours", "pair"], "not both"),
        (["--neighbours", "nowhere"], "has no 'nowhere'"),
        (["--workers", "0"], "workers is 0"),
        (["--timeout", "-1"], "timeout is -1"),
        (["--event", "output <= zero"], "is not JSON"),
        (["--store", "mysql://host/x"], "no place for a store"),
        (["--version", " "], "the version is empty"),
    ],
)
def test_wrong_use_exits_with_2_and_records_nothing(monitor, arguments, message):
    done = monitor.step("right_noise", "v1", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    left = monitor("status")
    assert left.returncode in (2, 3)


def test_all_faults_are_said_at_once_and_as_a_document(monitor):
    done = monitor.step("right_noise", "v1", "--pairs", "3", "--alpha", "7", "--format", "json")
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["findings"]) == 2


# counts


def test_counts_are_a_step_and_count_once(monitor):
    first = monitor.counts("v1", {"low": [40, 20], "high": [5, 9]}, "--n", "100")
    assert first.returncode == 0
    again = monitor.counts("v1", {"high": [5, 9], "low": [40, 20]}, "--n", "100")
    assert again.returncode == 0
    assert "it counts once" in again.stdout
    other = monitor.counts("v1", {"low": [41, 20], "high": [5, 9]}, "--n", "100")
    assert other.returncode == 2
    assert "was given with other numbers before" in other.stderr
    assert monitor.document("status")["series"][0]["steps"] == 1


def test_counts_that_break_the_claim_raise_the_alarm(monitor):
    for i in range(3):
        last = monitor.counts(f"v{i}", {"low": [400, 50]}, "--n", "750")
    assert last.returncode == 1
    assert "low: " in last.stdout


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"low": [101, 3]}, "is 101; it must lie between 0 and n = 100"),
        ({"low": [-1, 3]}, "is -1; it must lie between 0"),
        ({"low": [1.5, 3]}, "is 1.5, not whole"),
        ({"low": [1]}, "give two counts"),
        ({"low": 7}, "give two counts"),
        ({}, "--counts must be an object"),
        ([1, 2], "--counts must be an object"),
    ],
)
def test_impossible_counts_are_refused(monitor, counts, message):
    done = monitor.counts("v1", counts, "--n", "100")
    assert done.returncode == 2
    assert message in done.stderr


def test_counts_know_the_claim_and_the_events_of_their_series(monitor):
    words = ("counts", "e", "--version", "v1", "--counts", '{"low": [4, 2]}', "--n", "50")
    unknown = monitor(*words)
    assert unknown.returncode == 2
    assert "give its --claim" in unknown.stderr
    assert monitor(*words, "--claim", "mu=1").returncode == 0
    next_one = monitor(*words[:2], "--version", "v2", *words[4:])
    assert next_one.returncode == 0
    assert "mu=1" in next_one.stdout
    wrong = monitor(*words[:2], "--version", "v3", "--counts", '{"lo": [4, 2]}', "--n", "50")
    assert wrong.returncode == 2
    assert "it has low" in wrong.stderr


# what is new


def notes(monitor, target, version, *arguments, name="count", code=0):
    done = monitor.step(target, version, *arguments, "--format", "json", name=name)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)["notes"]


def test_a_new_store_and_a_new_series_are_said_once(monitor):
    assert notes(monitor, "right_noise", "v1") == [
        f"a new store was made at {Path('.tollens', 'monitor.db')}"
    ]
    assert notes(monitor, "right_noise", "v2") == []
    assert notes(monitor, "right_noise", "v3", name="another") == []
    changed = ("--claim", "epsilon=0.9", "--alpha", "0.01", "--event", "output <= 0")
    changed += ("--x", "[1,1]", "--x-prime", "[1]", "--delta", "0.001", "--horizon", "arl")
    assert notes(monitor, "right_noise", "v3", *changed, "--pairs", "300") == [
        "other settings than series count had so far (claim epsilon=1 -> epsilon=0.9, "
        "pair [[1, 1, 1], [1, 1]] -> [[1, 1], [1]], pairs 200 -> 300, alpha 0.05 -> 0.01, "
        'horizon none -> arl, events none -> ["output <= 0"], delta 0.0 -> 0.001): a new series '
        "begins; the old one stays readable"
    ]
    assert notes(monitor, "right_noise", "v4", *changed, "--pairs", "300") == []
    shown = monitor.step("right_noise", "v5", "--pairs", "400").stdout
    assert "note" in shown
    assert "a new series begins" in " ".join(shown.split())
    elsewhere = monitor.folder / "elsewhere" / "m.db"
    shown = monitor("status", "--store", str(elsewhere))
    assert "a new store" not in shown.stdout + shown.stderr
    assert not elsewhere.exists()


def test_counts_under_other_settings_say_so(monitor):
    first = monitor.counts("v1", {"low": [40, 20]}, "--n", "100")
    assert "a new store was made at" in first.stdout
    second = monitor.counts("v2", {"low": [40, 20], "high": [1, 1]}, "--n", "100")
    text = " ".join(second.stdout.split())
    assert 'events ["low"] -> ["high", "low"]' in text


def test_a_version_that_is_known_and_cannot_be_loaded_now_is_not_said_to_have_failed(monitor):
    assert monitor.step("right_noise", "v1").returncode == 0
    words = ("--name", "count", "--version", "v1", *SERIES)
    again = monitor("step", "gone.py::f", *words)
    assert again.returncode == 0
    assert "version v1, run 1 is recorded already; not run again" in again.stdout
    assert "could not be run" not in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "brownian", "--horizon", "9"], 'such as --event "output <= 0"'),
        (["--small-counts", "hide"], "--small-counts is 'hide'"),
        (["--run-id", "x" * 300], "--run-id has 300 characters"),
        (["--horizon", "0"], "give the number of steps, none if it is not known"),
    ],
)
def test_messages_speak_of_options_not_of_python(monitor, arguments, message):
    done = monitor.step("right_noise", "v1", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_two_open_alarms_of_one_name_are_both_said(monitor):
    assert monitor.step("half_noise", "v1").returncode == 1
    second = monitor.step("half_noise", "v2", "--pairs", "400")
    assert second.returncode == 1
    other = "another alarm is open, of version v1 in another series of count"
    assert other in " ".join(second.stdout.split())
    status = monitor("status")
    assert status.stdout.count("ALARM") == 2
    assert "count: 2 alarms are open" in status.stdout
    assert other in " ".join(monitor("history", "count").stdout.split())
    first = monitor("acknowledge", "count", "--reason", "mended")
    assert "another alarm of count is open still, of version v1" in " ".join(first.stdout.split())
    last = monitor("acknowledge", "count", "--reason", "mended")
    assert "another alarm" not in last.stdout
    assert monitor("status").returncode == 0


# status, history


def test_status_of_no_store_and_of_no_series(monitor):
    none = monitor("status")
    assert none.returncode == 2
    assert "there is no store at" in none.stderr
    monitor.counts("v1", {"low": [7, 1]}, "--n", "5")  # refused, but the store is made
    empty = monitor("status")
    assert empty.returncode == 3
    assert "no series yet" in empty.stdout
    assert monitor.document("status", code=3)["series"] == []


def test_status_exits_with_1_while_an_alarm_is_open(alarmed):
    done = alarmed("status")
    assert done.returncode == 1
    assert "ALARM" in done.stdout
    assert "\x1b" not in done.stdout
    (row,) = alarmed.document("status", code=1)["series"]
    assert (row["name"], row["alarm"], row["steps"], row["failed"]) == ("count", True, 2, 1)
    assert len(row["recent"]) == 3


def test_status_for_prometheus(alarmed):
    place = alarmed.folder / "tollens.prom"
    done = alarmed("status", "--format", "prometheus", "-o", str(place))
    assert done.returncode == 1
    assert done.stdout == ""
    content = place.read_text()
    assert 'tollens_alarm{series="count",method="exact"} 1\n' in content
    assert content.endswith("\n")
    assert alarmed("status", "--format", "prometheus").stdout == content
    missing = alarmed("status", "--format", "prometheus", "-o", "no/where/tollens.prom")
    assert missing.returncode == 2
    assert "cannot be written" in missing.stderr


def test_history_shows_the_alarm_its_break_and_the_failed_step(alarmed):
    done = alarmed("history", "count")
    assert done.returncode == 0
    text = " ".join(done.stdout.replace("│", " ").split())
    assert "likely break; ALARM" in text
    assert "failed:" in text
    assert "has no 'no_such_name'" in text
    document = alarmed.document("history", "count")
    assert [step["version"] for step in document["steps"]] == ["v1", "v2", "v3"]
    assert document["alarms"][0]["likely_break"]["version"] == "v3"
    last = alarmed.document("history", "count", "--last", "1")
    assert [step["version"] for step in last["steps"]] == ["v3"]
    assert "2 earlier steps are not shown" in alarmed("history", "count", "--last", "1").stdout


def test_history_lists_older_series_and_their_open_alarms_stay_open(monitor):
    assert monitor.step("half_noise", "v1").returncode == 1
    other = monitor.step("right_noise", "v2", "--alpha", "0.01")
    assert other.returncode == 1, "other settings do not close an alarm"
    assert "other settings do not close it" in " ".join(other.stdout.split())
    assert monitor("status").returncode == 1
    history = monitor("history", "count")
    assert "other series of this name" in history.stdout
    assert monitor("acknowledge", "count", "--reason", "mended").returncode == 0
    assert monitor("status").returncode == 0


@pytest.mark.parametrize("command", ["history", "acknowledge"])
def test_an_unknown_name_is_said_with_those_there_are(alarmed, command):
    reason = ("--reason", "why") if command == "acknowledge" else ()
    done = alarmed(command, "nobody", *reason)
    assert done.returncode == 2
    assert "no series named 'nobody'; it has count" in done.stderr


# acknowledge, migrate


def test_acknowledging_closes_the_alarm_and_says_which(monitor):
    assert monitor.step("half_noise", "v1").returncode == 1
    empty = monitor("acknowledge", "count", "--reason", "  ")
    assert empty.returncode == 2
    assert "the reason is empty" in empty.stderr
    assert monitor("acknowledge", "count").returncode == 2
    done = monitor("acknowledge", "count", "--reason", "noise was halved; fixed in v2")
    assert done.returncode == 0
    assert "v1" in done.stdout
    assert "noise was halved; fixed in v2" in done.stdout
    again = monitor("acknowledge", "count", "--reason", "twice")
    assert again.returncode == 2
    assert "no open alarm" in again.stderr
    (now,) = monitor.document("status")["series"]
    assert (now["word"], now["evidence"]) == ("quiet", "-Infinity"), "evidence starts anew"
    assert monitor.step("no_such_name", "v1b").returncode == 3
    (now,) = monitor.document("status")["series"]
    assert now["evidence"] == "-Infinity", "a failed step brings no evidence back"
    assert monitor.step("right_noise", "v2").returncode == 0
    (closed,) = monitor.document("history", "count")["alarms"]
    assert closed["reason"] == "noise was halved; fixed in v2"
    assert "alarm, closed:" in monitor("history", "count").stdout


def test_migrating_a_store_of_this_version_changes_nothing(alarmed):
    assert alarmed.document("migrate")["changed"] is False
    assert "needs no migration" in alarmed("migrate").stdout


def test_migrating_needs_a_store(monitor):
    done = monitor("migrate")
    assert done.returncode == 2
    assert "there is no store" in done.stderr


# broken stores


def commands():
    step = ("step", f"{TARGETS}::right_noise", "--name", "count", "--version", "v9", *SERIES)
    counts = ("counts", "e", "--version", "1", "--counts", '{"a": [1, 1]}', "--claim", "epsilon=1")
    reason = ("acknowledge", "count", "--reason", "why")
    return [step, counts, ("status",), ("history", "count"), reason, ("migrate",)]


@pytest.mark.parametrize("words", commands(), ids=lambda words: words[0])
def test_a_file_that_is_no_store_is_left_alone(monitor, words):
    place = monitor.folder / "notes.db"
    place.write_text("dear diary, " * 200)
    done = monitor(*words, "--store", str(place))
    assert done.returncode == 2
    assert "is no SQLite database" in done.stderr
    assert place.read_text().startswith("dear diary")


def plain_rights():
    """What must stand before a command so that even root may not write what is read-only."""
    if os.name == "nt" or os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("everything is writable to root")
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.mark.skipif(os.name == "nt", reason="rights are those of POSIX")
@pytest.mark.parametrize("words", commands()[1:3], ids=lambda words: words[0])
def test_a_read_only_store_is_refused_and_left_as_it_was(alarmed, tmp_path, words):
    place = tmp_path / "only" / "monitor.db"
    place.parent.mkdir()
    place.write_bytes((alarmed.folder / ".tollens" / "monitor.db").read_bytes())
    content = place.read_bytes()
    place.chmod(0o444)
    place.parent.chmod(0o555)
    done = Processes(tmp_path)(*words, "--store", str(place), before=plain_rights())
    place.parent.chmod(0o755)
    assert done.returncode == 2
    assert "read-only for this user" in done.stderr
    assert place.read_bytes() == content


def test_help_names_all_commands(monitor):
    text = monitor("--help").stdout
    names = ("step", "counts", "status", "history", "acknowledge", "migrate", "backfill")
    assert all(f"  {name} " in text for name in names)


# streams


def plain_commands():
    step = ("step", f"{TARGETS}::half_noise", "--name", "count", "--version", "v3", *SERIES)
    monitor = [step, ("status",), ("history", "count"), ("history", "count", "--format", "json")]
    audit = ("audit", f"{TARGETS}::half_noise", "--seed", "1")
    rest = [audit, (*audit, "--format", "junit"), ("zoo", "list"), ("zoo", "show", "svt6")]
    checked = ("check", ".", "--seed", "1", "--budget", "2000")
    return [*(("monitor", *words) for words in monitor), *rest, checked]


@pytest.mark.parametrize("words", plain_commands(), ids=lambda words: " ".join(words[:2]))
def test_streams_that_are_not_utf_8_change_neither_exit_code_nor_meaning(alarmed, words):
    (alarmed.folder / "promised.py").write_text(
        "import tollens\n\n@tollens.promise('epsilon=1', neighbours=(0, 1))\n"
        "def naïve(x, rng):\n    return x + rng.laplace(scale=0.5)\n",
        encoding="utf-8",
    )
    codes = {}
    places = {
        **{name: {"PYTHONIOENCODING": name} for name in ("utf-8", "ascii", "cp1252")},
        "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    }
    for name, environment in places.items():
        done = subprocess.run(
            [sys.executable, "-m", "tollens", *words], cwd=alarmed.folder, capture_output=True,
            env={k: v for k, v in os.environ.items() if k not in unset()} | environment,
            timeout=120, check=False,
        )  # fmt: skip
        codes[name] = done.returncode
        assert b"fault in tollens" not in done.stderr
        assert done.stdout
        if name != "utf-8":
            said = re.sub(rb"na[?\xef]ve|<\?xml|\?>", b"", done.stdout)
            assert said.isascii()
            assert b"?" not in said
        if "json" in words:
            json.loads(done.stdout)
    assert len(set(codes.values())) == 1, codes


@pytest.mark.skipif(os.name == "nt", reason="devices are those of POSIX")
def test_metrics_may_go_to_a_device_which_stays_one(alarmed):
    link = alarmed.folder / "null"
    link.symlink_to(os.devnull)
    done = alarmed("status", "--format", "prometheus", "-o", str(link))
    assert done.returncode == 1
    assert link.is_char_device()
    assert link.is_symlink()
