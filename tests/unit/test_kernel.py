"""The kernel audit: the same numbers as a slow transcription, however the stream comes."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.kernel import (
    BURN_IN,
    FARTHEST,
    NOISELESS,
    ROUNDING,
    SETTINGS,
    KernelBettor,
    Standard,
    ceiling,
    fewest_pairs,
    total_variation,
)
from tollens.auditing.rff import ExactFunction, FeatureFunction, gaussian_kernel
from tollens.claim import Promise
from tollens.errors import UsageError

EXACT = ("paper", "better")


def distance_square(a, b):
    return sum((s - t) ** 2 for s, t in zip(a, b, strict=True))


def oracle(x, y, epsilon, delta, setting):
    """The log wealth path from the formulas, one kernel evaluation at a time."""
    past = [*x[:BURN_IN], *y[:BURN_IN]]
    h = statistics.median(
        math.sqrt(distance_square(past[i], past[j])) for i in range(len(past)) for j in range(i)
    )

    def k(a, b):
        return math.exp(-distance_square(a, b) / (2 * h * h))

    tau = math.sqrt(2) * (1 - 2 * (1 - delta) / (1 + math.exp(epsilon))) + ROUNDING
    if setting == "paper":
        radius, largest = 0.5, 1 / (8 + 4 * tau)
    else:
        radius, largest = 1.0, 0.5 / (math.sqrt(2) + tau)
    terms = []  # f = sum of c (k(a, .) - k(b, .))

    def f(z):
        return sum(c * (k(a, z) - k(b, z)) for c, a, b in terms)

    wealth, path, stake, curvature, squares, norm2 = 1.0, [], 0.0, 1.0, 0.0, 0.0
    for u, v in zip(x[BURN_IN:], y[BURN_IN:], strict=True):
        gap = f(u) - f(v)
        payoff = gap - tau
        wealth *= 1 + stake * payoff
        path.append(math.log(wealth))
        z = -payoff / (1 + stake * payoff)
        curvature += z * z
        stake = min(max(stake - 2 / (2 - math.log(3)) * z / curvature, 0.0), largest)
        g2 = k(u, u) + k(v, v) - 2 * k(u, v)
        squares += g2
        if squares > 0:
            eta = 1 / (2 * math.sqrt(squares))
            norm2 = norm2 + 2 * eta * gap + eta * eta * g2
            terms.append((eta, u, v))
            if norm2 > radius**2:
                terms = [(c * radius / math.sqrt(norm2), a, b) for c, a, b in terms]
                norm2 = radius**2
    return [0.0] * BURN_IN + path


def laplace(rng, n, width=1, shift=1.0):
    return shift + rng.laplace(size=(n, width)), rng.laplace(size=(n, width))


@pytest.mark.parametrize("setting", EXACT)
@pytest.mark.parametrize(("width", "epsilon", "delta"), [(1, 0.1, 0.0), (3, 0.5, 0.01)])
def test_the_path_is_that_of_the_formulas(setting, width, epsilon, delta):
    x, y = laplace(np.random.default_rng(width), 90, width)
    claim = tollens.approx(epsilon, delta) if delta else tollens.pure(epsilon)
    path = KernelBettor(claim, setting=setting).update(x, y)
    expected = oracle(x.tolist(), y.tolist(), epsilon, delta, setting)
    np.testing.assert_allclose(path, expected, rtol=0, atol=1e-10)
    assert abs(path[-1]) > 1e-3


@pytest.mark.parametrize("setting", EXACT)
def test_the_path_is_that_of_the_formulas_where_nothing_differs_at_first(setting):
    x = np.concatenate([np.tile([[0.0], [3.0]], (15, 1)), np.full((30, 1), 3.0)])
    y = np.concatenate([np.tile([[0.0], [3.0]], (15, 1)), np.zeros((30, 1))])
    path = KernelBettor(tollens.pure(0.1), setting=setting).update(x, y)
    expected = oracle(x.tolist(), y.tolist(), 0.1, 0.0, setting)
    np.testing.assert_allclose(path, expected, rtol=0, atol=1e-10)
    assert path[BURN_IN + 10 - 1] == 0.0  # m_t = 0: no step, no stake


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(SETTINGS)),
    st.sampled_from([1, 2]),
    st.lists(st.integers(0, 90), max_size=6),
)
def test_cutting_the_stream_changes_nothing(setting, width, cuts):
    rng = np.random.default_rng(5)
    x, y = laplace(rng, 300, width)
    x[rng.random(x.shape) < 0.05] = np.nan
    y[rng.random(y.shape) < 0.05] = np.inf
    whole = KernelBettor(tollens.pure(0.1), setting=setting)
    path = whole.update(x, y)
    pieces = KernelBettor(tollens.pure(0.1), setting=setting)
    ends = [0, *np.minimum(np.cumsum(cuts), 300).astype(int).tolist(), 300]
    parts = [pieces.update(x[a:b], y[a:b]) for a, b in itertools.pairwise(ends)]
    np.testing.assert_allclose(np.concatenate(parts), path, rtol=0, atol=1e-11)
    assert pieces.pairs == whole.pairs == 300
    assert pieces.log_value == pytest.approx(whole.log_value, abs=1e-11)


@pytest.mark.parametrize("setting", sorted(SETTINGS))
def test_long_streams_are_the_same_as_pair_by_pair(setting):
    """Several blocks of the kernel matrix, and a memory that grows."""
    x, y = laplace(np.random.default_rng(8), 900)
    path = KernelBettor(tollens.pure(0.1), setting=setting).update(x, y)
    single = KernelBettor(tollens.pure(0.1), setting=setting)
    steps = [single.update(x[i : i + 1], y[i : i + 1])[0] for i in range(900)]
    np.testing.assert_allclose(path, steps, rtol=0, atol=1e-11)


def test_a_bet_does_not_see_its_pair():
    """Changing pair t changes nothing before t; swapping its sides flips its payoff only."""
    x, y = laplace(np.random.default_rng(2), 60)
    other_x, other_y = x.copy(), y.copy()
    other_x[50:], other_y[50:] = y[50:], x[50:]
    for setting in SETTINGS:
        a, b = (KernelBettor(tollens.pure(0.1), setting=setting) for _ in range(2))
        path, changed = a.update(x, y), b.update(other_x, other_y)
        assert path[:50].tolist() == changed[:50].tolist()
        stake = KernelBettor(tollens.pure(0.1), setting=setting)
        stake.update(x[:50], y[:50])
        factors = np.exp([path[50] - path[49], changed[50] - changed[49]])
        assert factors.mean() == pytest.approx(1 - stake.stake.value * stake.tau, abs=1e-12)


def test_one_number_may_come_without_its_axis():
    x, y = laplace(np.random.default_rng(1), 40)
    flat = KernelBettor(tollens.pure(0.1)).update(x[:, 0], y[:, 0])
    assert flat.tolist() == KernelBettor(tollens.pure(0.1)).update(x, y).tolist()


@pytest.mark.parametrize("width", [1, 2, 5])
def test_features_approach_the_gaussian_kernel(width):
    rng = np.random.default_rng(width)
    points = rng.normal(size=(40, width))
    phi = FeatureFunction(width, 1.0, rng).features(points)
    np.testing.assert_allclose((phi**2).sum(axis=1), 1.0, atol=1e-12)
    error = phi @ phi.T - gaussian_kernel(points, points)
    assert np.abs(error).max() < 5 / math.sqrt(2 * 256)
    assert math.sqrt((error**2).mean()) < 1 / math.sqrt(256)


def test_features_learn_nearly_the_same_function():
    x, y = laplace(np.random.default_rng(4), 400, shift=2.0)
    exact = ExactFunction(1, 1.0).gaps(x, y)
    near = FeatureFunction(1, 1.0, np.random.default_rng(0)).gaps(x, y)
    assert np.corrcoef(exact, near)[0, 1] > 0.98
    assert near.mean() == pytest.approx(exact.mean(), abs=0.05)


def test_features_depend_on_the_seed_and_nothing_else_does():
    x, y = laplace(np.random.default_rng(4), 60)

    def end(setting, seed):
        return float(KernelBettor(tollens.pure(0.1), setting=setting, seed=seed).update(x, y)[-1])

    assert end("features", 1) == end("features", 1) != end("features", 2)
    assert end("paper", 1) == end("paper", 2)


# outputs that are no ordinary numbers


def test_values_that_are_no_numbers_are_values_of_their_own():
    rng = np.random.default_rng(0)
    standard = Standard(rng.normal(size=(40, 1)))
    points = standard(np.array([[np.nan], [np.inf], [-np.inf], [1e300], [-1e300], [0.0]]))
    assert np.all(np.isfinite(points))
    np.testing.assert_array_equal(gaussian_kernel(points, points), np.eye(6))
    assert np.abs(points[3:]).max() <= FARTHEST


@pytest.mark.parametrize("setting", sorted(SETTINGS))
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e308, 5e-324])
def test_a_special_value_that_gives_the_input_away_refutes(setting, special):
    rng = np.random.default_rng(3)
    x = rng.laplace(size=400)
    x[rng.random(400) < 0.8] = special
    y = np.full(400, 7.0)
    y[::3] = rng.laplace(size=len(y[::3]))
    path = KernelBettor(tollens.pure(0.1), setting=setting).update(x, y)
    assert np.all(np.isfinite(path))
    assert path.max() > math.log(20)


@pytest.mark.parametrize("setting", sorted(SETTINGS))
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 1e308])
def test_equal_outputs_never_move_the_wealth(setting, value):
    same = np.full((200, 2), value)
    assert not KernelBettor(tollens.pure(0.1), setting=setting).update(same, same).any()


def test_the_bandwidth_is_the_median_distance():
    outputs = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    assert Standard(outputs).bandwidth == pytest.approx(5.0)
    assert Standard(outputs * 1e300).bandwidth == pytest.approx(5e300)
    assert Standard(outputs * 1e-300).bandwidth == pytest.approx(5e-300)


def test_the_largest_floats_do_not_overflow():
    outputs = np.repeat([[-1.5e308], [1.2e308], [1.6e308]], [2, 19, 19], axis=0)
    standard = Standard(outputs)
    assert math.isfinite(standard.bandwidth)
    assert standard.center[0] == pytest.approx(1.2e308)
    assert len(np.unique(standard(outputs))) == 3


def test_the_bandwidth_is_positive_where_most_outputs_are_equal():
    mostly = np.zeros((40, 1))
    mostly[:2, 0] = 4.0
    assert Standard(mostly).bandwidth == 4.0
    assert Standard(np.zeros((40, 1))).bandwidth == 1.0
    assert Standard(np.full((40, 1), np.nan)).bandwidth == 1.0


def test_distances_to_values_that_are_no_numbers_do_not_count():
    outputs = np.array([[0.0], [2.0], [4.0], [np.nan], [np.inf]])
    assert Standard(outputs).bandwidth == 2.0
    assert Standard(outputs).center.tolist() == [2.0]


# constants


@pytest.mark.parametrize("setting", sorted(SETTINGS))
@given(st.floats(0, 12), st.floats(0, 1))
def test_no_factor_can_be_lost(setting, epsilon, delta):
    chosen = SETTINGS[setting]
    tau = chosen.tau(total_variation(Promise(epsilon, delta, 0)))
    assert 1 - chosen.largest_stake(tau) * (chosen.variation + tau) >= 0.5 - 1e-12
    assert chosen.margin >= chosen.variation
    floor = math.sqrt(2.0) if not chosen.features else 2.0
    assert chosen.variation == pytest.approx(floor * chosen.radius)


def test_the_published_constants():
    assert BURN_IN == 20
    tau = KernelBettor(tollens.pure(0.1), setting="paper").tau
    assert tau == pytest.approx(math.sqrt(2) * (1 - 2 / (1 + math.exp(0.1))), abs=2e-9)
    assert SETTINGS["paper"].largest_stake(tau) == 1 / (8 + 4 * tau)
    tau = KernelBettor(tollens.approx(0.1, 1e-5), setting="features").tau
    assert tau == pytest.approx(2 * (1 - 2 * (1 - 1e-5) / (1 + math.exp(0.1))), abs=2e-9)


def test_total_variation_of_claims_and_promises():
    assert total_variation(tollens.approx(1, 0.1)) == pytest.approx(
        total_variation(Promise(1.0, 0.1, 0))
    )
    one_order = tollens.approx(1, 0.1, ordered=True)
    assert total_variation(one_order) == pytest.approx(total_variation(Promise(1.0, 0.1, 1)))
    assert total_variation(tollens.gaussian(1)) == pytest.approx(0.3829, abs=1e-4)
    assert total_variation(Promise(1e4, 0.0, 0)) == 1.0


@pytest.mark.parametrize("setting", sorted(SETTINGS))
def test_the_ceiling_is_where_outputs_without_noise_stop_refuting(setting):
    x, y = np.zeros(4000), np.ones(4000)
    top = ceiling(setting)
    below = KernelBettor(tollens.pure(top * 0.85), setting=setting, seed=1).update(x, y)
    above = KernelBettor(tollens.pure(top * 1.15), setting=setting, seed=1).update(x, y)
    assert below.max() > math.log(20)
    assert above.max() < math.log(2)


def test_the_ceiling_falls_with_delta_and_rises_with_distance():
    for setting in SETTINGS:
        assert ceiling(setting, delta=0.1) < ceiling(setting) < ceiling(setting, similarity=0.1)
        assert ceiling(setting, delta=0.9) == 0.0
        assert ceiling(setting, similarity=1.0) == 0.0
    gain = math.sqrt(2 - 2 * NOISELESS)
    claimed = math.sqrt(2) * total_variation(Promise(ceiling("better", delta=0.1), 0.1, 0))
    assert claimed == pytest.approx(gain)


@pytest.mark.parametrize("setting", sorted(SETTINGS))
def test_no_outputs_refute_with_fewer_pairs_than_the_fewest(setting):
    least = fewest_pairs(tollens.pure(0.1), 0.05, setting)
    x, y = np.zeros(500), np.full(500, np.nan)
    path = KernelBettor(tollens.pure(0.1), setting=setting).update(x, y)
    first = int(np.argmax(path >= math.log(20))) + 1
    assert BURN_IN < least <= first < 4 * least
    assert fewest_pairs(tollens.pure(40), 0.05, "paper") is None


def test_wrong_calls_say_what_is_wrong():
    with pytest.raises(UsageError, match="one of paper, better, features"):
        KernelBettor(tollens.pure(1), setting="best")
    with pytest.raises(UsageError, match="give two"):
        KernelBettor(tollens.pure(1)).update(np.zeros(3), np.zeros(4))
    with pytest.raises(UsageError, match="give two"):
        KernelBettor(tollens.pure(1)).update(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)))
    bettor = KernelBettor(tollens.pure(1))
    bettor.update(np.zeros((3, 2)), np.zeros((3, 2)))
    with pytest.raises(UsageError, match="1 numbers after some of 2"):
        bettor.update(np.zeros(3), np.zeros(3))
