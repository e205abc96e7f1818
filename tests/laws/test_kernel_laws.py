"""The kernel audit keeps its error probability; and tests that a test of it could fail."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.kernel import BURN_IN, ROUNDING, SETTINGS, KernelBettor, total_variation
from tollens.auditing.rff import FeatureFunction, gaussian_kernel
from tollens.claim import Promise

ALPHA = 0.05
NAMES = sorted(SETTINGS)


def tight(epsilon, delta, at):
    """A pair of laws on two values on the boundary of (epsilon, delta)-DP, as (2,) arrays.

    `at` runs along p = e^eps q + delta and then along its mirror image; at 1/2 is the corner,
    where the total variation is largest.
    """
    e = math.exp(epsilon)
    q = 2 * min(at, 1 - at) * (1 - delta) / (1 + e)
    p = e * q + delta
    if at > 0.5:
        p, q = 1 - q, 1 - p
    return np.array([p, 1 - p]), np.array([q, 1 - q])


def factors(bettor, values):
    """What the standing bet pays on every pair of values, (k, k)."""
    table = np.zeros((len(values), len(values)))
    for i, v in enumerate(values):
        for j, w in enumerate(values):
            after = copy.deepcopy(bettor)
            path = after.update(np.array([v]), np.array([w]))
            table[i, j] = math.exp(path[0] - bettor.log_value)
    return table


def couplings(p, q):
    """Joint laws of two-valued X and Y: independent, and as equal and unequal as can be."""
    yield np.outer(p, q)
    for low in (min(p[0], q[0]), max(0.0, p[0] + q[0] - 1)):
        yield np.array([[low, p[0] - low], [q[0] - low, 1 - p[0] - q[0] + low]])


@pytest.mark.parametrize("setting", NAMES)
@settings(max_examples=60)
@given(
    st.floats(0.01, 3),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.floats(0, 1),
    st.floats(0.5, 1),
    st.sampled_from([1.0, 30.0, math.nan]),
    st.integers(0, 2**32),
)
def test_the_standing_bet_is_fair_on_the_boundary(setting, epsilon, delta, at, bias, far, seed):
    """All four pairs of two values, enumerated, after a past that taught f to tell them apart."""
    rng = np.random.default_rng(seed)
    n = BURN_IN + 60
    x = np.where(rng.random(n) < bias, far, rng.normal(size=n))
    y = np.where(rng.random(n) < bias, 0.0, rng.normal(size=n))
    bettor = KernelBettor(Promise(epsilon, delta, 0), setting=setting, seed=seed)
    bettor.update(x, y)
    bettor.stake.value = bettor.stake.largest  # the stake that shows an unfair bet best
    paid = factors(bettor, [far, 0.0])
    assert paid.min() >= 0.5 - 1e-9
    for swapped in (False, True):
        laws = tight(epsilon, delta, at)
        for joint in couplings(*(laws[::-1] if swapped else laws)):
            assert joint.min() >= -1e-12
            assert (joint * paid).sum() <= 1 + 1e-10


def random_function(setting, points, rng):
    """The values at `points` of a function of norm r; the first one is the worst for 0 and 1."""
    radius = SETTINGS[setting].radius
    worst = rng.random() < 0.3
    if SETTINGS[setting].features:
        phi = FeatureFunction(points.shape[1], radius, rng).features(points)
        f = phi[0] - phi[1] if worst else rng.normal(size=phi.shape[1])
        return phi @ f * radius / np.linalg.norm(f)
    centers = points if worst else np.concatenate([points, rng.normal(size=(6, points.shape[1]))])
    c = np.zeros(len(centers))
    c[:2] = 1, -1
    c = c if worst else rng.normal(size=len(centers)) * rng.exponential(size=len(centers))
    norm = math.sqrt(max(c @ gaussian_kernel(centers, centers) @ c, 1e-12))
    return gaussian_kernel(points, centers) @ c * radius / norm


def worst_excess(setting, tau_times, trials=400):
    """The largest E f(X) - E f(Y) - tau over random functions and tight laws."""
    chosen = SETTINGS[setting]
    rng = np.random.default_rng(11)
    worst = -math.inf
    for _ in range(trials):
        epsilon, delta = rng.choice([0.1, 1.0, 3.0]), rng.choice([0.0, 0.1])
        p, q = tight(epsilon, delta, rng.choice([0.2, 0.5, 0.7]))
        points = np.zeros((2, rng.integers(1, 4)))
        points[0] = rng.choice([0.3, 1.0, 8.0]) * rng.normal(size=points.shape[1])
        f = random_function(setting, points, rng)
        tau = chosen.margin * total_variation(Promise(epsilon, delta, 0)) + ROUNDING
        worst = max(worst, abs((p - q) @ f) - tau * tau_times)
    return worst


@pytest.mark.parametrize("setting", NAMES)
def test_no_function_of_the_ball_gains_more_than_tau(setting):
    assert worst_excess(setting, 1.0) <= 0.0


@pytest.mark.parametrize(
    ("setting", "times"), [("paper", 0.45), ("better", 0.95), ("features", 0.65)]
)
def test_a_smaller_tau_would_be_found_out(setting, times):
    assert worst_excess(setting, times) > 0.0


@pytest.mark.parametrize("setting", NAMES)
def test_false_alarms_where_the_promise_is_just_kept(setting):
    runs, pairs = 300, 150
    alarms = 0
    for run in range(runs):
        rng = np.random.default_rng([run, 1])
        x, y = 1 + rng.laplace(scale=10.0, size=pairs), rng.laplace(scale=10.0, size=pairs)
        path = KernelBettor(tollens.pure(0.1), setting=setting, seed=run).update(x, y)
        alarms += path.max() >= math.log(1 / ALPHA)
    assert alarms / runs <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)


@pytest.mark.parametrize("setting", NAMES)
def test_false_alarms_at_the_corner_with_a_function_that_knows(setting):
    """The hardest true promise: far values, f taught to tell them apart, the largest stake kept."""
    runs, pairs, alarms = 300, 120, 0
    p, q = tight(0.1, 0.0, 0.5)
    for run in range(runs):
        rng = np.random.default_rng([run, 2])
        bettor = KernelBettor(tollens.pure(0.1), setting=setting, seed=run)
        bettor.update(np.where(np.arange(60) % 2, 30.0, rng.normal(size=60)), np.zeros(60))
        bettor.stake.value, start = bettor.stake.largest, bettor.log_value
        x = np.where(rng.random(pairs) < p[0], 30.0, 0.0)
        y = np.where(rng.random(pairs) < q[0], 30.0, 0.0)
        alarms += bettor.update(x, y).max() - start >= math.log(1 / ALPHA)
    assert alarms / runs <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)


@pytest.mark.parametrize("setting", NAMES)
def test_too_little_noise_is_rejected_and_the_right_one_is_not(setting):
    """A tenth of the noise: the leak is 1 instead of 0.1 (half of the noise is below its means)."""
    for scale, broken in ((1.0, True), (10.0, False)):
        rng = np.random.default_rng(3)
        x, y = 1 + rng.laplace(scale=scale, size=2500), rng.laplace(scale=scale, size=2500)
        path = KernelBettor(tollens.pure(0.1), setting=setting).update(x, y)
        assert (path.max() >= math.log(1e6)) == broken
