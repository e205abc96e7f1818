"""Figures: what they show is what the verdict says, and nothing of a text is markup."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import tollens
from tollens.report.figures import canvas
from tollens.report.figures.drawn import history_figure, notebook_figures, verdict_figures
from tollens.report.figures.outputs import outputs_svg
from tollens.report.figures.region import allowed, interval, region_svg
from tollens.report.figures.series import SeriesPoint, series_svg
from tollens.report.figures.wealth import wealth_svg

from .conftest import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
CLAIMS = [
    tollens.pure("ln 3"),
    tollens.pure(0),
    tollens.approx(1, 0.05),
    tollens.approx(1, 0.05, ordered=True),
    tollens.gaussian(1),
    tollens.zcdp(0.3),
    tollens.renyi(4, 0.5),
    tollens.tradeoff(lambda a: max(0.0, 1 - 3 * a, (1 - a) / 3)),
]


def texts(svg):
    return [" ".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def shapes(svg, tag, kind=None):
    found = ElementTree.fromstring(svg).iter(f"{SVG}{tag}")
    return [node for node in found if kind is None or node.get("class") == kind]


def corners(node):
    return [tuple(map(float, p.split(","))) for p in node.get("points").split()]


def is_allowed(claim, p, q, slack):
    """Whether no direction separates the pair from the region, by the support alone."""
    ratios = np.concatenate([[0.0], np.exp(np.linspace(-14, 14, 1401))])
    for a, b in ((p, q), (1 - p, 1 - q)):
        if any(a - r * b > claim.support(1.0, r) + slack for r in ratios.tolist()):
            return False
    return True


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_region_is_what_no_direction_of_the_support_excludes(claim):
    rng = np.random.default_rng(5)
    for p, q in rng.random((24, 2)).tolist():
        low, high = (float(side[0]) for side in allowed(claim, np.array([q])))
        margin = min(abs(p - low), abs(p - high))
        if margin > 0.01:  # the grid of ratios is finite on both sides
            assert (low <= p <= high) == is_allowed(claim, p, q, 1e-9), (p, q)


def test_a_claim_of_no_leak_allows_the_diagonal_only():
    low, high = allowed(tollens.pure(0), np.array([0.0, 0.3, 1.0]))
    assert np.allclose(low, [0, 0.3, 1]) and np.allclose(high, [0, 0.3, 1])


def inside(point, polygon):
    """Whether a point lies in a polygon, by its crossings."""
    x, y = point
    crossed = False
    for (ax, ay), (bx, by) in itertools.pairwise([*polygon, polygon[0]]):
        if (ay > y) != (by > y) and x < ax + (bx - ax) * (y - ay) / (by - ay):
            crossed = not crossed
    return crossed


@pytest.mark.parametrize("name", ["refuted", "gaussian", "raises", "proved"])
def test_the_witness_is_drawn_outside_of_what_the_claim_allows(verdicts, name):
    svg = region_svg(verdicts[name])
    (area,), (dot,) = shapes(svg, "polygon", "allowed"), shapes(svg, "circle")
    assert not inside((float(dot.get("cx")), float(dot.get("cy"))), corners(area))
    (box,) = shapes(svg, "rect", "box")
    if name == "proved":
        x, y, wide, high = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        ends = [(x + 1, y + 1), (x + wide - 1, y + 1), (x + 1, y + high - 1)]
        assert not any(inside(end, corners(area)) for end in ends)
        assert any("proved" in text for text in texts(svg))
    else:
        assert any("not corrected for its choice" in text for text in texts(svg))


def test_intervals_are_those_of_clopper_and_pearson():
    from scipy.stats import binomtest

    for seen, runs in ((0, 7), (3, 40), (40, 40), (517, 1000)):
        exact = binomtest(seen, runs).proportion_ci(0.95, method="exact")
        assert interval(seen / runs, runs) == pytest.approx((exact.low, exact.high))


def test_wealth_crosses_its_line_where_the_verdict_says(verdicts):
    verdict = verdicts["refuted"]
    svg = wealth_svg(verdict)
    (line,) = shapes(svg, "polyline", "shown")
    (said,) = shapes(svg, "polyline", "said")
    threshold = corners(said)[0][1]
    above = [y for _, y in corners(line)]
    assert min(above) <= threshold + 0.1 and sum(y <= threshold + 0.1 for y in above) == 1
    assert f"refuted at pair {verdict.evidence.crossed_at:,}" in texts(svg)
    assert region_svg(verdicts["kept"]) is None and wealth_svg(verdicts["proved"]) is None


def test_bars_have_the_heights_of_the_counts(verdicts):
    tally = verdicts["refuted"].tally
    svg = outputs_svg(verdicts["refuted"])
    drawn = {}
    for kind in ("one", "one-weak", "other", "other-weak"):
        (path,) = shapes(svg, "path", kind)
        drawn[kind] = sum(abs(float(v)) for v in re.findall(r"v(-?[\d.]+)", path.get("d")))
    for strong, side in (("one", tally.x), ("other", tally.x_prime)):
        share = drawn[strong] / (drawn[strong] + drawn[f"{strong}-weak"])
        assert share == pytest.approx(sum(side.inside) / sum(side.bins), abs=0.02)
    named = outputs_svg(verdicts["raises"])
    assert any("raises ValueError" in text for text in texts(named))


@pytest.mark.parametrize("name", ["refuted", "kept", "gaussian", "raises", "undecided", "proved"])
def test_every_figure_stands_alone_and_has_no_ids(verdicts, name):
    verdict = verdicts[name]
    if not verdict.exact:  # a proof is about the mechanism that it names
        verdict = dataclasses.replace(verdict, mechanism=HOSTILE)
    for svg in verdict_figures(verdict):
        root = ElementTree.fromstring(svg)
        assert root.find(f"{SVG}title").text and root.get("role") == "img"
        assert not [node for node in root.iter() if node.get("id")]
        assert not re.search(r"<script|href|@import|url\(|style=\"", svg)
        assert set(re.findall(r"https?://[^\"]*", svg)) == {"http://www.w3.org/2000/svg"}
        assert len(svg) < 9000


def points(n, evidence=lambda i: 0.0):
    return [SeriesPoint(i, f"v{i}", evidence(i), 0.0) for i in range(1, n + 1)]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 299, 100_000])
def test_series_of_any_length_are_small(n):
    svg = series_svg(points(n), threshold=3.0, title=HOSTILE)
    assert len(svg) < 20_000
    assert ElementTree.fromstring(svg).find(f"{SVG}desc").text


def test_the_one_step_that_stands_out_is_drawn_in_a_long_series():
    svg = series_svg(points(50_000, lambda i: 9.0 * (i == 31_234)), threshold=3.0, alarms=[31_234])
    (line,) = shapes(svg, "polyline", "shown")[:1]
    (threshold,) = shapes(svg, "polyline", "said")
    assert min(y for _, y in corners(line)) < corners(threshold)[0][1]
    assert "alarm at step 31,234" in texts(svg)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, -1e300, 0.0])
def test_evidence_that_cannot_be_drawn(value):
    svg = series_svg(points(5, lambda i: value), threshold=3.0)
    assert all(
        math.isfinite(v) for line in shapes(svg, "polyline") if line.get("points")
        for corner in corners(line) for v in corner
    )  # fmt: skip


def test_a_history_shows_its_alarm_and_what_could_not_be_scored(history):
    svg = history_figure(history)
    assert "alarm at step 46" in texts(svg) and "could not be scored" in texts(svg)
    assert len(shapes(svg, "rect", "likely")) == 2
    assert "v40" in " ".join(texts(svg))
    assert history_figure(dataclasses.replace(history, rows=())) is None


def test_notebooks_show_the_table_and_the_figures(verdicts, history):
    shown = verdicts["refuted"]._repr_html_()
    assert shown.startswith("<table>") and shown.count("<svg") == 3
    assert history._repr_html_().count("<svg") == 1
    assert notebook_figures(verdicts["undecided"]).count("<svg") <= 2


@pytest.mark.parametrize("most", [4, 40, 300])
def test_thinning_keeps_the_ends_and_the_extremes(most):
    values = np.random.default_rng(0).normal(size=5000)
    line = list(enumerate(values.tolist()))
    kept = canvas.thinned(line, most)
    assert len(kept) <= most and kept == sorted(kept)
    assert {line[0], line[-1], min(line, key=lambda p: p[1]), max(line, key=lambda p: p[1])} <= set(
        kept
    )
