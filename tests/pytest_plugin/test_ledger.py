"""What a session may spend is never more than alpha, and its false alarms keep to that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tollens
from tollens.pytest_plugin.ledger import Ledger

ALPHA = 0.2
TESTS = 40

alphas = st.floats(min_value=1e-250, max_value=1.0, exclude_max=True)


@given(
    alpha=alphas,
    audits=st.lists(st.integers(0, 150), min_size=1, max_size=30),
    copies=st.integers(1, 5),
)
def test_no_session_spends_more_than_alpha(alpha, audits, copies):
    """In exact arithmetic, however many audits each of the tests makes in each of its copies."""
    ledger = Ledger(alpha, len(audits), copies)
    spent = sum(
        (Fraction(ledger.of_audit(j)) for most in audits for j in range(1, most + 1)), Fraction(0)
    )
    assert copies * spent <= Fraction(alpha)


@given(alpha=alphas, tests=st.integers(1, 10**6), number=st.integers(1, 10**5))
def test_a_share_is_as_large_as_floats_let_it_be(alpha, tests, number):
    exact = Fraction(alpha) / tests / (number * (number + 1))
    share = Ledger(alpha, tests).of_audit(number)
    assert exact * (1 - Fraction(1, 10**15)) - Fraction(5e-324) <= share <= exact


@given(alpha=alphas, tests=st.integers(1, 10**6), number=st.integers(1, 10**5))
def test_a_session_of_one_test_with_its_share_of_alpha_gives_the_same_shares(alpha, tests, number):
    """So that the line to paste makes the same audit again."""
    ledger = Ledger(alpha, tests)
    assert Ledger(ledger.of_test, 1).of_audit(number) == ledger.of_audit(number)


# False alarms of whole sessions, at the boundary of what their claims allow


@dataclass(frozen=True)
class Spendthrift:
    """A ledger that gives the whole of alpha to each audit."""

    alpha: float
    tests: int

    def of_audit(self, number):
        return self.alpha


def alarms_of_sessions(ledger, sessions, audits, seed):
    """The share of sessions with a false alarm, in which each test makes so many audits.

    Each audit bets on a fair coin, half of its wealth a toss: a martingale, which reaches the
    threshold with nearly the probability that it is allowed to.
    """
    rng = np.random.default_rng(seed)
    factors = np.log([0.5, 1.5])
    alarmed = np.zeros(sessions, dtype=bool)
    for number in range(1, audits + 1):
        threshold = -math.log(ledger.of_audit(number))
        wealth = np.zeros((sessions, ledger.tests))
        for _ in range(120):
            wealth += factors[rng.integers(0, 2, wealth.shape)]
            alarmed |= (wealth >= threshold).any(axis=1)
    return alarmed.mean()


def limit(sessions):
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / sessions)


@pytest.mark.parametrize("audits", [1, 6])
def test_false_alarms_of_sessions_keep_to_alpha(audits):
    rate = alarms_of_sessions(Ledger(ALPHA, TESTS), 3000, audits, seed=audits)
    assert rate <= limit(3000)
    assert rate > ALPHA / 5  # and the ledger is not far more careful than it must be


def test_a_ledger_that_gives_all_to_everyone_is_caught():
    assert alarms_of_sessions(Spendthrift(ALPHA, TESTS), 200, 1, seed=5) > 2 * limit(200)


def test_false_alarms_of_sessions_of_real_audits_keep_to_alpha():
    """Randomised response at its claim: 40 tests a session, each an audit of 30 pairs."""
    sessions, truth = 6, math.e / (1 + math.e)
    ledger, rng = Ledger(ALPHA, TESTS), np.random.default_rng(3)

    def refuted():
        stream = tollens.Audit("epsilon=1", alpha=ledger.of_audit(1))
        stream.update(rng.random(30) < truth, rng.random(30) < 1 - truth)
        return stream.refuted

    alarms = sum(any(refuted() for _ in range(TESTS)) for _ in range(sessions))
    assert alarms / sessions <= limit(sessions)
