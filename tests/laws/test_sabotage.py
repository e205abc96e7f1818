"""Tests of the test: a little too little noise must be found, the right amount must not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tollens
from tollens.auditing.experts import SLOTS
from tollens.auditing.product import FAVOURITE
from tollens.auditing.sequential import BURN_IN

SABOTAGE = 0.7
SEEDS = range(3)


def laplace(scale):
    return lambda rows, n, rng: len(rows) + rng.laplace(scale=scale, size=n)


def geometric(scale):
    p = 1 - math.exp(-1 / scale)
    return lambda rows, n, rng: len(rows) + rng.geometric(p, n) - rng.geometric(p, n)


def normal(scale):
    return lambda rows, n, rng: len(rows) + rng.normal(scale=scale, size=n)


def response(scale):
    truth = 1 / (1 + math.exp(-1 / scale))
    return lambda rows, n, rng: (rng.random(n) < truth) == (len(rows) > 1)


def histogram(scale):
    def draw(rows, n, rng):
        return len(rows) * np.eye(4)[1] + rng.laplace(scale=scale, size=(n, 4))

    return draw


def noisy_max(scale):
    def draw(rows, n, rng):
        scores = np.array([len(rows), 3.0 - len(rows), 1.0])
        return np.argmax(scores + rng.exponential(scale=2 * scale, size=(n, 3)), axis=1)

    return draw


CASES = {
    "laplace": (laplace, "epsilon=1"),
    "geometric": (geometric, "epsilon=1"),
    "response": (response, "epsilon=1"),
    "histogram": (histogram, "epsilon=1"),
    "normal, mu": (normal, "mu=1"),
    "normal, rho": (normal, "rho=0.5"),
    "normal, delta": (normal, f"epsilon=1, delta={tollens.gaussian(1).delta(1)!r}"),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_too_little_noise_is_found(name, seed):
    make, claim = CASES[name]
    verdict = tollens.audit(
        tollens.batched(make(SABOTAGE)),
        claim,
        neighbours=([1, 1], [1]),
        seed=seed,
        alpha=1e-3,
        budget=20_000,
    )
    assert verdict.outcome is tollens.Outcome.REFUTED
    assert verdict.witness is not None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*CASES, "noisy max"])
def test_the_right_noise_is_not(name, seed):
    make, claim = {**CASES, "noisy max": (noisy_max, "epsilon=1")}[name]
    verdict = tollens.audit(
        tollens.batched(make(1.0)),
        claim,
        neighbours=([1, 1], [1]),
        seed=seed,
        alpha=1e-3,
        budget=3000,
    )
    assert verdict.outcome is tollens.Outcome.UNREFUTED


def test_a_gambler_who_forgets_to_certify_would_be_caught(monkeypatch):
    """If bets were not scaled to be fair, the tests of fairness would see it."""
    import tollens.auditing.experts as experts

    monkeypatch.setattr(experts, "certify", lambda factors, worst, total=2.0: factors)
    monkeypatch.setattr(
        experts,
        "project_pure",
        lambda p, q, epsilon, steps=0: experts.Factors(
            np.broadcast_to(1.05, np.broadcast_shapes(p.shape, epsilon[..., None].shape)),
            np.broadcast_to(1.05, np.broadcast_shapes(p.shape, epsilon[..., None].shape)),
        ),
    )
    rng = np.random.default_rng(0)
    audit = tollens.Audit("epsilon=1", alpha=0.05)
    audit.update(rng.normal(size=300), rng.normal(size=300))
    assert audit.refuted


def test_all_bettors_start_equal_and_the_favourite_waits_for_outputs_of_several_numbers():
    audit = tollens.Audit("epsilon=1")
    shares = audit.verdict().evidence.shares
    assert list(shares) == [*SLOTS, "favourite"]
    assert list(shares.values()) == pytest.approx([1 / len(SLOTS)] * len(SLOTS) + [0.0])
    rng = np.random.default_rng(0)
    audit.update(rng.normal(size=BURN_IN), rng.normal(size=BURN_IN))
    assert audit.verdict().evidence.shares["favourite"] == 0
    several = tollens.Audit("epsilon=1")
    several.update(rng.normal(size=(BURN_IN, 3)), rng.normal(size=(BURN_IN, 3)))
    shares = several.verdict().evidence.shares
    half = [(1 - FAVOURITE) / len(SLOTS)] * len(SLOTS)
    assert list(shares.values()) == pytest.approx([*half, FAVOURITE])
