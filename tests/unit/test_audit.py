"""The verb and the stream: settings, all findings at once, outcomes, progress, interruption."""

from __future__ import annotations

import math
import sys
import types

import numpy as np
import pytest

import tollens
from tollens import Outcome, Reason
from tollens.auditing.power import detectable_excess, fewest_pairs
from tollens.errors import Interrupted, MechanismError, UsageError
from tollens.worker import CHUNK

PAIR = ([1, 1], [1])


def count(rows, rng):
    return len(rows) + rng.laplace()


def leaky(rows, rng):
    return len(rows) + rng.laplace(scale=0.25)


class TestFindings:
    def test_all_problems_at_once(self):
        with pytest.raises(UsageError) as caught:
            tollens.audit(
                3,
                "epsilon=x",
                neighbours=[1, 2],
                alpha=2,
                budget=0,
                until="forever",
                method="magic",
                outputs="exact?",
                coupling="none",
                seed=-1,
                workers=0,
                timeout=0,
                delta=7,
            )
        assert len(caught.value.findings) == 13
        for name in ("alpha", "budget", "until", "method", "outputs", "coupling", "seed"):
            assert f"{name} is " in str(caught.value)
        for name in ("workers", "timeout", "delta", "neighbours", "mechanism", "epsilon"):
            assert f"{name} is " in str(caught.value)
        assert str(caught.value).startswith("13 problems:")

    @pytest.mark.parametrize(
        "setting",
        [
            {"alpha": 0},
            {"alpha": 1},
            {"alpha": math.nan},
            {"alpha": "0.05"},
            {"alpha": True},
            {"budget": -5},
            {"budget": 2.5},
            {"budget": True},
            {"budget": None},
            {"seed": -1},
            {"seed": 1.5},
            {"seed": "1"},
            {"timeout": 0},
            {"timeout": -1},
            {"timeout": math.inf},
            {"timeout": math.nan},
            {"delta": -0.1},
            {"delta": 1.1},
            {"delta": math.nan},
            {"workers": 0},
            {"workers": -1},
            {"workers": 1.5},
            {"workers": True},
            {"workers": "2"},
            {"until": "Refuted"},
            {"method": None},
            {"coupling": "shared"},
        ],
        ids=str,
    )
    def test_each_setting(self, setting):
        with pytest.raises(UsageError) as caught:
            tollens.audit(count, "epsilon=1", neighbours=PAIR, **setting)
        assert len(caught.value.findings) == 1
        assert next(iter(setting)) in caught.value.findings[0]

    @pytest.mark.parametrize("setting", [{"seed": np.int64(3)}, {"alpha": np.float64(0.1)}])
    def test_numbers_of_numpy_will_do(self, setting):
        verdict = tollens.audit(count, "epsilon=1", neighbours=PAIR, budget=200, **setting)
        assert verdict.to_json()

    @pytest.mark.parametrize("claim", [3, 1.0, ["epsilon=1"], object()])
    def test_what_is_no_claim(self, claim):
        with pytest.raises(UsageError, match="the claim is a"):
            tollens.audit(count, claim, neighbours=PAIR)
        with pytest.raises(UsageError, match="the claim is a"):
            tollens.Audit(claim)

    def test_a_budget_that_can_never_refute(self):
        with pytest.raises(UsageError, match=r"can never refute epsilon=1 .*takes \d+ pairs"):
            tollens.audit(count, "epsilon=1", neighbours=PAIR, budget=10)
        fewest = fewest_pairs(tollens.pure(1), 1e-6, "independent")
        settings = {"neighbours": (0, 1), "coupling": "independent"}
        with pytest.raises(UsageError, match=f"takes {fewest} pairs"):
            tollens.audit(lambda d: d, "epsilon=1", budget=fewest - 1, **settings)
        assert tollens.audit(lambda d: d, "epsilon=1", budget=fewest, **settings).refuted

    def test_a_promise_that_allows_everything(self):
        with pytest.raises(UsageError, match="can never refute"):
            tollens.audit(count, "epsilon=1, delta=1", neighbours=PAIR)

    def test_only_mechanism_and_claim_are_positional(self):
        with pytest.raises(TypeError):
            tollens.audit(count, "epsilon=1", PAIR)

    def test_streams_check_their_settings_too(self):
        with pytest.raises(UsageError) as caught:
            tollens.Audit("epsilon=x", alpha=0, coupling="shared", delta=2, seed=-1)
        assert len(caught.value.findings) == 5

    def test_sides_of_two_lengths(self):
        with pytest.raises(UsageError, match="2 outputs of x and 3 of x_prime"):
            tollens.Audit("epsilon=1").update([1, 2], [1, 2, 3])


