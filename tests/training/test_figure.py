"""The picture of a report: it stands alone, and what it shows is what the report says."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tollens.report.figures.canvas import stairs, ticks
from tollens.report.training_figure import training_svg
from tollens.rounding import down
from tollens.training.parts.part import Finding
from tollens.training.step_audit import StepAudit

SVG = "{http://www.w3.org/2000/svg}"


class Account:
    """Epsilon grows with the steps and the signal."""

    name, compared_by = "Fine", "Toy & Sons"

    def epsilon(self, noise_multiplier, steps, delta):
        return steps / 100 / noise_multiplier

    def printed(self, delta):
        return 0.6


@pytest.fixture(scope="module")
def report():
    audit, rng = StepAudit(1.0, account=Account(), name="a <b> & c"), np.random.default_rng(0)
    for noise in rng.normal(0.0, 0.4, 120):
        audit.update(with_canary=1.0 + noise, without_canary=noise)
    assert audit.refuted_at is not None
    return audit.report()


def texts(picture):
    return [
        " ".join(node.itertext()) for node in ElementTree.fromstring(picture).iter(f"{SVG}text")
    ]


def lines(picture):
    """The points of the lines of a picture by their kind, in order."""
    found = ElementTree.fromstring(picture).iter(f"{SVG}polyline")
    return [
        (line.get("class"), [tuple(map(float, p.split(","))) for p in line.get("points").split()])
        for line in found
    ]


def test_it_stands_alone(report):
    picture = training_svg(report)
    assert "prefers-color-scheme:dark" in picture
    assert not re.search(r"<script|href|@import|url\(", picture)
    assert len(picture) < 20_000
    assert set(re.findall(r"https?://[^\"]*", picture)) == {"http://www.w3.org/2000/svg"}


def test_it_says_what_the_report_says(report):
    shown = texts(training_svg(report))
    assert "a <b> & c, 120 steps:  REFUTED" in shown
    assert f"step {report.refuted_at}: projection" in shown
    assert down(report.mu_lower, 3) in shown and "1" in shown
    assert "promised, by Toy & Sons" in shown and f"{report.run.points[-1][1]:.4g}" in shown


def test_higher_values_are_drawn_higher_and_the_bound_never_falls(report):
    (said, promise), (shown, bound), *run = lines(training_svg(report))
    assert (said, shown) == ("said", "shown") and [kind for kind, _ in run] == ["said", "shown"]
    assert bound[0][0] == promise[0][0] and bound[-1][0] == promise[-1][0]
    heights = [y for _, y in bound]
    assert heights == sorted(heights, reverse=True)
    assert (heights[-1] < promise[-1][1]) == (report.mu_lower > 1)
    assert run[1][1][-1][1] < run[0][1][-1][1]


def test_without_an_accountant_there_is_one_panel(report):
    alone = training_svg(replace(report, run=None))
    assert len(lines(alone)) == 2 and "delta" not in alone


@pytest.mark.parametrize("value", [math.inf, math.nan, 0.0, 1e9])
def test_numbers_of_an_accountant_that_cannot_be_drawn(report, value):
    run = replace(report.run, points=((60, 1.0, 0.2), (120, value, value)))
    picture = training_svg(replace(report, run=run))
    assert all(math.isfinite(v) for _, line in lines(picture) for point in line for v in point)


@pytest.mark.parametrize("steps", [0, 1, 2, 1500])
def test_any_number_of_steps(steps):
    audit = StepAudit(2.0)
    for _ in range(steps):
        audit.update(with_canary=0.0, without_canary=0.0)
    picture = training_svg(audit.report())
    assert f"{steps:,} steps" in texts(picture)[0]
    assert "UNREFUTED" in picture or not steps


def test_a_fault_before_the_first_step_is_named():
    audit = StepAudit(1.0)
    audit.add(Finding("batch size", "fault", 0, "a text", "nothing"))
    audit.update(batch_size=3)
    picture = training_svg(audit.report())
    assert "before the first step: batch size" in texts(picture)


def test_stairs_are_drawn_by_their_corners():
    points = [(0.0, 0.0), (1.0, 0.0), (1.0, 0.0), (2.0, 3.0), (3.0, 3.0), (4.0, 3.0)]
    assert stairs(points) == [(0.0, 0.0), (2.0, 0.0), (2.0, 3.0), (4.0, 3.0)]


@pytest.mark.parametrize("most", [1e-3, 0.7, 1.0, 3.3, 12, 299, 300, 301, 5e6])
def test_ticks_reach_the_largest_value_and_are_few(most):
    found = ticks(0.0, most, 5)
    assert found[0] == 0 and found[-2] < most <= found[-1] * (1 + 1e-9) and len(found) <= 8
