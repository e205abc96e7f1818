"""The self-test of the programs, the look-up by any name, and what the commands say of both."""

import json
import math
from types import SimpleNamespace

import pytest

import tollens
from tollens.errors import UsageError
from tollens.report import documents
from tollens.report.program_text import program_content
from tollens.zoo import entries as mechanisms
from tollens.zoo import get as mechanism
from tollens.zoo.names import find
from tollens.zoo.program_test import LIMIT, program_test
from tollens.zoo.programs import entries, get

QUICK = ("D1", "D1-bug", "D5", "D9-delta", "D10-m2", "L1-ok", "L1", "S1-n4", "S4-n4", "N3-n2", "P1")


def verdict(outcome, *, epsilon_lower=0.0):
    evidence = SimpleNamespace(method="events")
    named = SimpleNamespace(name=outcome)
    return SimpleNamespace(
        outcome=named, epsilon_lower=epsilon_lower, seconds=0.5, evidence=evidence
    )


def program_of(function, claim, neighbours):
    (found,) = (
        p for p in entries() if (p.function, p.claim, p.pair) == (function, claim, neighbours)
    )
    return found


def oracle(function, claim, *, neighbours, timeout):
    program = program_of(function, claim, neighbours)
    if program.broken:
        return verdict("REFUTED", epsilon_lower=program.epsilon)
    return verdict("UNREFUTED")


def lenient(function, claim, *, neighbours, timeout):
    return verdict("UNREFUTED")


def strict(function, claim, *, neighbours, timeout):
    return verdict("REFUTED")


def test_a_search_that_is_right_passes_everywhere():
    rows = program_test(oracle)
    assert [(row.id, row.name) for row in rows] == [(p.id, p.name) for p in entries()]
    assert all(row.ok for row in rows)
    assert all(row.engine == ("events" if row.broken else "") for row in rows)
    assert [row.true_epsilon for row in rows] == [p.epsilon for p in entries()]


def test_a_search_that_finds_nothing_fails_on_broken_programs_only():
    rows = program_test(lenient)
    assert {row.id for row in rows if not row.ok} == {p.id for p in entries() if p.broken}
    assert {row.problem for row in rows if not row.ok} == {"broken, but not refuted"}


def test_a_search_that_refutes_everything_fails_on_correct_programs():
    rows = program_test(strict)
    assert all(row.ok is row.broken for row in rows)
    assert {row.problem for row in rows if not row.broken} == {"correct, but refuted"}


@pytest.mark.parametrize(
    ("key", "outcome", "lower", "ok"),
    [
        ("L1", "REFUTED", 1.5, True),
        ("L1", "REFUTED", 2.0, True),
        ("L1", "REFUTED", 2.001, False),
        ("L1", "REFUTED", math.inf, False),
        ("L1", "REFUTED", math.nan, False),
        ("L1", "UNDECIDED", 1.5, False),
        ("L1-ok", "UNDECIDED", 0.0, True),
        ("L1-ok", "UNREFUTED", 0.0, True),
        ("S1-n4", "REFUTED", math.inf, True),
        ("S1-n4", "REFUTED", 3.0, True),
    ],
)
def test_rows_compare_the_verdict_with_the_truth(key, outcome, lower, ok):
    def refute(function, claim, *, neighbours, timeout):
        return verdict(outcome, epsilon_lower=lower)

    (row,) = program_test(refute, programs=[get(key)])
    assert row.ok is ok
    assert bool(row.problem) is not ok


def test_the_limit_reaches_the_search_and_progress_sees_each_row():
    limits, seen = [], []

    def refute(function, claim, *, neighbours, timeout):
        limits.append(timeout)
        return verdict("UNREFUTED")

    program_test(refute, programs=[get("D1")])
    rows = program_test(refute, programs=[get("D1"), get("L1")], timeout=7.0, progress=seen.append)
    assert limits == [LIMIT, 7.0, 7.0]
    assert tuple(seen) == rows


def test_the_search_of_tollens_is_right_about_some():
    rows = program_test(tollens.refute, programs=[get(key) for key in QUICK])
    assert all(row.ok for row in rows), [row for row in rows if not row.ok]
    by_id = {row.id: row for row in rows}
    assert by_id["L1"].engine == "events"
    assert 1.999 < by_id["L1"].epsilon_lower <= 2.0
    assert by_id["D5"].epsilon_lower == math.inf


# the look-up


def test_everything_is_found_by_its_names_and_no_name_is_given_twice():
    names = [entry.name for entry in mechanisms()]
    names += [name for program in entries() for name in (program.id, program.name)]
    assert len(set(names)) == len(names)
    assert all(find(entry.name) is entry for entry in mechanisms())
    assert all(find(program.id) is find(program.name) is program for program in entries())


@pytest.mark.parametrize(
    ("key", "near"),
    [("svt66", "svt6"), ("d4-BUG", "D4-bug"), ("l1-laplace-half-scal", "l1-laplace-half-scale")],
)
def test_find_suggests_a_close_name_of_either_kind(key, near):
    with pytest.raises(UsageError, match=f"did you mean '{near}'"):
        find(key)


def test_find_names_the_list_where_nothing_is_close():
    with pytest.raises(UsageError, match="zoo list"):
        find("?")


# documents


def test_the_list_has_mechanisms_and_programs():
    content = json.loads(documents.zoo_document(mechanisms(), entries()))
    assert content["schema"] == "tollens/zoo/1"
    assert [e["name"] for e in content["entries"]] == [e.name for e in mechanisms()]
    assert [p["id"] for p in content["programs"]] == [p.id for p in entries()]
    (infinite,) = (p for p in content["programs"] if p["id"] == "S1-n4")
    assert (infinite["true_epsilon"], infinite["holds"]) == ("Infinity", False)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.id) for p in entries()])
def test_each_program_has_a_document(program):
    content = json.loads(documents.dump(program_content(program)))
    assert tollens.claim.claim_from_json(content["claim"]) == program.claim
    assert content["holds"] is not program.broken
    assert (content["id"], content["source"]) == (program.id, program.source)


def test_the_document_of_a_self_test_has_both_kinds_of_rows():
    rows = program_test(oracle, programs=[get("L1"), get("L1-ok"), get("D5")])
    content = json.loads(documents.self_test_document((), rows))
    assert content["rows"] == []
    assert [row["id"] for row in content["programs"]] == ["L1", "L1-ok", "D5"]
    assert [row["engine"] for row in content["programs"]] == ["events", None, "events"]
    assert content["programs"][2]["epsilon_lower"] == "Infinity"
    assert all(row["ok"] for row in content["programs"])
    assert mechanism("svt6").name not in json.dumps(content)
