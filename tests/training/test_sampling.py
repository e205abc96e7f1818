"""The bets on batches: fair to Poisson samples, quick where batches are anything else."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from tollens.errors import UsageError
from tollens.training.parts.reading import Reading
from tollens.training.parts.sampling import (
    LOG_WEIGHTS,
    RATES,
    TRUST,
    Sampling,
    log_binomial,
    log_hypergeometric,
)


def chance(runs, alpha):
    """The largest number of runs in which an event of probability alpha may happen here."""
    return runs * alpha + 3 * math.sqrt(runs * alpha * (1 - alpha))


def fed(readings, records=1797, rate=8 / 1797):
    sampling, path = Sampling(records, rate), []
    for reading in readings:
        sampling.update(reading)
        path.append(sampling.log_e_value)
    return sampling, path


def found_at(path, threshold=20.0):
    return next((t for t, value in enumerate(path, 1) if value >= math.log(threshold)), 999)


def drawn(batches):
    return [Reading(batch_size=len(batch), records=np.asarray(batch)) for batch in batches]


def poisson(rng, steps, records=1797, rate=8 / 1797):
    sizes = rng.binomial(records, rate, size=steps)
    return drawn(rng.choice(records, size, replace=False) for size in sizes)


def shuffled(rng, steps, records=1797, size=8):
    batches = []
    while len(batches) < steps:
        order = rng.permutation(records)
        batches += [order[i : i + size] for i in range(0, records, size)]
    return drawn(batches[:steps])


def sizes(numbers):
    return [Reading(batch_size=int(number)) for number in numbers]


def wealth_by_definition(readings, n, q):
    """Each bet by itself, from the probabilities of SciPy."""
    base, weights = stats.binom(n, q), {k: math.exp(v) for k, v in LOG_WEIGHTS.items()}
    seen, returns = [], {kind: [] for kind in weights}
    rates = RATES[RATES * q < 1]
    for reading in readings:
        b, p = reading.batch_size, base.pmf(reading.batch_size)
        returns["constant"].append(0.05 + 0.95 * (b == round(n * q)) / p)
        returns["learned"].append((seen.count(b) + p) / (len(seen) + 1) / p)
        returns["rate"].append(stats.binom(n, rates * q).pmf(b) / p)
        seen.append(b)
    seen = []
    for x, y in pairwise(readings):
        a, b = len(x.records), len(y.records)
        both = len(set(x.records.tolist()) & set(y.records.tolist()))
        p = stats.hypergeom(n, a, b).pmf(both)
        returns["apart"].append(1 - TRUST + TRUST * (both == max(0, a + b - n)) / p)
        returns["same"].append(1 - TRUST + TRUST * (both == min(a, b)) / p)
        returns["shared"].append((seen.count(both) + p) / (len(seen) + 1) / p)
        seen.append(both)
    total = 0.0
    for kind, weight in weights.items():
        e = np.array(returns[kind])
        if kind in ("rate", "apart", "same"):
            steps = len(e)
            started = [e[s:].prod(axis=0).mean() / ((s + 1) * (s + 2)) for s in range(steps)]
            total += weight * (sum(started) + 1 / (steps + 1))
        else:
            total += weight * e.prod()
    return math.log(total)


@pytest.mark.parametrize(("n", "q"), [(6, 0.5), (30, 0.1), (1797, 8 / 1797), (4, 0.97)])
def test_the_wealth_is_that_of_the_definition(n, q):
    readings = poisson(np.random.default_rng(n), 12, n, q)
    expected = [wealth_by_definition(readings[:t], n, q) for t in range(2, 13)]
    assert fed(readings, n, q)[1][1:] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("n", "q"), [(1, 0.3), (5, 0.5), (5, 0.03), (40, 0.2), (3, 1.0)])
def test_each_bet_on_a_size_has_expectation_one(n, q):
    past = sizes([1, 0, 1])
    total = before = fed(past, n, q)[1][-1] if q < 1 else 0.0
    if q < 1:
        outcomes = [
            (log_binomial(b, n, q), fed([*past, *sizes([b])], n, q)[1][-1]) for b in range(n + 1)
        ]
        total = np.logaddexp.reduce([p + e for p, e in outcomes])
    assert total == pytest.approx(before, abs=1e-9)
    assert sum(math.exp(log_binomial(b, n, q)) for b in range(n + 1)) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "a", "b"), [(6, 3, 3), (6, 0, 2), (6, 5, 4), (20, 2, 9), (4, 4, 4)])
def test_each_bet_on_shared_records_has_expectation_one(n, a, b):
    """Sizes are given: the expectation over what is shared is the evidence of the sizes alone."""
    first = np.arange(a)
    logs = []
    for shared in range(max(0, a + b - n), min(a, b) + 1):
        second = np.concatenate([np.arange(shared), np.arange(a, a + b - shared)])
        both = fed(drawn([first, second]), n, 0.5)[1][-1]
        logs.append(log_hypergeometric(shared, n, a, b) + both)
    alone = fed(sizes([a, b]), n, 0.5)[1][-1]
    assert np.logaddexp.reduce(logs) == pytest.approx(alone, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "q", "steps"), [(1797, 8 / 1797, 30), (20, 0.3, 30), (2, 0.5, 40), (500, 0.001, 30)]
)
def test_poisson_samples_are_rarely_called_anything_else(n, q, steps):
    rng, runs = np.random.default_rng(n), 1000
    highest = np.array([max(fed(poisson(rng, steps, n, q), n, q)[1]) for _ in range(runs)])
    for alpha in (0.05, 0.2):
        assert np.sum(highest >= -math.log(alpha)) <= chance(runs, alpha)


@pytest.mark.parametrize(("n", "q"), [(1797, 8 / 1797), (50_000, 0.01)])
def test_nor_are_their_sizes_in_a_long_run(n, q):
    path = fed(sizes(np.random.default_rng(1).binomial(n, q, size=5000)), n, q)[1]
    assert max(path) < math.log(20)


def test_shuffling_is_found_by_the_sizes():
    rng = np.random.default_rng(0)
    sampling, path = fed(shuffled(rng, 500))
    assert found_at(path) == 3
    assert found_at(path, 200) <= 4
    assert path[-1] > 500
    assert sampling.level == "fault"
    assert fed(sizes([8] * 4))[0].words() == (
        "batch sizes are always 8 (shuffled? reseeded?), accounted as Poisson sampling at rate "
        "0.00445"
    )
    assert sampling.words() == (
        "498 of 500 batches are of size 8 (shuffled? reseeded?), accounted as Poisson sampling at "
        "rate 0.00445"
    )


def test_a_constant_size_that_is_not_the_promised_mean():
    sampling, path = fed(sizes([12] * 10))
    assert found_at(path) <= 4
    assert sampling.words().startswith("batch sizes are always 12")


@pytest.mark.parametrize(("k", "within"), [(2.0, 5), (1.5, 15), (1.25, 50), (0.5, 10)])
def test_a_wrong_rate_is_found(k, within):
    found = [
        fed(sizes(np.random.default_rng(seed).binomial(1797, 8 * k / 1797, size=100)))
        for seed in range(15)
    ]
    assert np.median([found_at(path) for _, path in found]) <= within
    assert {sampling.level for sampling, _ in found} == {"fault" if k > 1 else "warning"}
    assert all("times as large as promised" in sampling.words() for sampling, _ in found)


def test_batches_twice_as_large():
    sampling, _ = fed(sizes(np.random.default_rng(0).binomial(1797, 16 / 1797, size=100)))
    assert sampling.words() == "batches are 2.1 times as large as promised"
    late = np.random.default_rng(0).binomial(1797, np.repeat([8, 16], [300, 10]) / 1797)
    sampling, path = fed(sizes(late))
    assert 300 < found_at(path) <= 310
    assert sampling.words() == "batches became about 2 times as large as promised"


def test_batches_that_never_share_a_record():
    rng, batches = np.random.default_rng(0), [np.zeros(0, dtype=int)]
    for size in rng.binomial(1000, 0.1, size=10):
        batches.append(rng.choice(np.setdiff1d(np.arange(1000), batches[-1]), size, replace=False))
    sampling, path = fed(drawn(batches[1:]), 1000, 0.1)
    assert found_at(path) == 2
    assert sampling.words() == "successive batches never share a record"


def test_the_same_batch_again():
    batch = np.random.default_rng(0).permutation(1797)[:9]
    sampling, path = fed(drawn([batch, batch[::-1]]))
    assert found_at(path, 1000) == 2
    assert sampling.words() == "successive batches always hold the same records"


def test_records_are_compared_with_the_step_before_only():
    batch = np.arange(9)
    unknown = fed([*drawn([batch]), Reading(), *drawn([batch])])[1][-1]
    assert unknown == pytest.approx(fed(sizes([9, 9]))[1][-1])


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (Reading(records=np.array([3, 5, 3])), "a batch held a record twice"),
        (Reading(records=np.array([3, 1797])), "a batch held record 1797 of 1797"),
        (Reading(records=np.array([-1, 2])), "a batch held record -1 of 1797"),
        (Reading(batch_size=1798), "a batch held 1798 of 1797 records"),
        (Reading(batch_size=-1), "a batch held -1 of 1797 records"),
    ],
)
def test_batches_that_cannot_occur(reading, words):
    sampling, path = fed([*sizes([8]), reading, *sizes([7])])
    assert path[1:] == [math.inf, math.inf]
    assert sampling.level == "fault"
    assert sampling.words().startswith(words)


def test_empty_batches_are_legal():
    empty = np.zeros(0)
    assert fed(drawn([empty] * 5), 10, 0.01)[1][-1] < math.log(20)
    assert fed([Reading()] * 3)[1] == pytest.approx([0.0] * 3, abs=1e-12)
    assert fed([Reading()])[0].words() == "batches look like Poisson samples"
    assert math.isfinite(fed(drawn([empty, np.arange(1797)]))[1][-1])


def test_whole_batches():
    sampling, path = fed(drawn([np.arange(100)] * 5), 100, 1.0)
    assert max(path) <= 1e-9
    assert sampling.words() == "batches look like Poisson samples"
    assert fed(sizes([99]), 100, 1.0)[1] == [math.inf]


@pytest.mark.parametrize(
    ("records", "rate", "findings"),
    [
        (0, 0.5, 1),
        (-3, 0.5, 1),
        (10.0, 0.5, 1),
        (True, 0.5, 1),
        (10, 0.0, 1),
        (10, 1.01, 1),
        (10, math.nan, 1),
        (10, None, 1),
        ("10", "0.5", 2),
    ],
)
def test_impossible_settings_are_refused(records, rate, findings):
    with pytest.raises(UsageError, match="give the") as error:
        Sampling(records, rate)
    assert len(error.value.findings) == findings


def test_settings_of_numpy():
    assert Sampling(np.int64(10), np.float32(0.5)).rate == 0.5
