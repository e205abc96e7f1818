"""The trusted core: the exact worst case of a bet, and the average of products of bets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tollens.auditing.ville import Bankroll, Factors, certify, worst_approx, worst_pure

EPSILONS = st.floats(0, 6) | st.just(0.0)
DELTAS = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1e-6])


@st.composite
def factor_pairs(draw, largest=7):
    k = draw(st.integers(1, largest))
    entries = st.lists(st.floats(0, 10) | st.just(0.0), min_size=k, max_size=k)
    a, b = np.array(draw(entries)), np.array(draw(entries))
    assume(a.max() + b.max() > 1e-3)
    return Factors(a, b)


def linear_program(factors, epsilon, delta):
    """max sum P a + sum Q b over the promise; delta None binds both orders without slack."""
    k, e = len(factors.a), math.exp(epsilon)
    eye, zero, ones, none = np.eye(k), np.zeros((k, k)), np.ones((1, k)), np.zeros((1, k))
    if delta is None:
        rows = np.block([[eye, -e * eye, zero], [-e * eye, eye, zero]])
        bounds = np.zeros(2 * k)
    else:  # P_i <= e Q_i + t_i with sum t <= delta
        rows = np.block([[eye, -e * eye, -eye], [none, none, ones]])
        bounds = np.append(np.zeros(k), delta)
    found = linprog(
        -np.concatenate([factors.a, factors.b, np.zeros(k)]),
        A_ub=rows,
        b_ub=bounds,
        A_eq=np.block([[ones, none, none], [none, ones, none]]),
        b_eq=[1, 1],
        bounds=(0, None),
        method="highs",
    )
    assert found.success
    return -found.fun


@given(factor_pairs(), EPSILONS)
@settings(max_examples=150)
def test_the_worst_case_of_a_pure_promise_is_exact(factors, epsilon):
    found = worst_pure(factors, np.array(epsilon))
    assert found == pytest.approx(linear_program(factors, epsilon, None), rel=1e-6, abs=1e-6)


@given(factor_pairs(), EPSILONS, DELTAS)
@settings(max_examples=250)
def test_the_worst_case_of_an_approximate_promise_is_exact(factors, epsilon, delta):
    found = worst_approx(factors, np.array(epsilon), np.array(delta))
    assert found == pytest.approx(linear_program(factors, epsilon, delta), rel=1e-6, abs=1e-6)


@given(factor_pairs(), st.floats(0, 30))
def test_without_slack_one_order_binds_no_more_than_both(factors, epsilon):
    one = worst_approx(factors, np.array(epsilon), np.array(0.0))
    both = worst_pure(factors, np.array(epsilon))
    assert one >= both * (1 - 1e-12)


@given(factor_pairs(), st.floats(0, 10), DELTAS)
def test_larger_promises_allow_more(factors, epsilon, delta):
    at = worst_approx(factors, np.array(epsilon), np.array(delta))
    assert worst_approx(factors, np.array(epsilon + 0.5), np.array(delta)) >= at * (1 - 1e-10)
    more = np.array(min(1.0, delta + 0.1))
    assert worst_approx(factors, np.array(epsilon), more) >= at * (1 - 1e-10)
    everything = factors.a.max() + factors.b.max()
    assert worst_approx(factors, np.array(epsilon), np.array(1.0)) == pytest.approx(everything)
    assert at <= everything * (1 + 1e-10)


@given(factor_pairs(), st.floats(0, 30), st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_certified_bets_are_fair_to_every_pair_of_laws_that_keeps_the_promise(
    factors, epsilon, seed
):
    rng = np.random.default_rng(seed)
    e = np.array(epsilon)
    fair = certify(factors, worst_pure(factors, e))
    k = len(factors.a)
    p = rng.dirichlet(np.full(k, 0.5))
    q = p * np.exp(rng.uniform(-epsilon / 2, epsilon / 2, size=k))
    q /= q.sum()
    assume(np.all(p <= math.exp(epsilon) * q) and np.all(q <= math.exp(epsilon) * p))
    assert p @ fair.a + q @ fair.b <= 2
    assert (p @ fair.a) * (q @ fair.b) <= 1
    delta = float(np.maximum(p - q, 0).sum())
    loose = certify(factors, worst_approx(factors, np.array(0.0), np.array(delta)))
    assert p @ loose.a + q @ loose.b <= 2


@given(factor_pairs(), EPSILONS, DELTAS)
def test_the_worst_case_does_not_depend_on_the_company(factors, epsilon, delta):
    grid = np.array([0.0, epsilon, epsilon + 1])
    many = Factors(np.stack([factors.a] * 3), np.stack([factors.b] * 3))
    assert worst_pure(many, grid)[1] == worst_pure(factors, np.array(epsilon))
    assert worst_approx(many, grid, np.full(3, delta))[1] == worst_approx(
        factors, np.array(epsilon), np.array(delta)
    )


def equal(bettors):
    """The logs of equal shares."""
    return np.full(bettors, -math.log(bettors))


RETURNS = st.integers(1, 5).flatmap(
    lambda bettors: st.lists(
        st.lists(st.floats(0.01, 4), min_size=bettors, max_size=bettors), min_size=1, max_size=30
    )
)


@given(RETURNS, st.data())
@settings(max_examples=200)
def test_the_wealth_is_the_average_of_products(returns, data):
    returns = np.array(returns).T
    bettors, pairs = returns.shape
    threshold = data.draw(st.floats(-2, 4))
    wealth = Bankroll(equal(bettors), threshold=threshold)
    cuts = sorted(data.draw(st.lists(st.integers(0, pairs), max_size=5)))
    path = np.concatenate([wealth.pay(np.log(part)) for part in np.split(returns, cuts, axis=1)])
    products = [math.prod(returns[i, : t + 1]) for t in range(pairs) for i in range(bettors)]
    averages = np.array(products).reshape(pairs, bettors).mean(axis=1)
    assert np.exp(path) == pytest.approx(averages, rel=1e-9)
    assert wealth.log_value == pytest.approx(math.log(averages[-1]), abs=1e-9)
    assert np.exp(wealth.log_shares()).sum() == pytest.approx(1)
    crossed = np.flatnonzero(path >= threshold)
    assert wealth.crossed_at == (int(crossed[0]) + 1 if len(crossed) else None)
    if wealth.crossed_at is not None:
        assert wealth.crossed_value == path[wealth.crossed_at - 1] >= threshold


@given(RETURNS, st.data())
@settings(max_examples=100)
def test_the_wealth_of_groups_is_the_product_of_their_averages(returns, data):
    """Two groups; every pair is paid to one of them, with all of the wealth."""
    returns = np.array(returns).T
    bettors, pairs = returns.shape
    turns = data.draw(st.lists(st.booleans(), min_size=pairs, max_size=pairs))
    shares = np.arange(1.0, bettors + 1) / sum(range(1, bettors + 1))
    wealth = Bankroll(equal(bettors), np.log(shares), threshold=1.0)
    grown = [np.full(bettors, 1 / bettors), shares.copy()]
    expected, found = [], []
    for pair, second in enumerate(turns):
        grown[second] = grown[second] * returns[:, pair]
        expected.append(math.log(grown[0].sum() * grown[1].sum()))
        found += wealth.pay(np.log(returns[:, pair : pair + 1]), group=int(second)).tolist()
    assert found == pytest.approx(expected, abs=1e-9)
    assert wealth.log_value == pytest.approx(expected[-1], abs=1e-9)
    crossed = next((t for t, value in enumerate(found, 1) if value >= 1.0), None)
    assert wealth.crossed_at == crossed
    for group in range(2):
        assert np.exp(wealth.log_shares(group)).sum() == pytest.approx(1)


def test_burn_in_counts_but_does_not_pay():
    wealth = Bankroll(equal(3), threshold=1.0)
    wealth.sit_out(6)
    assert wealth.log_value == pytest.approx(0)
    wealth.pay(np.full((3, 2), 1.0))
    assert wealth.crossed_at == 7
    assert wealth.pairs == 8


def test_bettors_without_a_share_change_nothing():
    with np.errstate(divide="ignore"):
        shares = np.log([0.25, 0.75, 0.0])
    returns = np.log([[2.0, 0.5, 3.0], [0.5, 2.0, 1.0], [100.0, 0.01, 1e9]])
    with_one, without = Bankroll(shares, threshold=1.0), Bankroll(shares[:2], threshold=1.0)
    assert with_one.pay(returns).tolist() == without.pay(returns[:2]).tolist()
    assert np.exp(with_one.log_shares())[2] == 0
    assert with_one.crossed_at == without.crossed_at


def test_shares_may_change_until_the_first_bet_only():
    wealth = Bankroll(equal(2), threshold=1.0)
    wealth.sit_out(3)
    wealth.share_out(0, np.log([0.9, 0.1]))
    wealth.pay(np.zeros((2, 0)))
    wealth.share_out(0, np.log([0.75, 0.25]))
    assert wealth.pay(np.log([[2.0], [1.0]]))[0] == pytest.approx(math.log(1.75))
    with pytest.raises(AssertionError, match="before the first bet"):
        wealth.share_out(0, equal(2))


def test_once_refuted_always_refuted():
    wealth = Bankroll(equal(1), threshold=math.log(20))
    wealth.pay(np.log([[30.0, 0.001, 0.001]]))
    assert wealth.crossed_at == 1
    assert wealth.crossed_value == pytest.approx(math.log(30))
    assert wealth.log_value < 0


def test_very_large_and_very_small_wealth():
    wealth = Bankroll(equal(2), threshold=1e6)
    path = wealth.pay(np.array([[1e5, 1e6], [-1e6, -1e6]]))
    assert path[-1] == pytest.approx(1.1e6 - math.log(2))
    ruined = Bankroll(equal(2), threshold=1.0)
    ruined.pay(np.array([[-np.inf], [0.5]]))
    assert ruined.log_value == pytest.approx(0.5 - math.log(2))


@pytest.mark.parametrize("level", [0.05, 0.3])
def test_ville(level):
    """A fair gambler doubles or loses half the stake; one in 1/level ever multiplies it by that."""
    rng = np.random.default_rng(5)
    runs, pairs = 2000, 300
    steps = np.where(rng.random((runs, pairs)) < 0.5, math.log(1.5), math.log(0.5))
    crossed = 0
    for run in steps:
        wealth = Bankroll(equal(1), threshold=-math.log(level))
        wealth.pay(run[None, :])
        crossed += wealth.crossed_at is not None
    assert crossed / runs <= level
    assert crossed / runs >= level / 2
