"""Tests of real libraries as their developers would write them."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.libraries


def test_opendp_and_diffprivlib(run_apart):
    pytest.importorskip("opendp")
    pytest.importorskip("diffprivlib")
    result = run_apart(
        """
        import opendp.prelude as opendp
        from diffprivlib.mechanisms import Laplace

        opendp.enable_features("contrib")
        SPACE = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.symmetric_distance()

        @pytest.mark.dp(neighbours=ROWS)
        class TestOpenDP:
            @pytest.fixture
            def count(self):
                return SPACE >> opendp.t.then_count() >> opendp.m.then_laplace(scale=1.0)

            def test_its_own_claim(self, dp, count):
                assert str(dp.audit(count).claim) == "epsilon=1"

            @pytest.mark.dp("epsilon=0.2")
            def test_a_smaller_claim(self, dp, count):
                dp.audit(count)

        @pytest.mark.dp("epsilon=1", neighbours=([5, 0], [0, 0]))
        class TestDiffprivlib:
            def noisy_sum(self, sensitivity):
                mechanism = Laplace(epsilon=1, sensitivity=sensitivity)
                return lambda rows: mechanism.randomise(sum(rows))

            def test_sensitivity(self, dp):
                dp.audit(self.noisy_sum(5))

            def test_sensitivity_that_is_too_small(self, dp):
                dp.audit(self.noisy_sum(1))
        """,
        "--dp-budget=2000",
    )
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*against epsilon=0.2",
            "FAILED test_it.py::TestOpenDP::test_a_smaller_claim - *",
            "FAILED test_it.py::TestDiffprivlib::test_sensitivity_that_is_too_small - *",
        ]
    )
    assert result.stdout.str().count("these runs cannot be repeated") == 2
