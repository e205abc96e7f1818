"""The line that shows an audit of training as it goes."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

from tollens.report.training_line import TrainingLine
from tollens.training.step_audit import StepAudit


def train(line, *, spread, steps=30):
    audit, rng = StepAudit(1.0, progress=line), np.random.default_rng(0)
    for _ in range(steps):
        noise = rng.normal(0, spread, 100)
        audit.update(with_canary=1 + noise[0], without_canary=noise[0], residual=noise)
    line.close()
    return audit


def shown(*, terminal, spread):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=200, highlight=False)
    train(TrainingLine(console), spread=spread)
    return out.getvalue()


def test_each_finding_is_told_once_and_nothing_else_off_a_terminal():
    text = shown(terminal=False, spread=0.5)
    assert text.count("fault in step 1, noise scale") == 1
    assert all(line.startswith("tollens: ") for line in text.splitlines())
    assert "\x1b" not in text
    assert shown(terminal=False, spread=1.0) == ""


def test_on_a_terminal_one_line_changes_and_is_gone_in_the_end():
    text = shown(terminal=True, spread=0.5)
    assert "BROKEN" in text and "step 1: wealth x" in text
    assert "\x1b[2K" in text  # a line that is taken away
    assert shown(terminal=True, spread=1.0).count("\n") <= 3


def test_closing_twice_or_before_the_first_step_is_harmless():
    shown = io.StringIO()
    line = TrainingLine(Console(file=shown))
    line.close()
    line.close()
    assert shown.getvalue() == ""
