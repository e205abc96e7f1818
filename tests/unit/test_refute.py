"""`refute` and `verify`: what a search comes to becomes a verdict that says no more than that."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens import noise
from tollens.certificate import Certificate, Search
from tollens.checker.errors import Refusal
from tollens.errors import CertificateError, Interrupted, RefutedError, UsageError
from tollens.neighbours import Pair
from tollens.outcome import Outcome, Reason
from tollens.refutation import api, engine
from tollens.refutation.found import Found, Step
from tollens.refutation.inputs import exact_relation
from tollens.verdict import Verdict
from tollens.verified import MEANING
from tollens.witness import ProvedWitness

PAIR = (1, 0)


def half_scale(data):
    return data + noise.laplace(0.5)


def right_scale(data):
    return data + noise.laplace(1)


def leaks_all(data):
    return data if noise.flip(0.25) else 2


@tollens.promise("epsilon=1", neighbours=PAIR)
def declared(data):
    return data + noise.laplace(0.5)


@functools.cache
def some_proof():
    return tollens.refute(half_scale, "epsilon=1", neighbours=PAIR)


@pytest.fixture(scope="module")
def proved():
    return some_proof()


@pytest.fixture
def searching(monkeypatch):
    """Let the search come to what the test says; returns what it was asked."""
    asked = {}

    def install(found, step=None):
        def search(program, claim, pairs, name, deadline, progress):
            asked.update(program=program, claim=claim, pairs=pairs, engine=name)
            if step is not None:
                progress(step)
            if isinstance(found, BaseException):
                raise found
            return found

        monkeypatch.setattr(engine, "search", search)
        return asked

    return install


class TestProofs:
    def test_a_proof_has_no_runs_and_no_error_probability(self, proved):
        assert proved.refuted
        assert proved.reason is Reason.PROVED
        assert (proved.pairs, proved.runs, proved.alpha) == (0, 0, 0.0)
        assert proved.detectable_excess is None
        assert proved.log_e_value == math.inf
        assert proved.delta == 0
        assert 2 - 1e-9 < proved.epsilon_lower <= 2
        assert proved.metrics()["refuted"] == 1.0
        with pytest.raises(RefutedError):
            proved.raise_if_refuted()

    def test_it_says_what_is_proved_and_in_what_sense(self, proved):
        text = str(proved)
        assert MEANING in text
        assert "P is at least 0.5 on x and at most 0.0676677 on x'" in text
        for word in ("runs are fresh", "replay", "alpha", "power", "wealth"):
            assert word not in text

    def test_the_witness_is_one_with_bounds(self, proved):
        assert isinstance(proved.witness, ProvedWitness)
        assert (proved.witness.lower, proved.witness.likely_under) == (Fraction(1, 2), "x")
        assert proved.witness.describe().startswith("output >= 1: P is at least 0.5 on x")

    def test_epsilon_may_be_infinite(self):
        verdict = tollens.refute(leaks_all, "epsilon=1", neighbours=PAIR)
        assert verdict.epsilon_lower == math.inf
        assert "no epsilon, however large, holds: proved" in str(verdict)
        assert Verdict.from_json(verdict.to_json()) == verdict

    def test_json_and_back(self, proved):
        data = json.loads(proved.to_json())
        again = Verdict.from_json(proved.to_json())
        assert again == proved
        assert str(again) == str(proved)
        assert data["evidence"]["grade"] == "proof"
        assert data["evidence"]["certificate"]["schema"] == "tollens/certificate/1"
        assert data["witness"]["lower"] == "1/2"
        assert data["alpha"] == 0

    def test_the_claim_and_the_pair_may_be_declared(self):
        assert tollens.refute(declared, neighbours=PAIR).refuted

    def test_floats_are_the_decimals_that_they_print(self):
        """0.1 + 0.2 is not 0.3 in floats; here it is, and the two inputs are equal."""
        verdict = tollens.refute(half_scale, "epsilon=1", neighbours=(0.3, 0.1))
        assert verdict.neighbours.x == 0.3
        assert not verdict.refuted
        assert 0.39 < verdict.evidence.best_epsilon < 0.41

    def test_targets_are_texts_too(self):
        target = f"{Path(__file__)}::declared"
        assert tollens.refute(target, neighbours=PAIR).mechanism == "declared"


class TestOutcomes:
    def outcome(self, searching, found, **settings):
        searching(found)
        verdict = tollens.refute(half_scale, "epsilon=1", neighbours=PAIR, **settings)
        assert Verdict.from_json(verdict.to_json()) == verdict
        return verdict

    def test_a_search_that_found_nothing_shows_nothing(self, searching):
        verdict = self.outcome(searching, Found(best_epsilon=0.9, engine="events"))
        assert (verdict.outcome, verdict.reason) == (Outcome.UNREFUTED, Reason.NOT_PROVED)
        assert verdict.epsilon_lower == 0
        assert verdict.witness is None
        assert "about 0.9 (in floats, not proved)" in str(verdict)

    def test_no_engine(self, searching):
        verdict = self.outcome(searching, Found(notes=("events: no Gaussians",)))
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.NO_ENGINE)
        assert "events: no Gaussians" in verdict.notes

    def test_an_engine_that_went_through_all_and_saw_nothing(self, searching):
        searching(Found(engine="events", notes=("events: nothing",)), Step("events", 2, 2, 0.0))
        verdict = tollens.refute(half_scale, "epsilon=1", neighbours=PAIR)
        assert (verdict.outcome, verdict.reason) == (Outcome.UNREFUTED, Reason.NOT_PROVED)
        assert verdict.evidence == Search(0.0, "events")

    def test_a_mechanism_without_a_leak(self):
        def coin(data):
            return noise.flip(0.5)

        assert tollens.refute(coin, "epsilon=0", neighbours=PAIR).reason is Reason.NOT_PROVED

    def test_constructs_outside_the_subset_are_named_by_file_and_line(self, searching):
        refusal = Refusal(5, "a lambda", "write a function")
        verdict = self.outcome(searching, Found(refusals=(refusal,)))
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.OUTSIDE_SUBSET)
        line = half_scale.__code__.co_firstlineno + 1
        name = Path(__file__).name
        assert verdict.notes[0].endswith(f"{name}:{line}: a lambda; write a function")

    def test_time_that_is_up(self, searching):
        verdict = self.outcome(searching, Found(best_epsilon=1.5, engine="events", timed_out=True))
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.TIME_LIMIT)
        assert "about 1.5" in str(verdict)

    def test_a_proof_in_time_counts_though_the_time_is_up(self, searching, proved):
        found = Found(proved.evidence.document, 2.0, engine="events", timed_out=True)
        assert self.outcome(searching, found).refuted

    def test_a_proof_that_the_checker_refuses_is_none(self, searching, proved):
        document = {**proved.evidence.document, "lower": "3/4"}
        verdict = self.outcome(searching, Found(document, 2.0, engine="events"))
        assert verdict.reason is Reason.NOT_PROVED
        assert any("the checker refuses it" in note for note in verdict.notes)

    def test_interruption_carries_the_best_so_far(self, searching):
        searching(KeyboardInterrupt(), Step("events", 1, 2, 0.5))
        with pytest.raises(Interrupted) as caught:
            tollens.refute(half_scale, "epsilon=1", neighbours=PAIR)
        verdict = caught.value.verdict
        assert verdict.reason is Reason.SEARCH_INTERRUPTED
        assert verdict.evidence == Search(0.5, "events")

    def test_what_the_search_is_given(self, searching):
        asked = searching(Found(), Step("events", 1, 2, 0.5))
        steps = []
        tollens.refute(
            half_scale, tollens.pure(0.1), neighbours=tollens.queries(2, by=0.1), engine="events",
            progress=steps.append,
        )  # fmt: skip
        assert asked["claim"] == {"kind": "pure", "epsilon": "1/10", "ordered": False}
        assert asked["pairs"][0].x_prime == [Fraction(1, 10), Fraction(0)]
        assert asked["pairs"].exact["kind"] == "queries"
        assert asked["engine"] == "events"
        assert asked["program"].name == "half_scale"
        assert steps == [Step("events", 1, 2, 0.5)]


def told_by_two(answers):
    """What it tells depends on two answers at once."""
    return noise.flip(0.9) if answers[0] > 0 and answers[1] > 0 else noise.flip(0.1)


class TestChangesThatAddUp:
    def test_shares_are_exact(self):
        made = exact_relation(tollens.queries(3, "sum", by=0.1))
        assert made[2].x_prime == [Fraction(1, 30)] * 3
        for pair in made:
            changes = [abs(a - b) for a, b in zip(pair.x, pair.x_prime, strict=True)]
            assert sum(changes) == Fraction(1, 10)

    def test_a_proof_names_the_relation(self):
        verdict = tollens.refute(
            told_by_two, "epsilon=1", neighbours=tollens.queries(2, "sum", by=2)
        )
        assert verdict.refuted
        assert verdict.neighbours.x_prime == [1, 1]
        assert '"change": "sum"' in json.dumps(verdict.evidence.to_json())


class TestArguments:
    def test_all_findings_at_once(self):
        with pytest.raises(UsageError) as caught:
            tollens.refute(
                len, "epsilon=0.5 ln 2", neighbours=(math.nan, 1), engine="magic", timeout=-1
            )
        assert len(caught.value.findings) == 5

    @pytest.mark.parametrize("timeout", [0, -1, math.inf, math.nan, "1", True, None])
    def test_timeouts(self, timeout):
        with pytest.raises(UsageError, match="timeout is"):
            tollens.refute(half_scale, "epsilon=1", neighbours=PAIR, timeout=timeout)

    def test_no_claim(self):
        with pytest.raises(UsageError, match="no claim: give one"):
            tollens.refute(half_scale, neighbours=PAIR)
        with pytest.raises(UsageError, match="the claim is a int"):
            tollens.refute(half_scale, 3, neighbours=PAIR)

    def test_the_engines_of_the_help_are_those_there_are(self):
        from tollens.cli_refute import refute

        option = next(p for p in refute.params if p.name == "engine")
        for name in engine.ENGINES:
            assert name in option.help


class TestCertificates:
    def test_verify_takes_a_path_a_text_an_object_and_a_verdict(self, proved, tmp_path):
        document = proved.evidence.document
        path = tmp_path / "c.json"
        path.write_text(json.dumps(document))
        expected = proved.evidence.verified
        for form in (
            path, str(path), json.dumps(document), document, proved.evidence, proved,
            proved.to_json(), json.loads(proved.to_json()),
        ):  # fmt: skip
            assert tollens.verify(form) == expected

    def test_what_is_verified(self, proved):
        found = tollens.verify(proved)
        assert (found.claim, found.mechanism, found.engine) == ("epsilon=1", "half_scale", "events")
        assert (found.x, found.x_prime) == (Fraction(1), Fraction(0))
        assert "def half_scale(data):" in found.program
        assert "def half_scale(data):" in str(found)
        assert found.epsilon_at(0) == proved.epsilon_lower
        assert found.epsilon_at(0.25) < found.epsilon_at(0)
        assert found.epsilon_at(0.6) == 0
        assert json.loads(found.to_json())["grade"] == "proof"
        assert tollens.Verified.from_json(found.to_json()) == found
        assert "&gt;= 1" in found._repr_html_()

    @pytest.mark.parametrize("given", [None, 3, [], b"{}", object(), Search(1.0, None)])
    def test_what_is_no_certificate(self, given):
        with pytest.raises(CertificateError):
            tollens.verify(given)

    def test_a_verdict_without_a_proof(self):
        verdict = tollens.refute(right_scale, "epsilon=1", neighbours=PAIR)
        assert not verdict.refuted
        for form in (verdict, verdict.to_json()):
            with pytest.raises(CertificateError, match="rests on no proof"):
                tollens.verify(form)

    def test_only_what_the_checker_confirms_can_be_evidence(self, proved):
        for key in proved.evidence.document:
            document = copy.deepcopy(proved.evidence.document)
            del document[key]
            with pytest.raises(CertificateError):
                Certificate(document)
        with pytest.raises(CertificateError, match="no JSON"):
            Certificate({"schema": object()})

    @given(st.data())
    @settings(max_examples=150)
    def test_whatever_stands_in_a_document_is_an_error_or_a_proof(self, data):
        document = copy.deepcopy(some_proof().evidence.document)
        place = document
        key = data.draw(st.sampled_from(sorted(place)))
        while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            keys = sorted(place) if isinstance(place, dict) else range(len(place))
            key = data.draw(st.sampled_from(list(keys)))
        place[key] = data.draw(
            st.sampled_from(["", "1/0", "-1", "9" * 5000, "ln 0", None, True, 0, 7, [], {}, [[]]])
            | st.text(max_size=5)
        )
        try:
            assert isinstance(tollens.verify(document), tollens.Verified)
        except CertificateError as error:
            assert str(error)
            assert "cannot be gone through" not in str(error)

    def test_a_certificate_error_is_one_of_ours(self):
        assert issubclass(CertificateError, tollens.UsageError)
        assert tollens.CertificateError is CertificateError


class TestHonesty:
    """A verdict never says more than its proof."""

    def test_another_claim(self, proved):
        with pytest.raises(UsageError, match="the proof is about epsilon=1, not about epsilon="):
            dataclasses.replace(proved, claim=tollens.pure("0.5"))
        assert dataclasses.replace(proved, claim=tollens.pure("1/1")).refuted

    def test_a_larger_epsilon(self, proved):
        with pytest.raises(UsageError, match="is proved"):
            dataclasses.replace(proved, epsilon_lower=2.5)

    def test_another_witness_outcome_or_alpha(self, proved):
        for change in (
            {"witness": None},
            {"outcome": Outcome.UNREFUTED},
            {"alpha": 0.05},
        ):
            with pytest.raises(UsageError, match="verdict"):
                dataclasses.replace(proved, **change)

    def test_a_search_refutes_nothing(self, proved):
        with pytest.raises(UsageError, match="a search that found no proof"):
            dataclasses.replace(proved, evidence=Search(9.0, "events"), witness=None)

    def test_alpha_is_0_for_proofs_only(self):
        verdict = tollens.audit(
            lambda data, rng: data + rng.normal(), "epsilon=1", neighbours=(0, 1), budget=100,
            alpha=0.5,
        )  # fmt: skip
        with pytest.raises(UsageError, match="alpha is 0"):
            dataclasses.replace(verdict, alpha=0.0)

    def test_a_tampered_document_is_no_verdict(self, proved):
        data = json.loads(proved.to_json())
        data["evidence"]["certificate"]["lower"] = "9/10"
        with pytest.raises(UsageError):
            Verdict.from_json(json.dumps(data))
        del data["evidence"]["certificate"]
        with pytest.raises(UsageError, match="a proof needs its certificate"):
            Verdict.from_json(json.dumps(data))

    def test_claims_without_a_delta_state_the_leak_at_one(self):
        """Where a mu-GDP claim is refuted, epsilon is stated at delta = 1e-5, as in audits."""
        verdict = tollens.refute(half_scale, "mu=1/2", neighbours=PAIR)
        assert verdict.refuted
        assert verdict.delta == api.DELTA
        assert 0 < verdict.epsilon_lower < tollens.verify(verdict).epsilon_at(0)
        assert "at delta = 1e-05" in str(verdict)


def test_pairs_are_shown_in_exact_form():
    verdict = tollens.refute(half_scale, "epsilon=1/10", neighbours=[(0, Fraction(1, 3))])
    assert verdict.neighbours == Pair(0, Fraction(1, 3), "list, pair 1 of 1")
    assert "1/3" in str(verdict)
