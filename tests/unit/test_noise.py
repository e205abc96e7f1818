"""The primitives draw what they say, from the stream of the run, and refuse bad parameters."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import tollens
from tollens import noise
from tollens.errors import UsageError
from tollens.mechanism import from_callable

N = 20_000


def draws(primitive, seed=5):
    rng = np.random.default_rng(seed)
    with noise.drawing(rng):
        return np.array([primitive() for _ in range(N)])


@pytest.mark.parametrize(
    ("primitive", "law"),
    [
        (lambda: noise.laplace(2), stats.laplace(scale=2)),
        (lambda: noise.laplace(Fraction(1, 3)), stats.laplace(scale=1 / 3)),
        (lambda: noise.gauss(0.5), stats.norm(scale=0.5)),
        (lambda: noise.exponential(3), stats.expon(scale=3)),
        (lambda: noise.uniform(-1, 2), stats.uniform(-1, 3)),
    ],
)
def test_continuous_draws_have_their_law(primitive, law):
    assert stats.kstest(draws(primitive), law.cdf).pvalue > 1e-3
    other = stats.kstest(draws(primitive) * 1.1, law.cdf)
    assert other.pvalue < 1e-3  # the test would notice a scale that is 10 % off


@pytest.mark.parametrize(
    ("primitive", "masses"),
    [
        (lambda: noise.geometric(0.4), {k: 0.4 * 0.6**k for k in range(8)}),
        (lambda: noise.flip(0.3), {True: 0.3, False: 0.7}),
        (lambda: noise.discrete({"a": 0.5, "b": Fraction(1, 5), "c": 0.3}),
         {"a": 0.5, "b": 0.2, "c": 0.3}),
    ],
)  # fmt: skip
def test_discrete_draws_have_their_masses(primitive, masses):
    seen = draws(primitive).tolist()
    for value, mass in masses.items():
        error = (mass * (1 - mass) / N) ** 0.5
        assert abs(seen.count(value) / N - mass) < 4 * error


def test_a_geometric_draw_counts_failures():
    assert draws(lambda: noise.geometric(1)).max() == 0
    assert draws(lambda: noise.geometric(0.5)).min() == 0


def test_types_are_plain():
    with noise.drawing(np.random.default_rng(0)):
        assert type(noise.laplace(1)) is float
        assert type(noise.geometric(0.5)) is int
        assert type(noise.flip(0.5)) is bool


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: noise.laplace(0), "scale is 0"),
        (lambda: noise.laplace(float("nan")), "scale is nan"),
        (lambda: noise.gauss(-1), "sigma is -1"),
        (lambda: noise.exponential(float("inf")), "scale is inf"),
        (lambda: noise.uniform(1, 1), "no interval"),
        (lambda: noise.geometric(0), "p is 0"),
        (lambda: noise.geometric(1.5), "p is 1.5"),
        (lambda: noise.flip(-0.1), "p is -0.1"),
        (lambda: noise.discrete({}), "sum to"),
        (lambda: noise.discrete({1: 0.5, 2: 0.6}), "sum to 1.1"),
        (lambda: noise.discrete({1: -0.5, 2: 1.5}), "at least 0"),
    ],
)
def test_bad_parameters_are_named(call, word):
    with pytest.raises(UsageError, match=word):
        call()


def test_a_block_ends_with_its_stream():
    rng = np.random.default_rng(1)
    with noise.drawing(rng):
        with noise.drawing(np.random.default_rng(2)):
            inner = noise.laplace(1)
        outer = noise.laplace(1)
    with noise.drawing(np.random.default_rng(2)):
        assert noise.laplace(1) == inner
    with noise.drawing(np.random.default_rng(1)):
        assert noise.laplace(1) == outer


def test_without_a_stream_draws_are_fresh():
    assert noise.laplace(1) != noise.laplace(1)


def test_another_thread_does_not_see_the_stream():
    seen = []
    with noise.drawing(np.random.default_rng(3)):
        thread = threading.Thread(target=lambda: seen.append(noise.laplace(1)))
        thread.start()
        thread.join()
        mine = noise.laplace(1)
    assert seen != [mine]


def helper():
    return noise.gauss(1)


def by_helper(data):
    return data + helper()


def of_its_own(data):
    return data + np.random.default_rng().normal()


def whole_path(data):
    return data + tollens.noise.laplace(1)


@pytest.mark.parametrize(
    ("function", "ours"), [(by_helper, True), (whole_path, True), (of_its_own, False), (len, False)]
)
def test_who_draws_here_is_known(function, ours):
    assert noise.draws_here(function) is ours
    assert from_callable(function).takes_rng is ours


def test_audits_of_such_programs_repeat_and_are_coupled():
    def count(rows):
        return len(rows) + noise.laplace(0.5)

    first, second = (
        tollens.audit(count, "epsilon=1", neighbours=([1, 1], [1]), seed=4) for _ in range(2)
    )
    assert first.refuted
    assert first.replayable
    assert (first.pairs, first.log_e_value) == (second.pairs, second.log_e_value)
    common = tollens.audit(
        count, "epsilon=1.9", neighbours=([1, 1], [1]), seed=4, coupling="common", budget=500
    )
    assert common.pairs == 500
