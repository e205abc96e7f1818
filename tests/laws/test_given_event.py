"""An event that is given beforehand: bets on it are fair, come before the runs, and find leaks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.cells import Marked
from tollens.auditing.experts import GIVEN, GIVEN_SHARE, SLOTS, View, bets, padded_laws
from tollens.auditing.sequential import Gambler
from tollens.auditing.smoothing import Counted
from tollens.errors import UsageError
from tollens.event import event_of
from tollens.outputs import Encoder, Raised

CLAIMS = ["epsilon=1", "epsilon=0.5, delta=0.1", "epsilon=1, ordered", "mu=1"]


def both(output):
    """Four numbers near 0 whose signs make a positive product."""
    return bool(np.abs(output).max() < 0.5 and np.prod(output) > 0)


@tollens.batched
def signs(data, n, rng):
    """The signs of four small numbers give the record away; no single number does."""
    out = rng.laplace(size=(n, 4))
    near = (np.abs(out) < 0.5).all(axis=1)
    wrong = near & ((out.prod(axis=1) > 0) != (rng.random(n) < (0.95 if data else 0.05)))
    out[wrong, 0] *= -1
    return out


class TestFair:
    @given(
        st.sampled_from(CLAIMS),
        st.tuples(*[st.integers(0, 300)] * 4),
        st.sampled_from([0.0, 10.0]),
    )
    @settings(max_examples=60)
    def test_no_bet_gains_where_the_claim_holds(self, claim, counts, pull):
        """E a(X) E b(Y) <= 1 on the whole boundary of what the claim allows for the event."""
        made = tollens.parse_claim(claim)
        n = np.array(counts, dtype=np.float64) + 1
        view = View(Marked.of("it"), Counted(0.5), pull, n[:2], n[2:])
        factors = bets(*padded_laws([view]), made.promises())
        q = np.linspace(0, 1, 101)
        for p in (_most(made, q), 1 - _most(made, 1 - q)):
            for k in range(len(made.promises())):
                a, b = factors.a[0, k], factors.b[0, k]
                mean = (p * a[1] + (1 - p) * a[0]) * (q * b[1] + (1 - q) * b[0])
                assert mean.max() <= 1 + 1e-9

    def test_a_claim_at_its_edge_is_seldom_refuted(self):
        """Eighty streams in which only the event differs, and by as much as is allowed."""
        rng = np.random.default_rng(5)
        refuted = 0
        for seed in range(80):
            gambler = Gambler(
                tollens.pure(1), alpha=0.1, delta=None, seed=seed, given="odd",
                encoder=Encoder(lambda output: output % 2 == 1),
            )  # fmt: skip
            likely = rng.random(200) < 0.3
            other = rng.random(200) < 0.3 / math.e
            sides = (2 * rng.integers(0, 10**6, 200) + odd for odd in (likely, other))
            gambler.update(*(gambler.encoder.encode(side) for side in sides))
            refuted += gambler.refuted
        assert refuted <= 8 + 3 * math.sqrt(80 * 0.1 * 0.9)


def _most(claim, q):
    """The largest P(event on x) that the claim allows where it is q on x'."""
    grid = [p for p in claim.promises() if p.order >= 0]
    return np.minimum.reduce(
        [np.minimum(1, np.exp(p.epsilon) * q + p.delta) for p in grid]
        + [
            1 - np.maximum(0, (1 - q - p.delta) / np.exp(p.epsilon))
            for p in claim.promises()
            if p.order <= 0
        ]
    )


