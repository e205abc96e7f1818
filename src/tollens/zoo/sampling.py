"""Amplification by sampling: a record that takes part with probability q only.

If the record 1 takes part with probability q, the output is a mixture, and a loss of epsilon
becomes `ln(1 + q(e^epsilon - 1))` in one order of the pair (Balle, Barthe, Gaboardi 2018). Here
the neighbours are a record 0, which changes nothing, and a record 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from tollens.claim import profile, pure
from tollens.divergence import normal_cdf
from tollens.mechanism import batched
from tollens.zoo.entry import LEAK_DELTA, Entry
from tollens.zoo.law import (
    Array,
    Law,
    epsilon_where,
    interval_cells,
    laplace_cdf,
    noise_masses,
    normal_cdfs,
)

_RATE = 0.25
_SIGMA = 0.7
_AMPLIFIED = math.log(1 + _RATE * math.expm1(1))
_LAPLACE_EDGES = tuple(np.arange(-6.0, 7.25, 0.25).tolist())


def sampled_laplace(
    data: int, n: int, rng: np.random.Generator, *, rate: float = 1.0, scale: float = 1.0
) -> Array:
    """Add Lap(scale) to the record if it is sampled, to 0 otherwise.

    >>> sampled_laplace(1, 2, np.random.default_rng(0)).shape
    (2,)
    """
    return np.asarray(data * (rng.random(n) < rate) + rng.laplace(0.0, scale, n))


def sampled_gaussian(
    data: int, n: int, rng: np.random.Generator, *, rate: float = 1.0, sigma: float = 1.0
) -> Array:
    """Add N(0, sigma^2) to the record if it is sampled, to 0 otherwise.

    >>> sampled_gaussian(1, 2, np.random.default_rng(0)).shape
    (2,)
    """
    return np.asarray(data * (rng.random(n) < rate) + rng.normal(0.0, sigma, n))


def mixture_masses(
    data: int, *, rate: float, cdf: Callable[[Array], Array], edges: tuple[float, ...]
) -> Array:
    """Exact masses of intervals: rate times those around the record, the rest around 0.

    >>> mixture_masses(1, rate=0.5, cdf=partial(laplace_cdf, scale=1.0), edges=(0.5,))
    array([0.5, 0.5])
    """
    there = noise_masses(cdf, float(data), edges)
    return rate * there + (1 - rate) * noise_masses(cdf, 0.0, edges)


def sampled_gaussian_delta(epsilon: float, *, rate: float, sigma: float) -> float:
    """Least delta of the sampled Gaussian at epsilon, the larger of both orders of the pair.

    With P the mixture and Q = N(0, sigma^2), P/Q >= e^eps on a half line from the point where
    `1 - rate + rate e^((2y - 1)/(2 sigma^2)) = e^eps`, and Q/P >= e^eps on one up to the same
    with e^-eps, which is empty where `e^-eps <= 1 - rate`.

    >>> round(sampled_gaussian_delta(0.0, rate=1.0, sigma=1.0), 4)
    0.3829
    """

    def half_lines(loss: float) -> tuple[float, float]:
        y = _crossing(loss, rate, sigma)
        side = 1.0 if loss < 0 else -1.0
        plain, moved = normal_cdf(side * y / sigma), normal_cdf(side * (y - 1) / sigma)
        return (1 - rate) * plain + rate * moved, plain

    mixture, plain = half_lines(epsilon)
    first = mixture - math.exp(epsilon) * plain
    mixture, plain = half_lines(-epsilon)
    return max(0.0, first, plain - math.exp(epsilon) * mixture if epsilon > 0 else 0.0)


def _crossing(loss: float, rate: float, sigma: float) -> float:
    """The output at which the mixture is e^loss times as dense as N(0, sigma^2)."""
    odds = 1 + math.expm1(loss) / rate
    return 0.5 + sigma**2 * math.log(odds) if odds > 0 else -math.inf


def _laplace_law(rate: float) -> Law:
    return Law(
        partial(
            mixture_masses, rate=rate, cdf=partial(laplace_cdf, scale=1.0), edges=_LAPLACE_EDGES
        ),
        partial(interval_cells, edges=_LAPLACE_EDGES),
    )


_PROFILE = partial(sampled_gaussian_delta, rate=_RATE, sigma=_SIGMA)
_EPSILON = epsilon_where(_PROFILE, LEAK_DELTA)
_NORMAL_EDGES = tuple(
    np.unique([*np.linspace(-4.0, 5.0, 181), _crossing(_EPSILON, _RATE, _SIGMA)]).tolist()
)

ENTRIES = (
    Entry(
        name="sampled-laplace-tight",
        title="Sampled Laplace sum, exactly at its amplified claim",
        claim=pure(_AMPLIFIED),
        neighbours=(0, 1),
        mechanism=batched(partial(sampled_laplace, rate=_RATE)),
        holds=True,
        truth="a mixture: the loss is exactly ln(1 + (e - 1)/4) at every y >= 1",
        source="Balle, Barthe, Gaboardi 2018",
        law=_laplace_law(_RATE),
        closed_form=_AMPLIFIED,
    ),
    Entry(
        name="sampling-not-random",
        title="Laplace sum whose sample is fixed, claimed as random",
        claim=pure(_AMPLIFIED),
        neighbours=(0, 1),
        mechanism=batched(partial(sampled_laplace, rate=1.0)),
        holds=False,
        truth="the record is in the batch in every run: no amplification, the loss is 1 at y >= 1",
        source="a slip: batches in a fixed order, accounted as random samples",
        law=_laplace_law(1.0),
        closed_form=1.0,
        budget=5_000,
    ),
    Entry(
        name="sampled-gaussian",
        title="Poisson-sampled Gaussian sum with its exact profile",
        claim=profile(_PROFILE),
        neighbours=(0, 1),
        mechanism=batched(partial(sampled_gaussian, rate=_RATE, sigma=_SIGMA)),
        holds=True,
        truth="the exact profile of a mixture of two normal laws against one of them",
        source="Mironov, Talwar, Zhang 2019",
        law=Law(
            partial(
                mixture_masses,
                rate=_RATE,
                cdf=partial(normal_cdfs, sigma=_SIGMA),
                edges=_NORMAL_EDGES,
            ),
            partial(interval_cells, edges=_NORMAL_EDGES),
        ),
        closed_form=_EPSILON,
    ),
)
"""Sums over a sample of the records."""
