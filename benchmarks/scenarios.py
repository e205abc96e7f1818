"""Eight mechanisms that change over time: what a monitor must notice, and what it must spare.

The scenarios of "Monitoring Violations of Differential Privacy over Time": a version of a
mechanism is replaced by another in the middle of the horizon. The claim is pure(1) throughout.
Sparse vector algorithms have the numbers of Lyu, Su, Li, arXiv 1603.01699, here with sensitivity
1, threshold 0.5 and an end after one positive answer; their outputs are what a user sees: a tuple
of booleans that ends with the first True, or all ten where the algorithm has no end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import tollens
from benchmarks.mechanisms import ONE_POSITIVE, laplace_max_index, laplace_max_masses
from tollens.zoo.law import laplace_cdf
from tollens.zoo.noisy_max import index_masses, noisy_max_index, noisy_max_value
from tollens.zoo.sparse_vector import sparse_vector
from tollens.zoo.sparse_vector_law import NOT_ANSWERED, Rule, outcome_masses, outcomes

Answers = tuple[bool, ...]
Released = NDArray[np.float64] | NDArray[np.intp] | list[Answers]
Data = tuple[int, ...]
Sampler = Callable[[Data, int, np.random.Generator], Released]
Event = Callable[[Released], NDArray[np.bool_]]

CLAIM = tollens.pure(1)
"""What every version is said to keep."""

HORIZON, CHANGE = 100, 50
"""Steps in all, and steps before the change: 1 to 50 run `before`, 51 to 100 run `after`."""

PAIRS = 750
"""Runs on each side in a step."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A change of version, a pair of data, and the best known event.

    `before` and `after` take (data, n, rng) and return n outputs. The pair is in the order that
    makes `event`, which maps n outputs to n booleans, likelier on `x`. `broken` says whether
    `after` breaks `CLAIM`; `before` never does.
    """

    name: str
    title: str
    before: Sampler
    after: Sampler
    x: Data
    x_prime: Data
    event: Event
    broken: bool
    note: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Exact probabilities of the event: on x and x' before the change, and after it.

    >>> round(truth("a").after_prime, 5)
    0.06767
    """

    before: float
    before_prime: float
    after: float
    after_prime: float


def count_laplace(
    data: Sequence[int], n: int, rng: np.random.Generator, *, scale: float
) -> NDArray[np.float64]:
    """The number of ones with Lap(scale): shape (n,).

    >>> count_laplace((1, 0), 3, np.random.default_rng(0), scale=1.0).shape
    (3,)
    """
    return sum(data) + rng.laplace(0.0, scale, n)


def count_gaussian(
    data: Sequence[int], n: int, rng: np.random.Generator, *, variance: float
) -> NDArray[np.float64]:
    """The number of ones with N(0, variance): shape (n,).

    >>> count_gaussian((1, 0), 3, np.random.default_rng(0), variance=2.0).shape
    (3,)
    """
    return sum(data) + rng.normal(0.0, variance**0.5, n)


def place_of_max(
    data: Sequence[int], n: int, rng: np.random.Generator, *, exponential: bool
) -> NDArray[np.intp]:
    """The place, counted from 1, of the largest count after Lap(2) or Exp(2) on each: (n,).

    >>> place_of_max((0, 900), 2, np.random.default_rng(0), exponential=True).tolist()
    [2, 2]
    """
    sample = noisy_max_index if exponential else laplace_max_index
    return sample(data, n, rng, scale=2.0) + 1


def answers_seen(data: Sequence[int], n: int, rng: np.random.Generator, *, rule: Rule) -> Released:
    """The answers of a sparse vector rule without the queries after its end: n tuples.

    >>> answers_seen((0, 99, 0), 2, np.random.default_rng(0), rule=SVT2)
    [(False, True), (False, True)]
    """
    answers = sparse_vector(data, n, rng, rule=rule)
    lengths = (answers != NOT_ANSWERED).sum(axis=1).tolist()
    rows = (answers == 1).tolist()
    return [tuple(row[:length]) for row, length in zip(rows, lengths, strict=True)]


def at_most(outputs: Released, *, limit: float) -> NDArray[np.bool_]:
    """Tell which outputs lie in (-inf, limit].

    >>> at_most(np.array([0.5, 2.0]), limit=1.0).tolist()
    [True, False]
    """
    return np.asarray(outputs) <= limit


def equal_to(outputs: Released, *, value: object) -> NDArray[np.bool_]:
    """Tell which outputs are exactly this value; 1 and True are the same.

    >>> equal_to([(True,), (False, True)], value=(0, 1)).tolist()
    [False, True]
    """
    if isinstance(outputs, np.ndarray):
        return np.asarray(outputs == value)
    return np.fromiter((output == value for output in outputs), dtype=np.bool_, count=len(outputs))


SVT2 = Rule(threshold_scale=2.0, query_scale=4.0, cutoff=1, fresh_scale=2.0)
SVT1 = Rule(threshold_scale=2.0, query_scale=4.0, cutoff=1)
SVT4 = ONE_POSITIVE
SVT5 = Rule(threshold_scale=2.0, query_scale=0.0, cutoff=None)
SVT6 = Rule(threshold_scale=2.0, query_scale=2.0, cutoff=None)

