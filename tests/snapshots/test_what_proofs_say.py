"""What a person reads of proofs, word for word; run with --snapshot-update after a change meant."""

import dataclasses
import io
import json

import pytest
from rich.console import Console

import tollens
from tollens import noise
from tollens.checking import CheckReport
from tollens.refutation.engine import ENGINES
from tollens.report import text
from tollens.report.junit import junit_document
from tollens.report.proof_text import verified_text
from tollens.report.sarif import sarif_document


def half_scale(data):
    return data + noise.laplace(0.5)


def right_scale(data):
    return data + noise.laplace(1)


def shows_now_and_then(data):
    """The record itself with probability 1/1024, else nothing."""
    return data if noise.flip(1 / 1024) else None


def outside(data):
    return sorted(data)[0] + noise.laplace(1)


def refuted(mechanism=half_scale, claim="epsilon=1", neighbours=(1, 0)):
    verdict = tollens.refute(mechanism, claim, neighbours=neighbours)
    engines = tuple(f"{engine}:" for engine in ENGINES)  # what each says is tested with it
    notes = tuple(n.rpartition("/")[2] for n in verdict.notes if not n.startswith(engines))
    return dataclasses.replace(verdict, seconds=0.25, versions={}, notes=notes)


def shown(renderable):
    stream = io.StringIO()
    Console(file=stream, width=100).print(renderable)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


@pytest.mark.parametrize(
    ("mechanism", "claim", "neighbours"),
    [
        (half_scale, "epsilon=1", (1, 0)),
        (right_scale, "epsilon=1", (1, 0)),
        (shows_now_and_then, "epsilon=1, delta=1e-6", (0, 1)),
        (half_scale, "mu=1/2", (1, 0)),
        (outside, "epsilon=1", ([1], [2])),
    ],
    ids=["proved", "not proved", "infinite", "gaussian claim", "outside"],
)
def test_verdicts(snapshot, mechanism, claim, neighbours):
    assert shown(text.verdict_text(refuted(mechanism, claim, neighbours))) == snapshot


def test_verified(snapshot):
    assert shown(verified_text(tollens.verify(refuted()))) == snapshot


def test_printed_as_it_is(snapshot):
    assert str(tollens.verify(refuted(shows_now_and_then))) == snapshot


def test_check(snapshot):
    report = CheckReport((("a.py::half_scale", refuted()),), (), 1e-6)
    table = shown(text.verdict_table(report.verdicts))
    assert table + "\n" + shown(text.check_summary(report)) == snapshot


def test_junit(snapshot):
    assert junit_document([("a.py::half_scale", refuted())], []) == snapshot


def test_sarif(snapshot):
    results = json.loads(sarif_document([("a.py::half_scale", refuted())], []))["runs"][0]
    assert results["results"] == snapshot
