"""Monitors on both kinds of stores: by the command line, and several writers of one series."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import tollens
from tollens.monitoring.detectors import Runs
from tollens.monitoring.methods import make_detector
from tollens.monitoring.plan import make_plan

COUNTS = """
import tollens

@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
@tollens.batched
def noisy_count(rows, n, rng):
    return len(rows) + rng.laplace(scale={scale}, size=n)
"""


def run(folder, where, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOLLENS_")}
    command = [sys.executable, "-m", "tollens", "monitor", *arguments, "--store", where]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_series_by_the_command_line(where, tmp_path):
    for version, scale, code in (("v1", 1.0, 0), ("v2", 0.4, 1)):
        (tmp_path / "counts.py").write_text(COUNTS.format(scale=scale))
        done = run(
            tmp_path, where, "step", "counts.py::noisy_count", "--name", "c", "--version", version,
            "--seed", "3", "--format", "json",
        )  # fmt: skip
        assert done.returncode == code, done.stderr
    state = json.loads(done.stdout)
    assert state["alarm"] is True
    assert run(tmp_path, where, "status").returncode == 1
    assert run(tmp_path, where, "acknowledge", "c", "--reason", "mended").returncode == 0
    assert run(tmp_path, where, "status").returncode == 0
    history = json.loads(run(tmp_path, where, "history", "c", "--format", "json").stdout)
    assert [step["version"] for step in history["steps"]] == ["v1", "v2"]


def watch(where, writer, steps):
    rng = np.random.default_rng(writer)
    with tollens.Monitor.open("shared", "epsilon=1", store=where, events=["E"]) as monitor:
        for step in range(steps):
            p = rng.binomial(750, 0.2), rng.binomial(750, 0.1)
            counts = {"E": (int(p[0]), int(p[1]))}
            monitor.step_counts(counts, version=f"w{writer}s{step}")


@pytest.mark.parametrize("steps", [4])
def test_eight_writers_of_one_series_lose_nothing(where, steps):
    with tollens.Monitor.open("shared", "epsilon=1", store=where, events=["E"]) as monitor:
        monitor.step_counts({"E": (150, 75)}, version="first")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=watch, args=(where, k, steps)) for k in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(100)
        assert writer.exitcode == 0
    with tollens.Monitor.open("shared", "epsilon=1", store=where, events=["E"]) as monitor:
        rows = list(monitor.history())
        assert [row.number for row in rows] == list(range(1, 8 * steps + 2))
        assert len({row.version for row in rows}) == len(rows)
        assert monitor.state.steps == len(rows)
    plan = make_plan(
        "epsilon=1", method="exact", alpha=0.05, horizon=None, beta=0.25, events=["E"], pairs=750,
        delta=None,
    )  # fmt: skip
    detector = make_detector(plan, None)
    for row in rows:
        x, y = row.summary["counts"]["E"]
        reading = detector.take(Runs(750, counts={"E": (x, y)}), latched=False, seed=0)
        assert reading.evidence == pytest.approx(row.evidence, abs=1e-9)
