"""The excess that a verdict calls detectable is detected nine times in ten by real audits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tollens
from tollens.auditing.power import detectable_excess

PAIRS = 150


def response(epsilon, answer, n, rng):
    """Randomised response: n answers, true with probability e^epsilon / (1 + e^epsilon)."""
    return (rng.random(n) < 1 / (1 + math.exp(-epsilon))) == answer


def refuted_share(claim, epsilon, alpha, pairs=PAIRS, runs=200):
    refuted = 0
    for run in range(runs):
        rng = np.random.default_rng([4, run])
        audit = tollens.Audit(claim, alpha=alpha)
        audit.update(*(response(epsilon, answer, pairs, rng) for answer in (True, False)))
        refuted += audit.refuted
    return refuted / runs


@pytest.mark.parametrize(
    "claim, alpha, runs",
    [
        (tollens.pure(1), 0.05, 100),
        (tollens.pure(0.2), 1e-6, 100),
        (tollens.approx(1, 0.01), 0.05, 60),
    ],
    ids=str,
)
def test_the_stated_excess_is_found_nine_times_in_ten(claim, alpha, runs):
    excess = detectable_excess(claim, alpha, PAIRS)
    assert math.isfinite(excess)
    assert 0.85 <= refuted_share(claim, excess, alpha, runs=runs) <= 0.99


def test_a_curved_claim_errs_on_the_large_side():
    claim = tollens.gaussian(0.5)
    excess = detectable_excess(claim, 0.05, 120)
    assert refuted_share(claim, excess, 0.05, pairs=120, runs=30) >= 0.8


def test_half_the_excess_is_not_found_as_often():
    claim = tollens.pure(1)
    half = 1 + (detectable_excess(claim, 0.05, PAIRS) - 1) / 2
    assert refuted_share(claim, half, 0.05, runs=40) <= 0.6


def test_verdicts_state_it():
    verdict = tollens.audit(
        tollens.batched(lambda answer, n, rng: response(1.0, answer, n, rng)),
        "epsilon=1",
        neighbours=(True, False),
        budget=PAIRS,
        alpha=0.05,
        seed=1,
        coupling="independent",
    )
    assert verdict.detectable_excess == pytest.approx(
        detectable_excess(tollens.pure(1), verdict.evidence.level, PAIRS)
    )
    assert "nine times in ten" in str(verdict)
