"""Mechanisms with finitely or countably many outputs: geometric noise, randomised response.

Two-sided geometric noise has `P(Z = z) = (1 - a)/(1 + a) a^|z|` and is `ln(1/a)`-DP on a count
(Ghosh, Roughgarden, Sundararajan 2009). Randomised response that tells the truth with
probability t is `ln(t/(1 - t))`-DP (Warner 1965).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Law, integer_cells

_COUNTS = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0))
_REACH = 25
_GEOMETRIC = "Ghosh, Roughgarden, Sundararajan 2009"


def geometric_count(
    data: Sequence[int],
    n: int,
    rng: np.random.Generator,
    *,
    ratio: float,
    low: int | None = None,
    high: int | None = None,
) -> NDArray[np.int64]:
    """Count the ones and add a difference of geometric draws, clipped to [low, high] if given.

    `ratio` is P(Z = z + 1) / P(Z = z) of the noise Z for z >= 0.

    >>> geometric_count((1, 0), 3, np.random.default_rng(0), ratio=0.5, low=0, high=5).dtype
    dtype('int64')
    """
    noise = rng.geometric(1 - ratio, n) - rng.geometric(1 - ratio, n)
    noisy = sum(data) + noise
    return noisy if low is None and high is None else np.clip(noisy, low, high)


def geometric_masses(data: Sequence[int], *, ratio: float, low: int, high: int) -> Array:
    """Exact masses of low, ..., high, where the end values hold everything beyond them.

    An end at distance d from the count holds `ratio^d / (1 + ratio)`.

    >>> geometric_masses((0,), ratio=0.5, low=0, high=1).round(4)
    array([0.6667, 0.3333])
    """
    distance = np.abs(np.arange(low, high + 1) - sum(data))
    masses = ratio**distance / (1 + ratio)
    masses[1:-1] *= 1 - ratio
    return np.asarray(masses, dtype=np.float64)


def randomised_response(
    data: int, n: int, rng: np.random.Generator, *, truth_coins: int = 1
) -> NDArray[np.int64]:
    """Answer the record if one of `truth_coins` fair coins shows heads, otherwise a fair coin.

    >>> randomised_response(1, 2, np.random.default_rng(0)).shape
    (2,)
    """
    honest = rng.random((n, truth_coins)).min(axis=1) < 0.5
    return np.where(honest, data, rng.integers(0, 2, n))


def response_masses(data: int, *, truth_coins: int) -> Array:
    """Exact masses of the answers 0 and 1.

    >>> response_masses(1, truth_coins=1)
    array([0.25, 0.75])
    """
    lie = 0.5 ** (truth_coins + 1)
    return np.array([1 - lie, lie] if data == 0 else [lie, 1 - lie])


def _geometric_law(ratio: float) -> Law:
    return Law(
        partial(geometric_masses, ratio=ratio, low=-_REACH, high=_REACH),
        partial(integer_cells, low=-_REACH, high=_REACH),
    )


def _response_law(truth_coins: int) -> Law:
    return Law(
        partial(response_masses, truth_coins=truth_coins), partial(integer_cells, low=0, high=1)
    )


ENTRIES = (
    Entry(
        name="geometric-tight",
        title="Two-sided geometric count, exactly at its claim",
        claim=pure(1),
        neighbours=_COUNTS,
        mechanism=batched(partial(geometric_count, ratio=math.exp(-1))),
        holds=True,
        truth="the loss is exactly ln(1/a) at every value outside the two counts",
        source=_GEOMETRIC,
        law=_geometric_law(math.exp(-1)),
        closed_form=1.0,
    ),
    Entry(
        name="geometric-scale-off",
        title="Geometric count with success probability epsilon",
        claim=pure(0.5),
        neighbours=_COUNTS,
        mechanism=batched(partial(geometric_count, ratio=0.5)),
        holds=False,
        truth="a = 1 - epsilon = 1/2, so the loss is ln 2 at every value outside the counts",
        source="a slip: success probability epsilon in place of 1 - e^-epsilon",
        law=_geometric_law(0.5),
        closed_form=math.log(2),
        budget=10_000,
    ),
    Entry(
        name="truncated-geometric-tight",
        title="Geometric count clipped to [0, 5], exactly at its claim",
        claim=pure("ln 2"),
        neighbours=_COUNTS,
        mechanism=batched(partial(geometric_count, ratio=0.5, low=0, high=5)),
        holds=True,
        truth="P(0) is 2/3 and 1/3: the loss is exactly ln 2",
        source=_GEOMETRIC,
        law=Law(
            partial(geometric_masses, ratio=0.5, low=0, high=5),
            partial(integer_cells, low=0, high=5),
        ),
        closed_form=math.log(2),
    ),
    Entry(
        name="rr-tight",
        title="Randomised response, exactly at its claim",
        claim=pure("ln 3"),
        neighbours=(0, 1),
        mechanism=batched(partial(randomised_response, truth_coins=1)),
        holds=True,
        truth="the truth is told with probability 3/4: the loss is ln 3 on both answers",
        source="Warner 1965",
        law=_response_law(1),
        closed_form=math.log(3),
    ),
    Entry(
        name="rr-extra-coin",
        title="Randomised response with an extra coin for the truth",
        claim=pure("ln 3"),
        neighbours=(0, 1),
        mechanism=batched(partial(randomised_response, truth_coins=2)),
        holds=False,
        truth="the truth is told with probability 7/8: the loss is ln 7 on both answers",
        source="a slip: a second coin that leads to the truth is thrown before the random answer",
        law=_response_law(2),
        closed_form=math.log(7),
        budget=2_000,
    ),
)
"""Geometric counts and randomised response."""
