"""Bets on projections: fair at the boundary, quick beyond it, and what they say is so."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.special import ndtr

from tollens.claim import approx, gaussian, pure, zcdp
from tollens.training.parts.projection import CUTS, LEARNED, MU_GRID, STRENGTHS, WIDTHS, Projection
from tollens.training.parts.reading import Reading


def feed(part, x, y):
    for a, b in zip(x, y, strict=True):
        part.update(Reading(with_canary=float(a), without_canary=float(b)))
    return part


def pairs(rng, n, *, mu=1.0, common=True):
    y = rng.normal(size=n)
    return (y if common else rng.normal(size=n)) + mu, y


def crossings(claim, alpha, *, runs, steps, draw, scale):
    """In how many runs the wealth ever reached 1/alpha, and the bound ever passed the truth."""
    crossed = 0
    for seed in range(runs):
        part = Projection(claim, scale=scale)
        x, y = draw(np.random.default_rng(seed), steps)
        top = -math.inf
        for a, b in zip(x, y, strict=True):
            part.update(Reading(with_canary=a, without_canary=b))
            top = max(top, part.log_e_value)
        crossed += top >= -math.log(alpha)
    return crossed


class TestLaw:
    @pytest.mark.parametrize("common", [True, False])
    @pytest.mark.parametrize("alpha", [0.05, 0.2])
    def test_true_claims_are_refuted_no_more_often_than_alpha(self, common, alpha):
        runs = 700
        found = crossings(
            gaussian(1), alpha, runs=runs, steps=60, scale=1.0,
            draw=lambda rng, n: pairs(rng, n, common=common),
        )  # fmt: skip
        assert found <= alpha * runs + 3 * math.sqrt(alpha * (1 - alpha) * runs)

    @pytest.mark.parametrize("claim", [pure(1), approx(0.5, 0.05), zcdp(0.3)], ids=str)
    def test_two_valued_outputs_at_the_largest_difference_of_the_claim(self, claim):
        allowed, runs, alpha = claim.support(1, 1), 700, 0.1

        def draw(rng, n):
            u = rng.random(n)  # the most extreme coupling there is
            return 5.0 * (u < (1 + allowed) / 2), 5.0 * (u < (1 - allowed) / 2)

        found = crossings(claim, alpha, runs=runs, steps=50, scale=1.0, draw=draw)
        assert found <= alpha * runs + 3 * math.sqrt(alpha * (1 - alpha) * runs)

    def test_the_bound_passes_the_truth_no_more_often_than_alpha(self):
        runs, alpha, mu = 500, 0.1, 1.0
        above = 0
        for seed in range(runs):
            part = feed(
                Projection(gaussian(mu), scale=1.0), *pairs(np.random.default_rng(seed), 60)
            )
            above += part.mu_lower(alpha) > mu
        assert above <= alpha * runs + 3 * math.sqrt(alpha * (1 - alpha) * runs)

    def test_expectation_of_a_factor_is_one_at_most(self):
        # any coupling of two laws whose total variation is what the claim allows
        part = Projection(gaussian(1), scale=1.0)
        z = np.linspace(-9, 10, 4001)
        ramps = np.stack([part._ramps(np.array([v, v]))[:, 0] for v in z], axis=1)
        weight_x, weight_y = np.exp(-((z - 1) ** 2) / 2), np.exp(-(z**2) / 2)
        means = ramps @ (weight_x / weight_x.sum()), ramps @ (weight_y / weight_y.sum())
        gain = means[0] - means[1] - (2 * ndtr(0.5) - 1)
        assert (gain <= 1e-9).all() and gain.max() > -0.01  # the best ramp is nearly tight


class TestOracle:
    def test_wealth_is_the_average_of_products(self):
        rng, scale = np.random.default_rng(3), 0.7
        x, y = rng.normal(1, 1, 25), rng.normal(0, 1, 25)
        part = feed(Projection(gaussian(0.8), scale=scale), x, y)
        allowed, total = 2 * ndtr(0.4) - 1, 0.0
        fixed = [(np.full(len(x), cut / scale), share) for cut, share in CUTS.items()]
        means = np.cumsum((x + y) / 2 / scale) / np.arange(1, len(x) + 1)
        learned = (np.r_[0.5 / scale, means[:-1]], LEARNED)

        def ramp(v, cut, width):
            return float(v >= cut) if width == 0 else min(1.0, max(0.0, (v - cut) / width + 0.5))

        for cuts, share in [*fixed, learned]:
            main = cuts is learned[0] or cuts[0] == 0.5 / scale
            widths = WIDTHS if main else (0.0,)
            for width in widths:
                for strength in STRENGTHS:
                    product = share / len(widths) / len(STRENGTHS)
                    for a, b, cut in zip(x, y, cuts, strict=True):
                        difference = ramp(a / scale, cut, width) - ramp(b / scale, cut, width)
                        product *= 1 + strength / (1 + allowed) * (difference - allowed)
                    total += product
        assert part.log_e_value == pytest.approx(math.log(total), rel=1e-9)


class TestPower:
    def test_known_rates(self):
        counts = {claim: [] for claim in (0.5, 0.8)}
        for claim, found in counts.items():
            for seed in range(12):
                part, rng = (
                    Projection(gaussian(claim), scale=1 / claim),
                    np.random.default_rng(seed),
                )
                while part.log_e_value < math.log(20) and part.pairs < 2000:
                    feed(part, *pairs(rng, 1))
                found.append(part.pairs)
        assert np.mean(counts[0.5]) < 80 and np.mean(counts[0.8]) < 423

    def test_noise_a_third_too_small_is_caught_and_the_right_one_is_not(self):
        for spread, caught in ((0.7, True), (1.0, False)):
            rng = np.random.default_rng(1)
            noise = rng.normal(0, spread, 400)
            part = feed(Projection(gaussian(1), scale=1.0), 1 + noise, noise)
            assert (part.log_e_value > math.log(100)) == caught

    def test_the_bound_nears_the_truth_and_never_falls(self):
        part, last = Projection(gaussian(1), scale=1.0), 0.0
        for n in (50, 200, 750, 1500):
            feed(part, *pairs(np.random.default_rng(n), n))
            assert part.mu_lower(0.05) >= last
            last = part.mu_lower(0.05)
        assert 0.85 < last <= 1.0

    def test_words_are_about_the_ramp_that_won(self):
        x, y = pairs(np.random.default_rng(0), 300, mu=2.0)
        words = feed(Projection(gaussian(1), scale=1.0), x / 2, y / 2).words()
        assert "above 0.5 C" in words
        p, q = (float(number) for number in re.findall(r"in (\d\.\d+)", words))
        assert p - q > gaussian(1).support(1.0, 1.0) + 0.1

    @pytest.mark.parametrize("constant", [-2.3, -0.7, 0.1, 1.9])
    def test_the_same_noise_in_every_step_hides_nothing(self, constant):
        part = feed(
            Projection(gaussian(1), scale=1.0), np.full(40, 1 + constant), np.full(40, constant)
        )
        assert part.log_e_value > math.log(100)

    def test_words_name_the_threshold(self):
        part = feed(Projection(gaussian(0.5), scale=2.0), *pairs(np.random.default_rng(0), 100))
        assert "in 0." in part.words() and "allows a difference of 0.197" in part.words()


class TestEdges:
    def test_what_is_missing_or_not_finite_is_passed_over(self):
        part = Projection(gaussian(1), scale=1.0)
        for x, y in ((None, 1.0), (1.0, None), (math.nan, 0.0), (0.0, math.inf)):
            part.update(Reading(with_canary=x, without_canary=y))
        assert part.pairs == 0 and part.log_e_value == pytest.approx(0.0, abs=1e-12)
        assert part.mu_lower(0.05) == 0.0

    def test_a_release_without_noise_is_refuted_at_once(self):
        part = feed(Projection(approx(0.01, 1e-5), scale=100.0), np.ones(12), np.zeros(12))
        assert part.log_e_value > math.log(20)

    def test_the_bound_is_a_value_of_the_grid(self):
        part = feed(Projection(gaussian(1), scale=1.0), np.ones(3000), np.zeros(3000))
        assert part.mu_lower(0.05) in MU_GRID.tolist()
