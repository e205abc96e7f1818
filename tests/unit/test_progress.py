"""Bars of long searches: on a terminal only, gone when done."""

from __future__ import annotations

import io

from rich.console import Console

from tollens.refutation.found import Step
from tollens.report.progress import ProgressBars


def shown(steps, *, terminal=True, enabled=True):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100)
    bars = ProgressBars(console, enabled=enabled)
    for step in steps:
        bars.search("a.py::f", step)
    seen = stream.getvalue()
    bars.stop()
    return seen


def test_a_bar_for_each_engine():
    seen = shown([Step("events", 1, 2, 0.0), Step("events", 2, 2, 1.234), Step("balls", 1, 1, 0.0)])
    assert "a.py::f: events" in seen
    assert "best epsilon 1.23" in seen
    assert "a.py::f: balls" in seen


def test_none_where_nobody_looks():
    assert shown([Step("events", 1, 2, 1.0)], terminal=False) == ""
    assert shown([Step("events", 1, 2, 1.0)], enabled=False) == ""


def test_an_infinite_epsilon_and_pairs_without_an_end():
    assert "best epsilon inf" in shown([Step("events", 1, 1, float("inf"))])
    assert shown([Step("events", 1, 0, 0.0)])
