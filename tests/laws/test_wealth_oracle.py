"""The whole wealth of an audit, worked out again in plain slow Python for two-valued outputs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import tollens
from tollens.auditing.experts import (
    LEAST_PULL,
    MOST_PULL,
    SLOTS,
    SMOOTHING,
    steady_on_two_values,
)
from tollens.auditing.sequential import BURN_IN, REBET, REFIT, Gambler


def best_fair_bet(p, q, epsilon):
    """The log-optimal factors against a pure promise, by bisection in exact order of formulas."""
    e = math.exp(epsilon)

    def point(mu):
        nu = 2 - mu
        first, second = [], []
        for p_i, q_i in zip(p, q, strict=True):
            if p_i * nu > e * q_i * mu:
                shared = (p_i + q_i) / (mu * e + nu)
                first.append(e * shared)
                second.append(shared)
            elif q_i * mu > e * p_i * nu:
                shared = (p_i + q_i) / (mu + nu * e)
                first.append(shared)
                second.append(e * shared)
            else:
                first.append(p_i / mu)
                second.append(q_i / nu)
        return first, second

    low, high = 0.0, 2.0
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        first, second = point(middle)
        if math.fsum(first) > math.fsum(second):
            low = middle
        else:
            high = middle
    first, second = point((low + high) / 2)
    a = [p_i / first_i for p_i, first_i in zip(p, first, strict=True)]
    b = [q_i / second_i for q_i, second_i in zip(q, second, strict=True)]
    worst = (
        max(e * a_i + b_i for a_i, b_i in zip(a, b, strict=True))
        + max(a_i + e * b_i for a_i, b_i in zip(a, b, strict=True))
    ) / (1 + e)
    return [2 * a_i / worst for a_i in a], [2 * b_i / worst for b_i in b]


def naive_wealth(x, y, epsilon):
    """The wealth after each pair; x and y are lists of zeros and ones.

    Every bettor looks at the same cells: zero and one (or only "a number", while no more than
    one value has been seen when cells were learned), and the cell of everything else. Bettors
    differ in one thing: the steady ones pull both laws towards their common mean. The favourite
    has no share, because the outputs are one number.
    """
    variation = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    pull = min(max(0.25 / max(variation, 1e-9) ** 2, LEAST_PULL), MOST_PULL)
    pulls = [pull if steady else 0.0 for steady in steady_on_two_values()]
    wealths, path = [1 / len(SLOTS)] * len(SLOTS), []
    next_fit = next_bet = BURN_IN
    bets = None
    two_cells = False
    for t in range(len(x)):
        if bets is not None:
            cell_x, cell_y = (x[t], y[t]) if two_cells else (0, 0)
            wealths = [w * a[cell_x] * b[cell_y] for w, (a, b) in zip(wealths, bets, strict=True)]
        path.append(math.fsum(wealths))
        seen = t + 1
        if seen == next_bet:
            if seen >= next_fit:
                two_cells = len(set(x[:seen]) | set(y[:seen])) == 2
                next_fit = max(seen + 1, int(seen * REFIT))
            made = {}
            for pull in set(pulls):
                laws = [estimate(side, x[:seen], y[:seen], two_cells, pull) for side in "xy"]
                made[pull] = best_fair_bet(*laws, epsilon)
            bets = [made[pull] for pull in pulls]
            next_bet = min(max(seen + 1, int(seen * REBET)), next_fit)
    return path


def estimate(side, x, y, two_cells, pull):
    """The smoothed law of one side on the cells, from the past of both."""
    own, seen = x if side == "x" else y, len(x)
    counts = [seen - sum(own), sum(own), 0] if two_cells else [seen, 0]
    both = [2 * seen - sum(x) - sum(y), sum(x) + sum(y), 0] if two_cells else [2 * seen, 0]
    smooth = [c + pull * b / (2 * seen) + SMOOTHING for c, b in zip(counts, both, strict=True)]
    return [c / sum(smooth) for c in smooth]


CASES = [
    (0.5, 0.8, 0.3),
    (1.0, 0.9, 0.1),
    (1.0, 0.5, 0.5),
    (0.0, 0.6, 0.4),
    (0.1, 0.02, 0.3),
    (3.0, 0.999, 0.001),
    (1.0, 0.0, 0.01),
    (1.0, 0.0, 1.0),
]


@pytest.mark.parametrize("epsilon, share_x, share_y", CASES)
@pytest.mark.parametrize("form", ["bool", "int", "list"])
def test_the_wealth_of_every_pair(epsilon, share_x, share_y, form):
    rng = np.random.default_rng(11)
    n = 250
    x, y = rng.random(n) < share_x, rng.random(n) < share_y
    expected = naive_wealth(x.astype(int).tolist(), y.astype(int).tolist(), epsilon)
    gambler = Gambler(tollens.pure(epsilon), alpha=1e-300, delta=None, seed=0)
    forms = {"bool": x, "int": x.astype(np.int64), "list": [int(v) for v in x]}
    other = {"bool": y, "int": y.astype(np.int64), "list": [int(v) for v in y]}
    coded_x, coded_y = gambler.encoder.encode(forms[form]), gambler.encoder.encode(other[form])
    found = []
    for t in range(n):
        gambler.update(coded_x[t : t + 1], coded_y[t : t + 1])
        found.append(gambler.bankroll.log_value)
    assert found == pytest.approx([math.log(w) for w in expected], abs=1e-9)


def test_the_pair_that_refutes():
    rng = np.random.default_rng(2)
    for _ in range(5):
        x, y = rng.random(400) < 0.85, rng.random(400) < 0.2
        expected = naive_wealth(x.astype(int).tolist(), y.astype(int).tolist(), 1.0)
        audit = tollens.Audit("epsilon=1", alpha=0.01)
        audit.update(x, y)
        threshold = 1 / (0.01 * (1 - 1 / 50))
        crossed = next(t for t, wealth in enumerate(expected, 1) if wealth >= threshold)
        assert audit.verdict().evidence.crossed_at == crossed


def test_the_oracle_bets_fairly():
    """The oracle itself, in exact arithmetic: equal laws may not gain."""
    a, b = best_fair_bet([0.7, 0.2, 0.1], [0.1, 0.2, 0.7], 0.5)
    for a_i, b_i in zip(a, b, strict=True):
        assert Fraction(a_i) + Fraction(b_i) <= 2 + Fraction(1, 10**12)
