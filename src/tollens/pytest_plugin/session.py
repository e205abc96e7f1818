"""One session of pytest: which test runs now, what it may spend, and what came of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from tollens.errors import UsageError
from tollens.pytest_plugin.ledger import Ledger
from tollens.pytest_plugin.options import Choices, choices
from tollens.pytest_plugin.records import Record, properties

if TYPE_CHECKING:
    from tollens.verdict import Verdict

OFF = "tests of differential privacy are off (--dp-mode=off)"


_ADDED = pytest.StashKey[list[tuple[str, object]]]()
"""Where a test keeps the properties that are ours."""


@dataclass
class Running:
    """A test that runs now: the records of its audits, what was refuted in it, how it failed."""

    item: pytest.Item
    records: list[Record] = field(default_factory=list)
    reported: int = 0
    refuted: dict[Hashable, tuple[Verdict, Record]] = field(default_factory=dict)
    failure: str | None = None

    def repeated(self, key: Hashable | None) -> Verdict | None:
        """The verdict on a question that was refuted before, whose record is now the last one."""
        if key is None or key not in self.refuted:
            return None
        verdict, record = self.refuted[key]
        self.records = [*(one for one in self.records if one is not record), record]
        return verdict

    def report(self) -> list[Record]:
        """The records that no report has yet; the properties of the test are those of all."""
        fresh = self.records[self.reported :]
        self.reported = len(self.records)
        if fresh:
            ours = self.item.stash.get(_ADDED, [])
            others = [entry for entry in self.item.user_properties if entry not in ours]
            self.item.stash[_ADDED] = properties(self.records)
            self.item.user_properties[:] = [*others, *self.item.stash[_ADDED]]
        return fresh


class Session:
    """What the tests of a session share; pytest calls its hooks around each test."""

    def __init__(self, config: pytest.Config, tests: Sequence[pytest.Item]) -> None:
        self.config = config
        self._ids = frozenset(test.nodeid for test in tests)
        self._count = len(tests)
        self._running: Running | None = None
        self._audits: Counter[str] = Counter()
        self._lock = threading.Lock()
        for test in tests:
            _lift_deadline(test)

    @cached_property
    def choices(self) -> Choices:
        """What holds for the audits of this session; `UsageError` for wrong settings."""
        return choices(self.config)

    @property
    def ledger(self) -> Ledger:
        """How alpha is shared out."""
        worker = getattr(self.config, "workerinput", {})
        return Ledger(self.choices.alpha, self._count, worker.get("tollens_copies", 1))

    def running(self) -> Running:
        """The test that runs now; `UsageError` where none does that has a share of alpha."""
        if self._running is None:
            raise UsageError(
                "dp was used outside of a test that asks for it; name dp among the arguments of "
                "the test, or mark it with @pytest.mark.dp, so that it gets its share of alpha"
            )
        return self._running

    def number(self, running: Running) -> int:
        """The number of the next audit of a test, in whichever run of it."""
        with self._lock:
            self._audits[running.item.nodeid] += 1
            return self._audits[running.item.nodeid]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Know which test runs."""
        self._running = Running(item) if item.nodeid in self._ids else None
        try:
            return (yield)
        finally:
            self._running = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip the test where audits are off; begin it anew where it is run again."""
        if self._running is None:
            return
        self._running = Running(item)
        try:
            mode = self.choices.mode
        except UsageError as error:
            pytest.fail(str(error), pytrace=False)
        if mode == "off":
            pytest.skip(OFF)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report what its audits came to: reports are what reaches other processes."""
        running = self._running
        if running is None:
            return (yield)
        records = running.report()
        report = yield
        if running.failure is not None and call.excinfo is not None:
            _shorten(report, call.excinfo.value, running.failure)
        notes = getattr(call.excinfo and call.excinfo.value, "__notes__", None)
        if records and notes:  # the failing example of Hypothesis, which pytest leaves out
            report.sections.append(("Hypothesis", "\n".join(notes)))
        if records or call.when == "call":
            report.tollens = {  # type: ignore[attr-defined]
                "alpha": self.choices.alpha,
                "mode": self.choices.mode,
                "show": self.choices.show_evidence,
                "audits": records,
            }
        return report


def _shorten(report: pytest.TestReport, raised: BaseException, failure: str) -> None:
    """Let the summary of a session have the first line of our failures, also where it does not cut.

    In CI pytest repeats the whole text there, which stands above in full.
    """
    place = getattr(report.longrepr, "reprcrash", None)
    if place is not None and str(raised) == failure:
        place.message = place.message.partition("\n")[0]


def _lift_deadline(test: pytest.Item) -> None:
    """Let an example of Hypothesis take as long as its audit does, where nothing else is said."""
    function = getattr(getattr(test, "obj", None), "__func__", getattr(test, "obj", None))
    if not getattr(function, "is_hypothesis_test", False):
        return
    from hypothesis import settings

    own = getattr(function, "_hypothesis_internal_use_settings", None)
    if own is not None and own.deadline == getattr(settings.default, "deadline", None):
        lifted = settings(parent=own, deadline=None)
        function._hypothesis_internal_use_settings = lifted  # type: ignore[union-attr]
