"""The bet on the angles between noise vectors: exact under chance, quick where noise returns."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tollens.training.parts.noise_reuse import BETS, LOG_SHARES, STEPS, Cosine, Memory, NoiseReuse
from tollens.training.parts.reading import Reading
from tollens.training.parts.starts import LateStarts


def chance(runs, alpha):
    """The largest number of runs in which an event of probability alpha may happen here."""
    return runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))


def fed(residuals):
    reuse, path = NoiseReuse(), []
    for residual in residuals:
        reuse.update(Reading(residual=residual))
        path.append(reuse.log_e_value)
    return reuse, path


def found_at(residuals, threshold=20.0):
    path = fed(residuals)[1]
    return next((t for t, value in enumerate(path, 1) if value >= math.log(threshold)), 999)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("n", [2, 3, 4, 10, 64, 650])
def test_each_bet_has_expectation_one_under_the_exact_law(n):
    bets = Cosine(n)
    null = stats.beta((n - 1) / 2, (n - 1) / 2)
    for i in range(len(BETS)):
        if abs(BETS[i]) > 0.9:
            continue

        def integrand(angle, i=i):
            cosine = math.cos(angle)
            log_e = bets.log_returns(np.array([cosine]))[i, 0]
            return math.exp(log_e + null.logpdf((1 + cosine) / 2)) * math.sin(angle) / 2

        centre = math.acos(BETS[i])
        cuts = np.clip(centre + np.array([-9, -4, -1, 0, 1, 4, 9]) * 2 / math.sqrt(n), 0, math.pi)
        cuts = np.unique(np.concatenate([[0, math.pi], cuts]))
        parts = (quad(integrand, a, b, limit=200)[0] for a, b in pairwise(cuts))
        assert sum(parts) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("n", [2, 3, 10, 64, 650, 10**6])
def test_the_bets_are_ratios_of_densities(n):
    c = np.clip(BETS, 1e-9 * n - 1, 1 - 1e-9 * n)
    total = n / (1 - c * c) - 1
    null = stats.beta((n - 1) / 2, (n - 1) / 2)
    for cosine in (-0.05, 0.0, 0.02, 0.9):
        up = (1 + cosine) / 2
        expected = stats.beta.logpdf(up, total * (1 + c) / 2, total * (1 - c) / 2) - null.logpdf(up)
        found = Cosine(n).log_returns(np.array([cosine]))[:, 0]
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("n", [2, 3, 650, 10**6, 10**9, 10**11])
def test_the_evidence_of_equal_vectors_is_finite(n):
    returns = Cosine(n).log_returns(np.array([-1.0, -0.5, 0.0, 1.0, 1.0 + 1e-15]))
    assert np.all(np.isfinite(returns))
    assert returns[:, 3].max() > 8


def test_the_null_law_is_that_of_normal_vectors():
    rng = np.random.default_rng(0)
    for n in (2, 3, 7):
        x, y = rng.normal(size=(2, 4000, n))
        cosines = (x * y).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
        law = stats.beta((n - 1) / 2, (n - 1) / 2)
        assert stats.kstest((1 + cosines) / 2, law.cdf).pvalue > 1e-3


def test_the_wealth_is_that_of_the_definition():
    residuals = normal(7, 4, seed=3)
    residuals[5] = residuals[2] + 0.05 * residuals[5]
    _, path = fed(residuals)
    bets, t = Cosine(4), np.arange(1, 8)
    weights = 1 / (t * (t + 1))
    unit = residuals / np.linalg.norm(residuals, axis=1, keepdims=True)
    cosines = unit @ unit.T
    returns = np.array([np.exp(bets.log_returns(cosines[s, s - 1 : s])[:, 0]) for s in range(1, 7)])
    single = returns.mean(axis=1) @ weights[:6] + 1 / 7
    product = 1 / 7 + sum(weights[s] * returns[s:].prod(axis=0).mean() for s in range(6))
    remembered = 1 / 6
    for k, s in enumerate(range(2, 7)):
        near = [x for x in cosines[s, : s - 1] if abs(x) > 0.7]
        won = np.exp(bets.log_mixture(np.array(near))).sum() if near else 0.0
        remembered += weights[k] * won / (s - 1)
    expected = math.log(product / 2 + single / 4 + remembered / 4)
    assert path[-1] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("n", [2, 3, 10, 100])
def test_fresh_noise_is_rarely_called_used(n):
    rng, runs = np.random.default_rng(n), 1000
    highest = np.empty(runs)
    for i in range(runs):
        scales = np.exp(rng.normal(size=(20, 1)))
        highest[i] = max(fed(scales * rng.normal(size=(20, n)))[1])
    for alpha in (0.05, 0.2):
        assert np.sum(highest >= -math.log(alpha)) <= chance(runs, alpha)


def test_nor_is_noise_whose_scale_the_past_decides():
    rng, runs, alarms = np.random.default_rng(1), 500, 0
    for _ in range(runs):
        reuse, highest = NoiseReuse(), 0.0
        for _ in range(20):
            scale = 1.0 + 1e3 * (reuse.log_e_value > 0.3)
            reuse.update(Reading(residual=scale * rng.normal(size=5)))
            highest = max(highest, reuse.log_e_value)
        alarms += highest >= math.log(5)
    assert alarms <= chance(runs, 0.2)


@pytest.mark.parametrize("n", [2, 3, 10, 650, 20_000])
@pytest.mark.parametrize("factor", [1.0, -1.0, 1e-3])
def test_the_same_seed_in_each_step_is_found_in_two(n, factor):
    noise = normal(n)
    assert found_at([noise, factor * noise], threshold=200) == 2
    rounded = [(noise + 100.0 * k).astype(np.float32) - np.float32(100.0 * k) for k in (0, 1)]
    assert found_at(rounded, threshold=200) == 2


@pytest.mark.parametrize(("n", "epoch"), [(10, 50), (650, 50), (650, 1000)])
def test_a_seed_set_anew_in_each_epoch_is_found_in_the_second(n, epoch):
    noise = normal(epoch, n)
    reuse, path = fed(np.concatenate([noise, -2.0 * noise[:1]]))
    assert max(path[:-1]) < math.log(20)
    assert path[-1] > math.log(1000)
    assert reuse.words() == f"the noise of step {epoch + 1} is that of step 1 (correlation -1.00)"


def test_noise_drawn_once_in_an_epoch_is_found_also_late():
    fresh, once = normal(300, 650), np.repeat(normal(1, 650, seed=9), 5, axis=0)
    assert found_at(np.concatenate([fresh, once])) == 302


@pytest.mark.parametrize(
    ("share", "n", "within"), [(0.3, 650, 2), (0.1, 650, 5), (0.05, 650, 20), (0.3, 50, 8)]
)
def test_noise_that_is_shared_in_part_is_found(share, n, within):
    first = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        common, own = rng.normal(size=n), rng.normal(size=(60, n))
        first.append(found_at(math.sqrt(share) * common + math.sqrt(1 - share) * own))
    assert np.median(first) <= within


def test_evidence_is_not_lost_again():
    noise = normal(40, 650)
    _, path = fed(np.concatenate([noise[:1], noise]))
    assert path[-1] == pytest.approx(path[1], abs=3.0)


def test_words():
    rng = np.random.default_rng(4)
    common = rng.normal(size=650)
    assert fed(rng.normal(size=(20, 650)))[0].words() == "no noise is shown to be used again"
    assert fed([common, common])[0].words() == (
        "the noise of step 2 is that of step 1 (correlation 1.00)"
    )
    half = fed([common, common + rng.normal(size=650)])[0].words()
    assert half.startswith("the noise of step 2 is correlated with that of step 1 (0.7")
    weak = fed(math.sqrt(0.06) * common + math.sqrt(0.94) * rng.normal(size=(30, 650)))[0]
    assert weak.log_e_value > math.log(20)
    assert weak.words() in (
        "the noise of successive steps is correlated (about 0.05)",
        "the noise of successive steps is correlated (about 0.10)",
    )


@pytest.mark.parametrize(
    "residual",
    [
        None,
        np.zeros(0),
        np.zeros(10),
        np.ones(1),
        np.append(np.ones(9), math.nan),
        np.append(np.ones(9), math.inf),
    ],
)
def test_what_cannot_be_compared_is_passed_over(residual):
    noise = normal(3, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = fed(noise)[1]
        reuse, path = fed([residual, noise[0], residual, residual, *noise[1:]])
    assert path[-1] == plain[-1]
    assert reuse.steps == 6
    assert fed([residual] * 3)[1] == pytest.approx([0.0] * 3, abs=1e-12)


def test_lengths_that_change():
    long, short = normal(650), normal(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fed([long, short, long, short])[1] == pytest.approx([0.0] * 4, abs=1e-12)
        assert fed([long, long, short, short])[1][-1] > 1000


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_scales(size):
    noise = normal(3, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fed(size * noise)[1] == pytest.approx(fed(noise)[1], abs=1e-9)


def test_residuals_that_are_overwritten_in_place():
    buffer, reuse, rng = np.empty(100), NoiseReuse(), np.random.default_rng(0)
    for _ in range(10):
        buffer[:] = rng.normal(size=100)
        reuse.update(Reading(residual=buffer))
    assert reuse.log_e_value < 0


def test_the_memory_forgets_the_oldest():
    memory, vectors = Memory(100), normal(STEPS + 5, 100)
    for step, vector in enumerate(vectors):
        memory.add(memory.sketch(vector), step)
    for step in (5, STEPS, STEPS + 4):
        cosines = memory.cosines(memory.sketch(-vectors[step]))
        assert len(cosines) == STEPS
        assert memory.steps[np.argmin(cosines)] == step
        assert cosines.min() == pytest.approx(-1)
    assert np.abs(memory.cosines(memory.sketch(vectors[0]))).max() < 0.9


def test_late_starts():
    returns = np.log(np.random.default_rng(0).uniform(0.2, 3.0, size=(6, 2)))
    shares = np.array([0.3, 0.7])
    bets = LateStarts(np.log(shares))
    assert bets.log_value == 0.0
    for row in returns:
        bets.pay(row)
    products = [np.exp(returns[first:].sum(axis=0)) @ shares for first in range(6)]
    expected = 1 / 7 + sum(p / ((t + 1) * (t + 2)) for t, p in enumerate(products))
    assert math.exp(bets.log_value) == pytest.approx(expected)
    bets.pay(np.full(2, -np.inf))
    assert math.exp(bets.log_value) == pytest.approx(1 / 8)
    assert np.exp(LOG_SHARES).sum() == pytest.approx(1)
