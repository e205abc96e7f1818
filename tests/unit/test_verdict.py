"""Verdicts: what they say, that they never say more than was shown, and their JSON."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.errors import RefutedError, UsageError
from tollens.evidence import Wealth, wealth_from_json
from tollens.neighbours import Pair
from tollens.verdict import Outcome, Reason, Verdict
from tollens.witness import Witness, witness_from_json

NUMBERS = st.floats(allow_nan=False)
COUNTS = st.integers(0, 10**9)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WEALTHS = st.builds(
    Wealth,
    log_e_value=NUMBERS,
    threshold=NUMBERS,
    crossed_at=st.none() | COUNTS,
    burn_in=COUNTS,
    curve=st.lists(st.tuples(COUNTS, NUMBERS), max_size=3).map(tuple),
    shares=st.dictionaries(TEXTS, NUMBERS, max_size=3),
    digest=TEXTS,
)
WITNESSES = st.builds(
    Witness,
    text=TEXTS,
    likely_under=st.sampled_from(["x", "x_prime"]),
    frequency_x=st.floats(0, 1),
    frequency_x_prime=st.floats(0, 1),
    epsilon=st.floats(0, 700),
    delta=st.floats(0, 1),
)
CLAIMS = st.sampled_from(
    [
        tollens.pure("ln 3"),
        tollens.approx(1, 1e-6, ordered=True),
        tollens.gaussian(1),
        tollens.zcdp("1/2"),
        tollens.renyi(8, 0.3),
        tollens.tradeoff(lambda a: (1 - a) ** 2),
        tollens.profile(tollens.gaussian(1).delta),
    ]
)
INPUTS = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.binary(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
VERDICTS = st.builds(
    Verdict,
    outcome=st.sampled_from([Outcome.UNREFUTED, Outcome.UNDECIDED]),
    reason=st.sampled_from(Reason),
    claim=CLAIMS,
    mechanism=TEXTS,
    neighbours=st.builds(Pair, INPUTS, INPUTS, TEXTS),
    witness=st.none() | WITNESSES,
    epsilon_lower=st.floats(0, 16),
    delta=st.floats(0, 1),
    pairs=COUNTS,
    runs=COUNTS,
    alpha=st.floats(1e-12, 0.5),
    evidence=WEALTHS,
    seed=st.none() | st.integers(0, 2**48),
    replayable=st.booleans(),
    seconds=st.floats(0, 1e6),
    detectable_excess=st.none() | st.floats(0, 100) | st.just(math.inf),
    versions=st.dictionaries(TEXTS, TEXTS, max_size=2),
    notes=st.lists(TEXTS, max_size=2).map(tuple),
).filter(lambda verdict: verdict.refuted or not verdict.evidence.refutes(verdict.alpha))


def noisy_count(rows, rng):
    return len(rows) + rng.laplace(scale=0.5)


def audited(claim="epsilon=1", **settings):
    settings = {"neighbours": ([1, 1], [1]), "seed": 1, "alpha": 0.01, **settings}
    return tollens.audit(noisy_count, claim, **settings)


@pytest.fixture(scope="module")
def refuted():
    return audited()


@pytest.fixture(scope="module")
def unrefuted():
    return audited("epsilon=2", budget=500)


class TestJson:
    @given(VERDICTS)
    @settings(max_examples=100)
    def test_any_verdict_comes_back(self, verdict):
        again = Verdict.from_json(verdict.to_json())
        assert again == verdict
        assert again.to_json() == verdict.to_json()

    def test_real_verdicts_come_back(self, refuted, unrefuted):
        for verdict in (refuted, unrefuted):
            again = Verdict.from_json(verdict.to_json())
            assert again == verdict
            assert str(again) == str(verdict)

    def test_arrays_come_back_as_lists(self):
        verdict = tollens.audit(
            lambda d, rng: d.sum() + rng.laplace(),
            "epsilon=1",
            neighbours=(np.ones(2), np.ones(1)),
            budget=200,
            seed=1,
        )
        again = Verdict.from_json(verdict.to_json())
        assert again.neighbours.x == [1.0, 1.0]
        assert again.to_json() == verdict.to_json()

    def test_the_document_is_strict_json_of_the_schema(self, refuted):
        def refuse(constant):
            raise AssertionError(f"bare {constant}")

        data = json.loads(refuted.to_json(), parse_constant=refuse)
        assert data["schema"] == "tollens/verdict/1"
        assert data["outcome"] == "REFUTED"
        assert data["claim"]["kind"] == "pure"
        assert data["evidence"]["grade"] == "wager"
        assert set(data) >= {
            *("reason", "mechanism", "neighbours", "alpha", "pairs", "runs", "log_e_value"),
            *("epsilon_lower", "witness", "detectable_excess", "seed", "replayable"),
            *("seconds", "versions"),
        }

    @pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"schema": "other"}', "null"])
    def test_what_is_no_verdict(self, text):
        with pytest.raises(UsageError):
            Verdict.from_json(text)

    @given(st.data())
    @settings(max_examples=200)
    def test_damaged_documents_are_a_usage_error_or_a_verdict(self, data):
        document = json.loads(audited_once().to_json())
        place = document
        key = data.draw(st.sampled_from(sorted(place)))
        if isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        if data.draw(st.booleans()):
            del place[key]
        else:
            place[key] = data.draw(
                st.none() | st.booleans() | st.integers(-3, 3) | TEXTS | st.just([]) | st.just({})
            )
        try:
            assert isinstance(Verdict.from_json(json.dumps(document)), Verdict)
        except UsageError as error:
            assert str(error)

    @given(WITNESSES)
    def test_witnesses_come_back(self, witness):
        assert witness_from_json(json.loads(json.dumps(witness.to_json()))) == witness

    @pytest.mark.parametrize("data", [None, [], {}, {"text": 1}, "witness"])
    def test_what_is_no_witness_or_wealth(self, data):
        with pytest.raises(UsageError):
            witness_from_json(data)
        with pytest.raises(UsageError):
            wealth_from_json(data)


_ONCE: list[Verdict] = []


def audited_once():
    if not _ONCE:
        _ONCE.append(audited())
    return _ONCE[0]


class TestHonesty:
    def test_no_refutation_without_the_wealth_for_it(self, refuted):
        poor = dataclasses.replace(refuted.evidence, log_e_value=1.0)
        with pytest.raises(UsageError, match="cannot be REFUTED"):
            dataclasses.replace(refuted, evidence=poor)
        never = dataclasses.replace(refuted.evidence, crossed_at=None)
        with pytest.raises(UsageError, match="cannot be REFUTED"):
            dataclasses.replace(refuted, evidence=never)

    def test_the_level_cannot_be_sharpened_afterwards(self, refuted):
        assert dataclasses.replace(refuted, alpha=0.02).refuted
        with pytest.raises(UsageError, match="cannot be REFUTED"):
            dataclasses.replace(refuted, alpha=1e-9)

    def test_verdicts_are_frozen(self, refuted):
        with pytest.raises(dataclasses.FrozenInstanceError):
            refuted.outcome = Outcome.UNREFUTED

    def test_no_outcome_says_private(self, unrefuted):
        assert {outcome.name for outcome in Outcome} == {"REFUTED", "UNREFUTED", "UNDECIDED"}
        assert "does not show that it holds" in str(unrefuted)
        for reason in Reason:
            assert len(reason.value) > 30

    def test_it_says_what_was_looked_at(self, refuted, unrefuted):
        for verdict in (refuted, unrefuted):
            assert "not the bits of floats" in str(verdict)
        assert "wealth x" in str(refuted)


class TestUse:
    def test_raise_if_refuted(self, refuted, unrefuted):
        assert unrefuted.raise_if_refuted() is unrefuted
        with pytest.raises(RefutedError) as caught:
            refuted.raise_if_refuted()
        assert caught.value.verdict is refuted
        assert isinstance(caught.value, AssertionError)

    def test_metrics_are_plain_floats(self, refuted, unrefuted):
        for verdict in (refuted, unrefuted):
            metrics = verdict.metrics()
            assert all(type(value) is float for value in metrics.values())
            assert metrics["refuted"] == float(verdict.refuted)

    def test_it_shows_itself_in_a_notebook(self):
        verdict = audited("epsilon=2", budget=300, neighbours=(["<b>&"], []))
        assert "&lt;b&gt;&amp;" in verdict._repr_html_()
        assert "<b>" not in verdict._repr_html_()

    def test_the_refuting_pair_count(self, refuted):
        assert refuted.pairs == refuted.evidence.crossed_at
        assert refuted.runs >= 2 * refuted.pairs
        assert refuted.log_e_value >= -math.log(refuted.alpha)
        assert refuted.witness is not None
        assert "%" in refuted.witness.describe()

    def test_replay(self, refuted):
        again = audited(seed=refuted.seed)
        assert again.evidence == refuted.evidence
        assert again.epsilon_lower == refuted.epsilon_lower
        assert f"seed={refuted.seed}" in str(refuted)
        assert refuted.replayable

    def test_no_replay_without_a_generator(self):
        verdict = tollens.audit(
            lambda d: np.random.default_rng().laplace(), "epsilon=1", neighbours=(0, 1), budget=200
        )
        assert not verdict.replayable
        assert "cannot be repeated" in str(verdict)


def _edited(verdict, **changes):
    data = json.loads(verdict.to_json())
    evidence = changes.pop("evidence", {})
    data.update(changes)
    data["evidence"].update(evidence)
    return json.dumps(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "UNREFUTED", "reason": "BUDGET_SPENT"},
        {"evidence": {"log_e_value": "NaN"}},
        {"evidence": {"crossed_at": -5}},
        {"evidence": {"grade": "watch", "method": "nonsense", "raised_at": 1, "steps": 1}},
        {"evidence": {"grade": "watch", "method": "exact", "raised_at": 1, "steps": 1,
                      "threshold": 0}},
        {"evidence": {"grade": "watch", "method": "brownian", "raised_at": 1, "steps": 1,
                      "log_e_value": "NaN"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_document_whose_outcome_is_not_that_of_its_evidence_is_refused(changes):
    def broken(rows, rng):
        return len(rows) + rng.laplace(scale=0.2)

    verdict = tollens.audit(broken, "epsilon=1", neighbours=([1, 1], [1]), seed=1)
    assert Verdict.from_json(_edited(verdict)).refuted
    with pytest.raises(UsageError, match=r"verdict|crossed_at|log_e_value"):
        Verdict.from_json(_edited(verdict, **changes))
