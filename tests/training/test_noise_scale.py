"""The bet on the scale of noise: fair at and beyond the promise, quick where noise is too small."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tollens.training.parts.noise_scale import ALTERNATIVES, LOG_SHARES, NoiseScale
from tollens.training.parts.reading import Reading


def chance(runs, alpha):
    """The largest number of runs in which an event of probability alpha may happen here."""
    return runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))


def fed(residuals, sensitivities=None):
    scale, path = NoiseScale(), []
    for t, residual in enumerate(residuals):
        sensitivity = None if sensitivities is None else sensitivities[t]
        scale.update(Reading(residual=residual, sensitivity=sensitivity))
        path.append(scale.log_e_value)
    return scale, path


def wealth_by_definition(residuals):
    """The mixture over ratios and first steps, each density summed up by itself."""
    scores = np.array([
        [stats.norm(0, k).logpdf(r).sum() - stats.norm(0, 1).logpdf(r).sum() for k in ALTERNATIVES]
        for r in residuals
    ])  # fmt: skip
    steps = len(residuals)
    total = 1 / (steps + 1)
    for first in range(steps):
        products = np.exp(scores[first:].sum(axis=0))
        total += (np.exp(LOG_SHARES) @ products) / ((first + 1) * (first + 2))
    return math.log(total)


@pytest.mark.parametrize(("n", "steps", "ratio"), [(1, 1, 1.0), (3, 5, 0.7), (20, 8, 1.2)])
def test_the_wealth_is_that_of_the_definition(n, steps, ratio):
    residuals = ratio * np.random.default_rng(n).normal(size=(steps, n))
    _, path = fed(residuals)
    expected = [wealth_by_definition(residuals[: t + 1]) for t in range(steps)]
    assert path == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_the_expectation_of_the_first_step_is_at_most_one(n, ratio):
    def integrand(root):
        scale = NoiseScale()
        scale.update(Reading(residual=np.append(root, np.zeros(n - 1))))
        return math.exp(scale.log_e_value) * stats.chi(n, scale=ratio).pdf(root)

    cuts = [1e-9, 0.02, 0.1, 0.3, 1.0, 3.0, 20.0]
    found = sum(quad(integrand, a, b, limit=200)[0] for a, b in pairwise(cuts))
    exact = 0.5 + 0.5 * np.exp(LOG_SHARES) @ (
        (ALTERNATIVES**2 + (1 - ALTERNATIVES**2) * ratio**2) ** (-n / 2)
    )
    assert found == pytest.approx(exact, abs=1e-5)
    assert exact <= 1.0 + 1e-12
    assert ratio > 1.0 or exact == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "steps", "runs"), [(1, 40, 2000), (3, 40, 2000), (200, 25, 2000)])
def test_noise_as_promised_is_rarely_called_too_small(n, steps, runs):
    rng = np.random.default_rng(n)
    highest = np.array([max(fed(rng.normal(size=(steps, n)))[1]) for _ in range(runs)])
    for alpha in (0.05, 0.2):
        assert np.sum(highest >= -math.log(alpha)) <= chance(runs, alpha)


def test_nor_is_noise_that_is_larger_in_steps_that_the_past_decides():
    rng = np.random.default_rng(0)
    alarms, runs = 0, 1500
    for _ in range(runs):
        scale, highest = NoiseScale(), 0.0
        for _ in range(30):
            sensitivity = rng.choice([0.5, 1.0, 1.0, 3.0])
            ratio = 1.0 if scale.log_e_value > 0.5 else rng.choice([1.0, 1.3])
            residual = ratio * sensitivity * rng.normal(size=4)
            scale.update(Reading(residual=residual, sensitivity=sensitivity))
            highest = max(highest, scale.log_e_value)
        alarms += highest >= math.log(5)
    assert alarms <= chance(runs, 0.2)


@pytest.mark.parametrize(
    ("ratio", "n", "within"),
    [(0.95, 650, 5), (0.9, 650, 2), (0.7, 650, 1), (0.5, 650, 1), (0.5, 10, 3), (0.1, 1, 8)],
)
def test_too_small_noise_is_found(ratio, n, within):
    rng = np.random.default_rng(7)
    paths = (fed(ratio * rng.normal(size=(40, n)))[1] for _ in range(31))
    first = [next((t for t, v in enumerate(path, 1) if v >= math.log(20)), 99) for path in paths]
    assert np.median(first) <= within


def test_noise_that_becomes_too_small_is_found_at_once():
    rng = np.random.default_rng(3)
    right, small = rng.normal(size=(200, 650)), 0.5 * rng.normal(size=(1, 650))
    scale, path = fed(np.concatenate([right, small]))
    assert max(path[:-1]) < math.log(20) < path[-1]
    assert scale.words().startswith("the noise became too small: now it is about 0.")


@pytest.mark.parametrize(("n", "steps"), [(1, 60), (5, 40), (300, 20)])
def test_the_bounds_cover_the_ratio_at_all_steps(n, steps):
    rng = np.random.default_rng(n)
    runs, ratio, alpha, missed = 300, 0.37, 0.2, np.zeros(2)
    for _ in range(runs):
        scale, miss = NoiseScale(), np.zeros(2, dtype=bool)
        for residual in ratio * 2.0 * rng.normal(size=(steps, n)):
            scale.update(Reading(residual=residual, sensitivity=2.0))
            if scale.steps in (1, 2, 4, 8, 16, steps):
                miss |= [scale.ratio_upper(alpha) < ratio, scale.ratio_lower(alpha) > ratio]
        missed += miss
    assert np.all(missed <= chance(runs, alpha))


@pytest.mark.parametrize("ratio", [1e-3, 0.5, 1.0, 30.0])
def test_the_bounds_close_in_on_the_ratio(ratio):
    scale, _ = fed(ratio * np.random.default_rng(1).normal(size=(50, 1000)))
    assert ratio <= scale.ratio_upper(0.05) <= 1.03 * ratio
    assert 0.97 * ratio <= scale.ratio_lower(0.05) <= ratio


def test_bounds_are_where_the_first_bets_reach_the_threshold():
    scale, _ = fed(0.6 * np.random.default_rng(1).normal(size=(3, 50)))
    upper = scale.ratio_upper(0.05)
    logs = LOG_SHARES - 150 * np.log(ALTERNATIVES)
    logs = logs - (ALTERNATIVES**-2 - 1) * scale.squares / upper**2 / 2
    assert np.logaddexp.reduce(logs) == pytest.approx(math.log(20), abs=1e-6)


def test_too_much_noise_is_a_warning_and_no_fault():
    scale, path = fed(1.5 * np.random.default_rng(2).normal(size=(20, 650)))
    assert max(path) <= 0.0
    warning = scale.warning()
    assert (warning.level, warning.step) == ("warning", 20)
    assert warning.text.startswith("the noise is at least 1.4")
    assert fed(np.random.default_rng(2).normal(size=(20, 650)))[0].warning() is None


def test_words():
    noise = np.random.default_rng(5).normal(size=(30, 650))
    assert fed(noise)[0].words() == "the noise is not shown to be smaller than promised"
    assert fed(0.5 * noise)[0].words() == (
        "the noise is at most 0.52 of what was promised (standard deviation / sensitivity)"
    )
    scale, path = fed(noise[:1], [10.0])
    assert path[0] > 100
    assert scale.words() == (
        "the canary changed the sum by 10 C; the noise is at most 0.11 of what was promised "
        "(standard deviation / sensitivity)"
    )
    assert fed(0.998 * noise, [None] * 30)[0].words().startswith("the noise is not shown")


def test_noise_enough_for_a_small_sensitivity_is_no_fault():
    noise = np.random.default_rng(5).normal(size=(30, 650))
    assert max(fed(0.5 * noise, [0.5] * 30)[1]) < math.log(20)
    assert max(fed(0.4 * noise, [0.5] * 30)[1]) > math.log(20)


def test_a_sensitivity_within_rounding_of_one_is_one():
    noise = np.random.default_rng(5).normal(size=(5, 650))
    expected = fed(noise)[1]
    assert fed(noise, np.full(5, 1.0 + 9e-5))[1] == expected
    assert fed(noise, np.full(5, 1.0 - 9e-5))[1] == expected
    assert fed(noise, np.full(5, 1.0002))[1] != expected


def test_no_noise_at_all():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scale, path = fed([np.ones(5), np.zeros(5), np.ones(5)])
        assert path[0] < 0
        assert path[1:] == [math.inf, math.inf]
        assert scale.words() == "there is no noise at all in step 2"
        never, _ = fed(np.zeros((2, 3)))
        assert never.log_e_value == math.inf
        assert never.ratio_upper(0.05) == never.ratio_lower(0.05) == 0.0
        assert never.warning() is None


@pytest.mark.parametrize(
    ("residual", "sensitivity"),
    [
        (None, 1.0),
        (np.zeros(0), 1.0),
        (np.array([1.0, math.nan]), 1.0),
        (np.array([1.0, math.inf]), None),
        (np.array([math.inf, -math.inf]), None),
        (np.full(3, 1e200), 1.0),
        (np.ones(3), math.nan),
        (np.ones(3), math.inf),
        (np.ones(3), 0.0),
        (np.ones(3), 1e-300),
        (np.ones(3), -1.0),
    ],
)
def test_what_cannot_be_bet_on_is_passed_over(residual, sensitivity):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scale, path = fed([residual], [sensitivity])
        assert path == [0.0]
        assert scale.steps == 1
        assert scale.ratio_upper(0.05) == math.inf
        assert scale.ratio_lower(0.05) == 0.0
        assert scale.words()


def test_extreme_scales_give_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1e-160, 1e-100, 1e-10, 1e10, 1e100, 1e150):
            scale, path = fed(np.full((3, 10), size))
            assert not math.isnan(path[-1])
            assert scale.ratio_lower(0.05) <= size * 1.01
            assert size * 0.99 <= scale.ratio_upper(0.05)
            assert scale.words()


def test_single_precision_and_other_shapes():
    noise = np.random.default_rng(5).normal(size=(3, 650)) * 0.9
    expected = fed(noise)[1]
    assert fed(noise.astype(np.float32))[1] == pytest.approx(expected, rel=1e-4)
    assert fed(noise.reshape(3, 65, 10))[1] == pytest.approx(expected)
