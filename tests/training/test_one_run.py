"""The audit of one run: its level at no leak and at the edge of the claim, its power, its bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import tollens
from tollens.training.scores.one_run import (
    LEAK_SHARE,
    canary_order,
    coin_findings,
    delta_term,
    fewest_canaries,
    forecasts,
    inequality_for,
    log_factors,
    one_run,
)
from tollens.training.scores.one_run_power import detectable_excess

ALPHA = 0.05


def limit(runs, alpha):
    """alpha and three standard errors."""
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def response(rng, bits, epsilon):
    """Each bit, told truly with probability e^eps / (1 + e^eps)."""
    return np.where(rng.random(len(bits)) < expit(epsilon), bits, ~bits).astype(float)


def revealing(rng, bits, epsilon, delta):
    """(epsilon, delta) exactly: sometimes the bit for sure, otherwise randomised response."""
    sure = rng.random(len(bits)) < delta
    return np.where(sure, 4.0 * bits - 1.5, response(rng, bits, epsilon))


def revealing_all(rng, bits, epsilon, delta):
    """The same for each canary, but all are given away at once."""
    if rng.random() < delta:
        return 4.0 * bits - 1.5
    return response(rng, bits, epsilon)


def refuted(draw, claim, m, runs, alpha=ALPHA, sort=False):
    """The share of runs in which the claim is refuted."""
    made, found = tollens.parse_claim(claim), 0
    for run in range(runs):
        rng = np.random.default_rng((7, run))
        bits = rng.random(m) < 0.5
        scores = draw(rng, bits)
        if sort:
            rows = np.argsort(~bits, kind="stable")
            scores, bits = scores[rows], bits[rows]
        if not coin_findings(m, int(bits.sum())):
            found += one_run(scores, bits, made, alpha=alpha, seed=run if sort else 0).refuted
    return found / runs


# The level


@pytest.mark.parametrize("shape", ["normal", "two values", "heavy tails"])
def test_no_leak_is_not_refuted(shape):
    draws = {
        "normal": lambda rng, bits: rng.normal(size=len(bits)),
        "two values": lambda rng, bits: rng.integers(0, 2, len(bits)).astype(float),
        "heavy tails": lambda rng, bits: rng.standard_cauchy(len(bits)),
    }
    assert refuted(draws[shape], "epsilon=0", 40, 1500) <= limit(1500, ALPHA)


def test_no_leak_is_not_refuted_in_a_file_sorted_by_membership():
    def draw(rng, bits):
        return rng.integers(0, 3, len(bits)).astype(float)

    assert refuted(draw, "epsilon=0", 40, 1500, sort=True) <= limit(1500, ALPHA)


@pytest.mark.parametrize(
    ("claim", "m", "draw"),
    [
        ("epsilon=1", 100, lambda rng, bits: response(rng, bits, 1.0)),
        ("epsilon=0.5, delta=0.003", 40, lambda rng, bits: revealing(rng, bits, 0.5, 0.003)),
        ("epsilon=0.2, delta=0.0009", 40, lambda rng, bits: revealing_all(rng, bits, 0.2, 0.0009)),
        ("mu=0.3", 150, lambda rng, bits: rng.normal(0.3 * bits)),
        ("rho=0.01", 60, lambda rng, bits: rng.normal(math.sqrt(0.02) * bits)),
    ],
)
def test_a_run_that_leaks_just_what_is_claimed_is_not_refuted(claim, m, draw):
    alpha = 0.15 if "delta" in claim else ALPHA
    assert refuted(draw, claim, m, 1500, alpha=alpha) <= limit(1500, alpha)


def test_a_claim_of_one_order_is_refuted_in_that_order_only():
    """What is certain here is that a canary was out: with it out first, epsilon is 0.36."""

    def draw(rng, bits):
        return (~bits & (rng.random(len(bits)) < 0.3)).astype(float)

    assert refuted(draw, "epsilon=0.36, ordered", 300, 300) <= limit(300, ALPHA)
    assert refuted(draw, "epsilon=0.36", 300, 20) == 1.0
    assert refuted(lambda rng, bits: draw(rng, ~bits), "epsilon=0.36, ordered", 300, 20) == 1.0


def test_over_all_coins_the_mean_wealth_is_one_exactly():
    """For eps = 0 every forecast is a fair bet, whatever it has learned."""
    scores, m = np.random.default_rng(0).normal(size=9), 9
    order, total, at_most = np.arange(m), 0.0, {0.5: 0.0, 2.0: 0.0}
    truthful = scores > np.median(scores)
    for coins in itertools.product([False, True], repeat=m):
        bits = np.array(coins)
        forecast = forecasts(scores, bits, order)
        total += math.exp(log_factors(forecast, bits, 0.0).sum()) / 2**m
        for epsilon in at_most:  # the law of the bits given the scores, at the edge of the claim
            p0 = float(expit(epsilon))
            chance = np.where(bits == truthful, p0, 1 - p0).prod()
            at_most[epsilon] += chance * math.exp(log_factors(forecast, bits, epsilon).sum())
    assert total == pytest.approx(1.0, abs=1e-9)
    assert all(mean <= 1 + 1e-9 for mean in at_most.values())


@given(
    forecast=st.floats(1e-9, 1 - 1e-9),
    epsilon=st.floats(0, 20),
    place=st.floats(0, 1),
    ordered=st.booleans(),
)
def test_a_factor_has_a_mean_of_at_most_one_all_over_the_claim(forecast, epsilon, place, ordered):
    """At any chance of a one that the claim allows; with one order, below too."""
    high = float(expit(epsilon))
    low = 0.0 if ordered else float(expit(-epsilon))
    chance = low + place * (high - low)
    one, zero = (
        float(np.exp(log_factors(np.array([forecast]), np.array([b]), epsilon, ordered=ordered))[0])
        for b in (True, False)
    )
    assert chance * one + (1 - chance) * zero <= 1 + 1e-9


def test_the_delta_term_bounds_how_far_posteriors_leave_the_interval():
    """The step of the proof: the mean excess on both sides, of laws that attain (eps, delta)."""
    epsilon, delta = 0.7, 0.02
    p0 = float(expit(epsilon))
    for_one = np.array([delta, 0.0, (1 - delta) * p0, (1 - delta) * (1 - p0)])
    for_zero = np.array([0.0, delta, (1 - delta) * (1 - p0), (1 - delta) * p0])
    assert np.maximum(for_one - math.exp(epsilon) * for_zero, 0).sum() == pytest.approx(delta)
    rho = for_one / (for_one + for_zero)
    excess = np.maximum(rho - p0, 0) + np.maximum(1 - p0 - rho, 0)
    mean = float(((for_one + for_zero) / 2 * excess).sum())
    assert mean == pytest.approx(delta_term(1, epsilon, delta))
    assert delta_term(1, epsilon, delta, ordered=True) == pytest.approx(mean / 2)


def test_forecasts_never_look_ahead():
    rng = np.random.default_rng(1)
    scores, bits = rng.normal(size=200), rng.random(200) < 0.5
    order = canary_order(scores, 0)
    before = forecasts(scores, bits, order)
    for turn in (0, 50, 199):
        changed = bits.copy()
        changed[order[turn:]] = ~changed[order[turn:]]
        after = forecasts(scores, changed, order)
        assert np.array_equal(before[: turn + 1], after[: turn + 1])


def test_the_order_of_rows_and_monotone_changes_of_scores_change_nothing():
    rng = np.random.default_rng(2)
    bits = rng.random(300) < 0.5
    scores = rng.normal(2.0 * bits)
    rows = rng.permutation(300)
    claim = tollens.pure(1)
    first = one_run(scores, bits, claim, alpha=ALPHA)
    assert one_run(scores[rows], bits[rows], claim, alpha=ALPHA) == first
    assert one_run(np.exp(scores), bits, claim, alpha=ALPHA) == first
    assert one_run(scores, bits, claim, alpha=ALPHA, seed=1) != first


# The inequality that is bet against


@pytest.mark.parametrize("claim", ["mu=1", "rho=0.5", "epsilon=1, delta=1e-5", "epsilon=1"])
@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_the_inequality_is_implied_and_its_delta_costs_at_most_half(claim, alpha):
    made = tollens.parse_claim(claim)
    found = inequality_for(made, 1000, alpha)
    assert found.delta >= made.delta(found.epsilon) - 1e-15
    assert found.term == delta_term(1000, found.epsilon, found.delta)
    assert found.term <= alpha / 2
    assert found.level == alpha - found.term
    if claim == "epsilon=1":
        assert (found.epsilon, found.delta) == (1.0, 0.0)


def test_more_canaries_move_the_inequality_up_the_curve():
    found = [inequality_for(tollens.gaussian(1), m, ALPHA).epsilon for m in (100, 1000, 10_000)]
    assert found == sorted(set(found))


def test_a_delta_that_alpha_cannot_pay_is_said():
    rng = np.random.default_rng(3)
    bits = rng.random(1000) < 0.5
    with pytest.raises(tollens.UsageError, match=r"can never refute .* take a larger alpha"):
        one_run(rng.normal(bits), bits, tollens.approx(1, 1e-3), alpha=1e-6)
    with pytest.raises(tollens.UsageError, match="delta costs too much"):
        one_run(rng.normal(bits), bits, tollens.profile(lambda e: 0.5), alpha=1e-30)


# The power


@pytest.mark.parametrize(
    ("claim", "m", "draw"),
    [
        ("epsilon=0.5", 600, lambda rng, bits: response(rng, bits, 1.0)),
        ("epsilon=1", 400, lambda rng, bits: response(rng, bits, 2.0)),
        ("epsilon=1, delta=1e-5", 400, lambda rng, bits: response(rng, bits, 2.0)),
        ("mu=1", 12_000, lambda rng, bits: rng.normal(2.0 * bits)),
        ("mu=1", 12_000, lambda rng, bits: -rng.normal(2.0 * bits)),
        ("epsilon=2", 800, lambda rng, bits: rng.normal(3.0 * bits)),
    ],
)
def test_twice_the_claimed_leak_is_found(claim, m, draw):
    assert refuted(draw, claim, m, 20) >= 0.9


def test_a_leak_of_few_canaries_is_found():
    """One in ten is memorised, the scores of the others say nothing."""

    def draw(rng, bits):
        return rng.normal(size=len(bits)) + 6.0 * (bits & (rng.random(len(bits)) < 0.1))

    assert refuted(draw, "epsilon=0.5", 1000, 20) >= 0.9


@pytest.mark.parametrize(
    ("claim", "m"), [("epsilon=0.5", 400), ("epsilon=1, delta=1e-5", 1000), ("mu=0.5", 2000)]
)
def test_the_detectable_excess_is_what_would_have_been_found(claim, m):
    epsilon = detectable_excess(tollens.parse_claim(claim), ALPHA, m)
    found = refuted(lambda rng, bits: response(rng, bits, epsilon), claim, m, 40)
    assert found >= 0.75
    below = epsilon - 0.6 * (epsilon - inequality_for(tollens.parse_claim(claim), m, ALPHA).epsilon)
    assert refuted(lambda rng, bits: response(rng, bits, below), claim, m, 40) < found


def test_so_few_canaries_that_nothing_could_be_refuted_are_an_error():
    need = fewest_canaries(tollens.pure(1), 1e-6)
    bits = np.arange(need - need // 8) % 2 == 0
    with pytest.raises(tollens.UsageError, match=f"that takes about {need}"):
        one_run(bits.astype(float), bits, tollens.pure(1), alpha=1e-6)
    bits = np.arange(need) % 2 == 0
    one_run(bits.astype(float), bits, tollens.pure(1), alpha=1e-6)
    assert fewest_canaries(tollens.pure(30), 1e-6) is None


# The certified bound


@pytest.mark.parametrize("claim", ["epsilon=0.25", "epsilon=1", "epsilon=3", "mu=1"])
def test_the_bound_exceeds_the_truth_no_more_often_than_alpha_says(claim):
    made, over = tollens.parse_claim(claim), 0
    for run in range(150):
        rng = np.random.default_rng((9, run))
        bits = rng.random(300) < 0.5
        found = one_run(response(rng, bits, 1.0), bits, made, alpha=0.2, delta=0.0)
        over += found.epsilon_lower > 1.0
    share = 0.2 if claim in ("epsilon=0.25", "epsilon=1") else 0.2 * LEAK_SHARE
    assert over / 150 <= limit(150, share)


def test_the_bound_reaches_the_claim_exactly_when_it_is_refuted():
    for run, claim in itertools.product(range(10), ("epsilon=1", "epsilon=1, delta=1e-6")):
        rng = np.random.default_rng((11, run))
        bits = rng.random(300) < 0.5
        found = one_run(response(rng, bits, 1.7), bits, tollens.parse_claim(claim), alpha=ALPHA)
        assert found.refuted == (found.epsilon_lower >= 1.0)
        assert found.leak_delta == (1e-6 if "delta" in claim else 0.0)


def test_more_canaries_certify_more_and_a_larger_delta_less():
    rng = np.random.default_rng(4)
    bits = rng.random(4000) < 0.5
    scores = rng.normal(3.0 * bits)
    by_size = [
        one_run(scores[:m], bits[:m], tollens.pure(0.1), alpha=ALPHA).epsilon_lower
        for m in (100, 400, 4000)
    ]
    assert by_size == sorted(set(by_size))
    by_delta = [
        one_run(scores, bits, tollens.gaussian(0.2), alpha=ALPHA, delta=d).epsilon_lower
        for d in (0.0, 1e-5, 1e-3)
    ]
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_size[-1] > 2


# The coins


def test_coins_that_were_not_fair_are_refused():
    rng = np.random.default_rng(5)
    bits = rng.random(500) < 0.2
    with pytest.raises(tollens.UsageError, match="which fair coins do not do"):
        one_run(rng.normal(size=500), bits, tollens.pure(1), alpha=ALPHA)
    with pytest.raises(tollens.UsageError, match="all of the 50 canaries are included"):
        one_run(rng.normal(size=50), np.ones(50, dtype=bool), tollens.pure(1), alpha=ALPHA)


def test_many_canaries_stay_cheap():
    rng = np.random.default_rng(6)
    bits = rng.random(60_000) < 0.5
    found = one_run(rng.normal(0.2 * bits), bits, tollens.pure(0.1), alpha=1e-6)
    assert found.refuted
    assert len(found.curve) < 300