class TestOutcomes:
    def test_refuted(self):
        verdict = tollens.audit(leaky, "epsilon=1", neighbours=PAIR, seed=1)
        assert (verdict.outcome, verdict.reason) == (Outcome.REFUTED, Reason.WEALTH_REACHED)
        assert 1 <= verdict.epsilon_lower < 4

    def test_unrefuted(self):
        verdict = tollens.audit(count, "epsilon=1", neighbours=PAIR, seed=1, budget=500)
        assert (verdict.outcome, verdict.reason) == (Outcome.UNREFUTED, Reason.BUDGET_SPENT)
        assert verdict.pairs == 500
        assert verdict.runs == 1000
        assert verdict.detectable_excess > 1

    def test_until_budget_goes_on(self):
        stopped = tollens.audit(leaky, "epsilon=1", neighbours=PAIR, seed=1, budget=3000)
        verdict = tollens.audit(
            leaky, "epsilon=1", neighbours=PAIR, seed=1, budget=3000, until="budget"
        )
        assert verdict.refuted
        assert verdict.pairs == 3000
        assert verdict.evidence.crossed_at == stopped.pairs
        assert verdict.epsilon_lower > stopped.epsilon_lower
        assert verdict.epsilon_lower < 4

    def test_equal_constants(self):
        verdict = tollens.audit(lambda d: 7, "epsilon=1", neighbours=(0, 1), budget=300)
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.EQUAL_CONSTANTS)
        assert "every run returned 7" in verdict.notes
        assert verdict.epsilon_lower == 0

    def test_differing_constants(self):
        verdict = tollens.audit(lambda d: d, "epsilon=1", neighbours=(0, 1))
        assert (verdict.outcome, verdict.reason) == (Outcome.REFUTED, Reason.NO_RANDOMNESS)
        assert "seed fixed" in str(verdict)

    def test_always_raising(self):
        verdict = tollens.audit(lambda d: d.no_such, "epsilon=1", neighbours=(0, 1))
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.ALWAYS_RAISES)
        assert any("no_such" in note for note in verdict.notes)
        assert verdict.pairs < 500

    def test_raising_on_one_side_only_is_a_leak(self):
        verdict = tollens.audit(lambda d: 1 / d, "epsilon=1", neighbours=(0, 1))
        assert verdict.outcome is Outcome.REFUTED
        assert "ZeroDivisionError" in str(verdict)

    def test_too_few_pairs_of_a_stream(self):
        stream = tollens.Audit("epsilon=1")
        assert stream.verdict().reason is Reason.TOO_FEW_PAIRS
        rng = np.random.default_rng(0)
        stream.update(rng.normal(size=10), rng.normal(size=10))
        verdict = stream.verdict()
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.TOO_FEW_PAIRS)
        assert verdict.pairs == 10

    def test_a_stream_says_what_it_knows(self):
        rng = np.random.default_rng(0)
        stream = tollens.Audit(tollens.pure(1), alpha=0.01)
        for _ in range(20):
            stream.update(1 + rng.laplace(scale=0.2, size=10), rng.laplace(scale=0.2, size=10))
        assert stream.refuted
        assert stream.pairs == 200
        assert stream.log_e_value >= -math.log(0.01)
        assert stream.verdict().refuted
        assert stream.verdict().epsilon_lower == stream.epsilon_lower >= 1

    def test_bad_batches(self):
        with pytest.raises(MechanismError, match="must return n outputs"):
            tollens.audit(
                tollens.batched(lambda d, n, rng: np.zeros(n + 1)), "epsilon=1", neighbours=(0, 1)
            )


