"""The bounds of fixed size: exact where they can be, valid at no leak and at the edge, sharp."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from scipy.special import expit, nctdtr, ndtr
from scipy.stats import binom

import tollens
from tollens.training.scores.fixed_size import (
    _least_shift,
    binomial_bound,
    binomial_p_value,
    curve_bound,
    curve_p_value,
    curve_p_value_approx,
    gaussian_fit,
    guesses,
    threshold_bound,
)

ALPHA = 0.05


def limit(runs, alpha=ALPHA):
    """alpha and three standard errors."""
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


# Guesses at the canaries of one run: exact levels, for the number of right guesses is binomial


@pytest.mark.parametrize("made", [1, 5, 40, 200])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_the_binomial_test_holds_its_level_exactly(made, epsilon):
    right = np.arange(made + 1)
    chances = binom.pmf(right, made, expit(epsilon))
    p = np.array([binomial_p_value(200, made, int(v), epsilon) for v in right])
    for alpha in (0.01, 0.05, 0.3):
        assert chances[p <= alpha].sum() <= alpha + 1e-12
    assert np.all(np.diff(p) <= 1e-15)
    assert p[0] == 1.0


@pytest.mark.parametrize("epsilon, delta", [(0.0, 0.001), (0.5, 0.004), (1.0, 0.02)])
@pytest.mark.parametrize("test", [binomial_p_value, None])
def test_guesses_where_all_canaries_are_given_away_at_once(epsilon, delta, test):
    """(epsilon, delta) for each canary: with probability delta all guesses are right."""
    m = made = 60
    right = np.arange(made + 1)
    chances = (1 - delta) * binom.pmf(right, made, expit(epsilon))
    chances[-1] += delta
    if test is None:
        p = [curve_p_value_approx(m, made, int(v), epsilon=epsilon, delta=delta) for v in right]
    else:
        p = [test(m, made, int(v), epsilon, delta) for v in right]
    tails = chances[::-1].cumsum()[::-1]
    assert np.all(tails <= np.array(p) + 1e-9), "each p-value bounds the chance of so many or more"


def test_the_term_of_delta_is_the_formula():
    m, r, v, epsilon, delta = 90, 50, 40, 0.8, 0.001
    law = binom(r, expit(epsilon))
    worst = max((law.cdf(v - 1) - law.cdf(v - i - 1)) / i for i in range(1, m + 1))
    direct = law.sf(v - 1) + 2 * m * delta * worst
    assert binomial_p_value(m, r, v, epsilon, delta) == pytest.approx(direct, rel=1e-9)


def test_the_term_of_delta_is_no_smaller_where_it_is_cut_off():
    m, r, v = 40_000, 40_000, 30_000
    law = binom(r, expit(0.9))
    worst = max((law.cdf(v - 1) - law.cdf(v - i - 1)) / i for i in range(1, 20_000))
    direct = law.sf(v - 1) + 2 * m * 1e-6 * worst
    assert binomial_p_value(m, r, v, 0.9, 1e-6) >= direct * (1 - 1e-9)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("made", [20, 100])
def test_the_recursion_holds_where_each_canary_leaks_just_mu(mu, made):
    right = np.arange(made + 1)
    tails = binom.sf(right - 1, made, ndtr(mu / 2))
    p = [curve_p_value(made, made, int(v), mu=mu) for v in right]
    assert np.all(tails <= np.array(p) + 1e-12)
    assert np.all(np.diff(p) <= 1e-12)


def test_the_recursion_holds_where_a_common_draw_helps_all_guesses():
    """Each canary keeps its trade-off curve, but right guesses come together."""
    made, mu, rng = 30, 0.7, np.random.default_rng(0)
    wins = np.zeros(made + 1)
    runs = 4000
    for _ in range(runs):
        bits = rng.random(made) < 0.5
        # a common extra noise is of no help to the curve: mu is that of the noise that is left
        common = rng.normal() * 0.8
        scores = rng.normal(0.6 * mu * bits, 0.6) + common
        wins[int(((scores > common + 0.3 * mu) == bits).sum())] += 1
    tails = wins[::-1].cumsum()[::-1] / runs
    p = np.array([curve_p_value(made, made, v, mu=mu) for v in range(made + 1)])
    assert np.all(tails <= p + 3 * np.sqrt(np.maximum(p * (1 - p), 1e-4) / runs))


@pytest.mark.parametrize("made, m", [(6, 6), (6, 9), (11, 11)])
@pytest.mark.parametrize("epsilon, delta", [(0.5, 0.0), (1.0, 0.05), (0.2, 0.1)])
def test_the_recursion_finds_the_largest_chance_that_its_inequalities_allow(
    made, m, epsilon, delta
):
    """Against a linear program over all laws of the number of right guesses."""
    k = np.arange(made + 1)
    for v in range(1, made + 1):
        rows, room = [], []
        for i in range(1, v + 1):  # a <= e^eps h + delta, and the mirrored line
            a = np.where(k >= i, k / m, 0.0)
            h = np.where(k >= i - 1, (made - k) / m, 0.0)
            rows += [a - math.exp(epsilon) * h, a - math.exp(-epsilon) * h]
            room += [delta, 1 - math.exp(-epsilon) * (1 - delta)]
        found = linprog(
            -(k >= v).astype(float), A_ub=np.array(rows), b_ub=room,
            A_eq=np.ones((1, made + 1)), b_eq=[1.0], bounds=(0, 1),
        )  # fmt: skip
        ours = curve_p_value_approx(m, made, v, epsilon=epsilon, delta=delta)
        assert ours == pytest.approx(min(1.0, -found.fun), rel=2e-3)


def test_at_delta_zero_the_recursion_is_about_the_binomial_test():
    for v in (60, 70, 80, 100):
        exact = binomial_p_value(100, 100, v, 0.5)
        assert exact * 0.999 <= curve_p_value_approx(100, 100, v, epsilon=0.5, delta=0.0)
    assert curve_p_value_approx(100, 100, 80, epsilon=0.5, delta=0.0) < 1.2 * binomial_p_value(
        100, 100, 80, 0.5
    )


def test_bounds_from_guesses_grow_with_right_guesses_and_shrink_with_delta():
    for bound in (binomial_bound, curve_bound):
        found = [bound(400, 100, v).epsilon for v in (50, 60, 75, 90, 100)]
        assert found == sorted(found)
        assert found[0] == 0
        assert bound(400, 100, 95, delta=1e-4).epsilon <= bound(400, 100, 95, delta=1e-6).epsilon


def one_run_bounds(mu, m, rng):
    bits = rng.random(m) < 0.5
    made, right = guesses(rng.normal(mu * bits), bits)
    return binomial_bound(m, made, right), curve_bound(m, made, right)


def test_no_leak_gives_no_bound_more_often_than_alpha_says():
    runs, over = 4000, np.zeros(2)
    for run in range(runs):
        over += [b.epsilon > 0 for b in one_run_bounds(0.0, 60, np.random.default_rng((1, run)))]
    assert np.all(over / runs <= limit(runs))


def test_what_picking_the_number_of_guesses_on_the_audited_scores_would_do():
    """The pitfall: the best of many thresholds, used as if it had been fixed, at no leak."""
    runs, m, picked, fixed = 400, 400, 0, 0
    sides = np.arange(3, m // 2 + 1)
    for run in range(runs):
        rng = np.random.default_rng((6, run))
        scores, bits = rng.normal(size=m), rng.random(m) < 0.5
        ranked = bits[np.argsort(scores)]
        right = np.cumsum(~ranked)[sides - 1] + np.cumsum(ranked[::-1])[sides - 1]
        picked += bool((binom.sf(right - 1, 2 * sides, 0.5) <= ALPHA).any())
        fixed += binomial_bound(m, *guesses(scores, bits)).epsilon > 0
    assert picked / runs > 0.2
    assert fixed / runs <= limit(runs)


def test_twice_the_leak_is_seen_in_guesses():
    """Of mu = 2 they show more than 1, of epsilon = 4 more than 2, nine times in ten."""
    found = [one_run_bounds(2.0, 1000, np.random.default_rng((2, run)))[1].mu for run in range(20)]
    assert np.mean(np.array(found) > 0.9) >= 0.9
    m, shown = 1000, 0
    for run in range(20):
        rng = np.random.default_rng((3, run))
        shown += binomial_bound(m, m, int(rng.binomial(m, expit(4.0)))).epsilon > 2
    assert shown >= 18


def test_guesses_look_at_no_bit():
    rng = np.random.default_rng(4)
    scores, bits = rng.normal(size=101), rng.random(101) < 0.5
    made, right = guesses(scores, bits, share=0.5)
    assert made == 50
    assert guesses(scores, ~bits, share=0.5) == (made, made - right)
    with pytest.raises(tollens.UsageError, match="0 <= correct <= guesses <= canaries"):
        binomial_p_value(10, 11, 3, 1.0)


# Independent scores on both sides

METHODS = {
    "shared": lambda x, y, seed: gaussian_fit(x, y),
    "separate": lambda x, y, seed: gaussian_fit(x, y, spread="separate"),
    "threshold": lambda x, y, seed: threshold_bound(x, y, seed=seed),
    "threshold, mu": lambda x, y, seed: threshold_bound(x, y, form="mu", seed=seed),
}


def overstated(method, mu, n, runs, key):
    """How often the bounds exceed the truth, (mu, epsilon)."""
    truth = tollens.gaussian(mu).epsilon(1e-5) if mu else 0.0
    over = np.zeros(2)
    for run in range(runs):
        rng = np.random.default_rng((key, run))
        found = METHODS[method](rng.normal(mu, size=n), rng.normal(size=n), run)
        over += [found.mu is not None and found.mu > mu, found.epsilon > truth]
    return over / runs


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("n", [12, 100])
def test_neither_at_no_leak_nor_at_a_leak_is_it_overstated(method, mu, n):
    runs = {"shared": 4000, "separate": 1500}.get(method, 1000)
    assert np.all(overstated(method, mu, n, runs, 5) <= limit(runs))


@pytest.mark.parametrize("method", METHODS)
def test_a_difference_in_the_wrong_direction_is_no_mu(method):
    """The pitfall: |mu| instead of mu shows a leak where the attack guesses worse than a coin."""
    for run in range(50):
        rng = np.random.default_rng((7, run))
        x, y = rng.normal(-3.0, size=100), rng.normal(size=100)
        assert not METHODS[method](x, y, run).mu
    if method in ("shared", "threshold, mu"):
        assert METHODS[method](x, y, 0).epsilon == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_twice_the_leak_is_seen(method):
    """mu = 2 where 1 is claimed; Laplace noise of scale 1/2 where epsilon = 1 is."""
    found, epsilons = [], []
    for run in range(20):
        rng = np.random.default_rng((8, run))
        found.append(METHODS[method](rng.normal(2.0, size=300), rng.normal(size=300), run).mu)
        x, y = 1 + rng.laplace(scale=0.5, size=600), rng.laplace(scale=0.5, size=600)
        epsilons.append(METHODS[method](x, y, run).epsilon)
    if method == "threshold":
        assert np.mean(np.array(epsilons) > 1.0) >= 0.9
    else:
        assert np.mean(np.array(found) > 1.0) >= 0.9


@pytest.mark.parametrize("n", [6, 40, 3000])
def test_the_shared_fit_has_its_level_exactly(n):
    """The t statistic is drawn itself; one in twenty bounds exceeds the truth."""
    runs, mu = 20_000, 1.5
    rng = np.random.default_rng(11)
    unit, free = math.sqrt(2 / n), 2 * n - 2
    t = (mu / unit + rng.normal(size=runs)) / np.sqrt(rng.chisquare(free, size=runs) / free)
    over = np.mean(t > brentq(lambda q: nctdtr(free, mu / unit, q) - 0.95, 0.1, 1000))
    assert over == pytest.approx(0.05, abs=0.006)
    edge = brentq(lambda q: nctdtr(free, mu / unit, q) - 0.95, 0.1, 1000)
    assert unit * _least_shift(edge, free, 0.05) == pytest.approx(mu, rel=1e-6)


def test_other_spreads_are_a_leak_of_their_own():
    """Where only the spread differs, the separate fit sees it and mu says little."""
    rng = np.random.default_rng(9)
    x, y = rng.normal(0.0, 4.0, size=2000), rng.normal(size=2000)
    assert gaussian_fit(x, y, spread="separate").epsilon > 3
    assert threshold_bound(x, y).epsilon > 1


def test_rows_stay_in_one_half():
    """Scores of a row may share their noise: both are in the half that picks, or that counts."""
    rng = np.random.default_rng(10)
    over, runs = 0, 1200
    for run in range(runs):
        noise = rng.normal(size=60)
        over += threshold_bound(noise, noise + 1e-9 * rng.normal(size=60), seed=run).epsilon > 0
    assert over / runs <= limit(runs)


def test_what_does_not_fit_is_refused():
    with pytest.raises(tollens.UsageError, match="at least 4 a side"):
        gaussian_fit(np.zeros(3), np.zeros(9))
    with pytest.raises(tollens.UsageError, match="finite"):
        gaussian_fit(np.array([0, 1, 2, math.inf]), np.arange(4.0))
    with pytest.raises(tollens.UsageError, match="spread is 'none'"):
        gaussian_fit(np.arange(4.0), np.arange(4.0), spread="none")
    with pytest.raises(tollens.UsageError, match="form is 'none'"):
        threshold_bound(np.arange(4.0), np.arange(4.0), form="none")
    with pytest.raises(tollens.UsageError, match="no number"):
        threshold_bound(np.array([0, 1, 2, math.nan]), np.arange(4.0))
    assert gaussian_fit(np.full(9, 2.0), np.full(9, 1.0)).mu == math.inf
    assert threshold_bound(np.full(9, math.inf), np.zeros(9)).epsilon >= 0


def test_bounds_say_what_they_assume():
    x, y = np.arange(50.0), np.arange(50.0)
    texts = [
        bound.words()
        for bound in (
            gaussian_fit(x, y), threshold_bound(x, y), binomial_bound(100, 50, 50),
            curve_bound(100, 50, 50),
        )
    ]  # fmt: skip
    assert all("assumes" in text and "error probability 0.05" in text for text in texts)
    assert "no leak shown" in texts[0]
