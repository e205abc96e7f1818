"""Many pairs of inputs under one wealth: stakes, choices, false alarms, and what is found."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing.bandit import BACKED, EQUAL, Bandit, prior, stake
from tollens.auditing.record import Recorder, rescore
from tollens.auditing.sequential import BURN_IN, Gambler
from tollens.errors import UsageError
from tollens.neighbours import Pair
from tollens.outputs import Encoder
from tollens.relations import Relation

TRUE = 1 / (1 + math.exp(-1))
"""How often a randomised response with epsilon = 1 tells the truth."""


class Source:
    """Outputs of a relation whose pairs leak as told; run i of a side is made of draw i alone.

    Pair i is randomised response, which tells the truth with probability `truths[i]`. From draw
    `change_from` of a side on, the draws are those of another seed.
    """

    def __init__(self, truths, *, seed=0, change_from=None, other=1, draws=20_000):
        self.truths = truths
        self._draws = np.random.default_rng(seed).random((2, draws))
        if change_from is not None:
            late = np.random.default_rng([other]).random((2, draws))
            self._draws[:, change_from:] = late[:, change_from:]
        self._used = [0, 0]

    def relation(self):
        return Relation("responses", len(self.truths), lambda i: (i, -i))

    def runs(self, pair, n, m, *, coupled):
        """n outputs of x and m of x', as encoded runs are drawn."""
        truth = self.truths[pair.x]
        first = self._draws[0, self._used[0] : self._used[0] + n]
        second = self._draws[1, self._used[1] : self._used[1] + m]
        self._used = [self._used[0] + n, self._used[1] + m]
        return first < truth, (first if coupled else second) < 1 - truth


def bandit_of(source, *, claim="epsilon=1", alpha=0.05, coupling="independent", unequal=False):
    made = tollens.parse_claim(claim)
    return Bandit(
        source.relation(),
        lambda encoder, share: Gambler(
            made, alpha=alpha, delta=None, seed=0, coupling=coupling, encoder=encoder,
            share=share, unequal=unequal,
        ),
    )  # fmt: skip


class Step:
    """What a bandit was asked and told at one time."""

    def __init__(self, bandit, x, y):
        self.pair, self.coupled = bandit.next_pair, bandit.next_coupled
        self.ratio, self.x, self.y = bandit.next_ratio, x, y
        self.after = 0.0