class TestProgress:
    def test_it_is_called_after_each_block(self):
        seen = []
        verdict = tollens.audit(
            count, "epsilon=1", neighbours=PAIR, seed=1, budget=300, progress=seen.append
        )
        pairs = [state.pairs for state in seen]
        assert pairs == sorted(set(pairs))
        assert pairs[-1] == verdict.pairs == 300
        assert {state.budget for state in seen} == {300}
        assert all(state.threshold > 0 for state in seen)

    def test_an_interrupt_carries_the_verdict_so_far(self):
        def stop(state):
            if state.pairs >= 150:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            tollens.audit(count, "epsilon=1", neighbours=PAIR, seed=1, progress=stop)
        verdict = caught.value.verdict
        assert verdict.reason is Reason.INTERRUPTED
        assert 150 <= verdict.pairs < 300
        assert isinstance(caught.value, KeyboardInterrupt)

    def test_an_interrupt_during_a_run(self):
        calls = []

        def mechanism(rows, rng):
            calls.append(1)
            if len(calls) == 700:
                raise KeyboardInterrupt
            return count(rows, rng)

        with pytest.raises(Interrupted) as caught:
            tollens.audit(mechanism, "epsilon=1", neighbours=PAIR, seed=1)
        assert caught.value.verdict.pairs > 100


class TestSeeds:
    def test_the_same_seed_gives_the_same_verdict(self):
        first, again = (
            tollens.audit(leaky, "epsilon=1", neighbours=PAIR, seed=5) for _ in range(2)
        )
        assert first.evidence == again.evidence

    def test_another_seed_gives_other_runs(self):
        digests = {
            tollens.audit(count, "epsilon=1", neighbours=PAIR, seed=s, budget=200).evidence.digest
            for s in range(5)
        }
        assert len(digests) == 5

    def test_without_a_seed_one_is_made_and_told(self):
        verdict = tollens.audit(leaky, "epsilon=1", neighbours=PAIR)
        again = tollens.audit(leaky, "epsilon=1", neighbours=PAIR, seed=verdict.seed)
        assert again.evidence == verdict.evidence

    @staticmethod
    def one_and_many():
        """The same outputs, one a call and all at once."""
        batch = tollens.batched(lambda rows, n, rng: len(rows) + rng.laplace(size=n))
        return count, batch

    def test_one_output_a_call_or_all_at_once_for_the_runs_of_one_chunk(self):
        """Longer blocks are cut into chunks, each with a stream of its own, of two lengths."""
        settings = {"neighbours": PAIR, "seed": 3, "budget": 300, "alpha": 0.05}
        digests = {
            tollens.audit(one, "epsilon=1", coupling="independent", **settings).evidence.digest
            for one in self.one_and_many()
        }
        assert len(digests) == 1

    def test_coupled_runs_are_made_one_by_one_of_either(self):
        """A batched mechanism is called for one output at a time where the draws are shared."""
        found = []
        for mechanism in self.one_and_many():
            settings = {"neighbours": PAIR, "seed": 3, "budget": CHUNK, "alpha": 0.2}
            verdict = tollens.audit(mechanism, "epsilon=0.01", coupling="common", **settings)
            found.append((verdict.evidence.digest, verdict.log_e_value))
        assert found[0] == found[1]

    def test_longer_blocks_are_other_runs_of_the_same_law(self):
        settings = {"neighbours": PAIR, "seed": 3, "budget": 1000, "coupling": "independent"}
        verdicts = [tollens.audit(one, "epsilon=1", **settings) for one in self.one_and_many()]
        assert verdicts[0].evidence.digest != verdicts[1].evidence.digest
        for verdict in verdicts:
            assert verdict.outcome is Outcome.UNREFUTED
            assert verdict.log_e_value == pytest.approx(verdicts[0].log_e_value, abs=2)


