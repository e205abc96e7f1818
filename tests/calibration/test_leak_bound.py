"""`epsilon_lower` exceeds the true epsilon, at any time, no more often than alpha says."""

from __future__ import annotations

import pytest
from benchmarks import calibrate

ALPHA = 0.05
PAIRS = 250

CASES = {case.name: case for case in calibrate.leak_cases()}
RUNS = {
    "randomised response, true 1, claim 0.25": 40,
    "randomised response, true 1, claim 1": 60,
    "randomised response, true 1, claim 3": 20,
    "Laplace, true 1, claim 0.25": 20,
    "Laplace, true 1, claim 3": 15,
    "normal, true (0.5, 0.01), claim 0.1": 20,
    "Laplace, true 1, claim 0.25, common": 20,
}


@pytest.mark.parametrize("name", RUNS)
def test_overstated_leaks(name):
    case, runs = CASES[name], RUNS[name]
    found = [
        calibrate.overstates(case, pairs=PAIRS, seed=(9, run), alpha=ALPHA) for run in range(runs)
    ]
    assert sum(exceeded for _, exceeded in found) / runs <= calibrate.limit(runs, ALPHA)
    if not case.holds and case.pair.delta == 0:
        assert sum(refuted for refuted, _ in found) >= 0.9 * runs
    if case.holds:
        assert sum(refuted for refuted, _ in found) / runs <= calibrate.limit(runs, ALPHA)


def test_claims_above_the_truth_pay_for_the_bound_with_a_fiftieth_of_alpha():
    """Far above the truth no run refutes, and the bound has only its own share to err with."""
    case = CASES["randomised response, true 1, claim 3"]
    found = [
        calibrate.overstates(case, pairs=PAIRS, seed=(10, run), alpha=0.999) for run in range(40)
    ]
    exceeded = sum(exceeded for _, exceeded in found) / 40
    assert exceeded <= calibrate.limit(40, 0.02)
