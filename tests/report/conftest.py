"""Verdicts, certificates and series of every kind, made once."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest

import tollens
from tollens import noise
from tollens.monitoring.overview import History, Standing
from tollens.monitoring.state import AlarmState, HistoryRow, LikelyBreak, MonitorState
from tollens.report.contents import Contents, Item

PAIR = ([1, 1, 1], [1, 1])
HOSTILE = (
    "<script>alert('x')</script> ]]> \" | `code` <!-- "
    "\u202euser \x00\x1b[31m \ud800 &amp; {{ 7*7 }}"
)
MOMENT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def laplace(scale):
    def noisy_count(rows, rng):
        return len(rows) + rng.laplace(scale=scale)

    return noisy_count


def raises(rows, rng):
    if len(rows) == 3 and rng.random() < 0.1:
        raise ValueError(HOSTILE)
    return HOSTILE if rng.random() < 0.5 else "other"


def proved_count(rows):
    return len(rows) + noise.laplace(0.5)


@pytest.fixture(scope="session")
def verdicts():
    audit, given = tollens.audit, {"neighbours": PAIR, "seed": 3}
    return {
        "refuted": audit(laplace(0.5), "epsilon=1", **given),
        "kept": audit(laplace(1.0), "epsilon=1", budget=400, **given),
        "gaussian": audit(laplace(0.3), "mu=0.5", **given),
        "raises": audit(raises, "epsilon=1, delta=1e-3", **given),
        "undecided": audit(lambda rows: 3, "epsilon=1", neighbours=PAIR, budget=50),
        "proved": tollens.refute(proved_count, "epsilon=1", neighbours=PAIR),
    }


@pytest.fixture(scope="session")
def history():
    rng, evidence, rows = np.random.default_rng(1), 0.0, []
    for number in range(1, 61):
        evidence = max(-1.0, evidence + rng.normal(-0.05 if number < 40 else 0.5, 0.2))
        outcome = "failed" if number == 20 else "scored"
        leak = 0.0 if number < 45 else 1.25
        rows.append(HistoryRow(number, f"v{number}", "1", outcome, 750, MOMENT, evidence, leak, {}))
    place = LikelyBreak(40, "v40", "v39", 38, 42)
    alarm = AlarmState(46, "v46", MOMENT, place, None, 1.25)
    state = MonitorState(
        "count", "exact", True, evidence, 3.0, 1.25, 59, 1, "v60", "scored", MOMENT, False, alarm
    )  # fmt: skip
    return History(
        Standing(state, "epsilon=1", 0.05, None, 750, 0.0, True), tuple(rows), (alarm,), ()
    )


@pytest.fixture
def contents(verdicts, history):
    items = tuple(Item(f"src/a.py::{name}", verdict) for name, verdict in verdicts.items())
    return Contents(items, (history,), problems=("src/b.py::f: it raised",))


@pytest.fixture
def write(tmp_path):
    def to(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return to