def without_seconds(verdict):
    """What a verdict says, all but how long it took."""
    return {name: value for name, value in verdict.to_dict().items() if name != "seconds"}


BATCHED = """
import tollens

@tollens.batched
def f(rows, n, rng):
    return len(rows) + rng.laplace(scale=0.8, size=(n, 2))

def g(rows, rng):
    return (len(rows) + rng.laplace(), rng.random() < 0.5)
"""


class TestWorkers:
    """Several processes give the verdict of one, to the last digit."""

    @staticmethod
    def noisy(scale):
        """A function inside a function, which is sent as it is: no process can import this file."""

        def noisy_count(rows, rng):
            return len(rows) + rng.laplace(scale=scale)

        return noisy_count

    @pytest.mark.parametrize("coupling", ["auto", "independent", "common"])
    @pytest.mark.parametrize("scale", [1.0, 0.25])
    def test_a_function(self, scale, coupling):
        settings = {"neighbours": PAIR, "seed": 2, "budget": 400, "coupling": coupling}
        one, two = (
            tollens.audit(self.noisy(scale), "epsilon=1", workers=workers, **settings)
            for workers in (1, 2)
        )
        assert without_seconds(one) == without_seconds(two)
        assert one.refuted == (scale == 0.25)

    def test_a_function_that_no_process_can_import_is_told(self, monkeypatch):
        def lonely(rows, rng):
            return len(rows) + rng.laplace()

        module = types.ModuleType("only_in_this_process")
        module.lonely = lonely
        lonely.__module__, lonely.__qualname__ = module.__name__, "lonely"
        monkeypatch.setitem(sys.modules, module.__name__, module)
        with pytest.raises(UsageError, match=r"lonely cannot be sent .*path/file\.py::name"):
            tollens.audit(lonely, "epsilon=1", neighbours=PAIR, workers=2)

    @pytest.mark.parametrize("name", ["f", "g"])
    def test_a_target_given_as_text(self, tmp_path, name):
        path = tmp_path / "mechanisms.py"
        path.write_text(BATCHED)
        settings = {"neighbours": PAIR, "seed": 2, "budget": 6000 if name == "f" else 300}
        one, two = (
            tollens.audit(f"{path}::{name}", "epsilon=2.2", workers=workers, **settings)
            for workers in (1, 2)
        )
        assert without_seconds(one) == without_seconds(two)
        assert one.pairs > 2 * CHUNK

    def test_many_pairs_of_inputs(self):
        pairs = tollens.add_remove([3, 1, 4, 1, 5])
        settings = {"neighbours": pairs, "seed": 2, "budget": 400}

        def largest(rows, rng):
            return max(rows, default=0) + rng.laplace(scale=2)

        one, two = (
            tollens.audit(largest, "epsilon=1", workers=workers, **settings) for workers in (1, 2)
        )
        assert without_seconds(one) == without_seconds(two)

    def test_runs_that_raise_or_time_out(self):
        def fails(rows, rng):
            if rng.random() < 0.4:
                raise ValueError("too small")
            return len(rows) + rng.laplace()

        settings = {"neighbours": PAIR, "seed": 2, "budget": 200, "timeout": 20}
        one, two = (
            tollens.audit(fails, "epsilon=1", workers=workers, **settings) for workers in (1, 2)
        )
        assert without_seconds(one) == without_seconds(two)
        assert any("ValueError: too small" in note for note in two.notes)

    def test_the_number_of_processes_is_told_to_nobody(self):
        """More of them than there are chunks is fine."""
        settings = {"neighbours": PAIR, "seed": 2, "budget": 60}
        one, three = (
            tollens.audit(self.noisy(1.0), "epsilon=1", alpha=0.05, workers=workers, **settings)
            for workers in (1, 3)
        )
        assert without_seconds(one) == without_seconds(three)

    def test_mechanisms_without_rng_are_refused(self):
        own = np.random.default_rng(0)
        with pytest.raises(UsageError, match=r"takes no rng.*use workers=1"):
            tollens.audit(lambda rows: own.random(), "epsilon=1", neighbours=PAIR, workers=2)
        with pytest.raises(UsageError, match="no rng"):
            tollens.audit(len, "epsilon=1", neighbours=PAIR, workers=2)


