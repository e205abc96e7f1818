"""The physical limits that benchmarks compare with, against closed forms and each other."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from benchmarks import bench, harness, limits, mechanisms
from benchmarks.sections import SECTIONS

import tollens
from tollens.zoo import get


@pytest.mark.parametrize(
    "module", [harness, limits, mechanisms, *SECTIONS.values()], ids=lambda module: module.__name__
)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("claimed, true", [(0.1, 0.2), (1.0, 2.0), (4.0, 8.0)])
def test_the_mixture_of_events_reaches_the_projection(claimed, true):
    p, q = limits.laplace_pair(true, 200)
    both = [limits._Inequality(math.exp(claimed), 0.0, swapped) for swapped in (False, True)]
    exact = limits.divergence(p, q, tollens.pure(claimed))
    assert limits._mixture(p, q, both) == pytest.approx(exact, rel=3e-3)


def test_two_cells_by_hand():
    """Randomised response against (epsilon, delta): the nearest pair lies on the boundary."""
    p, q, e, delta = 0.8, 0.2, math.exp(0.5), 0.05
    grid = np.linspace(1e-4, (1 - delta) / e - 1e-4, 200_001)
    on_line = e * grid + delta
    far = p * np.log(p / on_line) + (1 - p) * np.log((1 - p) / (1 - on_line))
    far += q * np.log(q / grid) + (1 - q) * np.log((1 - q) / (1 - grid))
    # both orders bind at once here, so that the answer is symmetric: p' = 1 - q'
    both = (e + delta) / (1 + e)
    symmetric = 2 * (p * math.log(p / both) + q * math.log(q / (1 - both)))
    masses = np.array([p, 1 - p]), np.array([q, 1 - q])
    star = limits.divergence(*masses, tollens.approx(0.5, delta))
    assert star == pytest.approx(symmetric, rel=3e-3)
    one_order = limits.divergence(*masses, tollens.approx(0.5, delta, ordered=True))
    assert one_order == pytest.approx(float(far.min()), rel=3e-3)
    assert one_order <= star * 1.003


def test_no_limit_where_the_claim_holds():
    for claim in (tollens.gaussian(1.0), tollens.approx(1, 0.2)):
        assert limits.law_limit(*limits.gaussian_pair(1.0, 100), claim, 0.05) > 1e5


def test_certifiable_rises_to_the_truth_and_stays_finite():
    masses = limits.entry_masses(get("rr-tight"))
    few, many = (limits.certifiable(*masses, 0.0, pairs, 0.05) for pairs in (1000, 10**7))
    assert few < many < math.log(3)
    assert many == pytest.approx(math.log(3), rel=5e-3)
    assert limits.certifiable(*limits.entry_masses(get("svt5")), 0.0, 10**5, 0.05) < 12


def test_masses_agree_with_draws():
    rng = np.random.default_rng(0)
    data, n = (2, 2, 2, 2, 0), 100_000
    masses = mechanisms.laplace_max_masses(data)
    drawn = np.bincount(mechanisms.laplace_max_index(data, n, rng), minlength=5) / n
    assert np.abs(masses - drawn).max() < 0.01
    edges = np.concatenate([np.linspace(0.0, 4.0, 81), np.linspace(4.5, 60.0, 112)])
    cells = np.searchsorted(edges, mechanisms.exponential_max(data, n, rng))
    drawn = np.bincount(cells, minlength=len(edges) + 1) / n
    assert np.abs(mechanisms.exponential_max_masses(data) - drawn).max() < 0.01


def test_results_are_kept_section_by_section(tmp_path):
    rows = [harness.pairs_row("a", [harness.Found(10, True)], at_most=5, APT=7)]
    section = {"rows": [row.to_json() for row in rows]}
    bench.write({"coupling": section}, tmp_path)
    assert bench.earlier(tmp_path) == {"coupling": section}
    text = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "0 of 1 targets are met" in text
    assert "| a | 10 | 10 | 1 of 1 | 7 | mean ≤ 5 | **no** |" in text
