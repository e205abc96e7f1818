"""The scenarios have the published probabilities, and their samplers keep to them."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from benchmarks.scenarios import SCENARIOS, truth

PUBLISHED = {
    "a": (0.5, 0.18394, 0.5, 0.06767),
    "b": (0.18394, 0.06767, 0.23975, 0.07865),
    "c": (None, None, 0.16419, 0.03125),
    "d": (0.0216, 0.0108, 0.0253, 0.0064),
    "e": (0.0, 0.0, 0.221, 0.0),
    "f": (0.0, 0.0, 0.0024, 0.00004),
    "g": (0.2, 0.2, 0.2, 0.2),
    "h": (0.0216, 0.0108, 0.0216, 0.0108),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_exact_probabilities_agree_with_the_published_ones(name: str) -> None:
    for exact, published in zip(astuple(truth(name)), PUBLISHED[name], strict=True):
        if published is not None:
            digits = len(repr(float(published)).partition(".")[2]) if published > 1e-4 else 5
            assert exact == pytest.approx(published, abs=0.51 * 10.0**-digits)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_samplers_keep_to_the_exact_probabilities(name: str) -> None:
    scenario, n = SCENARIOS[name], 40_000
    rng = np.random.default_rng(7)
    sides = [
        (sample, data)
        for sample in (scenario.before, scenario.after)
        for data in (scenario.x, scenario.x_prime)
    ]
    for (sample, data), p in zip(sides, astuple(truth(name)), strict=True):
        outputs = sample(data, n, rng)
        hits = scenario.event(outputs)
        assert len(outputs) == n
        assert hits.shape == (n,)
        assert hits.dtype == np.bool_
        error = math.sqrt(p * (1 - p) / n)
        assert hits.mean() == pytest.approx(p, abs=4.5 * error + 3 / n * (p > 0))


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_only_the_broken_exceed_the_claim_and_only_after(name: str) -> None:
    exact = truth(name)
    assert exact.before <= math.e * exact.before_prime + 1e-12
    assert (exact.after > math.e * exact.after_prime + 1e-12) == SCENARIOS[name].broken


def test_sparse_vector_outputs_end_with_the_first_positive() -> None:
    scenario = SCENARIOS["d"]
    for output in scenario.before(scenario.x, 500, np.random.default_rng(1)):
        assert all(type(answer) is bool for answer in output)
        assert not any(output[:-1])
        assert output[-1] or len(output) == 10
