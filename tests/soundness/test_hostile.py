"""Mechanisms that treat both inputs alike are never refuted, however odd their outputs are."""

from __future__ import annotations

import itertools
import math
import uuid
from fractions import Fraction

import numpy as np
import pytest

import tollens
from tollens import Outcome

CLAIM = "epsilon=0.1"
ALPHA = 0.01
RUNS = 8
PAIRS = 120


def refuted(mechanism, *, runs=RUNS, budget=PAIRS, claim=CLAIM, alpha=ALPHA, **settings):
    """The seeds with which a mechanism that ignores its data is refuted."""
    found = []
    for seed in range(runs):
        verdict = tollens.audit(
            mechanism, claim, neighbours=(0, 1), budget=budget, alpha=alpha, seed=seed, **settings
        )
        assert math.isfinite(verdict.log_e_value)
        assert math.isfinite(verdict.epsilon_lower)
        found += [seed] if verdict.refuted else []
    return found


def cauchy(data, rng):
    return rng.standard_cauchy()


def infinities(data, rng):
    draw = rng.random()
    return math.inf if draw < 0.3 else -math.inf if draw < 0.5 else rng.normal()


def nothing_but_infinities(data, rng):
    return math.inf if rng.random() < 0.5 else -math.inf


def overflowing(data, rng):
    return float(rng.choice([1e308, -1e308, 5e-324, 0.0, -0.0, 1.0])) * rng.random()


def huge_integers(data, rng):
    return int(rng.integers(4)) * 10**400


def dtypes(data, rng):
    kind = [np.float32, np.float64, np.int64, np.uint8, np.bool_, float, int, bool][rng.integers(8)]
    return kind(rng.integers(2))


def shapes(data, rng):
    return rng.normal(size=int(rng.integers(1, 5)))


def ragged_lists(data, rng):
    return rng.normal(size=int(rng.integers(0, 4))).tolist()


def mixture(data, rng):
    draw = rng.random()
    options = [None, "yes", "no", math.nan, b"\0\1", rng.normal(), (1, "a"), {"n": rng.random()}]
    return options[int(draw * len(options))]


def raises_at_random(data, rng):
    if rng.random() < 0.3:
        raise (ValueError if rng.random() < 0.5 else KeyError)(str(rng.random()))
    return rng.normal()


def messages_with_addresses(data, rng):
    raise ValueError(f"<object at {rng.integers(2**60):#x}>")


def unequal_constants_of_one_value(data, rng):
    return -0.0 if rng.random() < 0.5 else 0.0


def nan_vectors(data, rng):
    values = rng.normal(size=3)
    values[rng.random(3) < 0.3] = np.nan
    return values


def constant_columns(data, rng):
    return np.array([1.0, rng.normal(), 1e300, 0.0, np.inf])


def dictionaries_of_random_keys(data, rng):
    return {f"key{i}": float(rng.normal()) for i in rng.permutation(5)[: rng.integers(1, 3)]}


def unique_texts(data, rng):
    return str(uuid.UUID(int=int(rng.integers(2**63))))


def texts_of_numbers(data, rng):
    return f"{rng.laplace():.3f}"


def lists_of_texts(data, rng):
    return [f"user{i}" for i in rng.integers(0, 50, size=3)]


def long_vectors(data, rng):
    return rng.normal(size=40)


def fractions_as_text(data, rng):
    return str(Fraction(int(rng.integers(100)), 7))


def sets(data, rng):
    return set(rng.integers(0, 5, size=2).tolist())


def correlated(data, rng):
    common = rng.normal()
    return common, common + 1e-9 * rng.normal(), -common


MECHANISMS = [
    cauchy,
    infinities,
    nothing_but_infinities,
    overflowing,
    huge_integers,
    dtypes,
    shapes,
    ragged_lists,
    mixture,
    raises_at_random,
    unequal_constants_of_one_value,
    nan_vectors,
    constant_columns,
    dictionaries_of_random_keys,
    unique_texts,
    texts_of_numbers,
    lists_of_texts,
    long_vectors,
    fractions_as_text,
    sets,
    correlated,
]


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of the arithmetic, on nobody's screen
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.__name__)
def test_equal_treatment_is_not_refuted(mechanism):
    assert refuted(mechanism) == []


def test_mixtures_are_not_refuted_in_a_hundred_runs():
    assert len(refuted(mixture, runs=100, budget=40, alpha=0.05)) <= 5


@pytest.mark.parametrize("coupling", ["independent", "common", "auto"])
@pytest.mark.parametrize("mechanism", [mixture, raises_at_random, nan_vectors, cauchy])
def test_equal_treatment_is_not_refuted_however_runs_are_coupled(mechanism, coupling):
    assert refuted(mechanism, runs=4, coupling=coupling) == []


