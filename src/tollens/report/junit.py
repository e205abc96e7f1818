"""JUnit XML: each promise is a test case, as Jenkins, GitLab and GitHub actions read it.

A refuted promise is a failure, an undecided one is skipped, a target that could not be tested is
an error. The other test cases say what their runs would have refuted, in `system-out`.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tollens.report.leaks import leak_message
from tollens.report.markup import legal
from tollens.verdict import Outcome, Verdict

SUITE = "tollens"
"""The name of the one test suite of a document."""

_TARGET = re.compile(r"(?P<target>.+?\.py::[^\s:]+): (?P<message>.*)", re.DOTALL)
_TITLE_LENGTH = 120


def junit_document(rows: Sequence[tuple[str, Verdict]], problems: Sequence[str]) -> str:
    """An XML text: `rows` are (target, verdict), `problems` what could not be tested.

    Names of test cases are those of the targets, so that a report of tests over time can follow
    them; a name that occurs twice gets a number.

    >>> print(junit_document([], ["counts.py::noisy: it raised"]).splitlines()[1][:69])
    <testsuites name="tollens" tests="1" failures="0" errors="1" skipped=
    """
    cases = [_verdict_case(target, verdict) for target, verdict in rows]
    cases += [_problem_case(problem) for problem in problems]
    _number_doubles(cases)
    totals = {
        "name": SUITE,
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": _seconds(sum(verdict.seconds for _, verdict in rows)),
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals)
    suite.extend(cases)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def problem_target(problem: str) -> tuple[str | None, str]:
    """The target that a problem begins with, if it does, and the rest of the text.

    >>> problem_target("a/b.py::noisy: the budget is too small")
    ('a/b.py::noisy', 'the budget is too small')
    >>> problem_target("a/b.py does not exist")
    (None, 'a/b.py does not exist')
    """
    found = _TARGET.fullmatch(problem)
    return (found["target"], found["message"]) if found else (None, problem)


def _verdict_case(target: str, verdict: Verdict) -> ET.Element:
    case = _case(target, verdict.seconds)
    properties = ET.SubElement(case, "properties")
    for name, value in _properties(verdict).items():
        ET.SubElement(properties, "property", {"name": name, "value": legal(value)})
    if verdict.outcome is Outcome.REFUTED:
        message = f"{verdict.claim} is refuted{leak_message(verdict)}"
        failure = ET.SubElement(
            case, "failure", {"message": legal(message), "type": "tollens.Refuted"}
        )
        failure.text = legal(str(verdict))
        return case
    if verdict.outcome is Outcome.UNDECIDED:
        ET.SubElement(
            case, "skipped", {"message": legal(verdict.reason.value), "type": "tollens.Undecided"}
        )
    ET.SubElement(case, "system-out").text = legal(str(verdict))
    return case


def _problem_case(problem: str) -> ET.Element:
    target, message = problem_target(problem)
    if target is None:
        first = " ".join(problem.split())
        short = first if len(first) <= _TITLE_LENGTH else first[: _TITLE_LENGTH - 3] + "..."
        case = ET.Element("testcase", {"classname": SUITE, "name": legal(short), "time": "0.000"})
    else:
        case = _case(target, 0.0)
    error = ET.SubElement(
        case, "error", {"message": legal(" ".join(message.split())), "type": "tollens.NotTested"}
    )
    error.text = legal(problem)
    return case


def _case(target: str, seconds: float) -> ET.Element:
    """A test case with the class name that pytest would give to one of the same place."""
    place, separator, name = target.partition("::")
    if not separator:
        place, _, name = target.rpartition(":")
    attributes = {"classname": SUITE, "name": legal(name or target), "time": _seconds(seconds)}
    if place:
        dotted = place.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
        attributes["classname"] = legal(dotted) or SUITE
    if place.endswith(".py"):
        attributes["file"] = legal(place)
    return ET.Element("testcase", attributes)


def _properties(verdict: Verdict) -> dict[str, str]:
    return {
        "claim": str(verdict.claim),
        "outcome": verdict.outcome.name,
        "alpha": f"{verdict.alpha:g}",
        "pairs": str(verdict.pairs),
        "epsilon_lower": repr(float(verdict.epsilon_lower)),
        "delta": f"{verdict.delta:g}",
        "seed": "" if verdict.seed is None else str(verdict.seed),
    }


def _number_doubles(cases: Sequence[ET.Element]) -> None:
    """Give each test case a name of its own: readers keep one of those that look the same."""
    taken: set[tuple[str | None, str]] = set()
    for case in cases:
        name, place = case.attrib["name"], case.get("classname")
        unique, count = name, 1
        while (place, unique) in taken:
            count += 1
            unique = f"{name} #{count}"
        taken.add((place, unique))
        case.set("name", unique)


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0.0):.3f}" if math.isfinite(seconds) else "0.000"
