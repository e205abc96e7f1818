"""SARIF: the structure that the standard requires, places, and fingerprints that stay."""

from __future__ import annotations

import ast
import dataclasses
import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.evidence import Wealth
from tollens.neighbours import Pair
from tollens.report.places import definition_line
from tollens.report.sarif import sarif_document
from tollens.verdict import Outcome, Reason, Verdict

SOURCE = '''\
"""Counts."""
import math, does_not_exist
raise SystemExit("never imported")

def noisy(rows, rng):
    return 1

@decorated(
    1
)
def dressed(rows):
    return 2

class Box:
    size: int
    def noisy(self, rows):
        return 3
    count = noisy

if math.pi > 3:
    try:
        async def late(rows): ...
    except ValueError:
        caught = 1
    finally:
        pair, other = 1, 2
noisy = dressed
typed: int = 3
'''


def verdict(outcome=Outcome.REFUTED, claim="epsilon=1", **changes):
    made = Verdict(
        outcome=outcome,
        reason=Reason.EQUAL_CONSTANTS if outcome is Outcome.UNDECIDED else Reason.WEALTH_REACHED,
        claim=tollens.parse_claim(claim),
        mechanism="noisy",
        neighbours=Pair([1, 1], [1], "as given"),
        witness=None,
        epsilon_lower=1.25,
        delta=0.0,
        pairs=300,
        runs=600,
        alpha=1e-6,
        evidence=Wealth(20.0, 14.0, 280, 10, ((300, 20.0),), {}, "none"),
        seed=7,
        replayable=True,
        seconds=1.5,
        detectable_excess=None,
        versions={"tollens": "0"},
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "src" / "pack age").mkdir(parents=True)
    (tmp_path / "src" / "pack age" / "counts.py").write_text(SOURCE)
    (tmp_path / "src" / "counts.py").write_text(SOURCE)
    return tmp_path


def read(rows, problems=(), **options):
    def refuse(constant):
        raise AssertionError(f"bare {constant}")

    text = sarif_document(rows, problems, **options)
    text.encode()
    document = json.loads(text, parse_constant=refuse)
    check_structure(document)
    return document["runs"][0]


