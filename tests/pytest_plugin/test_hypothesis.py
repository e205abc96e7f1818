"""`@given` with pairs of neighbours: no health check to suppress, no deadline, nothing flaky."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tollens
from tollens.pytest_plugin.question import Question, question_key

GIVEN = """
from hypothesis import given, settings, strategies as st

pairs = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(lambda rows: (rows, rows[1:]))
"""


def test_examples_are_audited_without_suppressing_a_health_check(run):
    result = run(
        GIVEN
        + """
@settings(max_examples=3)
@given(pair=pairs)
def test_right(dp, pair):
    dp.audit(right, "epsilon=1", neighbours=pair)

class TestMethods:
    @pytest.mark.dp("epsilon=1", budget=300)
    @pytest.mark.parametrize("noise", [1.0, 1.5])
    @settings(max_examples=2)
    @given(pair=pairs)
    def test_method(self, dp, pair, noise):
        dp.audit(lambda rows, rng: len(rows) + rng.laplace(scale=noise), neighbours=pair)
"""
    )
    result.assert_outcomes(passed=3)
    assert "audits in 3 tests: 0 refuted" in result.stdout.str()


def test_a_failing_example_is_shrunk_and_fails_again_in_the_same_way(run):
    """The row is not clipped: the claim fails where it exceeds 1, and only there."""
    result = run(
        GIVEN
        + """
@settings(max_examples=5, database=None)
@given(row=st.integers(0, 9))
def test_unclipped(dp, row):
    dp.audit(lambda rows, rng: sum(rows) + rng.laplace(), "epsilon=1", neighbours=([row], []))
""",
        "--hypothesis-seed=1",
    )
    result.assert_outcomes(failed=1)
    out = result.stdout.str()
    assert "REFUTED    test_unclipped.<lambda> against epsilon=1" in out
    assert "x = [2], x' = []" in out or "x = [3], x' = []" in out
    assert "Failing test case: test_unclipped(" in out or "Falsifying example" in out
    assert "Flaky" not in out and "DeadlineExceeded" not in out


def test_the_deadline_of_hypothesis_is_lifted_but_not_one_that_the_test_sets(project):
    project.makepyfile(
        test_it="""
        import time

        import pytest
        from counts import *
        from hypothesis import given, settings, strategies as st

        settings.register_profile("strict", deadline=50, database=None)
        settings.load_profile("strict")

        @settings(max_examples=2)
        @given(st.just(ROWS))
        def test_slow(dp, pair):
            time.sleep(0.1)
            dp.audit(right, "epsilon=1", neighbours=pair)

        @settings(max_examples=2, deadline=20)
        @given(st.just(ROWS))
        def test_own_deadline(dp, pair):
            time.sleep(0.1)

        @settings(max_examples=2)
        @given(st.just(ROWS))
        def test_without_dp(pair):
            time.sleep(0.1)
        """
    )
    result = project.runpytest_subprocess("--dp-budget=400", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=2)
    assert "FAILED test_it.py::test_own_deadline" in result.stdout.str()
    assert "FAILED test_it.py::test_without_dp" in result.stdout.str()


def test_what_was_refuted_is_not_asked_again_within_a_test(run):
    result = run(
        """
        def twice(dp, mechanisms, neighbours):
            verdicts = []
            for mechanism in mechanisms:
                try:
                    verdicts.append(dp.audit(mechanism, "epsilon=1", neighbours=neighbours))
                except pytest.fail.Exception as failure:
                    verdicts.append(str(failure))
            return verdicts

        def noisy(scale):
            return lambda rows, rng: len(rows) + rng.laplace(scale=scale)

        def test_same_text_and_values(dp):
            first, second = twice(dp, [noisy(0.2), noisy(0.2)], ROWS)
            assert first == second and first.startswith("REFUTED")

        def test_other_values(dp):
            first, second = twice(dp, [noisy(0.2), noisy(1.0)], ROWS)
            assert first.startswith("REFUTED") and not second.refuted

        def test_other_pair(dp):
            first, = twice(dp, [noisy(0.2)], ROWS)
            second, = twice(dp, [noisy(0.2)], ROWS[::-1])
            assert first != second

        def test_right_ones_are_run_each_time(dp):
            first, second = twice(dp, [right, right], ROWS)
            assert first.alpha > second.alpha
        """
    )
    result.assert_outcomes(passed=4)
    assert "7 audits in 4 tests: 4 refuted, 3 not refuted" in result.stdout.str()


def question(mechanism, x):
    return question_key(Question(mechanism, "epsilon=1", (x, []), "fail", {}, None))


def scaled(data, n, rng, scale):
    return np.zeros(n) + scale


def made(scale):
    return tollens.batched(functools.partial(scaled, scale=scale))


def test_questions_are_told_apart_by_their_contents():
    """So that an example that is made anew is the same question."""
    assert question(made(1), np.arange(3)) == question(made(1), np.arange(3))
    assert question(made(1), np.arange(3)) != question(made(2), np.arange(3))
    assert question(made(1), np.arange(3)) != question(made(1), np.arange(4))
    assert question(made(1), [[1.0]]) == question(made(1), [[1.0]])
    assert question(made(1), [[1.0]]) != question(made(1), ([1.0],))


def test_frames_are_told_apart_by_their_contents():
    frame = pytest.importorskip("pandas").DataFrame
    assert question(made(1), frame({"a": [1]})) == question(made(1), frame({"a": [1]}))
    assert question(made(1), frame({"a": [1]})) != question(made(1), frame({"b": [1]}))
    assert question(made(1), frame({"a": [1]})) != question(made(1), frame({"a": [2]}))
