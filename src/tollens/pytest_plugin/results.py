"""What a session tells at its end: what was audited, and how much of alpha it took."""

from __future__ import annotations

from typing import Any

import pytest


class Results:
    """Gathers what reports carry, from this process or from workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._reports: list[tuple[str, dict[str, Any]]] = []
        self._is_worker = hasattr(config, "workerinput")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test tells of its audits."""
        told = getattr(report, "tollens", None)
        if told is not None and not self._is_worker:
            self._reports.append((report.nodeid, {**told, "passed": report.outcome == "passed"}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what came of the audits, if there were any."""
        if self._reports:
            from tollens.pytest_plugin.summary import write

            write(terminalreporter, self._reports)