_ZERO, _ONE = (0,) * 10, (1, *(0,) * 9)
_RISE, _FALL = (0,) * 5 + (1,) * 5, (1,) * 5 + (0,) * 5
_ONES, _TWOS = (1,) * 5, (2,) * 5
_SEVENTH = (0, 0, 0, 0, 0, 0, 1)


def _rule(rule: Rule) -> Sampler:
    return partial(answers_seen, rule=rule)


_LAPLACE_INDEX = partial(place_of_max, exponential=False)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "a",
            "count + Lap(1) -> Lap(1/2)",
            partial(count_laplace, scale=1.0),
            partial(count_laplace, scale=0.5),
            _ZERO,
            _ONE,
            partial(at_most, limit=0.0),
            True,
            "half the noise: the loss is 2 on (-inf, 0]",
        ),
        Scenario(
            "b",
            "count + Lap(1) -> N(0, 2)",
            partial(count_laplace, scale=1.0),
            partial(count_gaussian, variance=2.0),
            _ZERO,
            _ONE,
            partial(at_most, limit=-1.0),
            True,
            "Gaussian noise keeps no pure claim; the loss is 1.11 on (-inf, -1]",
        ),
        Scenario(
            "c",
            "noisy max: index -> value",
            _LAPLACE_INDEX,
            partial(noisy_max_value, scale=2.0),
            _ONES,
            _TWOS,
            partial(at_most, limit=2.0),
            True,
            "the value of the noisy maximum adds up the losses of all counts",
        ),
        Scenario(
            "d",
            "sparse vector 2 -> 4",
            _rule(SVT2),
            _rule(SVT4),
            _RISE,
            _FALL,
            partial(equal_to, value=_SEVENTH),
            True,
            "query noise that ignores the sensitivity of two sides; a rare event",
        ),
        Scenario(
            "e",
            "sparse vector 2 -> 5",
            _rule(SVT2),
            _rule(SVT5),
            _RISE,
            _FALL,
            partial(equal_to, value=_RISE),
            True,
            "no noise on the queries: impossible on x'; never seen before the change",
        ),
        Scenario(
            "f",
            "sparse vector 2 -> 6",
            _rule(SVT2),
            _rule(SVT6),
            _FALL,
            _RISE,
            partial(equal_to, value=_FALL),
            True,
            "no end after a positive answer; a very rare event, never seen before the change",
        ),
        Scenario(
            "g",
            "noisy max: Laplace -> exponential noise",
            _LAPLACE_INDEX,
            partial(place_of_max, exponential=True),
            _ONES,
            _TWOS,
            partial(equal_to, value=3),
            False,
            "both keep the claim",
        ),
        Scenario(
            "h",
            "sparse vector 2 -> 1",
            _rule(SVT2),
            _rule(SVT1),
            _RISE,
            _FALL,
            partial(equal_to, value=_SEVENTH),
            False,
            "with one positive answer the two are the same mechanism",
        ),
    )
}
"""The scenarios by their letters."""


def truth(name: str) -> Truth:
    """The exact probabilities of a scenario's event.

    >>> found = truth("b")
    >>> round(found.after, 5), round(found.after_prime, 5)
    (0.23975, 0.07865)
    """
    scenario = SCENARIOS[name]
    return Truth(
        *(_law(name, side)(data) for side in (0, 1) for data in (scenario.x, scenario.x_prime))
    )


def _law(name: str, side: int) -> Callable[[Data], float]:
    """The event's probability as a function of the data, before (0) or after (1) the change."""
    return {
        "a": (_laplace_below(1.0, 0.0), _laplace_below(0.5, 0.0)),
        "b": (_laplace_below(1.0, -1.0), _gaussian_below(2.0, -1.0)),
        "c": (_first_two, _max_below(2.0)),
        "d": (_answers(SVT2, _SEVENTH), _answers(SVT4, _SEVENTH)),
        "e": (_answers(SVT2, _RISE), _answers(SVT5, _RISE)),
        "f": (_answers(SVT2, _FALL), _answers(SVT6, _FALL)),
        "g": (_third_laplace, _third_exponential),
        "h": (_answers(SVT2, _SEVENTH), _answers(SVT1, _SEVENTH)),
    }[name][side]


def _laplace_below(scale: float, limit: float) -> Callable[[Data], float]:
    return lambda data: float(laplace_cdf(np.array([limit - sum(data)]), scale)[0])


def _gaussian_below(variance: float, limit: float) -> Callable[[Data], float]:
    return lambda data: float(ndtr((limit - sum(data)) / variance**0.5))


def _max_below(limit: float) -> Callable[[Data], float]:
    return lambda data: float(laplace_cdf(limit - np.asarray(data, dtype=np.float64), 2.0).prod())


def _first_two(data: Data) -> float:
    return float(laplace_max_masses(data, scale=2.0)[:2].sum())


def _third_laplace(data: Data) -> float:
    return float(laplace_max_masses(data, scale=2.0)[2])


def _third_exponential(data: Data) -> float:
    return float(index_masses(data, scale=2.0)[2])


def _answers(rule: Rule, seen: Data) -> Callable[[Data], float]:
    def probability(data: Data) -> float:
        whole = seen + (NOT_ANSWERED,) * (len(data) - len(seen))
        known = outcomes(len(data), rule.cutoff)
        return float(outcome_masses(data, rule=rule)[known.index(whole)]) if whole in known else 0.0

    return probability
