"""JUnit XML: what readers of test reports need, whatever the texts hold."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.evidence import Wealth
from tollens.neighbours import Pair
from tollens.report.junit import junit_document, problem_target
from tollens.report.markup import legal
from tollens.verdict import Outcome, Reason, Verdict

ANY_TEXT = st.text(max_size=30)  # control characters and lone surrogates among them


def made(outcome=Outcome.REFUTED, *, mechanism="noisy_count", seed=7, seconds=1.5, leak=1.25):
    reasons = {
        Outcome.REFUTED: Reason.WEALTH_REACHED,
        Outcome.UNREFUTED: Reason.BUDGET_SPENT,
        Outcome.UNDECIDED: Reason.EQUAL_CONSTANTS,
    }
    return Verdict(
        outcome=outcome,
        reason=reasons[outcome],
        claim=tollens.pure(1),
        mechanism=mechanism,
        neighbours=Pair([1, 1], [1], "as given"),
        witness=None,
        epsilon_lower=leak,
        delta=0.0,
        pairs=300,
        runs=600,
        alpha=1e-6,
        evidence=Wealth(20.0, 14.0, 280, 10, ((300, 20.0),), {}, "none"),
        seed=seed,
        replayable=seed is not None,
        seconds=seconds,
        detectable_excess=None,
        versions={"tollens": "0"},
    )


def read(rows, problems=()):
    """The document as the parsers of CI systems see it: bytes in, one suite out."""
    root = ET.fromstring(junit_document(rows, problems).encode())
    (suite,) = root
    return root, suite, list(suite)


ROWS = [
    ("src/counts.py::noisy", made()),
    ("src/counts.py::fine", made(Outcome.UNREFUTED, leak=0.0)),
    ("package.module:constant", made(Outcome.UNDECIDED, leak=0.0, seed=None)),
]
PROBLEMS = ["src/counts.py::slow: the budget is\ntoo small", "src/broken.py cannot be imported"]


class TestStructure:
    def test_counts_are_those_of_the_cases_at_both_levels(self):
        root, suite, cases = read(ROWS, PROBLEMS)
        assert root.tag == "testsuites"
        assert suite.tag == "testsuite"
        assert {case.tag for case in cases} == {"testcase"}
        for level in (root, suite):
            counts = {k: level.get(k) for k in ("tests", "failures", "errors", "skipped", "time")}
            assert counts == {
                "tests": "5",
                "failures": "1",
                "errors": "2",
                "skipped": "1",
                "time": "4.500",
            }
            assert level.get("name") == "tollens"

    def test_every_case_has_what_readers_ask_for(self):
        _, _, cases = read(ROWS, PROBLEMS)
        for case in cases:
            assert case.get("name")
            assert case.get("classname")
            assert float(case.get("time")) >= 0
            assert len([c for c in case if c.tag in {"failure", "error", "skipped"}]) <= 1

    def test_names_are_those_of_pytest_with_the_file_where_there_is_one(self):
        _, _, cases = read(ROWS, PROBLEMS)
        places = [(c.get("classname"), c.get("name"), c.get("file")) for c in cases]
        assert places == [
            ("src.counts", "noisy", "src/counts.py"),
            ("src.counts", "fine", "src/counts.py"),
            ("package.module", "constant", None),
            ("src.counts", "slow", "src/counts.py"),
            ("tollens", "src/broken.py cannot be imported", None),
        ]

    def test_nothing_tested_is_an_empty_suite(self):
        root, _, cases = read([])
        assert cases == []
        assert root.get("tests") == "0"

    def test_a_bare_name_is_a_name(self):
        _, _, (case,) = read([("noisy_count", made())])
        assert (case.get("classname"), case.get("name")) == ("tollens", "noisy_count")

    def test_names_that_occur_twice_are_numbered(self):
        _, _, cases = read([("a.py::f", made())] * 3, ["a.py::f: again"])
        assert [case.get("name") for case in cases] == ["f", "f #2", "f #3", "f #4"]

    def test_the_document_begins_with_its_declaration(self):
        assert junit_document([], []).startswith('<?xml version="1.0" encoding="UTF-8"?>\n<')


class TestContent:
    def test_a_refutation_is_a_failure_with_the_whole_verdict(self):
        _, _, (case, *_) = read(ROWS)
        failure = case.find("failure")
        assert failure.text == str(ROWS[0][1])
        assert failure.get("type") == "tollens.Refuted"
        assert failure.get("message") == "epsilon=1 is refuted: epsilon >= 1.25 at delta = 0"
        assert case.find("system-out") is None

    def test_an_undecided_promise_is_skipped_with_the_reason(self):
        _, _, cases = read(ROWS)
        assert cases[2].find("skipped").get("message") == Reason.EQUAL_CONSTANTS.value
        assert cases[2].find("system-out").text == str(ROWS[2][1])

    def test_an_unrefuted_promise_passes_and_says_what_was_shown(self):
        _, _, cases = read(ROWS)
        assert [child.tag for child in cases[1]] == ["properties", "system-out"]
        assert cases[1].find("system-out").text == str(ROWS[1][1])

    def test_properties_stand_in_each_case(self):
        _, _, cases = read(ROWS)
        values = {p.get("name"): p.get("value") for p in cases[0].iter("property")}
        assert values == {
            "claim": "epsilon=1",
            "outcome": "REFUTED",
            "alpha": "1e-06",
            "pairs": "300",
            "epsilon_lower": "1.25",
            "delta": "0",
            "seed": "7",
        }
        assert cases[2].find("properties/property[@name='seed']").get("value") == ""

    def test_a_problem_is_an_error_with_the_whole_text(self):
        _, _, cases = read([], PROBLEMS)
        errors = [case.find("error") for case in cases]
        assert [error.text for error in errors] == PROBLEMS
        assert errors[0].get("message") == "the budget is too small"
        assert {error.get("type") for error in errors} == {"tollens.NotTested"}

    def test_a_long_problem_has_a_short_name(self):
        _, _, (case,) = read([], ["x " * 500])
        assert len(case.get("name")) <= 120
        assert case.find("error").text == "x " * 500

    @pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
    def test_times_are_numbers(self, seconds):
        root, _, (case,) = read([("f", made(seconds=seconds))])
        assert case.get("time") == root.get("time") == "0.000"


class TestAnyText:
    @given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
    @settings(max_examples=200, deadline=None)
    def test_every_text_can_be_read_back(self, target, mechanism, problem):
        rows = [(target, made(outcome, mechanism=mechanism)) for outcome in Outcome]
        _, _, cases = read(rows, [problem])
        assert len(cases) == 4
        assert cases[0].find("failure").text == legal(str(rows[0][1]))
        assert (cases[3].find("error").text or "") == legal(problem)

    @pytest.mark.parametrize("code", [*range(32), 0x7F, 0x9F, 0xD800, 0xFFFE, 0xFFFF])
    def test_each_illegal_character_is_shown(self, code):
        text = legal(f"a{chr(code)}b")
        kept = {0x09: "a\tb", 0x0A: "a\nb", 0x0D: "a\nb"}
        escape = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
        assert text == kept.get(code, f"a{escape}b")
        assert ET.fromstring(f"<a>{text}</a>".encode()).text == text

    def test_markup_and_other_scripts_are_kept(self):
        text = "<b> & \"quoted\" 'q' ]]> é 漢 𝔸"
        _, _, (case,) = read([], [text])
        assert case.get("name") == text
        assert case.find("error").text == text


def test_the_target_of_a_problem():
    assert problem_target("a b/c.py::f.g: x: y") == ("a b/c.py::f.g", "x: y")
    assert problem_target("a.py::f: one\ntwo") == ("a.py::f", "one\ntwo")
    assert problem_target("claim: epsilon is -1") == (None, "claim: epsilon is -1")
