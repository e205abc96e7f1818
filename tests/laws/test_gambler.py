"""The order of things: bets come before the pairs they score, however the stream is cut."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.sequential import BURN_IN, Gambler
from tollens.outputs import Raised, concatenate

PAIRS = 130


def numbers(rng, n):
    return 1 + rng.laplace(size=n), rng.laplace(size=n)


def bits(rng, n):
    return rng.random(n) < 0.7, rng.random(n) < 0.4


def vectors(rng, n):
    return 1 + rng.normal(size=(n, 3)), rng.normal(size=(n, 3))


def one_mixed(rng, shift):
    draw = rng.random()
    if draw < 0.1:
        return None
    if draw < 0.2:
        return Raised("ValueError")
    if draw < 0.3:
        return math.nan
    if draw < 0.6:
        return shift + rng.normal()
    return int(rng.integers(3))


def mixed(rng, n):
    return [one_mixed(rng, 1) for _ in range(n)], [one_mixed(rng, 0) for _ in range(n)]


KINDS = {"numbers": numbers, "bits": bits, "vectors": vectors, "mixed": mixed}
CLAIMS = {"numbers": "epsilon=0.5", "bits": "mu=0.5", "vectors": "epsilon=1, delta=0.01"}


def gambler_of(kind, *, alpha=0.05):
    claim = tollens.parse_claim(CLAIMS.get(kind, "epsilon=1"))
    return Gambler(claim, alpha=alpha, delta=None, seed=3)


def fed(kind, n=PAIRS, seed=0):
    gambler = gambler_of(kind)
    x, y = KINDS[kind](np.random.default_rng(seed), n)
    return gambler, gambler.encoder.encode(x), gambler.encoder.encode(y)


def state(gambler):
    return gambler.evidence().crossed_at, gambler.epsilon_lower, gambler.pairs


class TestCutting:
    @pytest.mark.parametrize("kind", KINDS)
    @given(cuts=st.lists(st.integers(0, PAIRS), max_size=12))
    @example(cuts=list(range(PAIRS)))
    @settings(max_examples=4)
    def test_the_result_does_not_depend_on_how_the_stream_is_cut(self, kind, cuts):
        whole, x, y = fed(kind)
        whole.update(x, y)
        pieces = gambler_of(kind)
        edges = [0, *sorted(cuts), PAIRS]
        for start, stop in itertools.pairwise(edges):
            pieces.update(x[start:stop], y[start:stop])
        assert state(pieces) == state(whole)
        assert pieces.log_e_value == pytest.approx(whole.log_e_value, abs=1e-9)

    def test_nor_does_the_digest(self):
        whole, x, y = fed("numbers")
        whole.update(x, y)
        pieces = gambler_of("numbers")
        pieces.update(x[:50], y[:50])
        pieces.update(x[50:], y[50:])
        assert pieces.evidence().digest == whole.evidence().digest

    @pytest.mark.parametrize("kind", KINDS)
    @given(cuts=st.lists(st.integers(1, PAIRS - 1), max_size=6, unique=True))
    @settings(max_examples=4)
    def test_nor_does_a_stream_of_raw_outputs(self, kind, cuts):
        x, y = KINDS[kind](np.random.default_rng(4), PAIRS)
        whole, pieces = (tollens.Audit(CLAIMS.get(kind, "epsilon=1"), alpha=0.05) for _ in "ab")
        whole.update(x, y)
        edges = [0, *sorted(cuts), PAIRS]
        for start, stop in itertools.pairwise(edges):
            pieces.update(x[start:stop], y[start:stop])
        assert pieces.log_e_value == pytest.approx(whole.log_e_value, abs=1e-9)
        assert pieces.epsilon_lower == whole.epsilon_lower

    def test_nor_does_a_stream_of_texts(self):
        rng = np.random.default_rng(1)
        x, y = ([f"{v:.1f}" for v in rng.normal(size=PAIRS)] for _ in range(2))
        whole, pieces = (tollens.Audit("epsilon=0.5", alpha=0.05) for _ in range(2))
        whole.update(x, y)
        for i in range(PAIRS):
            pieces.update(x[i : i + 1], y[i : i + 1])
        assert pieces.log_e_value == pytest.approx(whole.log_e_value, abs=1e-9)


def floats(rng, n):
    return rng.normal(size=n)


def many_shapes(rng, n):
    return [[1, 1.5, None, "a", (1,)][int(v)] for v in rng.integers(5, size=n)]


class TestPredictability:
    """What was bet on a pair is decided before the pair and all later ones are looked at."""

    @staticmethod
    def wealth_before(make, change_from, seed):
        past, future = np.random.default_rng(1), np.random.default_rng(seed)
        sides = []
        for _ in range(2):
            old = make(past, change_from)
            sides.append([*old, *make(future, PAIRS - change_from)])
        audit = tollens.Audit("epsilon=0.2", alpha=0.05)
        audit.update(*sides)
        curve = audit.verdict().evidence.curve
        return [point for point in curve if point[0] <= change_from]

    @pytest.mark.parametrize("make", [floats, many_shapes])
    @pytest.mark.parametrize("change_from", [20, 90])
    def test_the_future_does_not_change_the_past(self, make, change_from):
        first, second = (self.wealth_before(make, change_from, seed) for seed in (2, 3))
        assert len(first) > 2
        assert [n for n, _ in first] == [n for n, _ in second]
        assert [w for _, w in first] == pytest.approx([w for _, w in second], abs=1e-12)

    @pytest.mark.parametrize(
        "usual, odd",
        [([1, 2, 3], 2**70), ([(0.0, 0.5), (1.0, 0.5)], (0, 0.5))],
        ids=["huge integers", "mixed tuples"],
    )
    def test_nor_does_a_future_of_another_kind(self, usual, odd):
        rng = np.random.default_rng(1)
        x, y = ([usual[i] for i in rng.integers(len(usual), size=PAIRS)] for _ in range(2))
        curves = []
        for last in (x[-1], odd):
            audit = tollens.Audit("epsilon=0.1", alpha=0.05)
            audit.update(x[:90], y[:90])
            audit.update([*x[90:-1], last], y[90:])
            curves.append([w for n, w in audit.verdict().evidence.curve if n < PAIRS - 8])
        assert curves[0] == pytest.approx(curves[1], abs=1e-12)

    def test_nor_does_the_shape_that_x_will_show_first(self):
        rng = np.random.default_rng(0)
        y = [int(rng.integers(0, 5)) if i % 2 else float(rng.normal()) for i in range(60)]
        curves = []
        for last in ([1, 1.5], [1.5, 1]):
            audit = tollens.Audit("epsilon=0.5", alpha=0.05)
            audit.update([None] * 58 + last, y)
            curves.append([w for n, w in audit.verdict().evidence.curve if n < 58])
        assert curves[0] == pytest.approx(curves[1], abs=1e-12)

    def test_the_bets_of_the_first_pairs_are_none(self):
        gambler, x, y = fed("numbers")
        gambler.update(x[:BURN_IN], y[:BURN_IN])
        assert gambler.log_e_value == pytest.approx(0)
        assert gambler.until_next_bet() == 1

    @pytest.mark.parametrize("kind", KINDS)
    def test_standing_bets_do_not_move_while_pairs_come_in(self, kind):
        gambler, x, y = fed(kind)
        gambler.update(x[:100], y[:100])
        left = gambler.until_next_bet()
        assert left > 1
        before = [table.copy() for table in gambler.product._log_bets]
        cells = gambler.product.experts
        gambler.update(x[100 : 99 + left], y[100 : 99 + left])
        assert gambler.product.experts is cells
        for old, new in zip(before, gambler.product._log_bets, strict=True):
            assert np.array_equal(old, new)

    @pytest.mark.parametrize("kind", KINDS)
    def test_standing_bets_are_fair(self, kind):
        gambler, x, y = fed(kind)
        for stop in (10, 40, PAIRS):
            gambler.update(x[gambler.pairs : stop], y[gambler.pairs : stop])
            a, b = (np.exp(table) for table in gambler.product._log_bets)
            _, _, real = gambler.product.experts.laws()
            for promise_number, promise in enumerate(gambler.promises):
                for view in range(len(a)):
                    at, bt = (t[view, promise_number][real[view]] for t in (a, b))
                    assert np.max(at + bt) <= 2  # equal laws keep every promise
                    assert promise.order in (-1, 0, 1)


class TestSymmetry:
    def test_swapping_the_sides_changes_nothing_for_a_claim_that_binds_both_orders(self):
        for kind in ("numbers", "bits"):
            one, x, y = fed(kind)
            other = gambler_of(kind)
            one.update(x, y)
            other.update(y, x)
            assert other.log_e_value == pytest.approx(one.log_e_value, abs=1e-3)

    def test_an_ordered_claim_binds_one_order_only(self):
        rng = np.random.default_rng(0)
        rare, common = rng.random(2000) < 0.001, rng.random(2000) < 0.2
        forwards = tollens.Audit(tollens.approx(1, 0.05, ordered=True), alpha=0.05)
        forwards.update(common, rare)
        assert forwards.refuted
        backwards = tollens.Audit(tollens.approx(1, 0.05, ordered=True), alpha=0.05)
        backwards.update(rare, common)
        assert not backwards.refuted


def test_a_long_stream_costs_little_memory_and_keeps_its_cells():
    rng = np.random.default_rng(0)
    gambler = Gambler(tollens.pure(1), alpha=0.05, delta=None, seed=0)
    x, y = (gambler.encoder.encode(rng.laplace(size=200_000)) for _ in range(2))
    gambler.update(x, y)
    assert gambler.pairs == 200_000
    kept = [part for past in gambler._past for part in (past.x, past.y)]
    assert [len(part) for part in kept] == [16_384, 16_384]
    assert all(part.numbers.base is None or len(part.numbers.base) == 16_384 for part in kept)
    assert not gambler.refuted


def test_concatenated_pasts_are_the_stream():
    gambler, x, y = fed("mixed")
    gambler.update(x, y)
    past = concatenate([part[0] for part in gambler._past])
    assert np.array_equal(past.keys, x.keys)
    past = concatenate([part[1] for part in gambler._past])
    assert np.array_equal(past.keys, y.keys)
