"""Promises declared beside the code or in a settings file, as tests: `pytest --dp-promises src`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tollens.pytest_plugin.fixture import DP, SESSION
from tollens.pytest_plugin.marked import MARKER

if TYPE_CHECKING:
    from tollens.discovery import Found

SETTINGS_FILES = ("pyproject.toml", "tollens.toml")
"""Files that may hold tables of promises."""


class PromiseFile(pytest.File):
    """A Python file or a settings file that may declare promises."""

    def collect(self) -> Iterator[PromiseItem]:
        """A test for each promise."""
        found, problems = _tables(self.path) if self.path.suffix == ".toml" else _here(self.path)
        if problems:
            raise self.CollectError("\n".join(problems))
        for number, one in enumerate(found, 1):
            own = one.target.rpartition("::")[2]
            name = f"promise-{number}" if self.path.suffix == ".toml" else own
            yield PromiseItem.from_parent(self, name=name, found=one)


def _here(path: Path) -> tuple[list[Found], list[str]]:
    from tollens.discovery import find_promises

    here = Path.cwd()
    return find_promises([path.relative_to(here) if path.is_relative_to(here) else path])


def _tables(path: Path) -> tuple[list[Found], list[str]]:
    from tollens.errors import UsageError
    from tollens.promise_tables import load_tables, read_tables
    from tollens.settings import promise_tables

    try:
        tables = promise_tables(path, path.parent)
        return ([], []) if tables is None else load_tables(read_tables(*tables))
    except UsageError as error:
        return [], list(error.findings)


class PromiseItem(pytest.Item):
    """The audit of one promise."""

    again = ("--dp-promises",)
    """The option without which it is not collected."""

    def __init__(self, *, found: Found, **words: Any) -> None:
        super().__init__(**words)
        self.found = found
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Audit the promise."""
        promise = self.found.promise
        DP(self.config.stash.get(SESSION, None)).audit(
            self.found.mechanism,
            promise.claim,
            neighbours=promise.neighbours,
            target=self.found.target,
        )

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says this test is."""
        return self.path, None, f"promise of {self.found.target}"