def check_structure(document):
    """What SARIF 2.1.0 requires of the parts that are used (sections 3.13 to 3.52)."""
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith(".json")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str)
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}
        for text in ("shortDescription", "fullDescription", "help"):
            assert rule[text]["text"].endswith(".")
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
    for result in run["results"]:
        assert result["message"]["text"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == rules[result["ruleIndex"]]["defaultConfiguration"]["level"]
        prints = result["partialFingerprints"]
        assert all(isinstance(v, str) and len(v) == 32 for v in prints.values())
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert " " not in physical["artifactLocation"]["uri"]
        if "region" in physical:
            assert physical["region"]["startLine"] >= 1
        for logical in location.get("logicalLocations", []):
            assert logical["fullyQualifiedName"]


class TestRules:
    def test_ids_and_levels_are_fixed(self):
        rules = read([])["tool"]["driver"]["rules"]
        assert [(r["id"], r["defaultConfiguration"]["level"]) for r in rules] == [
            ("TOLLENS001", "error"),
            ("TOLLENS002", "note"),
            ("TOLLENS003", "warning"),
        ]

    def test_each_outcome_has_its_rule_and_what_is_not_refuted_has_none(self, root):
        rows = [("src/counts.py::noisy", verdict(outcome)) for outcome in Outcome]
        results = read(rows, ["it raised"], root=root)["results"]
        assert [result["ruleId"] for result in results] == [
            "TOLLENS001",
            "TOLLENS002",
            "TOLLENS003",
        ]


class TestMessages:
    def test_a_refutation_says_the_leak_first_and_then_the_verdict(self):
        shown = verdict()
        (result,) = read([("a.py::noisy", shown)])["results"]
        first, rest = result["message"]["text"].split("\n\n", 1)
        assert first == ("The promise epsilon=1 of noisy is refuted: epsilon >= 1.25 at delta = 0.")
        assert rest == str(shown)
        assert result["properties"] == {
            "claim": "epsilon=1",
            "alpha": 1e-6,
            "pairs": 300,
            "epsilonLower": 1.25,
            "delta": 0.0,
            "seed": 7,
            "reason": "WEALTH_REACHED",
        }

    def test_no_leak_is_named_where_none_was_certified(self):
        (result,) = read([("a.py::noisy", verdict(epsilon_lower=0.0))])["results"]
        assert result["message"]["text"].startswith("The promise epsilon=1 of noisy is refuted.\n")

    def test_an_undecided_promise_gives_its_reason(self):
        (result,) = read([("a.py::noisy", verdict(Outcome.UNDECIDED))])["results"]
        assert Reason.EQUAL_CONSTANTS.value in result["message"]["text"].split("\n\n")[0]

    def test_infinities_are_texts(self):
        (result,) = read([("a.py::noisy", verdict(epsilon_lower=float("inf")))])["results"]
        assert result["properties"]["epsilonLower"] == "Infinity"

    @given(st.text(max_size=20), st.text(max_size=20))
    @settings(max_examples=200, deadline=None)
    def test_any_text_makes_a_document(self, target, problem):
        rows = [(target, verdict()), (f"{target}.py::{target}", verdict(mechanism=problem))]
        problems = [problem, f"{problem}.py::f: x", f"{problem}.py cannot be read"]
        assert len(read(rows, problems)["results"]) == 5


class TestPlaces:
    def place(self, target, root):
        (result,) = read([(target, verdict())], root=root)["results"]
        return result["locations"][0]

    def test_the_line_of_the_definition_in_a_relative_file(self, root):
        place = self.place("src/counts.py::dressed", root)
        assert place == {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/counts.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 11},
            },
            "logicalLocations": [{"fullyQualifiedName": "dressed"}],
        }

    @pytest.mark.parametrize("form", ["{}", "./src/../{}"])
    def test_other_spellings_of_a_path_are_the_same_uri(self, root, form):
        relative = "src/pack age/counts.py"
        absolute = str(root / relative)
        for file in (form.format(relative), absolute):
            physical = self.place(f"{file}::noisy", root)["physicalLocation"]
            assert physical["artifactLocation"]["uri"] == "src/pack%20age/counts.py"
            assert physical["region"] == {"startLine": 27}

    def test_a_file_reached_through_a_link_is_named_as_it_was_given(self, root):
        link = root.parent / f"{root.name}-link"
        link.symlink_to(root)
        for base, file in ((root, link), (link, root), (link, link)):
            place = self.place(f"{file}/src/counts.py::noisy", base)
            assert place["physicalLocation"]["artifactLocation"]["uri"] == "src/counts.py"

    def test_a_file_outside_has_an_absolute_uri(self, root):
        place = self.place(f"{root}/src/counts.py::noisy", root / "src" / "pack age")
        uri = (root / "src" / "counts.py").as_uri()
        assert place["physicalLocation"]["artifactLocation"] == {"uri": uri}

    def test_a_module_is_looked_for_without_importing(self, root):
        place = self.place("counts:Box.noisy", root)
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "src/counts.py"
        assert place["physicalLocation"]["region"] == {"startLine": 16}
        assert place["logicalLocations"] == [{"fullyQualifiedName": "counts:Box.noisy"}]

    def test_a_module_elsewhere_is_placed_at_the_root(self, root):
        place = self.place("numpy.linalg:norm", root)
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "."

    def test_a_missing_name_has_a_file_but_no_line(self, root):
        assert "region" not in self.place("src/counts.py::gone", root)["physicalLocation"]
        assert "region" not in self.place("src/gone.py::noisy", root)["physicalLocation"]

    @pytest.mark.parametrize(
        ("problem", "uri", "line"),
        [
            ("src/counts.py::dressed: the budget is too small", "src/counts.py", 11),
            ("src/bad.py cannot be imported: oh (line 3)", "src/bad.py", 3),
            ("src/bad.py cannot be read: no", "src/bad.py", None),
            ("sources does not exist", "sources", None),
            ("something else: (line 0)", ".", None),
        ],
    )
    def test_problems_are_placed_where_their_text_says(self, root, problem, uri, line):
        (result,) = read([], [problem], root=root)["results"]
        physical = result["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == uri
        assert physical.get("region", {}).get("startLine") == line
        assert result["message"]["text"] == problem


class TestDefinitionLine:
    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("dressed", 11),
            ("noisy", 27),
            ("Box", 14),
            ("Box.noisy", 16),
            ("Box.count", 18),
            ("late", 22),
            ("caught", 24),
            ("other", 26),
            ("typed", 28),
            ("math", 2),
            ("Box.size", None),
            ("noisy.rows", None),
            ("rows", None),
            ("", None),
        ],
    )
    def test_lines(self, root, name, line):
        assert definition_line(root / "src" / "counts.py", name) == line

    @pytest.mark.parametrize("content", ["def f(:\n", "\x00", "x = " + "(" * 5000])
    def test_a_file_that_is_no_program_has_no_lines(self, tmp_path, content):
        file = tmp_path / "a.py"
        file.write_text(content)
        assert definition_line(file, "f") is None

    def test_every_function_of_this_file_is_found(self):
        tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert definition_line(Path(__file__), node.name) == node.lineno


