"""The Brownian monitor: an oracle, its level where counts are large, claims of every kind."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from benchmarks.sections.monitor_brownian import boundary_alarms, delay_rows, panel_rows
from scipy.special import ndtr

import tollens
from tollens.contract import Promise
from tollens.errors import UsageError
from tollens.monitoring.brownian.statistic import (
    BrownianState,
    advance,
    begin,
    choose,
    default_floor,
    ratios,
    restarted,
    take,
    threshold,
)

PURE = tollens.pure(1).promises()
LIMIT = threshold(0.05, 1, beta=0.25, horizon=100)


def _naive_ratio(x: int, y: int, n: int, epsilon: float, delta: float) -> float:
    factor = math.exp(epsilon)
    excess = (x - factor * y) / n - delta
    variance = x / n**2 * (1 - x / n) + factor**2 * y / n**2 * (1 - y / n)
    return excess / max(math.sqrt(variance), 1 / n)


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.4])
@pytest.mark.parametrize("delta", [0.0, 0.03])
def test_steps_agree_with_a_double_loop(beta: float, delta: float) -> None:
    rng, horizon, n = np.random.default_rng(3), 12, 50
    counts = {
        event: rng.binomial(n, p, (horizon, 2)) for event, p in (("often", 0.4), ("rare", 0.02))
    }
    promises = tollens.approx(0.5, delta, ordered=True).promises()
    state = begin(list(counts), horizon, beta)
    for step in range(horizon):
        pairs = {event: tuple(both[step].tolist()) for event, both in counts.items()}
        state, reading = take(state, pairs, n, promises)
        for place, both in enumerate(counts.values()):
            r = [_naive_ratio(x, y, n, 0.5, delta) for x, y in both[: step + 1].tolist()]
            windows = {
                start: (step - start + 1) ** -beta * horizon ** (beta - 0.5) * sum(r[start:])
                for start in range(step + 1)
            }
            start = reading.starts[place] - 1
            assert reading.statistics[place] == pytest.approx(max(windows.values()))
            assert windows[start] == pytest.approx(max(windows.values()))
    assert state.steps == horizon


def test_the_level_is_kept_where_counts_are_large() -> None:
    share = boundary_alarms(0.2, 750, 100, runs=300, seed=1)
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_the_level_test_notices_a_standard_error_that_is_30_percent_too_small() -> None:
    share = boundary_alarms(0.2, 750, 100, runs=300, seed=1, shrink=0.7)
    assert share > 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize(
    ("p_prime", "published"),
    [(0.05, 0.13), (0.01, 0.23), (0.003, 0.64), (0.001, 0.92), (0.0003, 0.68), (0.0001, 0.01)],
)
def test_the_level_fails_at_rare_events_as_published(p_prime: float, published: float) -> None:
    share = boundary_alarms(p_prime, 750, 100, runs=1000, seed=1)
    assert share == pytest.approx(published, abs=0.05)


def test_published_delays() -> None:
    for row in delay_rows():
        assert row.published is not None
        assert row.median_delay == pytest.approx(row.published, abs=0 if row.published < 3 else 2)
        assert row.detected >= 0.98
        assert row.early <= 0.06
    strong, weak = panel_rows()
    assert strong.median_delay == 0
    assert weak.detected == 0  # no event of the panel is violated there


def test_zero_hits_say_nothing_and_smaller_floors_change_nothing() -> None:
    assert ratios(0, 0, 750, 1.0) == 0
    assert ratios(0, 0, 750, 1.0, floor=0.0) == 0
    rng = np.random.default_rng(5)
    x, y = rng.binomial(750, 0.002, (2, 500))
    usual, tiny = ratios(x, y, 750, 1.0), ratios(x, y, 750, 1.0, floor=1e-9)
    assert usual == pytest.approx(tiny, rel=1e-3)
    assert default_floor(10**6) * 10**3 < 0.01


def test_an_approximate_claim_is_tested_with_its_delta() -> None:
    rng, n, horizon, runs = np.random.default_rng(6), 2000, 100, 300
    for excess, expected in ((0.0, (0.0, 0.11)), (0.05, (0.99, 1.0))):
        p_prime, delta = 0.2, 0.1
        x = rng.binomial(n, math.e * p_prime + delta + excess, (horizon, runs))
        y = rng.binomial(n, p_prime, (horizon, runs))
        from tollens.monitoring.brownian.suprema import largest_window

        alarms = largest_window(ratios(x, y, n, 1.0, delta), 0.25) > LIMIT.upper
        assert expected[0] <= alarms.mean() <= expected[1]


def _alarms(claim: tollens.Claim, p: list[float], q: list[float], runs: int) -> float:
    """The share of horizons of 100 steps of 2000 runs with an alarm for either event."""
    rng, alarms, n = np.random.default_rng(1), 0, 2000
    promises, events = claim.promises(), [f"event {i}" for i in range(len(p))]
    limit = threshold(0.05, len(p), beta=0.25, horizon=100)
    for _ in range(runs):
        state = begin(events, 100)
        x, y = rng.binomial(n, p, (100, len(p))), rng.binomial(n, q, (100, len(q)))
        for step in range(100):
            counts = {e: (int(x[step, i]), int(y[step, i])) for i, e in enumerate(events)}
            state, reading = take(state, counts, n, promises)
            if reading.exceeding(limit):
                alarms += 1
                break
    return alarms / runs


def test_a_gaussian_claim_keeps_its_level_at_its_edge_and_finds_a_break() -> None:
    claim = tollens.gaussian(1)
    epsilons = sorted({promise.epsilon for promise in claim.promises()})
    # events (end, inf) of N(mu, 1) against N(0, 1): two inequalities are tight at mu = 1
    ends = [epsilon + 0.5 for epsilon in (epsilons[2], epsilons[5])]
    q = [float(ndtr(-end)) for end in ends]
    tight, broken = ([float(ndtr(mu - end)) for end in ends] for mu in (1.0, 1.3))
    assert _alarms(claim, tight, q, runs=150) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)
    assert _alarms(claim, broken, q, runs=10) == 1


def test_the_inequality_of_a_step_is_chosen_before_the_step() -> None:
    promises = tollens.gaussian(1).promises()
    state = begin(["E"], 100)
    for counts in ((520, 230), (10, 9), (700, 20)):
        before = choose(state, promises)
        state, reading = take(state, {"E": counts}, 750, promises)
        assert reading.promises == before
        assert before[0].order == 1


def test_the_inequality_follows_the_event() -> None:
    promises = tollens.gaussian(1).promises()
    chosen = []
    for end in (2.5, -0.5):
        x, y = (int(1e6 * ndtr(mu - end)) for mu in (1.0, 0.0))
        state, _ = take(begin(["E"], 100), {"E": (x, y)}, 10**6, promises)
        chosen.append(choose(state, promises)[0].epsilon)
    assert chosen[0] > chosen[1]


def test_a_claim_of_the_other_order_only_is_refused() -> None:
    with pytest.raises(UsageError, match="swap the pair"):
        choose(begin(["E"], 10), [Promise(1.0, 0.1, -1)])


def test_the_state_survives_json_in_the_middle() -> None:
    rng = np.random.default_rng(8)
    through = apart = begin(["a", "b"], 20, 0.1)
    for _ in range(20):
        counts = {event: tuple(rng.integers(0, 100, 2).tolist()) for event in "ab"}
        apart = BrownianState.from_json(json.loads(json.dumps(apart.to_json())))
        through, expected = take(through, counts, 100, PURE)
        apart, found = take(apart, counts, 100, PURE)
        assert found == expected
    assert apart == through


def test_after_a_restart_only_later_windows_count() -> None:
    rng = np.random.default_rng(9)
    steps = rng.standard_normal((30, 1)) + 0.3
    state = begin(["E"], 30)
    for step in steps[:12]:
        state, _, _ = advance(state, step)
    state, after = restarted(state), steps[12:, 0]
    for end in range(18):
        state, found, starts = advance(state, after[end : end + 1])
        ending = {
            start: (end - start + 1) ** -0.25 * 30**-0.25 * after[start : end + 1].sum()
            for start in range(end + 1)
        }
        best = max(ending.values())
        if best > 0:
            assert found[0] == pytest.approx(best)
            assert ending[int(starts[0]) - 13] == pytest.approx(best)
        else:
            assert found[0] <= 0
    assert state.steps == 30


@pytest.mark.parametrize(
    "change",
    [
        {"sums": [[0.0, 1.0]]},
        {"sums": [[0.0], [0.0, 1.0]]},
        {"sums": [[0.0, "NaN"], [0.0, 0.0]]},
        {"sums": 3},
        {"hits": [1]},
        {"hits": [-1, 0]},
        {"events": None},
        {"horizon": 0},
    ],
)
def test_what_is_no_state_is_refused(change: dict[str, object]) -> None:
    state, _ = take(begin(["a", "b"], 20), {"a": (1, 2), "b": (3, 4)}, 10, PURE)
    with pytest.raises(UsageError):
        BrownianState.from_json({**state.to_json(), **change})
    with pytest.raises(UsageError):
        BrownianState.from_json([1])


def test_a_horizon_that_is_used_up_says_what_to_do() -> None:
    state, _, _ = advance(begin(["E"], 1), np.array([0.3]))
    with pytest.raises(UsageError, match="Open a new series"):
        advance(state, np.array([0.3]))


def test_counts_that_do_not_fit_are_reported_together() -> None:
    with pytest.raises(UsageError) as caught:
        take(begin(["a", "b"], 5), {"a": (11, 3), "c": (1, -1)}, 10, PURE)
    assert len(caught.value.findings) == 4
    with pytest.raises(UsageError) as caught:
        begin([], 0, 0.5)
    assert len(caught.value.findings) == 3