def feed(bandit, source, budget, *, most=64, until_refuted=False):
    """Run the inputs that the bandit chooses; at most so many pairs at a time. The steps made."""
    steps = []
    pieces = itertools.cycle(most if isinstance(most, list) else [most])
    while bandit.pairs < budget and not (until_refuted and bandit.refuted):
        n, m = bandit.next_ratio
        pairs = min(bandit.until_next_bet(), budget - bandit.pairs, next(pieces))
        rounds = max(pairs // ((n + m) // 2), 1)
        x, y = source.runs(bandit.next_pair, n * rounds, m * rounds, coupled=bandit.next_coupled)
        step = Step(bandit, x, y)
        bandit.update(bandit.encoder.encode(x), bandit.encoder.encode(y))
        step.after = bandit.log_e_value
        steps.append(step)
    return steps


class TestStakes:
    def test_they_never_sum_to_more_than_one(self):
        for pairs in range(1, 5001):
            shares = stake(np.arange(1, pairs + 1), pairs)
            assert np.sum(shares) <= 1
            assert np.all(np.asarray(shares) > 0)

    @pytest.mark.parametrize("pairs", [2, 3, 17, 300])
    def test_they_are_those_of_the_formula(self, pairs):
        exact = [Fraction(1, 2 * k * (k + 1)) + Fraction(1, 2 * pairs) for k in range(1, pairs + 1)]
        assert sum(exact) == 1 - Fraction(1, 2 * (pairs + 1))
        assert [stake(k, pairs) for k in range(1, pairs + 1)] == pytest.approx(
            [float(share) for share in exact], rel=1e-14
        )

    def test_one_pair_has_it_all(self):
        assert stake(1, 1) == 1


def test_the_prior_is_a_mixture():
    assert prior(1) == pytest.approx([1.0])
    assert np.all(np.diff(prior(500)) < 0)
    assert prior(500)[-1] > EQUAL * np.mean(prior(500)) > 0


def replay(steps, pairs, claim, alpha, coupling):
    """The whole audit in plain Python, run by run: choices, stakes, and the wealth after each.

    The bets themselves are those of a gambler for each pair of inputs, who is told of the others
    only how much of the threshold they leave.
    """
    gamblers, growth, staked, path, clock = [], [], [], [], []
    encoder, arm, done = Encoder(), 0, 0
    mean = math.fsum(1 / (i + 1) for i in range(pairs)) / pairs
    weights = [(1 - EQUAL) / (i + 1) + EQUAL * mean for i in range(pairs)]

    def open_next():
        share = 1.0 if pairs == 1 else 0.0
        gamblers.append(
            Gambler(
                claim,
                alpha=alpha,
                delta=None,
                seed=0,
                coupling=coupling,
                encoder=encoder,
                share=share,
                unequal=True,
            )
        )
        growth.append(0.0)

    def stakes():
        if pairs == 1:
            return [1.0]
        return [1 / (2 * k * (k + 1)) + 1 / (2 * pairs) for k in range(1, len(staked) + 1)]

    def parts():
        """What is kept, and what every stake has become."""
        shares = stakes()
        return [1 - math.fsum(shares)] + [
            share * math.exp(gamblers[which].bankroll.log_value)
            for share, which in zip(shares, staked, strict=True)
        ]

    open_next()
    if pairs == 1:
        staked.append(0)
    needed = 1 / (alpha * (1 - 1 / 50))
    for step in steps:
        if arm in staked and max(path, default=0.0) < needed:
            # what this pair has to make of 1, for the whole wealth to be enough
            k = staked.index(arm)
            others = math.fsum(part for i, part in enumerate(parts()) if i != k + 1)
            gamblers[arm].bankroll.threshold = math.log((needed - others) / stakes()[k])
        assert step.pair.x == arm
        assert step.coupled == gamblers[arm].next_coupled
        assert step.ratio == gamblers[arm].next_ratio
        n, m = step.ratio
        for i in range(len(step.x) // n):
            gamblers[arm].update(
                encoder.encode(step.x[i * n : (i + 1) * n]),
                encoder.encode(step.y[i * m : (i + 1) * m]),
            )
            done += (n + m) // 2
            path.append(math.fsum(parts()))
            clock.append(done)
        growth[arm] = gamblers[arm].growth
        if not gamblers[arm].bets_are_new or pairs == 1:
            continue
        evidence = [
            min(max(g * own.pairs, -30), 30) for g, own in zip(growth, gamblers, strict=True)
        ]
        had = [own.pairs / (weights[i] * math.exp(evidence[i])) for i, own in enumerate(gamblers)]
        arm = had.index(min(had))
        if len(gamblers) < pairs and BURN_IN / weights[len(gamblers)] <= had[arm]:
            arm = len(gamblers)
            open_next()
        elif evidence[arm] >= BACKED and arm not in staked:
            staked.append(arm)
            gamblers[arm].back(stakes()[-1])
    return path, clock, staked


TRUTHS = {
    "one pair": [0.85],
    "two pairs": [0.6, 0.9],
    "a broken one late": [0.5] * 6 + [0.95] + [0.6] * 5,
    "all at the claim": [TRUE] * 10,
    "all broken": [0.9] * 5,
}


class TestWealth:
    @pytest.mark.parametrize("coupling", ["independent", "auto"])
    @pytest.mark.parametrize("unequal", [False, True])
    @pytest.mark.parametrize("name", TRUTHS)
    def test_it_is_the_sum_of_stakes_and_what_is_kept(self, name, unequal, coupling):
        truths, claim, alpha = TRUTHS[name], tollens.pure(1), 1e-3
        source = Source(truths, seed=4)
        bandit = bandit_of(source, alpha=alpha, coupling=coupling, unequal=unequal)
        steps = feed(bandit, source, 500)
        if not unequal:
            assert {step.ratio for step in steps} == {(1, 1)}
        with pytest.MonkeyPatch.context() as patch:
            if not unequal:  # the gamblers of the oracle are then those of equal rounds
                patch.setattr("tollens.auditing.product.RATIOS", ())
            path, clock, staked = replay(steps, len(truths), claim, alpha, coupling)
        threshold = -math.log(alpha * (1 - 1 / 50))
        crossed = next(
            (n for n, w in zip(clock, path, strict=True) if math.log(w) >= threshold), None
        )
        assert bandit.crossed_at == crossed
        assert bandit._log_wealth() == pytest.approx(math.log(path[-1]), abs=1e-9)
        assert bandit._staked == staked
        before = [step.after for step, _ in zip(steps, range(20), strict=False)]
        seen = np.cumsum([(len(step.x) + len(step.y)) // 2 for step in steps[:20]])
        assert before == pytest.approx(
            [math.log(path[clock.index(n)]) for n in seen.tolist()], abs=1e-9
        )

    def test_some_of_these_cases_cross_with_several_stakes(self):
        source = Source(TRUTHS["all broken"], seed=4)
        bandit = bandit_of(source, alpha=1e-3)
        feed(bandit, source, 500)
        assert bandit.refuted
        assert len(bandit._staked) > 1

    @pytest.mark.parametrize("coupling", ["independent", "auto", "common"])
    @pytest.mark.parametrize("truth", [0.9, TRUE])
    def test_one_pair_gives_the_numbers_of_a_gambler_alone(self, truth, coupling):
        source = Source([truth], seed=2)
        bandit = bandit_of(source, alpha=0.01, coupling=coupling, unequal=True)
        steps = feed(bandit, source, 400)
        alone = Gambler(
            bandit.claim, alpha=0.01, delta=None, seed=0, coupling=coupling, unequal=True
        )
        for step in steps:
            assert (step.coupled, step.ratio) == (alone.next_coupled, alone.next_ratio)
            alone.update(alone.encoder.encode(step.x), alone.encoder.encode(step.y))
            assert alone.log_e_value == step.after
        assert bandit.epsilon_lower == alone.epsilon_lower
        assert bandit.evidence() == alone.evidence()
        assert bandit.evidence(at_crossing=True) == alone.evidence(at_crossing=True)
        found, expected = bandit.shown(), alone.shown()
        assert (found and found.witness) == (expected and expected.witness)
        assert bandit.crossed_at == alone.bankroll.crossed_at
        assert bandit.best_runs == (400, 1.0)


class TestOrder:
    @pytest.mark.parametrize("coupling", ["independent", "auto"])
    @given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=6))
    @example(cuts=[1])
    @settings(max_examples=4)
    def test_the_result_does_not_depend_on_how_the_runs_are_cut(self, coupling, cuts):
        found = []
        for most in (64, cuts):
            source = Source(TRUTHS["a broken one late"], seed=6)
            bandit = bandit_of(source, alpha=1e-4, coupling=coupling, unequal=coupling != "auto")
            # every cut asks for whole rounds, and an audit ends after one
            feed(bandit, source, 300, most=most)
            found.append(bandit)
        whole, pieces = found
        assert pieces._staked == whole._staked
        assert [g.pairs for g in pieces._gamblers] == [g.pairs for g in whole._gamblers]
        assert pieces.crossed_at == whole.crossed_at
        assert pieces.epsilon_lower == whole.epsilon_lower
        assert pieces.evidence().digest == whole.evidence().digest
        assert pieces.log_e_value == pytest.approx(whole.log_e_value, abs=1e-9)

    def test_choices_are_made_before_the_runs_that_they_concern(self):
        """Other outputs from some run on change no choice, stake or wealth up to there."""
        for change_from in (30, 111, 200):
            seen = []
            for other in (1, 2):
                source = Source(TRUTHS["all broken"], seed=3, change_from=change_from, other=other)
                bandit = bandit_of(source, coupling="auto", unequal=True)
                steps = feed(bandit, source, 320)
                seen.append([(s.pair.x, s.coupled, s.ratio, len(s.x), s.after) for s in steps])
                sides = [np.cumsum([len(getattr(s, side)) for s in steps]) for side in "xy"]
                last = min(int(np.searchsorted(side, change_from, "right")) for side in sides)
            assert last > 5
            first, second = seen
            assert first[:last] == second[:last]
            assert first[last][:4] == second[last][:4]  # the next choice is of the past too
            assert first != second


class TestLaw:
    @staticmethod
    def refuted(audits, budget, alpha, **settings):
        """The part of audits of 20 pairs, all exactly at the claim, that refute it."""
        found = 0
        for seed in range(audits):
            source = Source([TRUE] * 20, seed=[9, seed], draws=4 * budget)
            bandit = bandit_of(source, alpha=alpha, **settings)
            feed(bandit, source, budget, until_refuted=True)
            found += bandit.refuted
        return found / audits

    @pytest.mark.parametrize(
        ("coupling", "unequal", "audits", "budget"),
        [("independent", False, 120, 200), ("independent", True, 60, 150), ("auto", True, 60, 100)],
    )
    def test_true_claims_are_refuted_no_more_often_than_alpha(
        self, coupling, unequal, audits, budget
    ):
        alpha = 0.2
        rate = self.refuted(audits, budget, alpha, coupling=coupling, unequal=unequal)
        assert rate <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / audits)

    def test_without_the_stakes_they_would_be(self, monkeypatch):
        """The test of the test: were every pair given the whole stake, it would be seen."""
        monkeypatch.setattr("tollens.auditing.bandit.stake", lambda k, pairs: 1.0)
        monkeypatch.setattr("tollens.auditing.bandit.BACKED", -10.0)
        assert self.refuted(60, 300, 0.2) > 0.2 + 3 * math.sqrt(0.2 * 0.8 / 60)

    def test_the_certified_leak_is_too_large_no_more_often_than_alpha(self):
        audits, alpha, truth = 40, 0.2, 0.85
        leak = math.log(truth / (1 - truth))
        too_large, found = 0, 0.0
        for seed in range(audits):
            source = Source([0.6, truth, TRUE, truth, 0.5], seed=[8, seed], draws=1200)
            bandit = bandit_of(source, claim="epsilon=1", alpha=alpha)
            feed(bandit, source, 400)
            found += bandit.epsilon_lower / audits
            too_large += bandit.epsilon_lower > leak
        error = math.sqrt(alpha * (1 - alpha) / audits)
        assert too_large / audits <= alpha + 3 * error
        assert 1 < found < leak


def respond(data, rng):
    """Randomised response; data are (side, truth)."""
    side, truth = data
    return bool(rng.random() < (truth if side else 1 - truth))


def neighbours(truths):
    return [([1, truth], [0, truth]) for truth in truths]


def one_broken():
    return neighbours([*([0.6, TRUE, 0.7] * 7), 0.97, *([0.55, 0.7] * 4)])


class TestAudits:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_single_broken_pair_among_thirty_is_found_and_named(self, seed):
        pairs = one_broken()
        assert len(pairs) == 30
        verdict = tollens.audit(
            respond, "epsilon=1", neighbours=pairs, seed=seed, budget=10_000, alpha=1e-4
        )
        assert verdict.refuted
        assert verdict.neighbours == Pair(*pairs[21], "list, pair 22 of 30")
        assert "pair 22 of 30" in str(verdict)
        assert any("of 30 pairs of inputs were run" in note for note in verdict.notes)
        assert verdict.witness is not None
        assert 1 <= verdict.epsilon_lower <= math.log(0.97 / 0.03)

    def test_without_a_broken_one_nothing_is_refuted(self):
        verdict = tollens.audit(
            respond, "epsilon=1", neighbours=neighbours([TRUE] * 30), seed=1, budget=1500
        )
        assert verdict.outcome is tollens.Outcome.UNREFUTED
        assert verdict.epsilon_lower <= 1

    def test_what_it_says_of_many_pairs_is_no_more_than_of_one(self):
        """More pairs share the same alpha, so a smaller excess would have been found of one."""
        budget = {"seed": 1, "budget": 600, "alpha": 1e-3, "coupling": "independent"}
        one, many = (
            tollens.audit(respond, "epsilon=1", neighbours=neighbours([TRUE] * n), **budget)
            for n in (1, 30)
        )
        assert one.detectable_excess < many.detectable_excess


def recorded(**changes):
    recorder = Recorder()
    options = {"seed": 5, "budget": 2000, "alpha": 1e-3, **changes}
    verdict = tollens.audit(
        respond, "epsilon=1", neighbours=one_broken(), recorder=recorder, **options
    )
    assert recorder.document is not None
    return verdict, recorder.document


@pytest.fixture(scope="module")
def document():
    return recorded()[1]


class TestEvidence:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"until": "budget"},
            {"budget": 150, "alpha": 1e-9},
            {"coupling": "common"},
            {"coupling": "independent"},
        ],
        ids=str,
    )
    def test_scored_again_it_gives_the_same_verdict(self, changes):
        verdict, document = recorded(**changes)
        again = rescore(document)
        assert again.evidence.crossed_at == verdict.evidence.crossed_at
        assert again.evidence.digest == verdict.evidence.digest
        assert again.evidence.shares == pytest.approx(verdict.evidence.shares, abs=1e-9)
        assert again.log_e_value == pytest.approx(verdict.log_e_value, abs=1e-9)
        # the curve shows the wealth at the ends of the blocks in which runs are made
        assert replace(again, evidence=verdict.evidence) == verdict

    @pytest.mark.parametrize("inputs", [1, 2, 29, 31, 1000])
    def test_another_number_of_inputs_is_refused(self, document, inputs):
        data = json.loads(document)
        assert data["inputs"] == 30
        data["inputs"] = inputs
        with pytest.raises(UsageError):
            rescore(json.dumps(data))

    @pytest.mark.parametrize("inputs", [0, -3, 1.5, "30", None, True])
    def test_what_is_no_number_of_inputs_is_refused(self, document, inputs):
        data = json.loads(document)
        data["inputs"] = inputs
        with pytest.raises(UsageError, match="inputs"):
            rescore(json.dumps(data))

    @pytest.mark.parametrize("place", [8, 60, -1])
    def test_a_changed_output_is_refused(self, document, place):
        data = json.loads(document)
        keys = data["x"]["keys"]
        keys[place] = next(key for key in keys if key != keys[place])
        with pytest.raises(UsageError, match=r"does not follow|do not fit the bets"):
            rescore(json.dumps(data))

    def test_runs_in_another_order_are_refused(self, document):
        data = json.loads(document)
        for side in ("x", "x_prime"):
            for name in ("shapes", "keys", "numbers"):
                data[side][name].reverse()
        with pytest.raises(UsageError):
            rescore(json.dumps(data))