class TestOrder:
    def streams(self, n=120):
        rng = np.random.default_rng(0)
        return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 0.3

    def gambler(self):
        encoder = Encoder(lambda output: output[0] > 0.5)
        return Gambler(
            tollens.pure(0.5), alpha=0.05, delta=None, seed=1, given="it", encoder=encoder
        )

    def test_the_result_does_not_depend_on_how_the_stream_is_cut(self):
        x, y = self.streams()
        whole, pieces = self.gambler(), self.gambler()
        whole.update(whole.encoder.encode(x), whole.encoder.encode(y))
        for start in range(0, 120, 7):
            part = slice(start, start + 7)
            pieces.update(pieces.encoder.encode(x[part]), pieces.encoder.encode(y[part]))
        assert whole.evidence().digest == pieces.evidence().digest
        assert whole.log_e_value == pytest.approx(pieces.log_e_value)
        assert whole.shares() == pytest.approx(pieces.shares())

    def test_later_runs_have_no_say_in_earlier_bets(self):
        x, y = self.streams()
        one, other = self.gambler(), self.gambler()
        one.update(one.encoder.encode(x[:60]), one.encoder.encode(y[:60]))
        changed = np.concatenate([y[:60], np.full((60, 2), 9.0)])
        other.update(other.encoder.encode(x), other.encoder.encode(changed))
        before = [point for point in other.evidence().curve if point[0] <= 50]
        same = [point for point in one.evidence().curve if point[0] <= 50]
        assert [value for _, value in before] == pytest.approx([value for _, value in same])

    def test_its_share_of_the_stake(self):
        gambler = self.gambler()
        x, y = self.streams(10)
        gambler.update(gambler.encoder.encode(x[:6]), gambler.encoder.encode(y[:6]))
        shares = np.exp(gambler.product.log_weights)
        assert shares.sum() == pytest.approx(1)
        assert shares[len(SLOTS) : len(SLOTS) + len(GIVEN)].sum() == pytest.approx(GIVEN_SHARE)
        assert set(gambler.shares()) == {*SLOTS, *GIVEN, "favourite"}
        assert sum(gambler.shares().values()) == pytest.approx(1)


class TestPower:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_it_finds_a_rare_joint_event_that_the_others_do_not(self, seed):
        options = {"neighbours": (0, 1), "seed": seed, "budget": 12_000}
        found = tollens.audit(signs, "epsilon=1", witness=both, **options)
        assert found.refuted
        assert found.witness.text == "both(output)"
        assert found.witness.likely_under == "x_prime"
        assert not tollens.audit(signs, "epsilon=1", **options).refuted

    def test_a_wrong_guess_costs_little(self):
        def count(data, rng):
            return data + rng.laplace(scale=0.5)

        never = event_of({"kind": "event", "patterns": [{"between": ["100", None]}]})
        pairs = [
            [
                tollens.audit(count, "epsilon=1", neighbours=(0, 1), seed=s, witness=w).pairs
                for s in range(5)
            ]
            for w in (None, never)
        ]
        assert np.mean(pairs[1]) <= 1.15 * np.mean(pairs[0])


class TestUse:
    def test_what_is_no_event(self):
        def count(data, rng):
            return data + rng.laplace()

        options = {"neighbours": (0, 1), "budget": 2000}
        with pytest.raises(UsageError, match="witness is a str"):
            tollens.audit(count, "epsilon=1", witness="output > 1", **options)
        with pytest.raises(UsageError, match="bets on no witness"):
            tollens.audit(count, "epsilon=1", witness=both, method="mmd", **options)
        with pytest.raises(UsageError, match="the witness raised TypeError"):
            tollens.audit(count, "epsilon=1", witness=len, **options)

    def test_runs_that_raise_are_in_no_event(self):
        encoder = Encoder(lambda output: True)
        assert encoder.encode([1.0, Raised("ValueError"), None]).marks.tolist() == [
            True,
            False,
            True,
        ]
        assert Encoder().encode([1.0]).marks is None

    def test_too_small_a_budget_counts_what_the_guess_may_lose(self):
        def count(data, rng):
            return data + rng.laplace()

        with pytest.raises(UsageError, match="can never refute"):
            tollens.audit(count, "epsilon=1", neighbours=(0, 1), budget=10, witness=both)
