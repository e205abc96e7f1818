"""A version that hangs is given up after its first runs."""

from __future__ import annotations

import time

import tollens


def hangs(data):
    time.sleep(30)
    return data


def test_a_hanging_version_is_a_failed_step(tmp_path):
    started = time.perf_counter()
    with tollens.Monitor.open("slow", "epsilon=1", store=tmp_path / "m.db", timeout=0.2) as monitor:
        state = monitor.step(hangs, neighbours=(1, 0), version="v1")
    assert (state.word, state.steps, state.failed) == ("failing", 0, 1)
    assert "no run finished within 0.2 s" in str(state)
    assert time.perf_counter() - started < 20  # 1500 runs would take 300 s
