"""A session as a whole: what it may spend, where its settings come from, what it tells."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

import tollens
from tollens.pytest_plugin.storing import safe_name

TWO = """
def test_one(dp):
    dp.audit(right, "epsilon=1", neighbours=ROWS)

def test_two(dp):
    dp.audit(right, "epsilon=1", neighbours=ROWS)

def test_none():
    pass
"""


@pytest.fixture
def stored(project, run):
    """The verdicts of a session."""

    def session(text, *options):
        place = project.path / "verdicts.jsonl"
        place.unlink(missing_ok=True)
        result = run(text, f"--dp-store={place}", *options)
        lines = place.read_text(encoding="ascii").splitlines() if place.exists() else []
        return result, [json.loads(line) for line in lines]

    return session


def alphas(documents):
    return {document["test"].rpartition("::")[2]: document["alpha"] for document in documents}


# What it costs where it is not used


def test_a_session_that_does_not_use_it_loads_neither_numpy_nor_our_parts(pytester):
    pytester.makepyfile(test_plain="def test_plain(): pass")
    pytester.makeconftest(
        """
        import sys

        def pytest_unconfigure():
            print("LOADED", *sys.modules)
        """
    )
    result = pytester.runpytest_subprocess(
        "-p", "no:hypothesispytest", "-p", "no:syrupy", "-p", "no:cacheprovider", "--dp-mode=full"
    )
    result.assert_outcomes(passed=1)
    loaded = next(line for line in result.outlines if "LOADED" in line).split()
    ours = [name for name in loaded if name.startswith("tollens")]
    assert "tollens.pytest_plugin" in ours
    assert len(ours) <= 8
    assert not {"numpy", "scipy", "sklearn", "click", "rich", "fractions"} & set(loaded)
    assert "differential privacy" not in result.stdout.str()


def test_collecting_tests_that_use_it_loads_nothing_more(project):
    project.makepyfile(test_it="def test_it(dp): pass")
    program = (
        "import pytest, sys; pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider']); "
        "print('numpy' in sys.modules, 'tollens.auditing' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project.path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "test_it.py::test_it" in done.stdout
    assert done.stdout.splitlines()[-1] == "False False"


# The ledger


def test_each_test_left_gets_the_same_share(stored):
    _, documents = stored(TWO)
    assert alphas(documents) == {"test_one": 2.5e-7, "test_two": 2.5e-7}
    result, documents = stored(TWO, "-k", "test_one or test_none", "--dp-alpha=1e-8")
    result.assert_outcomes(passed=2, deselected=1)
    assert alphas(documents) == {"test_one": 5e-9}


def test_audits_of_one_test_share_what_it_has(stored):
    result, documents = stored(
        """
        def test_many(dp):
            for _ in range(3):
                dp.audit(right, "epsilon=1", neighbours=ROWS)
        """
    )
    shares = [document["alpha"] for document in documents]
    assert shares == pytest.approx([1e-6 / 2, 1e-6 / 6, 1e-6 / 12])
    assert "error probability: 7.5e-07 of 1e-06 spent" in result.stdout.str()


def test_a_test_that_runs_again_goes_on_where_it_stopped(project, stored):
    project.makeconftest(
        """
        import pytest
        from _pytest.runner import runtestprotocol

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for _ in range(2):
                item._initrequest()
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """
    )
    _, documents = stored(TWO, "-k", "test_one")
    assert [document["alpha"] for document in documents] == pytest.approx([1e-6 / 2, 1e-6 / 6])


def test_tests_that_are_asked_for_twice_count_twice(project, stored):
    options = ("--keep-duplicates", "test_it.py", "test_it.py")
    _, documents = stored(TWO, *options)
    assert sum(document["alpha"] for document in documents) <= 1e-6
    assert len(documents) == 4


def test_only_tests_that_ask_for_it_are_counted_or_skipped(stored):
    result, documents = stored(
        """
        @pytest.fixture
        def through(dp):
            return dp

        @pytest.fixture
        def theirs():
            return 3

        def test_direct(dp):
            dp.audit(right, "epsilon=1", neighbours=ROWS)

        def test_through(through):
            through.audit(right, "epsilon=1", neighbours=ROWS)

        @pytest.mark.dp
        def test_marked(request):
            request.getfixturevalue("dp").audit(right, "epsilon=1", neighbours=ROWS)

        @pytest.mark.parametrize("dp", [1, 2])
        def test_argument(dp):
            assert dp in (1, 2)

        class TestTheirs:
            @pytest.fixture
            def dp(self):
                return "theirs"

            def test_theirs(self, dp):
                assert dp == "theirs"

        class TestWrapped:
            @pytest.fixture
            def dp(self, dp):
                return dp

            def test_wrapped(self, dp):
                dp.audit(right, "epsilon=1", neighbours=ROWS)
        """
    )
    result.assert_outcomes(passed=7)
    assert set(alphas(documents)) == {"test_direct", "test_through", "test_marked", "test_wrapped"}
    assert set(alphas(documents).values()) == {1e-6 / 4 / 2}


def test_a_test_that_was_not_counted_is_refused(run):
    result = run(
        """
        def test_counted(dp):
            dp.audit(right, "epsilon=1", neighbours=ROWS)

        def test_behind(request):
            request.getfixturevalue("dp").audit(right, "epsilon=1", neighbours=ROWS)
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "UsageError: dp was used outside of a test that asks for it" in result.stdout.str()
    result = run(
        """
        def test_behind(request):
            request.getfixturevalue("dp").audit(right, "epsilon=1", neighbours=ROWS)
        """
    )
    result.assert_outcomes(failed=1)
    assert "UsageError: no test of this session asks for dp" in result.stdout.str()


