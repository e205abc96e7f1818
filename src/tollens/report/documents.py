"""JSON documents: one for each command, nothing else on stdout."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tollens.report.program_text import program_content, program_row_content
from tollens.serial import to_jsonable

if TYPE_CHECKING:
    from tollens.checking import CheckReport
    from tollens.monitoring.backfill.walk import Backfill
    from tollens.monitoring.overview import History, Standing
    from tollens.monitoring.state import AlarmState
    from tollens.report.contents import Contents
    from tollens.zoo.entry import Entry
    from tollens.zoo.program_test import ProgramRow
    from tollens.zoo.programs import Program
    from tollens.zoo.self_test import SelfTestRow

_SURROGATE = re.compile("[\ud800-\udfff]")


def dump(content: object) -> str:
    """A JSON text of plain data, with the special numbers as texts, which UTF-8 can hold."""
    text = json.dumps(to_jsonable(content), ensure_ascii=False, allow_nan=False, indent=1)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def error_document(findings: Sequence[str]) -> str:
    """What `--format json` prints when a command could not be carried out."""
    return dump({"schema": "tollens/error/1", "findings": list(findings)})


def check_document(report: CheckReport) -> str:
    """The verdicts and problems of a check."""
    return dump(
        {
            "schema": "tollens/check/1",
            "alpha": report.alpha,
            "verdicts": [
                {"target": target, "verdict": verdict.to_dict()}
                for target, verdict in report.verdicts
            ],
            "problems": list(report.problems),
            "interrupted": report.interrupted,
        }
    )


def report_document(contents: Contents) -> str:
    """All that a report was made of."""
    return dump(
        {
            "schema": "tollens/report/1",
            "summary": contents.summary(),
            "alpha": contents.alpha,
            "verdicts": [
                {
                    "target": item.target,
                    "places": list(item.places),
                    "verdict": item.verdict.to_dict(),
                }
                for item in contents.items
            ],
            "series": [
                {
                    "series": found.standing.to_dict(),
                    "steps": [row.to_dict() for row in found.rows],
                    "alarms": [alarm.to_dict() for alarm in found.alarms],
                }
                for found in contents.histories
            ],
            "training": [report.to_dict() for report in contents.trainings],
            "problems": list(contents.problems),
            "files": [
                {"path": file.path, "sha256": file.digest, "bytes": file.size, "content": file.what}
                for file in contents.sources
            ],
        }
    )


def entry_content(entry: Entry) -> dict[str, object]:
    """A mechanism of the zoo as plain data."""
    return {
        "name": entry.name,
        "title": entry.title,
        "claim": entry.claim.to_json(),
        "neighbours": {"x": entry.neighbours[0], "x_prime": entry.neighbours[1]},
        "true_epsilon": entry.true_epsilon,
        "holds": entry.holds,
        "truth": entry.truth,
        "source": entry.source,
    }


def zoo_document(entries: Sequence[Entry], programs: Sequence[Program]) -> str:
    """All mechanisms and programs of the zoo."""
    content = [entry_content(entry) for entry in entries]
    suite = [program_content(program) for program in programs]
    return dump({"schema": "tollens/zoo/1", "entries": content, "programs": suite})


def self_test_document(rows: Sequence[SelfTestRow], programs: Sequence[ProgramRow]) -> str:
    """The rows of a self-test: the audits, and the searches for proofs."""
    content = [
        {
            "name": row.name,
            "holds": row.holds,
            "outcome": row.outcome,
            "pairs": row.pairs,
            "epsilon_lower": row.epsilon_lower,
            "true_epsilon": row.true_epsilon,
            "ok": row.ok,
        }
        for row in rows
    ]
    suite = [program_row_content(row) for row in programs]
    return dump({"schema": "tollens/self-test/1", "rows": content, "programs": suite})


def step_document(row: Standing) -> str:
    """How a series stands after a step."""
    return dump({"schema": "tollens/monitor-step/1", **row.to_dict()})


def status_document(rows: Sequence[Standing]) -> str:
    """How all series stand, with the evidence of their last steps."""
    content = [{**row.to_dict(), "recent": [step.evidence for step in row.recent]} for row in rows]
    return dump({"schema": "tollens/monitor-status/1", "series": content})


def history_document(found: History) -> str:
    """The steps and alarms of a series."""
    content = {
        "schema": "tollens/monitor-history/1",
        "series": found.standing.to_dict(),
        "steps": [row.to_dict() for row in found.rows],
        "alarms": [alarm.to_dict() for alarm in found.alarms],
        "older": [row.to_dict() for row in found.older],
    }
    return dump(content)


def acknowledged_document(row: Standing, alarm: AlarmState) -> str:
    """The alarm that was closed, and how the series stands now."""
    content = {"alarm": alarm.to_dict(), "series": row.to_dict()}
    return dump({"schema": "tollens/monitor-acknowledged/1", **content})


def backfill_document(found: Backfill) -> str:
    """What a walk over commits came to."""
    return dump({"schema": "tollens/monitor-backfill/1", **found.to_dict()})
