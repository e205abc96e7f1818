"""`dp.audit` and `dp.refute` in tests: what fails, what it says, and how it is run again."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from tollens.cli import main


def line(result, start):
    """The rest of the first line of the output that begins with a label."""
    return next(text[len(start) :].strip() for text in result.outlines if text.startswith(start))


def test_a_broken_claim_fails_the_test_and_a_right_one_does_not(run):
    result = run(
        """
        def test_broken(dp):
            dp.audit(broken, "epsilon=1", neighbours=ROWS)

        def test_right(dp):
            verdict = dp.audit(right, "epsilon=1", neighbours=ROWS)
            assert isinstance(verdict, tollens.Verdict) and not verdict.refuted
        """
    )
    result.assert_outcomes(failed=1, passed=1)
    assert "broken against epsilon=1" in line(result, "REFUTED")
    assert re.search(r"output .* of runs on x, .* of runs on x'|% .*%", line(result, "witness"))
    assert line(result, "leak").startswith("epsilon >= 1")
    assert line(result, "pair") == "x = [1, 1, 1], x' = [1, 1] (explicit)"
    assert "FAILED test_it.py::test_broken - Failed: REFUTED" in result.stdout.str()
    for ours in ("fixture.py", "pytest.fail", "Traceback"):
        assert ours not in result.stdout.str()


@pytest.mark.parametrize("ci", [True, False])
def test_the_summary_of_a_session_has_one_line_for_each_failure(run, monkeypatch, ci):
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    result = run(
        """
        def test_broken(dp):
            dp.audit(broken, "epsilon=1", neighbours=ROWS)

        def test_own(dp):
            dp.audit(right, "epsilon=1", neighbours=ROWS)
            pytest.fail("first\\nsecond")
        """
    )
    result.assert_outcomes(failed=2)
    text = result.stdout.str()
    assert text.count("witness") == 1
    summary = text.partition("short test summary info")[2].splitlines()
    assert [one for one in summary if one.startswith("FAILED test_it.py::test_broken")] == [
        "FAILED test_it.py::test_broken - Failed: REFUTED    broken against epsilon=1"
    ]
    assert ("second" in "\n".join(summary)) is ci, "others keep what pytest shows"


def test_the_line_to_paste_makes_the_same_audit_again(run, project):
    text = """
        def test_right(dp):
            dp.audit(right, "epsilon=1", neighbours=ROWS)

        @pytest.mark.parametrize("name", ["a b", "c"])
        def test_broken(dp, name):
            dp.audit(right, "epsilon=1", neighbours=ROWS)
            dp.audit(broken, "epsilon=1", neighbours=ROWS)
    """
    first = run(text)
    first.assert_outcomes(failed=2, passed=1)
    words = shlex.split(line(first, "again"))
    assert words[:2] == ["pytest", "test_it.py::test_broken[a b]"]
    again = project.runpytest("-p", "no:cacheprovider", *words[1:])
    again.assert_outcomes(failed=1)
    for label in ("witness", "leak", "evidence", "replay"):
        assert line(again, label) == line(first, label)


def test_the_command_to_paste_makes_the_same_audit_again(run):
    result = run(
        """
        def test_broken(dp):
            dp.audit(broken, "epsilon=1", neighbours=ROWS, coupling="independent")
        """
    )
    words = shlex.split(line(result, "           tollens"))
    assert words[:2] == ["audit", "counts.py::broken"]
    assert words[words.index("--coupling") + 1] == "independent"
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert line(result, "evidence") in " ".join(done.output.split())


def test_a_mechanism_of_a_package_is_named_by_its_module(project, run):
    project.mkpydir("shop").joinpath("sales.py").write_text(
        "def broken(rows, rng):\n    return len(rows) + rng.laplace(scale=0.2)\n"
    )
    result = run(
        """
        from shop.sales import broken as imported

        def test_broken(dp):
            dp.audit(imported, "epsilon=1", neighbours=ROWS)

        def test_text(dp):
            dp.audit("shop.sales:broken", "epsilon=1", neighbours=ROWS)
        """
    )
    result.assert_outcomes(failed=2)
    assert result.stdout.str().count("tollens audit shop.sales:broken --claim epsilon=1") == 2


def test_what_has_no_name_or_no_text_gets_no_command(run):
    result = run(
        """
        def test_lambda(dp):
            dp.audit(lambda rows, rng: len(rows) + rng.laplace() / 5, "epsilon=1", neighbours=ROWS)

        def test_data(dp):
            class Own:
                def __init__(self, rows):
                    self.rows = rows

                def __len__(self):
                    return self.rows

            dp.audit(broken, "epsilon=1", neighbours=(Own(1), Own(0)))
        """
    )
    result.assert_outcomes(failed=2)
    assert result.stdout.str().count("again      pytest ") == 2
    assert "tollens audit" not in result.stdout.str()


def test_nothing_tested_is_no_silent_pass(run):
    result = run(
        """
        def test_fails(dp):
            dp.audit(constant, "epsilon=1", neighbours=ROWS)

        def test_skips(dp):
            dp.audit(constant, "epsilon=1", neighbours=ROWS, undecided="skip")

        @pytest.mark.dp(undecided="pass")
        def test_passes(dp):
            assert dp.audit(constant, "epsilon=1", neighbours=ROWS).outcome.name == "UNDECIDED"
        """,
        "-rs",
    )
    result.assert_outcomes(failed=1, skipped=1, passed=1)
    assert "nothing was tested; does the mechanism release what it should?" in line(
        result, "reason"
    )
    result.stdout.fnmatch_lines(
        [
            "*3 audits in 3 tests: 0 refuted, 0 not refuted, 3 undecided (tested nothing)",
            "SKIPPED*tested nothing: both sides returned one and the same constant*",
        ]
    )


def test_the_marker_the_promise_and_the_call_say_the_claim_in_this_order(run):
    result = run(
        """
        @tollens.promise("epsilon=1.5", neighbours=([1], []))
        def declared(rows, rng):
            return len(rows) + rng.laplace()

        def told(verdict):
            return str(verdict.claim), verdict.neighbours.x

        def test_declared(dp):
            assert told(dp.audit(declared)) == ("epsilon=1.5", [1])

        @pytest.mark.dp("epsilon=1.2", neighbours=ROWS, budget=300)
        class TestMarked:
            def test_class(self, dp):
                verdict = dp.audit(declared)
                assert (*told(verdict), verdict.pairs) == ("epsilon=1.2", [1, 1, 1], 300)

            @pytest.mark.dp("epsilon=1.1")
            def test_nearest(self, dp):
                assert told(dp.audit(declared)) == ("epsilon=1.1", [1, 1, 1])

            def test_call(self, dp):
                verdict = dp.audit(declared, "epsilon=1", neighbours=([1, 1], [1]), budget=350)
                assert (*told(verdict), verdict.pairs) == ("epsilon=1", [1, 1], 350)
        """
    )
    result.assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            'dp.audit(right, "epsilon=1", neighbors=ROWS)',
            ["no argument neighbors; did you mean neighbours?", "there are no neighbours"],
        ),
        ('dp.audit(right, "epsilon=1", neighbours=ROWS, alpha=0.5)', ["--dp-alpha is that of"]),
        ('dp.audit(right, "epsilon: 1", neighbours=ROWS)', ["cannot read the claim"]),
        ('dp.audit(right, "epsilon=1", neighbours=ROWS, undecided="no")', ["fail, skip, pass"]),
        ('dp.audit("counts:rigth", "epsilon=1", neighbours=ROWS)', ["did you mean 'right'?"]),
        ('dp.refute(right, "epsilon=1", neighbours=ROWS, budget=3)', ["no argument budget"]),
    ],
)
def test_wrong_use_is_told_in_the_test_that_is_wrong(run, call, said):
    result = run(f"def test_wrong(dp):\n    {call}\n")
    result.assert_outcomes(failed=1)
    out = result.stdout.str()
    assert ">       dp." in out or f">   {call}" in out or f"    {call}" in out
    assert "UsageError" in out and "site-packages" not in out and "question.py" not in out
    for words in said:
        assert words in out


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ('"epsilon=1", "epsilon=2"', "takes one claim"),
        ('"epsilon=1", budgets=3', "@pytest.mark.dp: there is no argument budgets"),
        ("alpha=0.1", "@pytest.mark.dp: alpha cannot be given for one test"),
    ],
)
def test_a_wrong_marker_is_told(run, marker, said):
    result = run(
        f"@pytest.mark.dp({marker})\n"
        'def test_wrong(dp):\n    dp.audit(right, "epsilon=1", neighbours=ROWS)\n'
    )
    result.assert_outcomes(failed=1)
    assert said in result.stdout.str()


def test_a_proof_fails_the_test_and_spends_nothing(run):
    result = run(
        """
        from tollens import noise

        def half(rows):
            return len(rows) + noise.laplace(0.5)

        def test_proof(dp):
            dp.refute(half, "epsilon=1", neighbours=ROWS)

        @pytest.mark.dp("epsilon=2", neighbours=ROWS, budget=900)
        def test_no_proof(dp):
            assert not dp.refute(half).refuted

        def test_outside(dp):
            dp.refute(right, "epsilon=1", neighbours=ROWS)
        """
    )
    result.assert_outcomes(failed=2, passed=1)
    assert "error probability: 0 of 1e-06 spent" in result.stdout.str()
    assert " tollens refute test_it.py::half --claim epsilon=1" in result.stdout.str()
    assert "a call of rng.laplace; draw from tollens.noise" in result.stdout.str()


def test_fixtures_may_audit_for_the_tests_that_use_them(run):
    result = run(
        """
        @pytest.fixture
        def audited(dp):
            return dp.audit(right, "epsilon=1", neighbours=ROWS)

        @pytest.fixture(scope="session")
        def shared(dp):
            return dp.audit(broken, "epsilon=1", neighbours=ROWS)

        def test_fixture(audited):
            assert audited.pairs == 400

        def test_shared(shared):
            pass

        class TestUnittest(__import__("unittest").TestCase):
            @pytest.fixture(autouse=True)
            def _dp(self, dp):
                self.dp = dp

            def test_method(self):
                self.dp.audit(right, "epsilon=1", neighbours=ROWS)
        """
    )
    result.assert_outcomes(passed=2, errors=1)
    assert "3 audits in 3 tests" in result.stdout.str()


def test_settings_of_an_audit_go_through(run):
    result = run(
        """
        def test_batched(dp):
            fast = tollens.batched(lambda rows, n, rng: len(rows) + rng.laplace(size=n))
            verdict = dp.audit(
                fast, "epsilon=1", neighbours=ROWS, budget=2000, seed=3, coupling="independent"
            )
            assert (verdict.pairs, verdict.seed) == (2000, 3)

        def test_witness(dp):
            dp.audit(
                broken, "epsilon=1", neighbours=ROWS, witness=lambda output: output > 2.5
            )
        """
    )
    result.assert_outcomes(passed=1, failed=1)