def test_the_marker_selects_all_tests_that_use_it(run):
    run(TWO, "-m", "dp", "--strict-markers").assert_outcomes(passed=2, deselected=1)
    run(TWO, "-m", "not dp").assert_outcomes(passed=1, deselected=2)


# Modes and settings


def test_off_skips_with_a_reason(run):
    result = run(TWO, "--dp-mode=off", "-rs")
    result.assert_outcomes(skipped=2, passed=1)
    assert "tests of differential privacy are off (--dp-mode=off)" in result.stdout.str()


@pytest.mark.parametrize(("mode", "pairs"), [("quick", 5_000), ("full", 200_000)])
def test_modes_choose_the_budget(project, mode, pairs):
    project.makepyfile(
        test_it="""
        import tollens

        def test_fast(dp):
            fast = tollens.batched(lambda rows, n, rng: len(rows) + rng.laplace(size=n))
            verdict = dp.audit(fast, "epsilon=1", neighbours=([1], []), coupling="independent")
            assert verdict.pairs == PAIRS
        """.replace("PAIRS", str(pairs))
    )
    project.runpytest(f"--dp-mode={mode}").assert_outcomes(passed=1)


def test_a_flag_wins_over_the_environment_that_over_a_file(project, stored, monkeypatch):
    text = """
        def test_budget(dp):
            dp.audit(right, "epsilon=1", neighbours=ROWS)
    """
    project.makepyprojecttoml(
        """
        [tool.tollens]
        dp-alpha = 1e-3
        dp-seed = 4
        coupling = "independent"
        """
    )
    _, [found] = stored(text)
    assert (found["alpha"], found["seed"]) == (5e-4, 4)
    monkeypatch.setenv("TOLLENS_DP_ALPHA", "1e-2")
    _, [found] = stored(text)
    assert (found["alpha"], found["seed"]) == (5e-3, 4)
    _, [found] = stored(text, "--dp-alpha=1e-1", "--dp-seed=5")
    assert (found["alpha"], found["seed"]) == (5e-2, 5)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("dp-mode", '"fast"', "dp-mode is 'fast'; it must be off, quick or full"),
        ("dp-alpha", "1.5", "dp-alpha is 1.5; it must be a number between 0 and 1"),
        ("dp-budget", "0", "dp-budget is 0; it must be a whole number of at least 1"),
        ("dp-seed", "-1", "dp-seed is -1; it must be a whole number of at least 0"),
        ("dp-show-evidence", '"perhaps"', "it must be true or false"),
        ("dp-mod", '"full"', "unknown setting dp-mod; did you mean dp-mode?"),
    ],
)
def test_wrong_settings_in_a_file_are_told_where_they_matter(project, key, value, said):
    project.makepyprojecttoml(f"[tool.tollens]\n{key} = {value}\n")
    project.makepyfile(test_it="def test_it(dp): pass\ndef test_none(): pass")
    result = project.runpytest()
    result.assert_outcomes(errors=1, passed=1)
    assert said in result.stdout.str() and "pyproject.toml" in result.stdout.str()


@pytest.mark.parametrize("flag", ["--dp-mode=fast", "--dp-alpha=2", "--dp-budget=0", "--dp-seed=x"])
def test_wrong_flags_stop_the_session(project, flag):
    result = project.runpytest(flag)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"argument {flag.partition('=')[0]}: it is" in result.stderr.str()


# What it tells


