"""Counts too small for the normal approximation are found, with numbers that were measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.sections.monitor_brownian import level_rows

import tollens
from tollens.contract import Promise
from tollens.monitoring.brownian.small_counts import CountFinding, drift, warnings
from tollens.monitoring.brownian.statistic import begin, take, threshold

PURE = tollens.pure(1).promises()
LIMIT = threshold(0.05, 1, beta=0.25, horizon=100)


def _found(p_prime: float, n: int, steps: int = 5, seed: int = 1) -> tuple[CountFinding, ...]:
    rng, state = np.random.default_rng(seed), begin(["E"], 100)
    for _ in range(steps):
        x, y = rng.binomial(n, math.e * p_prime), rng.binomial(n, p_prime)
        state, _ = take(state, {"E": (int(x), int(y))}, n, PURE)
    return warnings(state, LIMIT, PURE)


def test_the_expected_level_is_the_measured_one_up_to_twice_alpha() -> None:
    for row in level_rows(runs=4000, seed=2):
        if row.expected <= 0.11:
            error = math.sqrt(row.alarms * (1 - row.alarms) / row.runs)
            assert row.expected == pytest.approx(row.alarms, rel=0.2, abs=3 * error)
        else:
            # refused: too often wrong, or so rare that nothing is known
            assert row.alarms > 0.1 or row.n * row.p_prime < 1


@pytest.mark.parametrize(
    ("p_prime", "n", "kind"),
    [
        (0.3, 20_000, "fine"),
        (0.2, 750, "warned"),
        (0.1, 750, "warned"),
        (0.02, 750, "refused"),
        (0.001, 750, "refused"),
        (0.0001, 750, "refused"),
        (0.1, 200, "refused"),
        (0.1, 2000, "warned"),
    ],
)
def test_warned_or_refused(p_prime: float, n: int, kind: str) -> None:
    found = _found(p_prime, n)
    seen = "fine" if not found else "refused" if found[0].refuse else "warned"
    assert seen == kind
    if found:
        assert str(found[0].runs_needed) in found[0].text
        assert "'E'" in found[0].text


def test_the_runs_needed_are_enough() -> None:
    [finding] = _found(0.1, 750, steps=50)
    assert _found(0.1, int(1.2 * finding.runs_needed), steps=50) == ()


def test_no_hit_at_all_is_refused_and_no_step_says_nothing() -> None:
    state = begin(["E"], 100)
    assert warnings(state, LIMIT, PURE) == ()
    state, _ = take(state, {"E": (0, 0)}, 750, PURE)
    [finding] = warnings(state, LIMIT, PURE)
    assert finding.refuse


def test_without_a_factor_there_is_no_bias() -> None:
    promises = tollens.pure(0).promises()
    state, _ = take(begin(["E"], 100), {"E": (20, 20)}, 750, promises)
    assert warnings(state, LIMIT, promises) == ()


@pytest.mark.parametrize(
    ("p_prime", "delta"), [(0.1, 0.0), (0.05, 0.0), (0.02, 0.05), (0.001, 0.05)]
)
def test_the_drift_is_the_mean_of_the_ratio(p_prime: float, delta: float) -> None:
    from tollens.monitoring.brownian.statistic import ratios

    rng, n = np.random.default_rng(3), 2000
    x = rng.binomial(n, math.e * p_prime + delta, 400_000)
    y = rng.binomial(n, p_prime, 400_000)
    mean = ratios(x, y, n, 1.0, delta).mean()
    assert drift(p_prime, n, Promise(1.0, delta, 1), 1) == pytest.approx(mean, rel=0.1, abs=0.007)


def test_a_share_of_several_events_is_judged_by_its_own_threshold() -> None:
    state, _ = take(begin(["E"], 100), {"E": (204, 75)}, 750, PURE)
    [one] = warnings(state, LIMIT, PURE)
    [four] = warnings(state, threshold(0.05, 4, beta=0.25, horizon=100), PURE)
    assert four.level / four.alpha > one.level / one.alpha
