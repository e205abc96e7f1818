"""The exact comparison of what a canary changes with the promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tollens.training.parts.reading import Reading
from tollens.training.parts.sensitivity import TOLERANCE, Sensitivity


def checked(*values):
    check = Sensitivity()
    for value in values:
        check.update(Reading(sensitivity=value))
    return check


@pytest.mark.parametrize("values", [(), (None,), (0.0, 1.0, None, 1.0 + TOLERANCE / 2)])
def test_nothing_is_found_where_clipping_works(values):
    check = checked(*values)
    assert check.finding is None
    assert check.log_e_value == 0.0
    assert check.words() == "the canary changed the sum by no more than promised"


def test_the_first_step_and_the_largest_change_are_told():
    check = checked(1.0, None, 1.414, 0.5, 10.0, 2.0)
    assert check.finding.step == check.fault_at == 3
    assert check.finding.level == "fault"
    assert check.finding.log_e_value is None
    assert check.log_e_value == math.inf
    assert check.largest == 10.0
    assert "changed the sum by 10 C" in check.finding.text


def test_one_over_the_tolerance_is_a_fault():
    assert checked(1.0 + 1.01 * TOLERANCE).fault_at == 1
    assert checked(np.float32(1.0)).fault_at is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_what_is_no_number_is_a_fault(value):
    check = checked(1.0, value)
    if value != -math.inf:
        assert check.finding.step == 2
        assert "not finite" in check.finding.text
    assert "not finite" in check.words()


def test_both_faults_are_told():
    text = checked(math.nan, 3.0).finding.text
    assert "by 3 C" in text
    assert "not finite" in text