def test_the_summary_tells_what_was_tested_and_what_was_not(run):
    result = run(
        TWO
        + """
def test_idle(dp):
    pass

def test_broken(dp):
    dp.audit(broken, "epsilon=1", neighbours=ROWS)
"""
    )
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*= differential privacy (quick) =*",
            "REFUTED    test_it.py::test_broken: broken against epsilon=1, wealth * pairs, ε ≥ *",
            "3 audits in 3 tests: 1 refuted, 2 not refuted, 0 undecided",
            "asked for dp and tested nothing: test_it.py::test_idle",
            "error probability: 3.75e-07 of 1e-06 spent (a session in which all claims hold*",
        ]
    )
    assert "UNREFUTED" not in result.stdout.str()


def test_evidence_is_shown_for_all_if_asked_for(run):
    result = run(TWO, "--dp-show-evidence")
    lines = [line for line in result.outlines if line.startswith("UNREFUTED")]
    assert len(lines) == 2
    assert re.search(r"wealth [▁▂▃▄▅▆▇]+ after 400 pairs, would have found epsilon = \d", lines[0])


def test_verdicts_are_stored_and_read_back(project, run):
    folder = project.path / "verdicts"
    text = """
        @pytest.mark.parametrize("name", ["../a b", "x" * 300])
        def test_named(dp, name):
            dp.audit(right, "epsilon=1", neighbours=ROWS)
    """
    for session in (1, 2):
        run(text, f"--dp-store={folder}").assert_outcomes(passed=2)
        files = sorted(folder.iterdir())
        assert len(files) == 2 * session
    for file in files:
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,120}-[12]\.json", file.name)
        document = file.read_text(encoding="ascii")
        assert tollens.Verdict.from_json(document).pairs == 400
        assert json.loads(document)["test"].startswith("test_it.py::test_named[")


def test_names_of_stored_verdicts_differ_where_tests_do():
    assert safe_name("a.py::t[/]") != safe_name("a.py::t[-]")
    assert safe_name("::") and "/" not in safe_name("/../x")


def test_a_store_that_cannot_be_written_is_told(project, run):
    place = project.makefile(".txt", "a file")
    result = run(TWO, f"--dp-store={place}/below", "-k", "test_one")
    result.assert_outcomes(failed=1)
    assert "UsageError: --dp-store: " in result.stdout.str()


def properties(path):
    return {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in ET.parse(path).iter("testcase")
    }


def test_junit_has_the_verdict_as_properties(project, run):
    run(
        """
        def test_broken(dp, record_property):
            record_property("seed", "theirs")
            dp.audit(right, "epsilon=1", neighbours=ROWS)
            dp.audit(broken, "epsilon=1", neighbours=ROWS, seed=9)

        def test_plain():
            pass
        """,
        "--junitxml=report.xml",
    )
    found = properties(project.path / "report.xml")
    assert found["test_plain"] == {}
    broken = found["test_broken"]
    assert (broken["outcome"], broken["seed"], broken["audits"]) == ("REFUTED", "9", "2")
    assert broken["alpha"] == str(1e-6 / 6)
    assert float(broken["epsilon_lower"]) >= 1 and float(broken["log_e_value"]) > 14
    assert int(broken["pairs"]) <= 400
    text = (project.path / "report.xml").read_text(encoding="utf-8")
    assert 'name="seed" value="theirs"' in text


# Several processes

MANY = """
@pytest.mark.parametrize("i", range(2))
def test_right(dp, i):
    dp.audit(right, "epsilon=1", neighbours=ROWS)

def test_broken(dp):
    dp.audit(broken, "epsilon=1", neighbours=ROWS)
"""


@pytest.fixture
def workers():
    pytest.importorskip("xdist")
    return ("-n", "2", "-p", "no:hypothesispytest", "-p", "no:syrupy")


def test_workers_share_alpha_without_talking_to_each_other(project, stored, workers):
    result, documents = stored(MANY, *workers, "--junitxml=report.xml")
    result.assert_outcomes(passed=2, failed=1)
    assert [document["alpha"] for document in documents] == [1e-6 / 3 / 2] * 3
    result.stdout.fnmatch_lines(
        [
            "REFUTED    test_it.py::test_broken: broken against epsilon=1*",
            "3 audits in 3 tests: 1 refuted, 2 not refuted, 0 undecided",
            "error probability: 5e-07 of 1e-06 spent*",
        ]
    )
    found = properties(project.path / "report.xml")
    assert found["test_broken"]["outcome"] == "REFUTED"
    assert all(found[f"test_right[{i}]"]["pairs"] == "400" for i in range(2))


def test_tests_that_run_on_every_worker_count_as_often(stored, workers):
    _, documents = stored(MANY, *workers, "--dist=each", "-k", "broken")
    assert [document["alpha"] for document in documents] == [1e-6 / 2 / 2] * 2