@pytest.mark.parametrize("constant", [7, None, "text", math.nan, (), [1.5, None], b"", {}, -0.0])
def test_equal_constants_are_undecided(constant):
    verdict = tollens.audit(lambda data: constant, CLAIM, neighbours=(0, 1), budget=200)
    assert verdict.outcome is Outcome.UNDECIDED


def test_a_mechanism_that_only_raises_is_undecided():
    verdict = tollens.audit(messages_with_addresses, CLAIM, neighbours=(0, 1), budget=500)
    assert verdict.outcome is Outcome.UNDECIDED


def test_rare_huge_integers():
    def rarely(data, rng):
        return 2**70 if rng.random() < 1 / 90 else 5

    assert len(refuted(rarely, runs=8, budget=2000, coupling="independent")) <= 1


def test_rare_tuples_of_other_types():
    def clamped(data, rng):
        return (0, 1.5) if rng.random() < 1 / 90 else (0.0, 1.5)

    assert len(refuted(clamped, runs=8, budget=2000, coupling="independent")) <= 1


def test_a_stream_of_unique_texts():
    rng = np.random.default_rng(0)
    for _ in range(3):
        audit = tollens.Audit("epsilon=1")
        audit.update(*([repr(v) for v in rng.laplace(size=200)] for _ in range(2)))
        assert not audit.refuted


class TestOrder:
    """Outputs that depend on the order of the calls, but not on the data."""

    @staticmethod
    def audits(make, claim=CLAIM, runs=5, budget=400):
        return [
            tollens.audit(
                make(), claim, neighbours=(0, 1), budget=budget, alpha=ALPHA, seed=seed
            ).refuted
            for seed in range(runs)
        ]

    def test_a_counter(self):
        def make():
            numbers = itertools.count()
            return lambda data: next(numbers)

        assert not any(self.audits(make))

    def test_a_warm_up(self):
        def make():
            calls, rng = itertools.count(), np.random.default_rng(0)
            return lambda data: rng.normal() + (5 if next(calls) < 12 else 0)

        assert not any(self.audits(make))

    def test_a_random_walk(self):
        def make():
            state, rng = [0.0], np.random.default_rng(0)

            def walk(data):
                state[0] += 0.01 * rng.normal()
                return state[0] + rng.normal()

            return walk

        assert not any(self.audits(make))

    def test_a_slow_drift(self):
        def make():
            calls, rng = itertools.count(), np.random.default_rng(0)
            return lambda data: 1e-3 * next(calls) + rng.normal()

        assert not any(self.audits(make))

    def test_a_cycle_of_three(self):
        def make():
            calls, rng = itertools.count(), np.random.default_rng(0)
            return lambda data: rng.normal() + next(calls) % 3

        assert not any(self.audits(make, claim="epsilon=1"))

    @pytest.mark.xfail(strict=True, reason="x is always called first: x' always sees the odd calls")
    def test_alternating_calls(self):
        def make():
            calls = itertools.count()
            return lambda data: next(calls) % 2

        assert not any(self.audits(make, claim="epsilon=0.1"))


class TestSharedDraws:
    """Mechanisms that keep their promise, run on both inputs with the same draws."""

    @staticmethod
    def refuted(mechanism, claim, alpha=1e-3, runs=6, budget=800, coupling="common"):
        return sum(
            tollens.audit(
                mechanism, claim, neighbours=(0, 1), seed=seed, alpha=alpha, budget=budget,
                coupling=coupling,
            ).refuted
            for seed in range(runs)
        )  # fmt: skip

    def test_a_mechanism_that_takes_more_draws_on_one_side(self):
        def uneven(data, rng):
            rng.random(1 + 3 * data)
            return data + rng.laplace()

        assert self.refuted(uneven, "epsilon=1") == 0

    def test_a_mechanism_that_mirrors_its_draws(self):
        def mirrored(data, rng):
            return rng.normal() * (1 - 2 * data)

        assert self.refuted(mirrored, CLAIM) == 0

    def test_a_mechanism_that_spawns_generators(self):
        def spawns(data, rng):
            noise, _ = rng.spawn(2)
            return data + noise.laplace()

        assert self.refuted(spawns, "epsilon=1", runs=3) == 0

    def test_a_batch_that_uses_its_draws_in_another_order_on_one_side(self):
        @tollens.batched
        def reversed_and_mirrored(data, n, rng):
            draws = rng.random(n)
            return 1 - draws[::-1] if data else draws

        assert self.refuted(reversed_and_mirrored, "epsilon=0", runs=20, budget=300) <= 1
