"""Files of a report: every kind is read, and every fault is named with its place."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from tollens.checking import CheckReport
from tollens.errors import UsageError
from tollens.pytest_plugin.storing import store
from tollens.report.documents import (
    check_document,
    history_document,
    report_document,
    status_document,
    step_document,
)
from tollens.report.gather import gather
from tollens.training.step_audit import StepAudit


def test_every_kind_of_file_is_read(verdicts, history, write, tmp_path):
    write("a.json", verdicts["kept"].to_json())
    rows = (("src/a.py::f", verdicts["refuted"]), ("src/a.py::p", verdicts["proved"]))
    write("b.json", check_document(CheckReport(rows, ("src/b.py::g: it raised",), 1e-6)))
    write("c.json", verdicts["proved"].evidence.document)
    write("d.json", history_document(history))
    write("e.json", step_document(history.standing))
    write("f.json", status_document([history.standing]))
    audit = StepAudit(1.0)
    audit.update(with_canary=1.0, without_canary=0.0)
    write("g.json", audit.report().to_json())
    store(tmp_path / "h.jsonl", "tests/t.py::test_a", verdicts["raises"])
    store(tmp_path / "h.jsonl", "tests/t.py::test_b", verdicts["refuted"])
    write("i.json", {"schema": "tollens/error/1", "findings": ["no such target"]})
    found = gather([tmp_path])
    assert [item.target for item in found.items] == [
        "laplace.noisy_count", "src/a.py::f", "src/a.py::p", "tests/t.py::test_a",
    ]  # fmt: skip
    refuted, proved = found.items[1:3]
    assert refuted.verdict == verdicts["refuted"] and len(refuted.places) == 2
    assert proved.places == (str(tmp_path / "b.json"), str(tmp_path / "c.json"))
    assert found.items[3].test
    assert found.histories == (history,) and len(found.trainings) == 1
    assert found.problems == ("src/b.py::g: it raised", "no such target")
    assert [source.what for source in found.sources][2] == "a certificate, confirmed by the checker"


def test_a_report_is_read_as_well(contents, write):
    again = gather([write("r.json", report_document(contents))])
    assert again.rows == contents.rows and again.histories == contents.histories
    assert again.problems == contents.problems


def test_all_faults_are_named_with_their_places(verdicts, write, tmp_path):
    (tmp_path / "empty").mkdir()
    proof = json.loads(json.dumps(verdicts["proved"].evidence.document))
    proof["upper"] = "1/1000"
    wrong = {**verdicts["kept"].to_dict(), "outcome": "REFUTED", "schema": "tollens/verdict/1"}
    paths = [
        write("text.json", "no json"),
        write("other.json", {"schema": "tollens/zoo/1"}),
        write("list.json", "[1]"),
        write("lines.jsonl", verdicts["kept"].to_json() + "\n{}\n\n[\n"),
        write("proof.json", proof),
        write("deep.json", "[" * 100_000),
        write("lie.json", json.dumps(wrong, default=str)),
        write("void.json", ""),
        tmp_path / "gone.json",
        tmp_path / "empty",
    ]
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError) as caught:
        gather([*paths, tmp_path / "bytes.json"])
    findings = caught.value.findings
    for path in paths:
        assert any(str(path) in finding for finding in findings), path
    assert any(f"{tmp_path / 'lines.jsonl'}, line 2" in f for f in findings)
    assert any(f"{tmp_path / 'lines.jsonl'}, line 4" in f for f in findings)
    assert any("cannot be REFUTED" in f for f in findings)
    assert any("UTF-8" in f for f in findings)


@pytest.mark.parametrize("missing", ["series", "steps", "alarms"])
def test_a_history_that_lacks_a_part_is_refused(history, write, missing):
    data = json.loads(history_document(history))
    del data[missing]
    with pytest.raises(UsageError, match="not the history of a monitor"):
        gather([write("h.json", data)])


def numbers_in(data, place=()):
    """Places of the numbers of a document; of lists the first three are enough."""
    if isinstance(data, dict | list):
        inside = data.items() if isinstance(data, dict) else enumerate(data[:3])
        for key, value in inside:
            yield from numbers_in(value, (*place, key))
    elif isinstance(data, int | float):
        yield place


@pytest.mark.parametrize("number", [5e-324, -1.7e308, 1.7e308, 2**62, 10**400, "Infinity", "NaN"])
def test_extreme_numbers_are_shown_or_refused(verdicts, history, write, number):
    jinja2_page = pytest.importorskip("tollens.report.page")
    documents = [verdicts["refuted"].to_json(), verdicts["kept"].to_json()]
    shown = 0
    for text in [*documents, history_document(history), status_document([history.standing])]:
        for *where, last in numbers_in(json.loads(text)):
            edited = json.loads(text)
            inner = edited
            for key in where:
                inner = inner[key]
            inner[last] = number
            try:
                contents = gather([write("edited.json", edited)])
            except UsageError:
                continue
            shown += "<svg" in jinja2_page.html_page(contents)
    assert shown > 10


def test_outputs_at_the_ends_of_floats_are_drawn(verdicts, write):
    page = pytest.importorskip("tollens.report.page")
    data = json.loads(verdicts["refuted"].to_json())
    edges = data["tally"]["edges"]
    data["tally"]["edges"] = [1.7e308 * (2 * i / (len(edges) - 1) - 1) for i in range(len(edges))]
    assert "1e+308" in page.html_page(gather([write("wide.json", data)]))


@pytest.mark.parametrize("part", ["mechanism", "x", "x_prime"])
def test_a_proof_is_about_what_it_says(verdicts, write, part):
    data = json.loads(verdicts["proved"].to_json())
    (data if part == "mechanism" else data["neighbours"])[part] = "another"
    with pytest.raises(UsageError, match="another mechanism or other inputs"):
        gather([write("proof.json", data)])


def tollens_report(*words, folder):
    command = [sys.executable, "-m", "tollens", "report", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("html", "<!doctype html>"), ("markdown", "### tollens: 6 promises"),
        ("sarif", "{"), ("junit", "<?xml"), ("json", "{"),
    ],
)  # fmt: skip
def test_the_command_writes_each_form(contents, write, tmp_path, form, begins):
    pytest.importorskip("jinja2")
    write("r.json", report_document(contents))
    done = tollens_report("r.json", "-o", "out", "--format", form, folder=tmp_path)
    assert done.returncode == 0 and done.stdout == ""
    assert (tmp_path / "out").read_text("utf-8").startswith(begins)
    assert ("left out" in done.stderr) == (form in ("sarif", "junit"))


def test_the_command_says_what_it_cannot_read(tmp_path):
    (tmp_path / "a.py").write_text("x")
    done = tollens_report("a.py", "gone.json", folder=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert "a.py is not JSON" in done.stderr and "gone.json cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("given", ["inside/v.json", "inside"])
@pytest.mark.parametrize("form", ["json", "html"])
def test_no_file_that_is_read_is_written_over(verdicts, tmp_path, given, form):
    (tmp_path / "inside").mkdir()
    kept, text = tmp_path / "inside" / "v.json", verdicts["kept"].to_json()
    kept.write_text(text)
    words = (given, "gone.json", "-o", "inside/../inside/v.json", "--format", form)
    done = tollens_report(*words, folder=tmp_path)
    assert done.returncode == 2 and "that is read; name another one to write" in done.stderr
    assert kept.read_text() == text
    done = tollens_report(given, "-o", "inside/v.html", folder=tmp_path)
    assert done.returncode == 0 and (tmp_path / "inside" / "v.html").exists()


def test_a_page_does_not_flood_a_terminal(verdicts, write, tmp_path):
    write("v.json", verdicts["kept"].to_json())
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tollens", "report", "v.json"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert "add -o report.html" in done.stderr
