"""Rounds of unequal numbers of runs: fair bets, counted and recorded as they were made."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tollens
from tollens.auditing import product
from tollens.auditing.experts import bets
from tollens.auditing.product import RATIOS, pairs_a_round
from tollens.auditing.record import Recorder, rescore
from tollens.auditing.sequential import Gambler
from tollens.contract import Promise
from tollens.zoo import get

ALL = ((1, 1), *RATIOS)


def kept(rng, k, epsilon, delta):
    """A pair of laws on k cells that keeps P(S) <= e^epsilon Q(S) + delta, on its boundary."""
    p, q = rng.dirichlet(np.full(k, 0.5)), rng.dirichlet(np.full(k, 0.5))
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        mixed = share * p + (1 - share) * q
        excess = np.maximum(mixed - np.exp(epsilon) * q, 0).sum()
        other = np.maximum(q - np.exp(epsilon) * mixed, 0).sum()
        fits = max(excess, other) <= delta
        low, high = (share, high) if fits else (low, share)
    return low * p + (1 - low) * q, q


@given(
    st.integers(0, 10**6),
    st.sampled_from(ALL),
    st.sampled_from([(0.0, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 0.01), (4.0, 1e-4)]),
)
@settings(max_examples=150, deadline=None)
def test_a_round_never_gains_where_the_promise_is_kept(seed, ratio, numbers):
    rng = np.random.default_rng(seed)
    epsilon, delta = numbers
    k = int(rng.integers(2, 9))
    p_hat, q_hat = (rng.dirichlet(np.ones(k)) + 1e-6 for _ in range(2))
    p_hat, q_hat = p_hat / p_hat.sum(), q_hat / q_hat.sum()
    orders = (0,) if delta == 0 else (1, -1)
    promises = [Promise(epsilon, delta, order) for order in orders]
    made = bets(p_hat[None], q_hat[None], np.ones((1, k), bool), promises, ratio=ratio)
    n, m = ratio
    for _ in range(20):
        p, q = kept(rng, k, epsilon, delta)
        for swap in (False, True):
            x, y = (q, p) if swap else (p, q)
            for i in range(len(promises)):
                mean = (x @ made.a[0, i]) ** n * (y @ made.b[0, i]) ** m
                assert mean <= 1 + 1e-9


def test_more_runs_go_where_they_are_worth_more():
    made = {}
    p, q = np.array([0.01, 0.99]), np.array([1e-5, 1 - 1e-5])
    for ratio in ALL:
        found = bets(p[None], q[None], np.ones((1, 2), bool), [Promise(4.0, 1e-5, 1)], ratio=ratio)
        n, m = ratio
        gain = n * p @ np.log(found.a[0, 0]) + m * q @ np.log(found.b[0, 0])
        made[ratio] = gain / pairs_a_round(ratio)
    assert made[1, 3] > 1.1 * made[1, 1] > made[3, 1]


def gambler(**options):
    return Gambler(tollens.approx(1, 0.01), alpha=0.05, delta=None, seed=1, unequal=True, **options)


def play(at_most, seed, pairs=300):
    """A gambler on uniform numbers with a rare atom under x, given at most so many rounds."""
    rng_x, rng_y = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    bets_on = gambler()
    while bets_on.pairs < pairs:
        n, m = bets_on.next_ratio
        each = pairs_a_round((n, m))
        rounds = min(bets_on.until_next_bet() // each, at_most, (pairs - bets_on.pairs) // each)
        if not rounds:
            break
        x, y = rng_x.random(rounds * n), rng_y.random(rounds * m)
        x[x < 0.3] = -1.0
        encode = bets_on.encoder.encode
        bets_on.update(encode(x), encode(y))
    return bets_on


def test_cutting_the_stream_changes_nothing():
    whole, pieces = play(10**6, 5), play(1, 5)
    assert whole.log_e_value == pytest.approx(pieces.log_e_value, abs=1e-9)
    assert whole.bankroll.crossed_at == pieces.bankroll.crossed_at
    assert whole.next_ratio == pieces.next_ratio


def test_runs_that_are_no_whole_rounds_are_refused():
    bets_on = gambler()
    encode = bets_on.encoder.encode
    with pytest.raises(AssertionError, match="rounds of 1 on x and 1"):
        bets_on.update(encode(np.zeros(3)), encode(np.zeros(2)))


@pytest.mark.parametrize("ratio", RATIOS)
def test_false_alarms_with_unequal_rounds(ratio, monkeypatch):
    """Every bet is forced to a ratio; laws on the boundary are refuted with probability alpha."""
    monkeypatch.setattr(product.ProductBets, "_better_ratio", lambda *_: ratio)
    truth, alpha, runs = 1 / (1 + np.exp(-1.0)), 0.2, 150
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        bets_on = Gambler(tollens.pure(1), alpha=alpha, delta=None, seed=seed, unequal=True)
        while bets_on.pairs < 150 and not bets_on.refuted:
            n, m = bets_on.next_ratio
            rounds = bets_on.until_next_bet() // pairs_a_round((n, m))
            encode = bets_on.encoder.encode
            x, y = rng.random(rounds * n) < truth, rng.random(rounds * m) >= truth
            bets_on.update(encode(x), encode(y))
        wrong += bets_on.refuted
    assert wrong / runs <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / runs)


def test_an_audit_uses_records_and_scores_them_again():
    entry, recorder = get("expected-batch-size"), Recorder()
    verdict = tollens.audit(
        entry.mechanism, entry.claim, neighbours=entry.neighbours, coupling="independent",
        seed=3, budget=6000, recorder=recorder,
    )  # fmt: skip
    content = json.loads(recorder.document)
    x, y = (len(content[side]["keys"]) for side in ("x", "x_prime"))
    assert verdict.refuted and x != y and verdict.runs == x + y
    assert 2 * verdict.pairs <= x + y
    again = rescore(recorder.document)
    assert again.log_e_value == pytest.approx(verdict.log_e_value)
    assert again.pairs == verdict.pairs
