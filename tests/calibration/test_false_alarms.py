"""Claims that hold with nothing to spare are refuted no more often than alpha says.

The short form: few runs of few pairs, at alpha = 0.05. `make calibrate` is the long one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks import calibrate

ALPHA = 0.05
PAIRS = 200

CASES = {case.name: case for case in calibrate._TABLES["false alarms"]}
RUNS = {
    "Laplace, epsilon 1": 80,
    "two-sided geometric, epsilon 1": 80,
    "randomised response, epsilon ln 3": 100,
    "atom of probability 0.001, epsilon 1": 60,
    "normal at (0.5, 0.01)": 40,
    "normal, mu 1": 20,
    "5 noisy counts, epsilon 1": 25,
    "one-hot of 5, epsilon 1": 25,
    "Laplace, epsilon 1, common": 40,
    "randomised response, epsilon ln 3, common": 40,
    "Laplace, epsilon 1, auto": 40,
    "5 noisy counts, epsilon 1, auto": 20,
}


@pytest.mark.parametrize("name", RUNS)
def test_false_alarms(name):
    runs = RUNS[name]
    alarms = sum(
        calibrate.refutes(CASES[name], pairs=PAIRS, seed=(7, run), alpha=ALPHA)
        for run in range(runs)
    )
    assert alarms / runs <= calibrate.limit(runs, ALPHA)


@pytest.mark.parametrize("name", ["Laplace, epsilon 1", "randomised response, epsilon ln 3"])
def test_the_same_laws_are_refuted_where_the_claim_is_too_small(name):
    """The laws of these tests do leak: half the claim is refuted in every run."""
    case = CASES[name]
    smaller = calibrate.tollens.pure(case.pair.epsilon / 2)
    broken = calibrate.Case("half", case.pair, smaller, holds=False)
    assert all(
        calibrate.refutes(broken, pairs=2000, seed=(8, run), alpha=ALPHA) for run in range(5)
    )


JOINT = ("all move", "atom", "histogram", "sparse")
"""Laws whose largest ratio is on an event of several columns, or a rare one."""

PURE = [case for case in calibrate.boundary_cases() if case.claim.leak_delta == 0]


@pytest.mark.parametrize("case", PURE, ids=lambda case: case.name)
def test_the_claims_hold_with_nothing_to_spare(case):
    """In a large sample the ratio of the best interval or value is that of the claim."""
    rng, n = np.random.default_rng(0), 100_000
    x, y = (
        np.asarray(draw(rng, n), dtype=float).reshape(n, -1)
        for draw in (case.pair.x, case.pair.x_prime)
    )
    ratios = []
    for column in range(x.shape[1]):
        for value in np.unique(np.quantile(y[:, column], [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])):
            for event in (np.less_equal, np.equal, np.greater):
                p, q = (float(event(side[:, column], value).mean()) for side in (x, y))
                ratios += [abs(math.log(p / q))] if min(p, q) > 0.0004 else []
    claimed = case.pair.epsilon
    assert max(ratios) <= claimed * 1.05 + 0.2
    if not any(word in case.name for word in JOINT):
        assert max(ratios) >= claimed * 0.9 - 0.02