class TestCoupling:
    @pytest.mark.parametrize("coupling", ["auto", "independent", "common"])
    @pytest.mark.parametrize("wrap", [False, True])
    def test_each_way_finds_the_leak_and_spares_the_rest(self, coupling, wrap):
        def make(scale):
            if wrap:
                return tollens.batched(
                    lambda rows, n, rng: len(rows) + rng.laplace(scale=scale, size=n)
                )
            return lambda rows, rng: len(rows) + rng.laplace(scale=scale)

        settings = {"neighbours": PAIR, "seed": 2, "coupling": coupling, "alpha": 1e-3}
        assert tollens.audit(make(0.25), "epsilon=1", **settings).refuted
        assert not tollens.audit(make(1.0), "epsilon=1", budget=600, **settings).refuted

    def test_shared_draws_need_a_generator_to_share(self):
        with pytest.raises(UsageError, match="no rng to share"):
            tollens.audit(lambda d: d, "epsilon=1", neighbours=(0, 1), coupling="common")

    def test_auto_leaves_mechanisms_alone_that_draw_for_themselves(self):
        rng = np.random.default_rng(0)
        verdict = tollens.audit(
            lambda d: rng.laplace(), "epsilon=1", neighbours=(0, 1), budget=300, coupling="auto"
        )
        assert not verdict.refuted
        assert not verdict.replayable

    def test_a_stream_of_coupled_pairs(self):
        rng = np.random.default_rng(0)
        noise = rng.laplace(scale=0.5, size=400)
        coupled = tollens.Audit("epsilon=1", alpha=0.01, coupling="common")
        coupled.update(1 + noise, noise)
        assert coupled.refuted
        fair = tollens.Audit("epsilon=1", alpha=0.01, coupling="common")
        fair.update(0.5 + noise, noise)
        assert not fair.refuted


class TestPower:
    @pytest.mark.parametrize(
        "claim", [tollens.pure(1), tollens.approx(1, 0.01), tollens.gaussian(1)], ids=str
    )
    @pytest.mark.parametrize("coupling", ["independent", "common"])
    def test_fewest_pairs_is_reached_by_outputs_that_never_coincide(self, claim, coupling):
        fewest = fewest_pairs(claim, 0.05, coupling)
        stream = tollens.Audit(claim, alpha=0.05, coupling=coupling)
        stream.update([0.0] * (2 * fewest), [1.0] * (2 * fewest))
        assert stream.refuted
        assert stream.verdict().evidence.crossed_at == fewest

    def test_more_pairs_detect_smaller_excess(self):
        claim = tollens.pure(1)
        excess = [detectable_excess(claim, 0.05, n) for n in (100, 400, 1600, 6400)]
        assert excess == sorted(excess, reverse=True)
        assert excess[-1] > 1

    def test_sharper_levels_detect_less(self):
        claim = tollens.pure(1)
        assert detectable_excess(claim, 1e-6, 500) > detectable_excess(claim, 0.05, 500)

    def test_nothing_is_detected_with_too_few_pairs(self):
        assert math.isinf(detectable_excess(tollens.pure(4), 0.05, 20))
        assert fewest_pairs(tollens.approx(1, 1), 0.05, "independent", most=2**12) is None
