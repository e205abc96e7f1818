"""The excess that a verdict calls detectable is detected nine times in ten by real audits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tollens
from tollens.auditing.power import detectable_excess

RUNS = 200
PAIRS = 250


def response(epsilon):
    truth = 1 / (1 + math.exp(-epsilon))
    return tollens.batched(lambda bit, n, rng: (rng.random(n) < truth) == bit)


def refuted_share(claim, epsilon, alpha, pairs=PAIRS, runs=RUNS):
    verdicts = (
        tollens.audit(
            response(epsilon),
            claim,
            neighbours=(True, False),
            budget=pairs,
            alpha=alpha,
            seed=seed,
            coupling="independent",
        )
        for seed in range(runs)
    )
    return float(np.mean([verdict.refuted for verdict in verdicts]))


@pytest.mark.parametrize(
    "claim, alpha",
    [(tollens.pure(1), 0.05), (tollens.pure(0.2), 1e-6), (tollens.approx(1, 0.01), 0.05)],
    ids=str,
)
def test_the_stated_excess_is_found_nine_times_in_ten(claim, alpha):
    excess = detectable_excess(claim, alpha, PAIRS)
    assert math.isfinite(excess)
    assert 0.85 <= refuted_share(claim, excess, alpha) <= 0.99


def test_a_curved_claim_errs_on_the_large_side():
    claim = tollens.gaussian(0.5)
    excess = detectable_excess(claim, 0.05, 200)
    assert refuted_share(claim, excess, 0.05, pairs=200, runs=60) >= 0.8


def test_half_the_excess_is_not_found_as_often():
    claim = tollens.pure(1)
    half = 1 + (detectable_excess(claim, 0.05, PAIRS) - 1) / 2
    assert refuted_share(claim, half, 0.05, runs=60) <= 0.6


def test_verdicts_state_it():
    verdict = tollens.audit(
        response(1.0), "epsilon=1", neighbours=(True, False), budget=PAIRS, alpha=0.05, seed=1,
        coupling="independent",
    )  # fmt: skip
    assert verdict.detectable_excess == detectable_excess(tollens.pure(1), 0.05, PAIRS)
    assert f"{verdict.detectable_excess:.4g}" in str(verdict)
