"""Faults of private training on sums and means of clipped gradients, with normal noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.special import gammainc, gammaincc

from tollens.claim import approx, gaussian
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.gaussian import analytic_scale, gaussian_entry
from tollens.zoo.law import (
    Array,
    Cells,
    Law,
    epsilon_where,
    interval_cells,
    noise_masses,
    normal_cdfs,
)

_SIGMA = 2.0
_DELTA = 1e-3
_BATCH = 8
_SIZE = 30
_NORM_SIGMA = 3.0
Gradients = Sequence[Sequence[float]]


def microbatch_sum(data: Gradients, n: int, rng: np.random.Generator, *, sigma: float) -> Array:
    """Clip the mean of each microbatch to [-1, 1], add them up, and add N(0, sigma^2).

    >>> microbatch_sum(((4.0, 0.0), (0.5, 0.5)), 2, np.random.default_rng(0), sigma=1.0).shape
    (2,)
    """
    return np.asarray(clipped_sum(data) + rng.normal(0.0, sigma, n))


def clipped_sum(data: Gradients) -> float:
    """Sum of the means of the microbatches, each clipped to [-1, 1].

    >>> clipped_sum(((4.0, 0.0), (0.5, 0.5)))
    1.5
    """
    return float(np.clip(np.mean(data, axis=1), -1.0, 1.0).sum())


def microbatch_masses(data: Gradients, *, sigma: float, edges: tuple[float, ...]) -> Array:
    """Exact masses of intervals of the noisy sum.

    >>> microbatch_masses(((0.0, 0.0),), sigma=1.0, edges=(0.0,))
    array([0.5, 0.5])
    """
    return noise_masses(partial(normal_cdfs, sigma=sigma), clipped_sum(data), edges)


def divided_noise(
    data: Sequence[float], n: int, rng: np.random.Generator, *, size: int, sigma: float
) -> Array:
    """N(0, sigma^2) on each of `size` coordinates over half the number of records, rounded down.

    The gradients of all records are 0, so that only the divisor, an expected batch size that is
    computed from the private number of records, tells the neighbours apart. Shape (n, size).

    >>> divided_noise((0.0, 0.0, 0.0), 2, np.random.default_rng(0), size=4, sigma=1.0).shape
    (2, 4)
    """
    return np.asarray((sum(data) + rng.normal(0.0, sigma, (n, size))) / (len(data) // 2))


def norm_masses(
    data: Sequence[float], *, size: int, sigma: float, edges: tuple[float, ...]
) -> Array:
    """Exact masses of intervals of the squared norm, which is chi-square but for its scale.

    >>> norm_masses((0.0, 0.0), size=2, sigma=1.0, edges=(2 * math.log(2),)).round(12)
    array([0.5, 0.5])
    """
    scale = 2 * (sigma / (len(data) // 2)) ** 2
    ends = np.r_[0.0, edges, np.inf] / scale
    lower, upper = gammainc(size / 2, ends), gammaincc(size / 2, ends)
    return np.asarray(np.where(lower[:-1] < 0.5, np.diff(lower), -np.diff(upper)))


def norm_cells(outputs: Array, *, edges: tuple[float, ...]) -> Cells:
    """Find the interval of the squared norm of each row.

    >>> norm_cells(np.array([[3.0, 4.0]]), edges=(1.0, 25.5))
    array([1])
    """
    return interval_cells((outputs**2).sum(axis=1), edges=edges)


def _norm_crossing(epsilon: float) -> float:
    """The squared norm at which deviation sigma is e^epsilon times as dense as sigma/2."""
    return 2 * (epsilon + _SIZE * math.log(2)) * _NORM_SIGMA**2 / 3


def _norm_delta(epsilon: float) -> float:
    """Least delta between deviations sigma and sigma/2 in `_SIZE` coordinates, both orders."""
    wide = _norm_crossing(epsilon) / (2 * _NORM_SIGMA**2)
    narrow = _norm_crossing(-epsilon) / (2 * _NORM_SIGMA**2)
    half, ratio = _SIZE / 2, math.exp(epsilon)
    outside = gammaincc(half, wide) - ratio * gammaincc(half, 4 * wide)
    inside = gammainc(half, max(0.0, 4 * narrow)) - ratio * gammainc(half, max(0.0, narrow))
    return float(max(outside, inside))


def _microbatch_entry() -> Entry:
    pair = (((4.0, 0.1), (0.2, 0.3)), ((-4.0, 0.1), (0.2, 0.3)))
    claimed, true = (gaussian(shift / _SIGMA).epsilon(_DELTA) for shift in (1, 2))
    middle, worst = 0.25, true * _SIGMA**2 / 2
    grid = middle + np.linspace(-8, 8, 65)
    edges = tuple(np.unique([*grid, middle - worst, middle + worst]).tolist())
    return Entry(
        name="microbatch-clipping",
        title="Clipped means of microbatches, noise for half the change",
        claim=approx(claimed, _DELTA),
        neighbours=pair,
        mechanism=batched(partial(microbatch_sum, sigma=_SIGMA)),
        holds=False,
        truth="the sum moves by 2, not by 1: the exact profile of the Gaussian mechanism",
        source="a slip: a replaced example moves a clipped mean from one bound to the other",
        law=Law(
            partial(microbatch_masses, sigma=_SIGMA, edges=edges),
            partial(interval_cells, edges=edges),
        ),
        closed_form=true,
        budget=20_000,
    )


def _expected_batch_entry() -> Entry:
    true = epsilon_where(_norm_delta, _DELTA)
    ends = [end for end in (_norm_crossing(true), _norm_crossing(-true)) if end > 0]
    edges = tuple(np.unique([*np.linspace(10.0, 500.0, 50), *ends]).tolist())
    return Entry(
        name="expected-batch-size",
        title="Noise divided by a batch size that shows the record count",
        claim=approx(2, _DELTA),
        neighbours=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
        mechanism=batched(partial(divided_noise, size=_SIZE, sigma=_NORM_SIGMA)),
        holds=False,
        truth="deviations 2 to 1 in 30 coordinates: the worst event is a ball or its outside",
        source="a slip: the expected batch size is computed from the private number of records",
        law=Law(
            partial(norm_masses, size=_SIZE, sigma=_NORM_SIGMA, edges=edges),
            partial(norm_cells, edges=edges),
        ),
        closed_form=true,
        budget=2_000,
    )


ENTRIES = (
    _microbatch_entry(),
    _expected_batch_entry(),
    gaussian_entry(
        "noise-divided-twice",
        "Mean of 8 gradients, noise divided by the batch size twice",
        approx(1, _DELTA),
        analytic_scale(1, _DELTA) / _BATCH**2,
        holds=False,
        source="a slip: the sensitivity of the mean divided by the batch size once more",
        divisor=_BATCH,
        budget=2_000,
    ),
)
"""Training steps with a fault."""