class TestFingerprints:
    def prints(self, rows, problems=(), **options):
        results = read(rows, problems, **options)["results"]
        return [result["partialFingerprints"]["tollensPromise/v1"] for result in results]

    def test_they_do_not_depend_on_the_run(self, root):
        target = "src/counts.py::noisy"
        again = verdict(pairs=999, seed=1, alpha=0.01, epsilon_lower=2.0, seconds=0.1)
        first = self.prints([(target, verdict())], root=root)
        assert self.prints([(target, again)], root=root) == first
        assert self.prints([(f"{root}/{target}", again)], root=root) == first
        moved = textwrap.indent(SOURCE, "").replace("\n\n", "\n\n\n")
        (root / "src" / "counts.py").write_text(moved)
        assert self.prints([(target, again)], root=root) == first

    def test_they_do_not_depend_on_the_place_of_the_checkout(self, root, tmp_path_factory):
        other = tmp_path_factory.mktemp("other")
        rows = [("src/counts.py::noisy", verdict())]
        assert self.prints(rows, root=root) == self.prints(rows, root=other)

    def test_they_do_not_depend_on_lines_and_texts_of_problems(self, root):
        first = self.prints([], ["a.py cannot be imported: oh (line 3)"], root=root)
        assert self.prints([], ["a.py cannot be imported: no (line 9)"], root=root) == first

    def test_they_differ_between_all_that_differs(self, root):
        rows = [
            ("src/counts.py::noisy", verdict()),
            ("src/counts.py::noisy", verdict()),
            ("src/counts.py::noisy", verdict(claim="epsilon=2")),
            ("src/counts.py::noisy", verdict(Outcome.UNDECIDED)),
            ("src/counts.py::dressed", verdict()),
            ("counts.py::noisy", verdict()),
            ("counts:noisy", verdict()),
        ]
        problems = ["one", "two", "src/counts.py::noisy: x", "src/counts.py cannot be read"]
        prints = self.prints(rows, problems, root=root)
        assert len(set(prints)) == len(prints) == 11


class TestInvocation:
    def test_it_counts_what_was_tested(self):
        rows = [("a.py::f", verdict(outcome)) for outcome in (*Outcome, Outcome.UNREFUTED)]
        (invocation,) = read(rows)["invocations"]
        assert invocation == {
            "executionSuccessful": True,
            "properties": {
                "refuted": 1,
                "unrefuted": 2,
                "undecided": 1,
                "notTested": 0,
                "pairs": 1200,
                "runs": 2400,
                "versions": {"tollens": "0"},
            },
        }

    def test_it_is_not_successful_where_something_was_not_tested(self):
        (invocation,) = read([], ["it raised"])["invocations"]
        assert invocation["executionSuccessful"] is False
        assert invocation["properties"]["notTested"] == 1
