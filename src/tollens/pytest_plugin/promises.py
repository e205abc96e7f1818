"""Promises declared beside the code, as tests: `pytest --dp-promises src`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tollens.pytest_plugin.fixture import DP, SESSION
from tollens.pytest_plugin.marked import MARKER


class PromiseFile(pytest.File):
    """A Python file that may declare promises."""

    def collect(self) -> Iterator[PromiseItem]:
        """A test for each promise."""
        from tollens.discovery import find_promises

        found, problems = find_promises([self.path])
        if problems:
            raise self.CollectError("\n".join(problems))
        for one in found:
            name = one.target.rpartition("::")[2]
            yield PromiseItem.from_parent(self, name=name, mechanism=one.mechanism)


class PromiseItem(pytest.Item):
    """The audit of one promise."""

    def __init__(self, *, mechanism: object, **words: object) -> None:
        super().__init__(**words)  # type: ignore[arg-type]
        self.mechanism = mechanism
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Audit the promise."""
        DP(self.config.stash.get(SESSION, None)).audit(self.mechanism)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says this test is."""
        return self.path, None, f"promise of {self.name}"
