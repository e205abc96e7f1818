"""Running time as an output: runs of both sides alternate, and bets allow for their dependence."""

import itertools
import math

import numpy as np
import pytest

import tollens
from tollens.clocked import ClockedRuns
from tollens.errors import UsageError
from tollens.mechanism import from_callable
from tollens.neighbours import Pair
from tollens.streams import EvidenceStream, Side


def busy(steps):
    total = 0
    for i in range(steps):
        total += i
    return total


def leaky(rows):
    busy(40_000 if 1 in rows else 100)
    return "done"


def test_a_mechanism_that_works_longer_for_one_record_is_refuted():
    verdict = tollens.audit(
        leaky, "epsilon=1", neighbours=([0, 1], [0, 0]), outputs="timed", budget=2000
    )
    assert verdict.refuted
    assert not verdict.replayable
    assert "running time" in dict(verdict.lines())["looked at"]
    blind = tollens.audit(leaky, "epsilon=1", neighbours=([0, 1], [0, 0]), budget=2000)
    assert not blind.refuted


@pytest.mark.parametrize("takes_rng", [False, True])
def test_a_machine_that_slows_down_refutes_no_more_often_than_alpha(takes_rng):
    """The work grows with every run, whatever the data: most pairs find the second run slower."""
    alpha, audits, found = 0.2, 60, 0
    for seed in range(audits):
        steps = [50]

        def work(rows, rng=None, steps=steps):
            steps[0] += 60
            busy(steps[0])
            return 0 if rng is None else int(rng.random() < 0.5)

        mechanism = work if takes_rng else (lambda rows, work=work: work(rows))
        verdict = tollens.audit(
            mechanism, "epsilon=0.1", neighbours=([0], [1]), outputs="timed", alpha=alpha,
            budget=60, seed=seed,
        )  # fmt: skip
        found += verdict.refuted
    assert found / audits <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / audits)


def test_in_a_fixed_order_it_would_be_refuted(monkeypatch):
    """The test of the test: were x always run first, the slower second runs would be seen."""
    calls, ticks = itertools.count(), [0]

    def now():
        ticks[0] += (0, 10, 0, 1000)[next(calls) % 4]  # the second run of a pair is slower
        return ticks[0]

    monkeypatch.setattr("tollens.clocked.time.perf_counter_ns", now)
    settings = {"neighbours": ([0], [1]), "outputs": "timed", "alpha": 0.2, "budget": 200}
    fair = tollens.audit(lambda rows: 0, "epsilon=0.1", seed=1, **settings)
    assert not fair.refuted
    monkeypatch.setattr("tollens.clocked._FAIR", 0.0)
    assert tollens.audit(lambda rows: 0, "epsilon=0.1", seed=1, **settings).refuted


def test_runs_alternate_in_an_order_of_their_own_and_share_their_draws():
    seen = []

    def note(data, rng):
        seen.append(data)
        return rng.random()

    runs = ClockedRuns(from_callable(note), EvidenceStream(3))
    x, y = runs.both(Pair("x", "y"), 0, 200, coupled=True)
    assert [a for a, _ in x] == [b for b, _ in y]
    pairs = [tuple(seen[i : i + 2]) for i in range(0, 400, 2)]
    assert set(pairs) == {("x", "y"), ("y", "x")}
    assert 60 < pairs.count(("x", "y")) < 140
    assert all(0 <= clock < 40 for _, clock in [*x, *y])
    with pytest.raises(UsageError):
        runs.sample(Pair("x", "y"), Side.X, 0, 1, coupled=False)


def test_batched_mechanisms_are_run_one_by_one():
    batched = tollens.batched(lambda data, n, rng: rng.random(n))
    x, y = ClockedRuns(from_callable(batched), EvidenceStream(3)).both(
        Pair(0, 1), 0, 5, coupled=True
    )
    assert len(x) == len(y) == 5
    assert all(isinstance(output, float | np.floating) for output, _ in x)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"method": "mmd"}, "mmd"), ({"coupling": "independent"}, "independent"),
     ({"workers": 2}, "workers"), ({"timeout": 1.0}, "timeout")],
)  # fmt: skip
def test_what_it_does_not_go_with_is_refused(settings, word):
    with pytest.raises(UsageError, match=word):
        tollens.audit(leaky, "epsilon=1", neighbours=([0], [1]), outputs="timed", **settings)
