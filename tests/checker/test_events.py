"""Bounds of the probability of events against the truth, complete and cut."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.compiling import compile_text
from tollens.checker.draws import Draw, Path
from tollens.checker.errors import CertificateError
from tollens.checker.events import bounds, total, weight
from tollens.checker.form import Form
from tollens.checker.integration import Integrator
from tollens.checker.machine import Limits, explore
from tollens.checker.patterns import Anything, Between, Equals, Items, write

F = Fraction
HEAD = "from tollens import noise\n\n"

COIN = HEAD + "def f(x):\n    return x if noise.flip(3/4) else 1 - x\n"
COUNT = HEAD + "def f(x):\n    return x + noise.laplace(2)\n"
TOSSES = HEAD + "def f(x):\n    while noise.flip(1/2):\n        x += 1\n    return x\n"
ABOVE = (
    HEAD + "def f(x):\n    return [q + noise.laplace(1) > noise.exponential(1) for q in [x, 0]]\n"
)
DRIFT = HEAD + (
    "def f(x):\n    n = 0\n    while x >= 0:\n        x += -1 + noise.laplace(1/2)\n"
    "        n += 1\n    return n\n"
)
PAIR = HEAD + "def f(x):\n    z = noise.uniform(0, 1)\n    return (z, z > x / 2)\n"


def event(*patterns):
    return {"kind": "event", "patterns": [write(pattern) for pattern in patterns]}


def proof(rounds=30, other=30, small=10_000):
    return {"kind": "paths", "rounds": rounds, "rounds_other": other, "small": small}


def both(text, data, *patterns, rounds=30, other=30):
    """(lower, upper) of one probability."""
    program = compile_text(text, "f")
    return bounds(program, data, data, event(*patterns), proof(rounds, other), 60.0)


@pytest.mark.parametrize(
    ("text", "x", "patterns", "truth"),
    [
        (COIN, F(1), [Equals(F(1))], 3 / 4),
        (COIN, F(1), [Equals(F(1)), Equals(F(0))], 1),
        (COIN, F(1), [Equals(True)], 0),
        (COIN, F(1), [Anything()], 1),
        (COUNT, F(0), [Between(F(1), None)], math.exp(-1 / 2) / 2),
        (COUNT, F(0), [Equals(F(0))], 0),
        (COUNT, F(3), [Between(None, F(2))], math.exp(-1 / 2) / 2),
        (COUNT, F(0), [Between(F(-1), F(1))], 1 - math.exp(-1 / 2)),
        (COUNT, F(0), [Between(None, F(-1)), Between(F(1), None)], math.exp(-1 / 2)),
        (COUNT, F(0), [Items(()), Between(None, None)], 1),
        (ABOVE, F(0), [Items((Equals(True), Equals(True)))], 1 / 16),
        (ABOVE, F(0), [Items((Equals(True), Anything()))], 1 / 4),
        (PAIR, F(1), [Items((Between(F(1, 4), None), Equals(False)))], 1 / 4),
        (PAIR, F(1), [Items((Between(F(1, 4), None), Anything()))], 3 / 4),
        (TOSSES, F(0), [Equals(F(2))], 1 / 8),
        (DRIFT, F(0), [Equals(F(1))], 1 - math.exp(-2) / 2),
    ],
)
def test_known_probabilities(text, x, patterns, truth):
    lower, upper = both(text, x, *patterns)
    assert lower - F(1, 2**50) <= truth <= upper + F(1, 2**50)
    assert 0 <= lower <= upper <= 1
    assert upper - lower < F(1, 2**25)


@pytest.mark.parametrize("rounds", range(7))
def test_cut_loops(rounds):
    """P(2) = 1/8, P(at least 1) = 1/2: what was cut counts on the upper side."""
    for pattern, truth in ((Equals(F(2)), F(1, 8)), (Between(F(1), None), F(1, 2))):
        lower, upper = both(TOSSES, F(0), pattern, rounds=rounds, other=rounds)
        assert lower <= truth <= upper
        if pattern == Equals(F(2)) and rounds > 3:
            assert lower == truth == upper  # a cut run counts further already
        if rounds == 0:
            assert (lower, upper) == (0, 1)
    assert both(TOSSES, F(0), Equals(F(-1)), rounds=rounds, other=rounds)[1] == (rounds == 0)


def test_the_two_sides_are_cut_by_themselves():
    assert both(TOSSES, F(0), Between(F(1), None), rounds=2, other=40)[0] == F(0)
    lower, upper = both(TOSSES, F(0), Between(F(1), None), rounds=40, other=2)
    assert (lower > F(1, 2) - F(1, 2**30), upper) == (True, F(1, 2))


def test_rare_runs_may_be_cut():
    program = compile_text(TOSSES, "f")
    for small in (0, 1, 3, 8):
        given = proof(50, 50, small)
        lower, upper = bounds(program, F(0), F(0), event(Between(F(1), F(5))), given, 60.0)
        truth = F(1, 2) - F(1, 2**6)
        assert lower <= truth <= upper
    assert bounds(program, F(0), F(0), event(Equals(F(1))), proof(50, 50, 8), 60.0)[1] == F(1, 4)


def test_more_rounds_are_never_worse():
    found = [both(DRIFT, F(1), Equals(F(2)), rounds=r, other=r) for r in range(1, 6)]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in pairwise(found))


@settings(max_examples=60)
@given(st.fractions(0, 1, max_denominator=12), st.integers(0, 5), st.integers(0, 8))
def test_binomial(p, k, rounds):
    text = HEAD + (
        "def f(x):\n    n = 0\n    for i in range(5):\n        n += noise.flip(x)\n    return n\n"
    )
    truth = math.comb(5, k) * p**k * (1 - p) ** (5 - k)
    lower, upper = both(text, p, Equals(F(k)), rounds=rounds, other=rounds)
    assert lower <= truth <= upper
    if rounds >= 7:
        assert lower == truth == upper


def test_spent_draws_weigh():
    lap = Draw("laplace", (F(1),))
    half = ((lap,), (Form(F(0), ((0, F(1)),)),))
    spent = ((F(1, 3), (half, half)), (F(2, 3), (half,)))
    path = Path(F(1, 2), (lap,), (Form(F(0), ((0, F(-1)),)),), F(1), True, None, spent)
    assert weight(path, Integrator()) == (F(5, 24), F(5, 24))
    assert total([path], [Equals(F(1))], Integrator()) == (F(5, 48), F(5, 48))
    assert total([path], [Equals(F(2))], Integrator()) == (0, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "has no"),
        ({"kind": "table", "rounds": 1, "rounds_other": 1, "small": 1}, "proved by paths"),
        ({"kind": "paths", "rounds": -1, "rounds_other": 1, "small": 1}, "no whole number"),
        ({"kind": "paths", "rounds": 10_001, "rounds_other": 1, "small": 1}, "no whole number"),
        ({"kind": "paths", "rounds": 1, "rounds_other": True, "small": 1}, "no whole number"),
        ({"kind": "paths", "rounds": 1, "rounds_other": 1, "small": "1"}, "no whole number"),
        ({"kind": "paths", "rounds": 1, "rounds_other": 1, "small": 1, "more": 1}, "without use"),
    ],
)
def test_bad_proofs(given, message):
    with pytest.raises(CertificateError, match=message):
        bounds(compile_text(COIN, "f"), F(0), F(1), event(Anything()), given, 60.0)


def test_limits_on_paths_leave_bounds_sound():
    text = (
        HEAD
        + "def f(x):\n    for i in range(9):\n        x = 2 * x + noise.flip(1/2)\n    return x\n"
    )
    paths = explore(compile_text(text, "f"), F(0), Limits(paths=20)).paths
    assert total(paths, [Equals(F(7))], Integrator())[1] == 1
    assert not any(path.finished for path in paths)
