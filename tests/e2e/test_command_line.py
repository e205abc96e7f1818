"""The commands as a user runs them: exit codes, streams, documents, interruption, replay."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tollens

TARGETS = Path(__file__).with_name("targets_for_tests.py")


def run(*arguments, cwd=None, **environment):
    """Run the command in a process of its own, without colour and settings from outside."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}
    return subprocess.run(
        [sys.executable, "-m", "tollens", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean | environment,
        timeout=120,
        check=False,
    )


def target(name):
    return f"{TARGETS}::{name}"


def test_a_refuted_promise_exits_with_1_and_prints_the_verdict_on_stdout():
    done = run("audit", target("half_noise"), "--seed", "1")
    assert done.returncode == 1
    assert done.stdout.startswith("REFUTED")
    assert "the same runs again with seed=1" in done.stdout
    assert done.stderr == ""


def test_a_promise_that_holds_exits_with_0():
    done = run("audit", target("right_noise"), "--budget", "2000", "--seed", "1")
    assert done.returncode == 0
    assert done.stdout.startswith("UNREFUTED")


def test_exit_zero_hides_a_refutation_but_nothing_else():
    assert run("audit", target("half_noise"), "--exit-zero").returncode == 0
    assert run("audit", target("nothing"), "--exit-zero").returncode == 2


@pytest.mark.parametrize("name", ["always_raises", "same_constant"])
def test_nothing_decided_exits_with_3(name):
    arguments = ("--claim", "epsilon=1", "--neighbours", "pair", "--budget", "500")
    done = run("audit", target(name), *arguments)
    assert done.returncode == 3
    assert done.stdout.startswith("UNDECIDED")


def test_a_mechanism_that_always_raises_shows_its_exception():
    done = run("audit", target("always_raises"), "--claim", "epsilon=1", "--neighbours", "pair")
    assert "ValueError: no such table" in done.stdout


def test_a_mechanism_that_hangs_is_ended_and_undecided():
    started = time.monotonic()
    done = run(
        "audit", target("hangs"), "--claim", "epsilon=1", "--neighbours", "pair",
        "--timeout", "0.1",
    )  # fmt: skip
    assert done.returncode == 3
    assert "raise the timeout" in " ".join(done.stdout.split())
    assert time.monotonic() - started < 30


def test_hanging_on_one_side_only_is_a_leak():
    done = run(
        "audit", target("hangs_on_three"), "--claim", "epsilon=1", "--neighbours", "pair",
        "--timeout", "0.05", "--alpha", "0.01",
    )  # fmt: skip
    assert done.returncode == 1
    assert "the run raises Timeout" in done.stdout


def test_raising_on_one_side_only_is_a_leak():
    done = run("audit", target("raises_on_three"), "--claim", "epsilon=1", "--neighbours", "pair")
    assert done.returncode == 1
    assert "the run raises ValueError: 100.0 % of runs on x, 0.0 % on x'" in done.stdout


def test_a_fixed_seed_is_refuted_and_named():
    done = run("audit", target("fixed_seed"), "--claim", "epsilon=1", "--neighbours", "pair")
    assert done.returncode == 1
    assert "is a seed fixed?" in done.stdout


def test_shapes_that_give_the_input_away_are_a_leak_and_others_are_none():
    arguments = ("--claim", "epsilon=1", "--neighbours", "pair", "--budget", "1500")
    leak = run("audit", target("shapes_leak"), *arguments)
    assert leak.returncode == 1
    assert "output is of type (" in leak.stdout
    harmless = run("audit", target("shapes_vary"), *arguments)
    assert harmless.returncode == 0
    assert "outputs came in 3 shapes" in harmless.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py::f"], "missing.py does not exist"),
        (["no.such.module:f"], "there is no module 'no'"),
        (["nonsense"], "cannot read the target 'nonsense'"),
        ([target("half_nois")], "did you mean 'half_noise'?"),
        ([target("half_noise"), "--claim", "epsilon=-1"], "epsilon is -1; it must be a finite"),
        ([target("half_noise"), "--claim", "epsilon=nan"], "epsilon is 'nan'; write a number"),
        ([target("half_noise"), "--claim", "epsilon=1, delta=2"], "delta is 2; it must lie in"),
        ([target("half_noise"), "--claim", "private"], "cannot read the claim 'private'"),
        ([target("half_noise"), "--budget", "5"], "a budget of 5 pairs can never refute"),
        ([target("half_noise"), "--alpha", "0"], "alpha is 0.0; it must lie strictly between"),
        ([target("half_noise"), "--until", "noon"], "until is 'noon'; it must be one of"),
        (
            [
                target("own_randomness"),
                "--claim",
                "epsilon=1",
                "--neighbours",
                "pair",
                "--coupling",
                "common",
            ],
            "coupling is 'common', but own_randomness takes no rng to share",
        ),
        ([target("half_noise"), "--x", "[1"], "give both --x and --x-prime"),
        ([target("half_noise"), "--x", "[1", "--x-prime", "2"], "--x is not JSON (line 1"),
        ([target("half_noise"), "--neighbours", "not_a_pair"], "neighbours is a list"),
        ([target("slow"), "--claim", "epsilon=1"], "declares no neighbours"),
        (
            [target("slow"), "--claim", "epsilon=1", "--neighbours", "[[1, 1], [1]]"],
            "give a relation such as queries:10, or --x JSON",
        ),
        ([target("slow"), "--neighbours", "pair"], "slow makes no promise of its own"),
        ([target("mutates"), "--claim", "epsilon=1", "--neighbours", "pair"], "changes its input"),
        (
            [target("short_batch"), "--claim", "epsilon=1", "--neighbours", "pair"],
            "asked for n=1 outputs, got 0",
        ),
        (["missing.json"], "missing.json cannot be read"),
        ([str(TARGETS.parent) + ".py::f"], "does not exist"),
    ],
)
def test_wrong_use_exits_with_2_and_says_what_is_wrong(arguments, message):
    done = run("audit", *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_all_findings_are_reported_at_once():
    done = run(
        "audit", target("half_noise"), "--claim", "epsilon=x", "--alpha", "7", "--budget", "-1"
    )
    assert done.returncode == 2
    assert done.stderr.count("error:") == 3


def test_a_target_that_cannot_be_imported_names_the_line(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\nraise RuntimeError('at import')\n")
    done = run("audit", f"{broken}::f")
    assert done.returncode == 2
    assert "RuntimeError: at import (line 2)" in done.stderr
    broken.write_text("def f(:\n")
    assert "invalid syntax" in run("audit", f"{broken}::f").stderr


def test_json_is_one_document_that_turns_back_into_the_verdict():
    done = run("audit", target("half_noise"), "--seed", "4", "--format", "json")
    document = json.loads(done.stdout)
    assert document["schema"] == "tollens/verdict/1"
    verdict = tollens.Verdict.from_json(done.stdout)
    assert verdict.outcome is tollens.Outcome.REFUTED
    assert json.loads(verdict.to_json()) == document


def test_errors_are_a_document_too_when_json_is_asked_for():
    done = run("audit", target("nothing"), "--format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["schema"] == "tollens/error/1"


def test_the_same_seed_gives_the_same_verdict_twice():
    def once():
        document = json.loads(
            run("audit", target("half_noise"), "--seed", "9", "--format", "json").stdout
        )
        return {k: v for k, v in document.items() if k != "seconds"}

    assert once() == once()


def test_several_workers_give_the_verdict_of_one():
    def verdict(name, *flags):
        done = run(
            "audit", target(name), "--seed", "3", "--budget", "3000", "--format", "json", *flags
        )
        assert done.stderr == ""
        document = json.loads(done.stdout)
        return done.returncode, {k: v for k, v in document.items() if k != "seconds"}

    for name, code in (("half_noise", 1), ("right_noise", 0)):
        one, two = verdict(name), verdict(name, "--workers", "2")
        assert one == two
        assert one[0] == code


def test_several_workers_need_a_generator_to_give():
    done = run(
        "audit", target("own_randomness"), "--claim", "epsilon=1", "--neighbours", "pair",
        "--workers", "2",
    )  # fmt: skip
    assert done.returncode == 2
    assert "takes no rng" in done.stderr
    assert "Traceback" not in done.stderr
    none = run("audit", target("half_noise"), "--workers", "0")
    assert none.returncode == 2
    assert "workers is 0" in none.stderr


def test_a_relation_as_a_text_is_searched_for_the_pair_that_leaks(tmp_path):
    """Only a change of the middle answer leaks too much; the file of evidence can be scored."""
    evidence = tmp_path / "evidence.json"
    arguments = ("--claim", "epsilon=1", "--neighbours", "queries:3:one", "--seed", "1")
    done = run("audit", target("weak_middle"), *arguments, "--evidence", str(evidence))
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert re.search("queries, (shrunk from )?pair", text)
    assert "pairs of inputs were run" in text
    verdict = json.loads(evidence.read_text())["verdict"]
    x, x_prime = verdict["neighbours"]["x"], verdict["neighbours"]["x_prime"]
    assert [i for i in range(3) if x[i] != x_prime[i]] == [1]
    again = run("audit", str(evidence))
    assert again.returncode == 1
    told = [line for line in done.stdout.splitlines() if line.startswith("evidence")]
    assert told == [line for line in again.stdout.splitlines() if line.startswith("evidence")]
    assert "that paid" in again.stdout
    sound = run("audit", target("even_answers"), *arguments, "--budget", "1500")
    assert sound.returncode == 0
    assert "of 15 pairs of inputs were run" in " ".join(sound.stdout.split())


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ("querys:3", "did you mean 'queries'?"),
        ("queries:0", "n is 0; it must be a whole number of at least 1"),
        ("queries:3:oen", "did you mean 'one'?"),
        ("queries:3:one:by=x", "by is 'x'; it must be a number"),
        ("add_remove:[1", "add_remove"),
        ("substitute:[1,0]", "substitute needs the value"),
    ],
)
def test_relations_that_cannot_be_read(relation, message):
    done = run("audit", target("even_answers"), "--claim", "epsilon=1", "--neighbours", relation)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_mechanism_with_its_own_randomness_is_not_replayable():
    done = run(
        "audit", target("own_randomness"), "--claim", "epsilon=1", "--neighbours", "pair",
        "--budget", "300", "--format", "json",
    )  # fmt: skip
    assert json.loads(done.stdout)["replayable"] is False


def test_a_file_of_evidence_is_scored_again_and_a_changed_one_is_refused(tmp_path):
    evidence = tmp_path / "evidence.json"
    first = run("audit", target("half_noise"), "--seed", "2", "--evidence", str(evidence))
    again = run("audit", str(evidence))
    assert again.returncode == 1
    assert again.stdout == first.stdout
    content = json.loads(evidence.read_text())
    content["x"]["numbers"][40][0] += 5.0
    evidence.write_text(json.dumps(content))
    refused = run("audit", str(evidence))
    assert refused.returncode == 2
    assert "does not follow from the recorded outputs" in refused.stderr


def listening():
    """Hear SIGINT even where the shell that runs the tests ignores it (as jobs with `&` do)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interruption_prints_the_verdict_so_far_and_exits_with_130():
    process = subprocess.Popen(
        [sys.executable, "-m", "tollens", "audit", target("slow"), "--claim", "epsilon=1",
         "--neighbours", "pair", "--budget", "1000000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=listening,  # noqa: PLW1509 - the tests start no threads
    )  # fmt: skip
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.startswith(("UNREFUTED", "UNDECIDED"))
    assert "interrupted before the budget was spent" in " ".join(out.split())
    assert "Traceback" not in err


def test_output_goes_to_a_file_when_asked(tmp_path):
    out = tmp_path / "verdict.txt"
    done = run("audit", target("half_noise"), "-o", str(out))
    assert done.stdout == ""
    assert out.read_text().startswith("REFUTED")
    refused = run("audit", target("half_noise"), "-o", str(tmp_path / "no" / "file"))
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr


def test_check_finds_declared_promises_and_shares_alpha_among_them(tmp_path):
    done = run("check", str(TARGETS), "--budget", "2000", "--format", "json")
    report = json.loads(done.stdout)
    outcomes = {v["target"].split("::")[1]: v["verdict"]["outcome"] for v in report["verdicts"]}
    assert done.returncode == 1
    assert outcomes == {"half_noise": "REFUTED", "right_noise": "UNREFUTED"}
    assert {v["verdict"]["alpha"] for v in report["verdicts"]} == {5e-7}
    empty = run("check", str(tmp_path))
    assert empty.returncode == 3
    assert run("check", str(tmp_path / "nowhere")).returncode == 2


def test_check_reports_a_file_that_cannot_be_imported_and_still_tests_the_others(tmp_path):
    (tmp_path / "good.py").write_text(
        "import tollens\n"
        "@tollens.promise('epsilon=1', neighbours=(0, 1))\n"
        "def noisy(x, rng):\n    return x + rng.laplace(scale=0.25)\n"
    )
    (tmp_path / "bad.py").write_text("import tollens, nowhere_to_be_found  # promise\n")
    done = run("check", str(tmp_path))
    assert done.returncode == 1
    assert "REFUTED" in done.stdout
    assert "nowhere_to_be_found" in done.stderr
    (tmp_path / "good.py").unlink()
    assert run("check", str(tmp_path)).returncode == 2


def test_settings_flag_over_environment_over_file_over_default(tmp_path):
    (tmp_path / "tollens.toml").write_text("budget = 700\nalpha = 0.001\n")

    def used(*flags, **environment):
        arguments = ("audit", target("right_noise"), "--seed", "1", "--format", "json", *flags)
        document = json.loads(run(*arguments, cwd=tmp_path, **environment).stdout)
        return document["pairs"], document["alpha"]

    assert used() == (700, 0.001)
    assert used(TOLLENS_BUDGET="600") == (600, 0.001)
    assert used("--budget", "500", TOLLENS_BUDGET="600") == (500, 0.001)


def test_unknown_settings_are_errors_with_a_suggestion(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.tollens]\nbugdet = 5\n")
    done = run("audit", target("half_noise"), cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown setting bugdet; did you mean budget?" in done.stderr
    done = run("audit", target("half_noise"), TOLLENS_ALPHA="small")
    assert "TOLLENS_ALPHA is 'small'; it must be a number" in done.stderr


def test_zoo_list_show_and_its_errors():
    listed = json.loads(run("zoo", "list", "--format", "json").stdout)
    names = [entry["name"] for entry in listed["entries"]]
    assert len(names) >= 15
    assert {"D1", "S2-n10", "P1"} <= {program["id"] for program in listed["programs"]}
    shown = run("zoo", "show", "svt6")
    assert shown.returncode == 0
    assert "4.061" in shown.stdout
    wrong = run("zoo", "show", "svt66")
    assert wrong.returncode == 2
    assert "svt6" in wrong.stderr
    program = run("zoo", "show", "S2-n10")
    assert program.returncode == 0
    assert "4.031" in program.stdout
    assert "    def no_stop(data: list[int]) -> list[bool]:" in program.stdout
    content = json.loads(run("zoo", "show", "s2-no-stop-n10", "--format", "json").stdout)
    assert (content["id"], content["holds"]) == ("S2-n10", False)
    assert "def no_stop" in content["text"]


def test_help_names_every_command():
    text = run("--help").stdout
    for command in ("audit", "refute", "verify", "check", "zoo"):
        assert command in text
