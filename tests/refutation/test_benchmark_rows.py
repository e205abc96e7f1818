"""The rows of the benchmark about proofs: what counts as met, and what is never met by itself."""

import dataclasses
import json
import math
from fractions import Fraction

import pytest
from benchmarks.harness import Row
from benchmarks.sections import refute
from benchmarks.sections.refute import Proved, error_of, program_row, published

from tollens.zoo.programs import entries, get

TIMES = ((0.1, 0.2), (0.01, 0.02))


def found(certified, *, late=False, problem=""):
    return Proved("events", certified, *TIMES, late, problem)


@pytest.mark.parametrize(
    ("key", "certified", "ok", "verdict"),
    [
        ("L1", Fraction(2), True, "refuted"),
        ("L1", Fraction(1981, 1000), True, "refuted"),
        ("L1", Fraction(1979, 1000), False, "refuted"),
        ("L1", Fraction(3), False, "refuted"),
        ("L1", math.inf, False, "refuted"),
        ("L1", None, False, "no proof"),
        ("S1-n4", math.inf, True, "refuted"),
        ("S1-n4", Fraction(50), False, "refuted"),
        ("L6", Fraction(3), True, "refuted"),
        ("L6", None, False, "no proof"),
        ("L1-ok", None, True, "spared"),
        ("L1-ok", Fraction(1, 2), False, "refuted"),
    ],
)
def test_a_row_is_met_where_the_proof_is_near_the_truth_and_controls_are_spared(
    key, certified, ok, verdict
):
    row = program_row(get(key), found(certified))
    assert (row.ok, row.more["verdict"]) == (ok, verdict)


def test_a_certificate_that_is_not_confirmed_is_no_proof():
    row = program_row(get("L1"), found(None, problem="CertificateError: no"))
    assert (row.ok, row.more["verdict"]) == (False, "CertificateError: no")


def test_time_that_was_up_is_said():
    assert program_row(get("L1-ok"), found(None, late=True)).more["verdict"] == "time was up"


def test_errors_are_in_units_of_the_truth():
    assert error_of(get("L1"), found(Fraction(3, 2))) == 0.25
    assert error_of(get("S1-n4"), found(math.inf)) == 0.0
    assert error_of(get("S1-n4"), found(Fraction(9))) is None
    assert error_of(get("L1-ok"), found(None)) is None


def test_one_miss_is_seen_over_all():
    programs = entries()
    each = [found(p.epsilon if math.isinf(p.epsilon) else Fraction(p.epsilon)) for p in programs]
    each = [e if p.broken else found(None) for p, e in zip(programs, each, strict=True)]

    def over_all(made):
        rows = [program_row(p, e) for p, e in zip(programs, made, strict=True)]
        return {row.what.split(":")[0]: row for row in refute._over_all(programs, made, rows)}

    rows = over_all(each)
    assert all(row.ok for row in rows.values())
    at = [p.id for p in programs].index("L4-all")
    slow = dataclasses.replace(each[at], certified=None, search=(3.5, 3.5), check=(1.1, 1.1))
    rows = over_all([*each[:at], slow, *each[at + 1 :]])
    missed = {name for name, row in rows.items() if not row.ok}
    assert missed == {
        "broken programs refuted as their rows ask",
        "slowest search at n ≤ 5",
        "slowest check",
    }
    row = rows["broken programs refuted as their rows ask"]
    assert (row.refuted, row.of) == (row.of - 1, sum(p.broken for p in programs))


def test_rows_can_be_written_and_read_again():
    row = program_row(get("S2-n10"), found(Fraction(4)))
    assert Row(**json.loads(json.dumps(row.to_json()))) == row


def test_what_is_published_is_about_programs_of_the_suite():
    facts = json.loads(refute.PEERS.read_text(encoding="utf-8"))["programs"]
    assert {fact["id"] for fact in facts} <= {program.id for program in entries()}
    assert {fact["tool"] for fact in facts} == {"DP-Sniper", "StatDP"}
    assert all(fact["seconds"] > 0 for fact in facts)
    assert published("D1") == []
    assert published("L1")[0].startswith("DP-Sniper, claim 1: ε ≥ 1.999 (1006 s)")


def test_one_program_from_search_to_row():
    row = program_row(get("L1"), refute.prove(("L1", 0)))
    assert row.ok
    assert row.more["certified ε"].endswith("1.9999")
    assert row.more["engine"] == "events"
