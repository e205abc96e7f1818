"""The pytest plugin: `dp.audit(...)` in tests, under one error probability for a whole session.

Every run of pytest loads this package where tollens is installed, so it imports the settings and
no more; the audit itself is loaded when a test first uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tollens.pytest_plugin.fixture import DP, SESSION
from tollens.pytest_plugin.marked import MARKER, MARKER_HELP, is_marked, uses
from tollens.pytest_plugin.options import add_options
from tollens.pytest_plugin.results import Results

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DP", "dp"]


@pytest.fixture(scope="session")
def dp(request: pytest.FixtureRequest) -> DP:
    """Audit mechanisms: `dp.audit(mechanism, claim, neighbours=...)` fails the test if refuted."""
    return DP(request.config.stash.get(SESSION, None))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--dp-...`."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and what gathers results."""
    config.addinivalue_line("markers", MARKER_HELP)
    config.pluginmanager.register(Results(config), "tollens-results")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the promises that a file declares, with `--dp-promises`."""
    if not parent.config.getoption("dp_promises"):
        return None
    from tollens.pytest_plugin.promises import SETTINGS_FILES, PromiseFile

    if file_path.suffix != ".py" and file_path.name not in SETTINGS_FILES:
        return None
    return PromiseFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses `dp`, so that `-m dp` finds them all."""
    for item in items:
        if uses(item) and not is_marked(item):
            item.add_marker(MARKER)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests that are left; each will get the same share of alpha."""
    tests = [item for item in session.items if is_marked(item)]
    if tests:
        from tollens.pytest_plugin.session import Session

        made = Session(session.config, tests)
        session.config.stash[SESSION] = made
        session.config.pluginmanager.register(made, "tollens-session")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist how many workers run each test."""
    each = node.config.getoption("dist") == "each"
    node.workerinput["tollens_copies"] = node.workerinput["workercount"] if each else 1
