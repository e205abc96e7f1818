"""The audit of steps as a whole: one level for all parts, faults named, reports that round-trip."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tollens.errors import UsageError
from tollens.outcome import Outcome
from tollens.training.curve import MOST, Curve, Point
from tollens.training.parts.part import Finding
from tollens.training.report import TrainingReport
from tollens.training.step_audit import StepAudit

N, RECORDS, RATE = 40, 500, 0.02


def step(rng, audit, *, spread=1.0, sensitivity=1.0, batch=None, noise=None):
    """One step of private training in numbers: the canary is the first coordinate."""
    made = rng.normal(0, spread, N) if noise is None else noise
    audit.update(
        with_canary=sensitivity + made[0] * audit.noise_multiplier,
        without_canary=made[0] * audit.noise_multiplier,
        sensitivity=sensitivity,
        residual=made,
        batch_size=int(rng.binomial(RECORDS, RATE)) if batch is None else batch,
    )


def new(**settings):
    return StepAudit(1.0, records=RECORDS, rate=RATE, **{"alpha": 0.05, **settings})


class TestLaw:
    @pytest.mark.parametrize("alpha", [0.05, 0.2])
    def test_correct_training_is_called_broken_no_more_often_than_alpha(self, alpha):
        runs, broken, above = 150, 0, 0
        for seed in range(runs):
            audit, rng = new(alpha=alpha), np.random.default_rng(seed)
            for _ in range(60):
                step(rng, audit)
            broken += audit.broken
            above += audit.mu_lower > 1 or audit.mu_lower_normal > 1
        slack = alpha * runs + 3 * math.sqrt(alpha * (1 - alpha) * runs)
        assert broken <= slack and above <= slack

    def test_the_wealth_is_the_weighted_average_of_the_parts(self):
        audit, rng = new(), np.random.default_rng(0)
        for _ in range(5):
            step(rng, audit, spread=0.9)
        report = audit.report()
        shares = [part.share for part in report.parts]
        average = sum(p.share * math.exp(p.log_e_value) for p in report.parts)
        assert sum(shares) == pytest.approx(1.0)
        assert audit.log_wealth == pytest.approx(math.log(average))

    def test_without_sampling_the_stakes_are_those_of_the_other_parts(self):
        report = StepAudit(1.0).report()
        assert sum(part.share for part in report.parts) == pytest.approx(1.0)
        assert [part.name for part in report.parts] == ["projection", "noise scale", "noise reuse"]


FAULTS = {
    "noise scale": ({"spread": 0.7}, 20),
    "sensitivity": ({"sensitivity": 1.41}, 1),
    "sampling": ({"batch": 10}, 6),
    "noise reuse": ({"noise": np.random.default_rng(9).normal(size=N)}, 3),
}


class TestParts:
    def test_the_stake_is_theirs_alone(self):
        (part,) = StepAudit(1.0, parts=["projection"]).report().parts
        assert (part.name, part.share) == ("projection", 1.0)
        (part,) = StepAudit(1.0, method="mmd", parts=["projection"]).report().parts
        assert part.name == "kernel"

    @pytest.mark.parametrize("parts", [[], ["noise"], ["sampling"]])
    def test_names_that_there_are_not(self, parts):
        with pytest.raises(UsageError, match="parts"):
            StepAudit(1.0, parts=parts)


class TestFaults:
    @pytest.mark.parametrize("part", FAULTS)
    def test_each_is_found_by_its_part_within_its_steps(self, part):
        changes, within = FAULTS[part]
        audit, rng = new(), np.random.default_rng(1)
        for _ in range(within):
            step(rng, audit, **changes)
        assert part in {finding.part for finding in audit.findings if finding.level == "fault"}
        assert audit.broken and audit.report().outcome is Outcome.REFUTED

    def test_the_projection_alone(self):
        audit, rng = StepAudit(1.0, alpha=0.05), np.random.default_rng(2)
        while not audit.refuted and audit.steps < 300:
            noise = 0.5 * rng.normal()
            audit.update(with_canary=1 + noise, without_canary=noise)
        assert audit.refuted_at < 60 and audit.part == "projection"
        assert audit.mu_lower > 1 and audit.epsilon_normal > 4.37

    def test_no_more_epsilon_than_total_variation_shows(self):
        # randomised response at epsilon 1: its total variation is that of mu = 1.22, and a normal
        # step of that mu would have epsilon 5.4 at 1e-5; all that is shown is 1
        audit, rng = StepAudit(1.0, alpha=0.05), np.random.default_rng(0)
        for u in rng.random(4000):
            truth = math.e / (1 + math.e)
            audit.update(with_canary=2.0 * (u < truth), without_canary=2.0 * (u >= truth))
        assert audit.mu_lower > 1.05 and audit.epsilon_normal > 4.5
        assert 0.85 < audit.epsilon_lower <= 1.0

    def test_too_much_noise_is_a_warning_and_no_fault(self):
        audit, rng = new(), np.random.default_rng(3)
        for _ in range(64):
            step(rng, audit, spread=1.5)
        assert not audit.broken
        assert [(f.part, f.level) for f in audit.findings] == [("noise scale", "warning")]

    def test_no_noise_at_all_is_infinite_evidence(self):
        audit = new()
        step(np.random.default_rng(0), audit, noise=np.zeros(N))
        assert audit.log_e_value == math.inf and audit.mu_lower_normal == math.inf
        report = audit.report()
        assert TrainingReport.from_json(report.to_json()) == report
        assert "no noise at all" in str(report)
        assert all(math.isfinite(value) for value in report.metrics().values())

    def test_a_claim_stronger_than_what_the_noise_gives(self):
        audit, rng = new(claim="mu=0.5"), np.random.default_rng(4)
        while not audit.refuted and audit.steps < 400:
            step(rng, audit)
        assert audit.part == "projection" and audit.refuted_at < 200


class TestMmd:
    def test_the_published_audit_bets_in_the_place_of_the_projection(self):
        claim, rng = "epsilon=0.01, delta=1e-5", np.random.default_rng(0)
        audit = StepAudit(1.0, claim=claim, method="mmd", alpha=0.05)
        for _ in range(100):
            noise = 0.05 * rng.normal()
            audit.update(with_canary=1 + noise, without_canary=0.05 * rng.normal())
        report = audit.report()
        assert report.parts[0].name == "kernel" and report.method == "mmd"
        assert report.part == "kernel"

    def test_it_spares_the_right_noise(self):
        audit, rng = StepAudit(1.0, method="mmd", alpha=0.05), np.random.default_rng(0)
        for _ in range(150):
            audit.update(with_canary=1 + rng.normal(), without_canary=rng.normal())
        assert not audit.broken


class TestReport:
    def test_to_json_and_back(self):
        audit, rng = new(), np.random.default_rng(5)
        for _ in range(30):
            step(rng, audit, spread=0.5)
        audit.notes["a"] = "a note"
        report = audit.report()
        assert TrainingReport.from_json(report.to_json()) == report
        assert json.loads(report.to_json())["schema"] == "tollens/training/1"
        assert "<table>" in report._repr_html_() and "a note" in str(report)

    @pytest.mark.parametrize(
        "text", ["", "[]", "{}", '{"schema": "tollens/training/1"}', '{"schema": 1}', "nan"]
    )
    def test_what_is_no_report_is_refused(self, text):
        with pytest.raises(UsageError, match="report of training"):
            TrainingReport.from_json(text)

    def test_changed_fields_are_refused_or_read(self):
        audit = new()
        step(np.random.default_rng(0), audit, spread=0.1)
        data = json.loads(audit.report().to_json())
        for name in data:
            for value in (None, "x", [1], {"a": 1}, 1.5):
                try:
                    TrainingReport.from_json(json.dumps({**data, name: value}))
                except UsageError as error:
                    assert "report of training" in str(error) or str(error)

    def test_metrics_are_plain_floats(self):
        audit = new()
        step(np.random.default_rng(0), audit)
        for metrics in (audit.metrics(), audit.report().metrics()):
            assert all(type(value) is float for value in metrics.values())
            assert metrics["mu_claimed"] == pytest.approx(1.0) and metrics["steps"] == 1.0

    def test_steps_that_tell_nothing_decide_nothing(self):
        audit = new()
        for _ in range(5):
            audit.update()
            audit.update(with_canary=math.nan, without_canary=math.nan)
        audit.update(batch_size=10)
        assert audit.report().outcome is Outcome.UNDECIDED

    def test_half_of_a_pair_and_sizes_below_0_are_refused(self):
        with pytest.raises(UsageError) as caught:
            new().update(with_canary=1.0, batch_size=-3)
        assert "give both or none" in str(caught.value) and "batch_size is -3" in str(caught.value)

    def test_a_broken_training_is_not_compared_by_what_is_broken(self):
        class Account:
            name = compared_by = "an accountant"

            def epsilon(self, noise_multiplier, steps, delta):
                return steps / noise_multiplier

            def printed(self, delta):
                return 3.0

        audit, rng = new(account=Account()), np.random.default_rng(0)
        for _ in range(60):
            step(rng, audit, batch=10)
        text = str(audit.report())
        assert "which does not hold for this training" in text and "or more where" not in text
        assert "do not quote its epsilon" in text
        audit, rng = new(account=Account()), np.random.default_rng(0)
        for _ in range(60):
            step(rng, audit)
        assert "or more where 60 was promised" in str(audit.report())

    def test_before_the_first_step_nothing_is_decided(self):
        assert new().report().outcome is Outcome.UNDECIDED

    def test_progress_is_told_each_step(self):
        seen = []
        audit = new(progress=lambda state: seen.append(state.steps))
        for _ in range(3):
            step(np.random.default_rng(0), audit)
        assert seen == [1, 2, 3]

    def test_a_finding_that_comes_again_keeps_its_step(self):
        audit = new()
        for at, text in ((3, "old"), (5, "new")):
            audit.add(Finding("x", "warning", at, text, "nothing"))
        assert [(f.step, f.text) for f in audit.findings] == [(3, "new")]

    def test_what_was_not_shown_is_not_spoken_of(self):
        audit = new()
        audit.update(residual=np.random.default_rng(0).normal(size=N))
        said = dict(audit.report().lines())["if normal"]
        assert "such a step" not in said and "some step has mu >=" in said


class TestCurve:
    def test_is_bounded_and_has_the_last_step(self):
        curve = Curve()
        for number in range(1, 50_001):
            if curve.wants(number):
                curve.add(Point(number, float(number), 0.0))
        points = curve.to(Point(50_001, 0.0, 0.0))
        assert len(points) <= MOST + 1 and points[-1].step == 50_001
        assert [p.step for p in points] == sorted({p.step for p in points})


class TestSettings:
    def test_all_problems_at_once(self):
        with pytest.raises(UsageError) as caught:
            StepAudit(0.0, alpha=3, delta=0, method="x", records=5)
        text = str(caught.value)
        for part in (
            "noise_multiplier is 0.0",
            "alpha is 3",
            "delta is 0",
            "method is 'x'",
            "both",
        ):
            assert part in text

    @pytest.mark.parametrize("wrong", [{"records": 0, "rate": 0.1}, {"records": 10, "rate": 2.0}])
    def test_sampling_that_cannot_be(self, wrong):
        with pytest.raises(UsageError):
            StepAudit(1.0, **wrong)

    def test_a_claim_that_is_none(self):
        with pytest.raises(UsageError, match="claim is a int"):
            StepAudit(1.0, claim=3)

    def test_numbers_that_are_not_finite_are_said_and_not_scored(self):
        audit = new()
        audit.update(with_canary=math.nan, without_canary=0.0, residual=np.full(N, math.nan))
        (found,) = audit.findings
        assert found.part == "gradients" and found.level == "warning"
        assert audit.report().pairs == 0
