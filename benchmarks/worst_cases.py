"""Mechanisms with known faults, each with a relation as its user would write it: no pair, no event.

They are reduced from public reports on libraries, or textbook algorithms in their broken and right
forms. `fixed_test` is the number of samples a side at which a fixed test of 95 % that is given the
telling pair and event is expected to fire, computed beforehand with both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tollens
from tollens import domains as d

Array = NDArray[np.float64]
Rng = np.random.Generator

MOST = 200_000
SPARED = 20_000


@dataclass(frozen=True)
class Case:
    """One mechanism.

    `smallest` bounds the shrunken pair: records of both inputs, and records that differ.
    """

    name: str
    mechanism: object
    claim: str
    neighbours: object
    broken: bool
    source: str
    outputs: str = "exact"
    fixed_test: int | None = None
    smallest: tuple[int, int] | None = None
    budget: int = MOST
    long: bool = False
    """Whether it takes minutes, and is left to the full form."""


UNIT = tollens.add_remove(d.lists(d.reals(0, 1)))
TEN = tollens.queries(10)


def _sums(scale: float, kind: str = "laplace") -> Callable[[Sequence[float], int, Rng], Array]:
    def noisy_sum(rows: Sequence[float], n: int, rng: Rng) -> Array:
        noise = rng.laplace(0, scale, n) if kind == "laplace" else rng.normal(0, scale, n)
        return sum(rows) + noise

    return noisy_sum


def _coarse_laplace(x: float, n: int, rng: Rng) -> Array:
    """Laplace noise by inversion of uniforms of 10 bits."""
    uniform = (rng.integers(0, 1024, n) + 0.5) / 1024
    return x + np.where(rng.random(n) < 0.5, 1.0, -1.0) * -np.log(uniform)


def _inverted_laplace(x: float, n: int, rng: Rng) -> Array:
    """Laplace noise by inversion in doubles."""
    uniform = rng.random(n) - 0.5
    return x - np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))


def _clipped_twice(rows: Sequence[float], n: int, rng: Rng) -> Array:
    """A mean gradient with the noise of a mean that is divided by the batch size once more."""
    batch = len(rows)
    return np.clip(rows, -1, 1).mean() + rng.normal(0, 2.6 / batch / batch, n)


def _microbatches(rows: Sequence[float], n: int, rng: Rng) -> Array:
    """The mean of each microbatch of two is clipped, as if replacing one example moved it by 1."""
    means = np.asarray(rows).reshape(-1, 2).mean(axis=1)
    return np.clip(means, -1, 1).sum() + rng.normal(0, 2.0, n)


def _expected_batch(rows: Sequence[float], n: int, rng: Rng) -> Array:
    """A noisy sum divided by the expected batch size, which is made of the private count."""
    size = len(rows)
    expected = max(1, int(size / max(1, math.ceil(size / 2))))
    gradient = np.zeros(30)
    gradient[0] = np.clip(rows, -1, 1).sum() if size else 0.0
    return (gradient + rng.normal(0, 3.0, (n, 30))) / expected


def _double_spend(rows: Sequence[float], n: int, rng: Rng) -> Array:
    """Sum and count for an average, each with the whole budget."""
    return np.c_[sum(rows) + rng.laplace(0, 1, n), len(rows) + rng.laplace(0, 1, n)]


def _max_value(scale: float) -> Callable[[Sequence[float], int, Rng], Array]:
    def noisy_max(answers: Sequence[float], n: int, rng: Rng) -> Array:
        return (np.asarray(answers) + rng.laplace(0, scale, (n, len(answers)))).max(axis=1)

    return noisy_max


def _max_index(
    scale: float, kind: str = "laplace"
) -> Callable[[Sequence[float], int, Rng], NDArray[np.intp]]:
    def noisy_max(answers: Sequence[float], n: int, rng: Rng) -> NDArray[np.intp]:
        draw = rng.laplace if kind == "laplace" else lambda _, s, size: rng.exponential(s, size)
        return (np.asarray(answers) + draw(0, scale, (n, len(answers)))).argmax(axis=1)

    return noisy_max


def _sparse_vector(
    threshold: float, noise: float, cutoff: int | None, *, fresh: bool = False
) -> Callable[[Sequence[float], int, Rng], NDArray[np.int8]]:
    """Which answers exceed 1/2; 2 after the cutoff. `fresh`: a new threshold after each."""

    def answers_above(answers: Sequence[float], n: int, rng: Rng) -> NDArray[np.int8]:
        k = len(answers)
        bar = 0.5 + rng.laplace(0, threshold, (n, 1))
        values = np.asarray(answers) + (rng.laplace(0, noise, (n, k)) if noise else 0.0)
        above = (values >= bar).astype(np.int8)
        if fresh:
            bars = np.repeat(bar, k, axis=1)
            for i in range(k - 1):
                above[:, i] = values[:, i] >= bars[:, i]
                anew = 0.5 + rng.laplace(0, threshold, n)
                bars[:, i + 1 :] = np.where(above[:, i] == 1, anew, bars[:, i])[:, None]
            above[:, -1] = values[:, -1] >= bars[:, -1]
        if cutoff is not None:
            above[np.cumsum(above, axis=1) - above >= cutoff] = 2
        return above

    return answers_above


def _sparse_value(answers: Sequence[float], n: int, rng: Rng) -> Array:
    """The first answer above a noisy threshold at 0, and the noisy value it was compared with."""
    k = len(answers)
    bar = rng.laplace(0, 2, (n, 1))
    values = np.asarray(answers) + rng.laplace(0, 2, (n, k))
    above = values >= bar
    first = np.where(above.any(axis=1), above.argmax(axis=1), k)
    value = np.where(first < k, values[np.arange(n), np.minimum(first, k - 1)], 1e6)
    return np.c_[first, value]


def _truncated_geometric(count: int, n: int, rng: Rng) -> NDArray[np.int64]:
    noise = rng.geometric(0.5, n) - rng.geometric(0.5, n)
    return np.clip(count + noise, 0, 5)


def _over_noised(rows: Sequence[float], n: int, rng: Rng) -> Array:
    return np.mean(rows) + rng.normal(0, 1.9, n)


def _local(
    name: str, function: Callable[..., object], claim: str, neighbours: object, source: str,
    **more: object,
) -> Case:  # fmt: skip
    settings = {"broken": True, "budget": MOST if more.get("broken", True) else SPARED, **more}
    return Case(name, tollens.batched(function), claim, neighbours, source=source, **settings)


REPORTED = "TensorFlow Privacy issues 81 and 620"
SVT = "Lyu, Su, Li 2017"
CASES = (
    _local("sum, Laplace noise of half the scale", _sums(0.5), "epsilon=1", UNIT, "a slip",
           fixed_test=100, smallest=(1, 1), outputs="numeric"),
    _local("sum, Laplace noise swapped for normal", _sums(math.sqrt(2), "normal"), "epsilon=1",
           UNIT, "a slip", fixed_test=2154, smallest=(1, 1), outputs="numeric"),
    _local("Laplace by inversion of 10 bits", _coarse_laplace, "epsilon=1", tollens.numbers(),
           "Mironov 2012", fixed_test=14),
    _local("Laplace by inversion in doubles", _inverted_laplace, "epsilon=1", tollens.numbers(),
           "Mironov 2012", budget=50_000),
    _local("gradient, divided by the batch size twice", _clipped_twice, "epsilon=1, delta=0.001",
           tollens.substitute(d.lists(d.reals(), sizes=[8])), "arXiv 2202.12219",
           fixed_test=46, smallest=(16, 1)),
    _local("gradient, clipped by microbatch", _microbatches, "epsilon=1.35228, delta=0.001",
           tollens.substitute(d.lists(d.reals(), sizes=[4])), REPORTED,
           fixed_test=1467, smallest=(8, 1)),
    _local("gradient, divided by a private batch size", _expected_batch, "epsilon=2, delta=0.001",
           tollens.add_remove(d.lists(d.reals(-1, 1))), "Opacus issues 571 and 819",
           fixed_test=46, smallest=(7, 1)),
    _local("average, its budget spent twice", _double_spend, "epsilon=1", UNIT, "a slip",
           fixed_test=316, smallest=(41, 1), outputs="numeric"),
    _local("noisy max that releases its value", _max_value(2.0), "epsilon=1", tollens.queries(5),
           "Ding and others 2018", fixed_test=1467, smallest=(10, 5), outputs="numeric"),
    _local("noisy max of 10 that releases its value", _max_value(2.0), "epsilon=1", TEN,
           "Ding and others 2018", smallest=(20, 10), outputs="numeric"),
    _local("noisy max of 10, half the noise", _max_index(1.0), "epsilon=1", TEN, "a slip",
           smallest=(20, 10)),
    _local("sparse vector 3, 6 queries", _sparse_value, "epsilon=1", tollens.queries(6), SVT,
           fixed_test=215_443, smallest=(12, 6), outputs="numeric", budget=1_000_000),
    _local("sparse vector 3, 10 queries", _sparse_value, "epsilon=1", TEN, SVT,
           smallest=(20, 10), outputs="numeric", budget=1_000_000,
           long=True),
    _local("sparse vector 4", _sparse_vector(4, 4 / 3, 5), "epsilon=1", TEN, SVT,
           fixed_test=14_677, smallest=(20, 10)),
    _local("sparse vector 5", _sparse_vector(2, 0, None), "epsilon=1", TEN, SVT,
           fixed_test=100, smallest=(20, 10)),
    _local("sparse vector 6", _sparse_vector(2, 2, None), "epsilon=1", TEN, SVT,
           fixed_test=14_677, smallest=(20, 10)),
    _local("sparse vector 1", _sparse_vector(2, 4, 1), "epsilon=1", TEN, SVT, broken=False),
    _local("sparse vector 2", _sparse_vector(2, 4, 1, fresh=True), "epsilon=1", TEN, SVT,
           broken=False),
    _local("noisy max of 10, Laplace", _max_index(2.0), "epsilon=1", TEN, "Ding and others 2018",
           broken=False),
    _local("noisy max of 5, exponential", _max_index(2.0, "exponential"), "epsilon=1",
           tollens.queries(5), "Ding and others 2019", broken=False),
    _local("sum, Laplace noise", _sums(1.0), "epsilon=1", UNIT, "exactly at its claim",
           broken=False, outputs="numeric"),
    _local("sum, normal noise", _sums(3.14692, "normal"), "epsilon=0.5, delta=0.01", UNIT,
           "exactly at its claim", broken=False, outputs="numeric"),
    _local("truncated geometric", _truncated_geometric, "epsilon=ln 2",
           tollens.numbers(low=0, high=5, whole=True), "exactly at its claim", broken=False),
    _local("mean with far too much noise", _over_noised, "epsilon=1, delta=0.01",
           tollens.substitute(d.lists(d.reals(0, 1), sizes=[16])), "a slip, and no leak",
           broken=False),
)  # fmt: skip

OF_LIBRARIES: dict[str, tuple[int | None, tuple[int, int] | None]] = {
    "dpacc-gaussian-rdp-replaced": (2154, (4, 1)),
    "dpl066-laplace-bits": (100, None),
    "dpl066-median-many-rows": (14, None),
    "dpl066-large-sum": (68, None),
    "flwr114-local-gaussian-large": (None, None),
    "opendp014-randomized-response-bits": (316, None),
    "opendp016-randomized-response-bits-any-length": (46, None),
    "opl016-sum-of-nulls-as-nan": (14, (200, 1)),
    "opl016-count-of-cast": (10, (32, 1)),
    "opl016-grouped-sum": (100, (6, 3)),
    "opendp016-count-by-key": (3162, (1, 1)),
    "opendp030-stability-histogram": (100, None),
    "opendp030-sized-int-sum": (100, None),
    "opendp040-randomized-response-bool": (31, None),
    "snsql101-bounds": (14, (61, 1)),
    "flwr114-local-gaussian-small": (None, None),
    "opendp0151-randomized-response-bits": (None, None),
    "opendp016-geometric": (None, None),
    "opendp016-noisy-max-zcdp": (None, None),
    "opendp016-randomized-response-bool": (None, None),
    "dpacc-sampled-gaussian-pld": (None, None),
}
"""Entries of the catalogue: the samples of a fixed test, and the bound of the shrunken pair."""
