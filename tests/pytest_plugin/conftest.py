"""Sessions of pytest that use the plugin, in folders of their own."""

from __future__ import annotations

import functools
import textwrap

import pytest

# pytester forgets what a session loads in this process: it must be loaded before
import tollens.auditing.api
import tollens.discovery
import tollens.promise_tables
import tollens.pytest_plugin.promises
import tollens.pytest_plugin.question
import tollens.pytest_plugin.summary
import tollens.pytest_plugin.words
import tollens.refutation.api  # noqa: F401

COUNTS = """
import tollens

ROWS = ([1, 1, 1], [1, 1])

def broken(rows, rng):
    return len(rows) + rng.laplace(scale=0.2)

def right(rows, rng):
    return len(rows) + rng.laplace(scale=1.0)

def constant(rows):
    return 3
"""

HEAD = "import pytest\nimport tollens\nfrom counts import *\n"


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder with mechanisms in `counts.py`, and no settings from outside."""
    for name in ("TOLLENS_DP_MODE", "TOLLENS_DP_BUDGET", "TOLLENS_DP_ALPHA", "TOLLENS_DP_SEED"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(counts=COUNTS)
    pytester.syspathinsert()
    return pytester


@pytest.fixture
def run(project):
    """Run tests given as a text in a session of their own; what it printed and what came of it."""
    return functools.partial(_session, project, project.runpytest)


@pytest.fixture
def run_apart(project):
    """The same in a process of its own, for what cannot be imported twice in one."""
    return functools.partial(_session, project, project.runpytest_subprocess)


def _session(project, runner, text, *options):
    project.makepyfile(test_it=HEAD + textwrap.dedent(text))
    return runner("-p", "no:cacheprovider", "--dp-budget=400", *options)
