"""The certified leak: what it may say, when, and how it goes with the refutation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import tollens
from tollens.auditing.leak import _BLOCK as BLOCK
from tollens.auditing.leak import GRID, SHORTCUT
from tollens.auditing.sequential import DEFAULT_DELTA, Gambler

N = 400


def laplace(rng, n):
    return 1 + rng.laplace(size=n), rng.laplace(size=n)


def response(rng, n):
    return rng.random(n) < 0.9, rng.random(n) < 0.1


def equal(rng, n):
    return rng.normal(size=n), rng.normal(size=n)


def stream(claim, draw, n=N, seed=0, alpha=0.05, delta=None):
    rng = np.random.default_rng(seed)
    gambler = Gambler(tollens.parse_claim(claim), alpha=alpha, delta=delta, seed=0)
    x, y = draw(rng, n)
    return gambler, gambler.encoder.encode(x), gambler.encoder.encode(y)


def bound(claim, draw, n=N, **settings):
    gambler, x, y = stream(claim, draw, n, **settings)
    gambler.update(x, y)
    return gambler.epsilon_lower


CASES = [
    ("epsilon=0.3", laplace),
    ("epsilon=2", laplace),
    ("epsilon=1", response),
    ("epsilon=0.5, delta=0.01", laplace),
    ("mu=0.5", response),
]


@pytest.mark.parametrize("claim, draw", CASES[:3])
def test_it_never_decreases(claim, draw):
    for seed in range(2):
        gambler, x, y = stream(claim, draw, 200, seed)
        last = 0.0
        for start in range(0, 200, 8):
            gambler.update(x[start : start + 8], y[start : start + 8])
            assert gambler.epsilon_lower >= last
            last = gambler.epsilon_lower


@pytest.mark.parametrize("claim, draw", CASES[:4])
def test_it_reaches_the_claim_exactly_when_the_claim_is_refuted(claim, draw):
    gambler, x, y = stream(claim, draw)
    epsilon = gambler.claim.promises()[0].epsilon
    steps = np.unique(np.geomspace(8, N, 12).astype(int)).tolist()
    for stop in steps:
        gambler.update(x[gambler.pairs : stop], y[gambler.pairs : stop])
        if gambler.refuted:
            assert gambler.epsilon_lower >= epsilon
        else:
            assert gambler.epsilon_lower < epsilon


@pytest.mark.parametrize("claim, draw", CASES)
def test_it_is_a_point_of_the_grid_or_the_claim(claim, draw):
    gambler, x, y = stream(claim, draw)
    gambler.update(x, y)
    own = [p.epsilon for p in gambler.claim.promises()]
    assert min(abs(gambler.epsilon_lower - e) for e in [0.0, *own, *GRID]) == 0


@pytest.mark.parametrize("claim, draw", CASES)
def test_asking_does_not_change_it(claim, draw):
    asked, x, y = stream(claim, draw)
    for start in range(0, N, 100):
        asked.update(x[start : start + 100], y[start : start + 100])
        assert asked.epsilon_lower == asked.epsilon_lower
    silent, x, y = stream(claim, draw)
    silent.update(x, y)
    assert asked.epsilon_lower >= silent.epsilon_lower
    assert asked.log_e_value == pytest.approx(silent.log_e_value, abs=1e-9)


def test_sharper_levels_certify_less():
    for draw in (laplace, response):
        bounds = [bound("epsilon=0.2", draw, alpha=alpha) for alpha in (0.2, 0.01, 1e-4, 1e-8)]
        assert bounds == sorted(bounds, reverse=True)
        assert bounds[0] > 0.2


def test_larger_deltas_certify_less():
    """On average; the bets against two deltas differ, and chance may favour one by a step."""
    step, means = GRID[1] / GRID[0] * (1 + 1e-9), np.zeros(4)
    for seed in range(5):
        deltas = (0.0, 1e-5, 0.05, 0.3)
        bounds = [bound("mu=0.5", response, delta=delta, seed=seed) for delta in deltas]
        for larger, smaller in itertools.pairwise(bounds):
            assert smaller <= larger * step
        assert bounds[-1] > 0.5
        means += bounds
    assert means.tolist() == sorted(means, reverse=True)
    assert len(set(means.tolist())) == 4


def test_more_pairs_certify_more():
    bounds = [bound("epsilon=0.2", response, n) for n in (30, 100, 300, 1000)]
    assert bounds == sorted(bounds)
    assert 1 < bounds[-1] < math.log(9)


def test_the_delta_it_is_stated_at():
    assert stream("epsilon=1", laplace)[0].delta == 0
    assert stream("epsilon=1, delta=0.01", laplace)[0].delta == 0.01
    assert stream("mu=1", laplace)[0].delta == DEFAULT_DELTA
    assert stream("epsilon=1", laplace, delta=0.001)[0].delta == 0.001


def test_at_another_delta_a_refutation_says_nothing():
    """A claim refuted at its own delta bounds nothing at a larger one by itself."""
    gambler, x, y = stream("epsilon=1", response, 60, delta=0.5)
    gambler.update(x, y)
    assert gambler.refuted
    assert gambler.epsilon_lower < 1


def test_no_leak_is_certified_where_there_is_none():
    for seed in range(8):
        for claim in ("epsilon=1", "mu=1"):
            assert bound(claim, equal, 120, seed=seed) == 0


def test_it_starts_at_zero():
    gambler = stream("epsilon=1", laplace)[0]
    assert gambler.epsilon_lower == 0
    assert not gambler.refuted


def test_it_exceeds_the_truth_in_no_run_of_these():
    """Laplace noise of scale 1 leaks exactly 1, whatever is claimed."""
    for claim in ("epsilon=0.1", "epsilon=1", "epsilon=3", "mu=0.2"):
        for seed in range(3):
            assert bound(claim, laplace, 250, seed=seed, alpha=0.01) <= 1


@pytest.mark.parametrize("claim, draw", CASES)
@pytest.mark.parametrize("n", [40, N])
def test_blocks_are_a_short_cut_to_the_claims_one_by_one(claim, draw, n):
    """One claim after the other, each by its own bets or by those against the end of its block."""
    gambler, x, y = stream(claim, draw, n)
    gambler.update(x, y)
    leak = gambler.leak
    for start, level in ((0.0, 3.0), (0.1, 6.0)):
        grid = GRID[start < GRID]
        peaks, expected = leak._peak(grid), start
        for number, epsilon in enumerate(grid):
            end = min(len(grid), (number // BLOCK + 1) * BLOCK) - 1
            by_block = peaks[end] >= level - math.log(SHORTCUT)
            if not by_block and peaks[number] < level - math.log(1 - SHORTCUT):
                break
            expected = epsilon
        assert leak._climb(start, grid, level) == pytest.approx(expected)
        alone = next((e for e, peak in zip(grid, peaks, strict=True) if peak < level), math.inf)
        assert leak._climb(start, grid, level) <= alone * 1.05  # hardly more than without blocks


@pytest.mark.parametrize("claim", ["epsilon=0", "epsilon=0.005", "epsilon=20"])
def test_a_sequence_may_be_empty(claim):
    """Below a claim of nearly nothing and above one of nearly everything."""
    gambler, x, y = stream(claim, laplace, 60)
    gambler.update(x, y)
    for refuted in (False, True):
        assert gambler.leak.lower(pairs=gambler.pairs, refuted=refuted) >= 0
    assert gambler.leak._climb(0.5, GRID[:0], 1.0) == 0.5


def test_the_two_ways_share_the_error():
    """The error that blocks may make and the rest come to one: what the level is worth."""
    level, spent = 2.0, 0.0
    for extra in (-math.log(SHORTCUT), -math.log1p(-SHORTCUT)):
        spent += math.exp(-(level + extra))
    assert spent == pytest.approx(math.exp(-level))
