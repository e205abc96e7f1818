"""The section at the end of a session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tollens.pytest_plugin.records import Record, severest
from tollens.report.leaks import leak_text
from tollens.report.sparkline import sparkline
from tollens.report.spelling import is_unicode, spelled
from tollens.rounding import up

Report = tuple[str, dict[str, Any]]
"""The id of a test, and what its report carries."""

_WIDTH = 30
_MOST = 10
_MARKUP = {"REFUTED": {"red": True, "bold": True}, "UNDECIDED": {"yellow": True}}


def write(terminal: pytest.TerminalReporter, reports: Sequence[Report]) -> None:
    """Write what was audited, what came of it, and what it took of alpha."""
    told = reports[0][1]
    plain = not is_unicode(terminal._tw._file)
    terminal.write_sep("=", f"differential privacy ({told['mode']})")
    for test, record, alike in _worth_a_line(reports):
        more = f" ({alike:,} more like it)" if alike else ""
        text = f"{record['outcome']:<9}  {test}: {_line(record)}{more}"
        terminal.write_line(spelled(text) if plain else text, **_MARKUP.get(record["outcome"], {}))
    for text in (*_counts(reports), _spent(reports)):
        terminal.write_line(text)


def _audits(reports: Sequence[Report]) -> list[tuple[str, Record]]:
    return [(test, record) for test, told in reports for record in told["audits"]]


def _worth_a_line(reports: Sequence[Report]) -> list[tuple[str, Record, int]]:
    """One audit of each test that failed, and how many more are like it; all, if asked for."""
    if reports[0][1]["show"]:
        return [(test, one, 0) for test, one in _audits(reports)]
    found = []
    for test in dict.fromkeys(test for test, _ in reports):
        records = [record for name, record in _audits(reports) if name == test]
        if records and (one := severest(records))["outcome"] != "UNREFUTED":
            alike = sum(record["outcome"] == one["outcome"] for record in records)
            found.append((test, one, alike - 1))
    return found


def _line(record: Record) -> str:
    """A verdict in one line."""
    said = f"{record['mechanism']} against {record['claim']}"
    if record["outcome"] == "UNDECIDED":
        return f"{said}, {re.split('[:;]', record['reason'])[0]}"
    if not record["curve"]:
        return said
    shares = [max(0.0, log_wealth / record["threshold"]) for _, log_wealth in record["curve"]]
    said += f", wealth {sparkline(shares, _WIDTH)} after {record['pairs']:,} pairs"
    if record["outcome"] == "REFUTED":
        return f"{said}, {leak_text(record['epsilon_lower'])}"
    excess = record["detectable_excess"]
    return said if excess is None else f"{said}, would have found epsilon = {up(excess)}"


def _counts(reports: Sequence[Report]) -> list[str]:
    """How many audits there were, what came of them, and which tests made none."""
    audits = _audits(reports)
    outcomes = Counter(record["outcome"] for _, record in audits)
    tests = len({test for test, _ in audits})
    lines = []
    if audits:
        undecided = outcomes["UNDECIDED"]
        lines.append(
            f"{_number(len(audits), 'audit')} in {_number(tests, 'test')}: "
            f"{outcomes['REFUTED']} refuted, {outcomes['UNREFUTED']} not refuted, "
            f"{undecided} undecided" + (" (tested nothing)" if undecided else "")
        )
    idle = sorted({test for test, told in reports if told["passed"]} - {test for test, _ in audits})
    if idle:
        more = "" if len(idle) <= _MOST else f" and {len(idle) - _MOST} more"
        lines.append(f"asked for dp and tested nothing: {', '.join(idle[:_MOST])}{more}")
    return lines


def _spent(reports: Sequence[Report]) -> str:
    spent = sum(record["alpha"] for _, record in _audits(reports))
    return (
        f"error probability: {up(spent, 3)} of {reports[0][1]['alpha']:g} spent (a session in "
        "which all claims hold refutes one with at most this probability)"
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
