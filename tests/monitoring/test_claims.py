"""Every kind of claim in both methods: tight noise is spared, too little of it is found."""

from __future__ import annotations

import numpy as np
import pytest

import tollens

CLAIMS = {
    "epsilon=1, delta=0.1270": 0.5,  # the profile of mu = 1 at epsilon 1 is 0.12693...
    "mu=1": 0.5,
    "rho=0.5": 0.5,
    "order=8, epsilon=4": 0.2,  # one order says little about events of large probability
}
"""Claims that a standard deviation of 1 keeps, and one that breaks them visibly."""
METHODS = {
    "learned": {},
    "given": {"events": ["output > 0.5", "output > 1.5"]},
    "brownian": {"method": "brownian", "events": ["output > 0.5"], "small_counts": "warn"},
}


def noisy(scale):
    def mechanism(count, n, rng):
        return count + rng.normal(scale=scale, size=n)

    return tollens.batched(mechanism)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("claim", CLAIMS)
def test_too_little_noise_is_found_and_the_right_noise_spared(tmp_path, claim, method):
    settings = METHODS[method]
    with tollens.Monitor.open(
        "normal", claim, store=tmp_path / "m.db", horizon=20, seed=11, **settings
    ) as monitor:
        for step in range(6):
            state = monitor.step(noisy(1.0), neighbours=(1.0, 0.0), version=f"good{step}")
            assert not state.alarm
        for step in range(6):
            state = monitor.step(noisy(CLAIMS[claim]), neighbours=(1.0, 0.0), version=f"bad{step}")
            if state.alarm:
                break
        assert state.alarm
        assert state.likely_break is not None
        assert abs(state.likely_break.step - 7) <= 2
        verdict = monitor.verdict()
    assert verdict.refuted
    assert verdict.epsilon_lower <= tollens.gaussian(1 / CLAIMS[claim]).epsilon(verdict.delta)
    assert np.isfinite(state.evidence)
    assert tollens.Verdict.from_json(verdict.to_json()).to_json() == verdict.to_json()
