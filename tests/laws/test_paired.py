"""Linear bets on coupled pairs: fair whatever the dependence of the two sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.lenses import fit_lenses
from tollens.auditing.paired import (
    EVENTS,
    LENSES,
    SINGLES,
    STRENGTHS,
    Events,
    LinearBets,
    directions,
    fit_events,
)
from tollens.outputs import Encoder
from tollens.streams import SearchStream


def lenses_of(x, y):
    return fit_lenses(x, y, SearchStream(0).generator(0))


def all_of(x, y):
    """Which of the past runs are coupled: all."""
    return np.ones(len(x), dtype=bool), np.ones(len(y), dtype=bool)


def bets_of(claim, past_x, past_y, encoder):
    """Linear bets learned from coupled past pairs."""
    linear = LinearBets(claim.promises())
    x, y = encoder.encode(past_x), encoder.encode(past_y)
    linear.learn(x, y, all_of(x, y), lenses_of(x, y))
    linear.bet()
    return linear


def joint_returns(linear, values, encoder):
    """The returns of every bettor on every pair of values, (bettors, k, k)."""
    k = len(values)
    x = encoder.encode([v for v in values for _ in values])
    y = encoder.encode([w for _ in values for w in values])
    return np.exp(linear.log_returns(linear.joint(x, y))).reshape(-1, k, k)


def couplings(p, q):
    """Joint laws with margins p and q: independent, equal as often as can be, and by order."""
    k = len(p)
    yield np.outer(p, q)
    same = np.diag(np.minimum(p, q))
    rest_p, rest_q = p - same.sum(axis=1), q - same.sum(axis=0)
    left = rest_p.sum()
    yield same + (np.outer(rest_p, rest_q) / left if left > 1e-12 else 0)
    for order in (np.arange(k), np.arange(k)[::-1]):
        table, a, b = np.zeros((k, k)), p.copy(), q.copy()
        i = j = 0
        while i < k and j < k:
            mass = min(a[i], b[order[j]])
            table[i, order[j]] += mass
            a[i] -= mass
            b[order[j]] -= mass
            i, j = (i + 1, j) if a[i] <= b[order[j]] else (i, j + 1)
        yield table


@st.composite
def coupled_laws(draw):
    k = draw(st.integers(2, 5))
    masses = st.lists(st.floats(0.01, 1), min_size=k, max_size=k)
    p, q = np.array(draw(masses)), np.array(draw(masses))
    return p / p.sum(), q / q.sum()


VALUES = [0.0, 1.0, None, "a", 2.5]


@given(coupled_laws(), st.floats(0, 1), st.integers(0, 1000), st.sampled_from(["pure", "approx"]))
@settings(max_examples=60)
def test_no_bettor_gains_while_the_promise_is_kept(laws, extra, seed, kind):
    p, q = laws
    k = len(p)
    tight = float(np.max(np.abs(np.log(p / q))))
    claim = tollens.pure(tight + extra)
    if kind == "approx":
        used = max(float(np.maximum(a - math.exp(extra) * b, 0).sum()) for a, b in ((p, q), (q, p)))
        claim = tollens.approx(extra, min(1.0, used))
    rng = np.random.default_rng(seed)
    encoder = Encoder()
    past = [[VALUES[i] for i in rng.integers(0, k, size=12)] for _ in range(2)]
    linear = bets_of(claim, *past, encoder)
    returns = joint_returns(linear, VALUES[:k], encoder)
    assert np.all(returns >= 0)
    for joint in couplings(p, q):
        assert joint.sum() == pytest.approx(1)
        expected = (returns * joint).sum(axis=(1, 2))
        assert expected.max() <= 1 + 1e-9


@given(st.sampled_from(["epsilon=1", "epsilon=1, delta=0.1", "mu=1", "epsilon=2, ordered"]))
def test_the_starting_shares_sum_to_one(text):
    linear = LinearBets(tollens.parse_claim(text).promises())
    assert np.exp(linear.log_weights).sum() == pytest.approx(1)
    assert len(linear.log_weights) == linear.assets * len(STRENGTHS) + 2


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_the_grid_against_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    encoder = Encoder()
    claim = tollens.approx(0.7, 0.05)
    linear = bets_of(claim, rng.normal(size=30), rng.normal(size=30), encoder)
    x, y = rng.normal(size=4), rng.normal(size=4)
    coded = encoder.encode(x), encoder.encode(y)
    found = linear.log_returns(linear.joint(*coded))
    events_x, events_y = linear.events.of(coded[0]), linear.events.of(coded[1])
    bettor = 0
    for direction in directions(claim.promises()):
        for event in range(EVENTS):
            for strength in STRENGTHS:
                for pair in range(4):
                    f, g = float(events_x[event, pair]), float(events_y[event, pair])
                    if direction.swapped:
                        f, g = g, f
                    e = math.exp(0.7)
                    expected = 1 + strength * (f - e * g - 0.05) / (e + 0.05)
                    assert found[bettor, pair] == pytest.approx(math.log(expected), abs=1e-12)
                bettor += 1
    assert len(found) == bettor + 2


class TestEvents:
    @staticmethod
    def fitted(outputs_x, outputs_y):
        encoder = Encoder()
        x, y = encoder.encode(outputs_x), encoder.encode(outputs_y)
        return fit_events(x, y, lenses_of(x, y)), encoder

    def test_thresholds_and_their_complements(self):
        rng = np.random.default_rng(0)
        events, encoder = self.fitted(rng.normal(size=50), rng.normal(size=50))
        table = events.of(encoder.encode(rng.normal(size=200)))
        assert table.shape == (EVENTS, 200)
        low, high = table[:15], table[15:30]
        assert np.all(low ^ high)
        near, far = table[30:37], table[37:44]
        assert np.all(near ^ far)

    @pytest.mark.parametrize(
        "outputs",
        [
            [None] * 4,
            ["a", "b", None, 1.5],
            [math.inf, -math.inf, math.nan, 0.0],
            [(1.0, None), (2.0, None)],
            [np.arange(3.0), np.arange(3.0) + 1],
            [True, False],
            [10**400, 1],
            [[]],
        ],
        ids=str,
    )
    def test_any_outputs(self, outputs):
        events, encoder = self.fitted(outputs, outputs[::-1])
        seen = [*outputs, "never seen", math.nan, (1, 2), None]
        table = events.of(encoder.encode(seen))
        assert table.shape == (EVENTS, len(seen))
        for event in range(EVENTS):
            assert isinstance(events, Events)
            if table[event].any():
                assert events.describe(event, encoder)

    def test_an_output_never_seen_belongs_to_no_single_value(self):
        events, encoder = self.fitted(["a", "a", "b"], ["a", "b", "b"])
        assert not events.of(encoder.encode([b"new"])).any()

    def test_several_numbers_are_looked_at_through_each_lens(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(80, 3)), rng.normal(size=(80, 3))
        x[:, 1] += 2
        events, encoder = self.fitted(x, y)
        assert [part.score is None for part in events.thresholds] == [False] * 3
        coded = encoder.encode(np.concatenate([x, y]))
        table, row = events.of(coded), 0
        for part, (cuts, folds) in zip(events.thresholds, LENSES.values(), strict=True):
            values = part.score(coded.numbers)
            for cut in part.cuts:
                assert np.array_equal(table[row], values <= cut)
                assert np.array_equal(table[row + cuts], values > cut)
                row += 1
            row += cuts
            for fold in part.folds:
                assert np.array_equal(table[row], np.abs(values - part.center) <= fold)
                assert np.array_equal(table[row + folds], np.abs(values - part.center) > fold)
                row += 1
            row += folds
        assert row + SINGLES == EVENTS
        single = 2 * sum(LENSES["value"])
        assert "output[1]" in events.describe(single, encoder)

    def test_past_outputs_are_looked_at_through_scores_of_other_folds(self):
        rng = np.random.default_rng(0)
        encoder = Encoder()
        x, y = (encoder.encode(rng.normal(size=(60, 4))) for _ in range(2))
        seen, linear = lenses_of(x, y), LinearBets(tollens.pure(1).promises())
        half = np.arange(60) < 30
        linear.learn(x, y, (half, half), seen)
        cuts = linear.events.thresholds[0].cuts
        for i, cut in enumerate(cuts.tolist()):
            p, q = linear.frequencies(i)
            assert p == pytest.approx(np.mean(seen.lenses["value"].x[:30] <= cut))
            assert q == pytest.approx(np.mean(seen.lenses["value"].y[:30] <= cut))


class TestPortfolio:
    def test_it_finds_the_event_that_leaks(self):
        rng = np.random.default_rng(0)
        noise = rng.laplace(scale=0.3, size=300)
        linear = bets_of(tollens.pure(1), 1 + noise, noise, Encoder())
        assert linear.growth > 0.1

    def test_it_stays_out_where_nothing_leaks(self):
        rng = np.random.default_rng(0)
        noise = rng.laplace(scale=3, size=300)
        linear = bets_of(tollens.pure(1), 1 + noise, noise, Encoder())
        assert linear.growth < 0.01

    def test_it_is_a_portfolio(self):
        rng = np.random.default_rng(1)
        linear = bets_of(tollens.gaussian(1), rng.normal(size=60), rng.normal(size=60), Encoder())
        weights = linear._portfolio
        assert weights.sum() == pytest.approx(1)
        assert np.all(weights >= 0)
        assert len(weights) == linear.assets + 1

    @given(st.integers(0, 100))
    @settings(max_examples=15)
    def test_counting_in_pieces_is_counting_at_once(self, seed):
        rng = np.random.default_rng(seed)
        encoder = Encoder()
        x, y = (encoder.encode(rng.integers(0, 4, size=60)) for _ in range(2))
        whole = LinearBets(tollens.pure(1).promises())
        pieces = LinearBets(tollens.pure(1).promises())
        for linear in (whole, pieces):
            past = x[:10], y[:10]
            linear.learn(*past, all_of(*past), lenses_of(*past))
        joint = whole.joint(x[10:], y[10:])
        whole.count(joint)
        cut = int(rng.integers(1, 50))
        pieces.count(joint[:, :cut])
        pieces.count(joint[:, cut:])
        whole.bet()
        pieces.bet()
        assert pieces.growth == pytest.approx(whole.growth, abs=1e-12)
        assert np.allclose(pieces._portfolio, whole._portfolio)


@given(coupled_laws())
def test_the_couplings_of_these_tests_have_the_right_margins(laws):
    p, q = laws
    assume(len(p) > 1)
    for joint in couplings(p, q):
        assert joint.sum(axis=1) == pytest.approx(p)
        assert joint.sum(axis=0) == pytest.approx(q)
        assert np.all(joint >= -1e-15)
