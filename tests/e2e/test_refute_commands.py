"""`tollens refute`, `tollens verify` and proofs in `tollens check`, as a user runs them."""

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tollens

PROGRAMS = Path(__file__).with_name("programs_for_tests.py")
PAIR = ("--claim", "epsilon=1", "--x", "1", "--x-prime", "0")


def run(*arguments, cwd=None, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}
    return subprocess.run(
        [sys.executable, "-m", "tollens", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean | environment,
        timeout=120,
        check=False,
    )


def target(name):
    return f"{PROGRAMS}::{name}"


def words(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The certificate of a half-scale Laplace mechanism, as written by the command."""
    path = tmp_path_factory.mktemp("proofs") / "half.json"
    done = run("refute", target("half_scale"), "--certificate", path)
    assert done.returncode == 1
    return path


class TestRefute:
    def test_a_proof_exits_with_1_and_says_what_is_proved(self):
        done = run("refute", target("half_scale"))
        text = words(done.stdout)
        assert done.returncode == 1
        assert done.stdout.startswith("REFUTED")
        assert "P is at least 0.5 on x and at most 0.0676677 on x'" in text
        assert "epsilon >= 1.99999, proved" in text
        assert "not floating point" in text
        assert "error probability 1e" not in text
        assert done.stderr == ""

    def test_exit_zero_hides_a_refutation(self):
        assert run("refute", target("half_scale"), "--exit-zero").returncode == 0

    def test_a_search_that_finds_nothing_exits_with_0_and_claims_nothing(self, tmp_path):
        out = tmp_path / "none.json"
        done = run("refute", target("right_scale"), "--certificate", out)
        assert done.returncode == 0
        assert done.stdout.startswith("UNREFUTED")
        assert "this does not show that the claim holds" in words(done.stdout)
        assert "was not written" in done.stderr
        assert not out.exists()

    def test_a_relation_is_searched_and_the_pair_is_named(self):
        done = run("refute", target("every_answer"), "--format", "json")
        verdict = tollens.Verdict.from_json(done.stdout)
        assert done.returncode == 1
        assert verdict.neighbours.relation.startswith("queries, pair")
        assert (verdict.pairs, verdict.runs, verdict.alpha) == (0, 0, 0)
        assert json.loads(verdict.to_json()) == json.loads(done.stdout)

    def test_what_is_outside_the_subset_is_named_by_file_and_line(self):
        done = run("refute", target("outside"), *PAIR)
        text = words(done.stdout)
        assert done.returncode == 3
        assert done.stdout.startswith("UNDECIDED")
        lines = PROGRAMS.read_text().splitlines()
        first = next(i for i, line in enumerate(lines, start=1) if "sorted(" in line)
        assert f"programs_for_tests.py:{first}: a call of sorted" in text
        assert "a formatted text" in text

    def test_time_that_is_up_is_undecided(self):
        started = time.monotonic()
        done = run("refute", target("without_end"), *PAIR, "--timeout", "2")
        assert done.returncode == 3
        assert done.stdout.startswith("UNDECIDED")
        assert time.monotonic() - started < 60

    @pytest.mark.parametrize("form", ["json", "junit", "sarif"])
    def test_every_format(self, form):
        done = run("refute", target("half_scale"), "--format", form)
        assert done.returncode == 1
        assert "refuted" in done.stdout.lower()
        if form != "junit":
            json.loads(done.stdout)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["missing.py::f"], "missing.py does not exist"),
            ([target("half_scal")], "did you mean 'half_scale'?"),
            ([target("nameless"), *PAIR], "a lambda has no text of its own"),
            ([target("closure"), *PAIR], "inner uses scale of the function around it"),
            (["math:sqrt", *PAIR], "sqrt is written in C"),
            ([target("half_scale"), "--claim", "epsilon=0.5 ln 2"], "not the logarithm of a"),
            ([target("half_scale"), "--claim", "epsilon=1, delta=ln 2"], "as a rational number"),
            ([target("half_scale"), "--claim", "private"], "cannot read the claim"),
            ([target("half_scale"), "--engine", "magic"], "engine is 'magic'; it must be one of"),
            ([target("half_scale"), "--timeout", "0"], "timeout is 0.0; it must be a positive"),
            ([target("half_scale"), "--x", "1"], "give both --x and --x-prime"),
            ([target("half_scale"), "--x", "NaN", "--x-prime", "1"], "is not JSON"),
            ([target("half_scale"), "--x", '"NaN"', "--x-prime", "1"], "x is nan; a proof needs"),
            ([target("outside"), "--claim", "epsilon=1"], "declares no neighbours"),
            ([target("outside"), "--neighbours", "pair"], "no claim: give one"),
            ([target("half_scale"), "--certificate", "no/such/folder/c.json"], "no folder"),
        ],
    )
    def test_wrong_use_exits_with_2_and_says_what_is_wrong(self, arguments, message):
        done = run("refute", *arguments)
        assert done.returncode == 2, done.stdout
        assert message in words(done.stderr)
        assert done.stdout == ""
        assert "Traceback" not in done.stderr

    def test_all_findings_are_reported_at_once(self):
        done = run(
            "refute", target("half_scale"), "--claim", "epsilon=x", "--engine", "magic",
            "--timeout", "-1",
        )  # fmt: skip
        assert done.stderr.count("error:") == 3

    def test_a_relation_that_does_not_fit_the_program(self):
        """A vector where the program wants a number: no output, and so no proof."""
        done = run("refute", target("half_scale"), "--neighbours", "queries:3")
        assert done.returncode == 3
        assert "UNDECIDED" in done.stdout
        assert "Traceback" not in done.stderr

    def test_interruption_prints_the_verdict_so_far_and_exits_with_130(self):
        process = subprocess.Popen(
            [sys.executable, "-m", "tollens", "refute", target("never_ends"), *PAIR,
             "--timeout", "600"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )  # fmt: skip
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if process.returncode != 130:  # the search may be done by then
            assert process.returncode in (0, 3)
            return
        assert out.startswith("UNDECIDED")
        assert "interrupted before the search was done" in words(out)
        assert "Traceback" not in err


class TestVerify:
    def test_a_valid_certificate_exits_with_1_and_shows_the_program(self, certificate):
        done = run("verify", certificate)
        assert done.returncode == 1
        assert done.stdout.startswith("VERIFIED  half_scale breaks epsilon=1")
        assert "    SCALE = 0.5\n" in done.stdout
        assert "        return data + noise.laplace(SCALE)" in done.stdout
        assert run("verify", certificate, "--exit-zero").returncode == 0

    def test_the_json_of_a_verdict_is_read_too(self, tmp_path):
        verdict = run("refute", target("half_scale"), "--format", "json").stdout
        path = tmp_path / "verdict.json"
        path.write_text(verdict)
        done = run("verify", path, "--format", "json")
        found = json.loads(done.stdout)
        assert done.returncode == 1
        assert found["schema"] == "tollens/verified/1"
        assert found["witness"]["lower"] == "1/2"
        assert "SCALE = 0.5" in found["program"]["text"]

    @pytest.mark.parametrize("form", ["junit", "sarif"])
    def test_forms_for_tools(self, certificate, form):
        done = run("verify", certificate, "--format", form)
        assert done.returncode == 1
        assert "half_scale" in done.stdout

    def test_it_needs_no_file_but_the_certificate(self, certificate, tmp_path):
        copied = tmp_path / "c.json"
        copied.write_bytes(certificate.read_bytes())
        assert run("verify", "c.json", cwd=tmp_path).returncode == 1

    def refused(self, path, message):
        done = run("verify", path)
        assert done.returncode == 2, done.stdout
        assert message in words(done.stderr), done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr

    def test_what_is_no_certificate(self, certificate, tmp_path):
        text = certificate.read_text()
        path = tmp_path / "bad.json"
        self.refused(tmp_path / "missing.json", "cannot be read: No such file")
        self.refused(tmp_path, "Is a directory")
        for content, message in (
            (text[: len(text) // 2], "the certificate is no JSON"),
            ("", "no JSON"),
            ("not JSON", "no JSON"),
            ("[]", "a certificate is a JSON object"),
            ("{}", "the certificate has no"),
            ("[" * 100_000, "nested too deeply"),
            ('{"schema": 1e400}', "exact numbers are texts"),
            ('{"schema": ' + "9" * 10_000 + "}", "no JSON"),
        ):
            path.write_text(content)
            self.refused(path, message)
        path.write_bytes(b"\xff\xfe\x00")
        self.refused(path, "no text in UTF-8")

    def test_an_enormous_file_is_refused_unread(self, tmp_path):
        path = tmp_path / "huge.json"
        with path.open("wb") as stream:
            stream.seek(5 * 10**9)
            stream.write(b"}")
        started = time.monotonic()
        self.refused(path, "no certificate is that large")
        assert time.monotonic() - started < 20

    @pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
    def test_a_device_without_an_end(self):
        self.refused("/dev/zero", "no certificate is that large")

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("lower",), "51/100"),
            (("upper",), "1/100"),
            (("epsilon",), "3"),
            (("claim", "epsilon"), "3"),
            (("x",), "0"),
            (("program", "digest"), "0" * 64),
            (("schema",), "tollens/certificate/2"),
            (("engine",), "magic"),
        ],
    )
    def test_a_certificate_that_lies(self, certificate, tmp_path, place, value):
        document = json.loads(certificate.read_text())
        inner = document
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        path = tmp_path / "lie.json"
        path.write_text(json.dumps(document))
        done = run("verify", path)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr

    def test_a_verdict_without_a_proof(self, tmp_path):
        path = tmp_path / "verdict.json"
        path.write_text(run("refute", target("right_scale"), "--format", "json").stdout)
        self.refused(path, "rests on no proof")

    def test_an_error_is_a_document_too(self, tmp_path):
        done = run("verify", tmp_path / "missing.json", "--format", "json")
        assert json.loads(done.stdout)["schema"] == "tollens/error/1"


class TestCheck:
    """`check` proves what it can, and audits the rest on the same inputs."""

    def verdicts(self, *flags, **environment):
        done = run("check", PROGRAMS, "--budget", "1500", "--format", "json", *flags, **environment)
        found = json.loads(done.stdout)
        return done, {v["target"].split("::")[1]: v["verdict"] for v in found["verdicts"]}

    def test_proofs_first_then_audits(self):
        done, found = self.verdicts()
        assert done.returncode == 1
        assert {name: v["evidence"]["grade"] for name, v in found.items()} == {
            "half_scale": "proof",
            "right_scale": "wager",
            "every_answer": "proof",
        }
        right = found["right_scale"]
        assert right["outcome"] == "UNREFUTED"
        assert right["alpha"] == pytest.approx(1e-6 / 3)
        assert any("no proof was found" in note for note in right["notes"])
        assert "given event" in right["evidence"]["shares"]

    def test_no_time_for_proofs_means_audits_only(self, tmp_path):
        for flags, environment in (
            (("--proof-timeout", "0"), {}),
            ((), {"TOLLENS_PROOF_TIMEOUT": "0"}),
        ):
            _, found = self.verdicts(*flags, **environment)
            assert {v["evidence"]["grade"] for v in found.values()} == {"wager"}
            assert "given event" not in found["right_scale"]["evidence"]["shares"]

    def test_the_setting_may_stand_in_a_file(self, tmp_path):
        (tmp_path / "tollens.toml").write_text("proof-timeout = -1\n")
        done = run("check", PROGRAMS, cwd=tmp_path)
        assert done.returncode == 2
        assert "proof-timeout is -1" in done.stderr

    def test_the_summary_counts_proofs(self):
        done = run("check", PROGRAMS, "--budget", "1500")
        assert "3 promises tested, 2 refuted (2 by proof), 0 undecided" in words(done.stdout)


def test_a_certificate_is_not_changed_by_reading_it(certificate):
    document = json.loads(certificate.read_text())
    before = copy.deepcopy(document)
    assert tollens.verify(document) == tollens.verify(certificate)
    assert document == before
