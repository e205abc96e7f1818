"""The exact law of the sparse vector technique.

Given the noisy threshold the answers are independent, so the probability of each answer vector
is a one-dimensional integral, or a product of them where the threshold is drawn afresh.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.zoo.law import Array, Cells, laplace_cdf

THRESHOLD = 0.5
"""The threshold before noise."""

NOT_ANSWERED = 2
"""The answer to queries after the end."""

_NODES = 20
_REACH = 40


@dataclass(frozen=True, slots=True)
class Rule:
    """The noise of a sparse vector algorithm and its end.

    Laplace scales of the threshold and of each query; `cutoff` positives end it (None: never);
    `fresh_scale` is that of a new threshold after each positive (None: the threshold stays).
    """

    threshold_scale: float
    query_scale: float
    cutoff: int | None
    fresh_scale: float | None = None


@functools.cache
def outcomes(length: int, cutoff: int | None) -> tuple[tuple[int, ...], ...]:
    """All answer vectors, in rising order.

    >>> outcomes(2, 1)
    ((0, 0), (0, 1), (1, 2))
    """
    found = set()
    for bits in itertools.product((0, 1), repeat=length):
        before = [0, *itertools.accumulate(bits)]
        live = [cutoff is None or count < cutoff for count in before[:-1]]
        found.add(tuple(bit if on else NOT_ANSWERED for bit, on in zip(bits, live, strict=True)))
    return tuple(sorted(found))


def outcome_cells(outputs: NDArray[np.int8], *, cutoff: int | None) -> Cells:
    """Find the place of each answer vector among `outcomes`, through its number in base 3.

    >>> outcome_cells(np.array([[0, 1], [1, 2]]), cutoff=1)
    array([1, 2])
    """
    length = outputs.shape[1]
    powers = 3 ** np.arange(length)[::-1]
    known = np.array(outcomes(length, cutoff)) @ powers
    return np.searchsorted(known, outputs @ powers)


def outcome_masses(data: Sequence[float], *, rule: Rule) -> Array:
    """Exact probability of each of `outcomes`, by Gauss-Legendre quadrature.

    Answers that share a threshold with noise density f have probability
    `integral of f(r) prod_i P(query i is below, or above, T + r) dr`; a fresh threshold starts a
    new factor. The integrand is smooth between the points where r = 0 or T + r equals a query.

    >>> float(outcome_masses((0, 1), rule=Rule(2.0, 4.0, 1)).sum().round(12))
    1.0
    """
    return _outcome_masses(tuple(data), rule)


@functools.cache
def _outcome_masses(data: tuple[float, ...], rule: Rule) -> Array:
    first = _Threshold(data, rule.threshold_scale, rule.query_scale)
    later = _Threshold(data, rule.fresh_scale or rule.threshold_scale, rule.query_scale)
    masses = []
    for answers in outcomes(len(data), rule.cutoff):
        mass, threshold, start = 1.0, first, 0
        for i, answer in enumerate(answers):
            if answer == 1 and rule.fresh_scale is not None:
                mass *= threshold.probability(answers, start, i + 1)
                threshold, start = later, i + 1
        masses.append(mass * threshold.probability(answers, start, len(answers)))
    result = np.array(masses)
    result.flags.writeable = False
    return result


class _Threshold:
    """Quadrature over the noise of one threshold."""

    def __init__(self, data: tuple[float, ...], scale: float, query_scale: float) -> None:
        queries = np.asarray(data, dtype=np.float64)
        steps = np.linspace(-_REACH, _REACH, 4 * _REACH + 1) * scale
        breaks = np.unique(np.concatenate([steps, queries - THRESHOLD]))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        centre, half = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
        r = (centre[:, None] + half[:, None] * nodes).ravel()
        density = np.exp(-np.abs(r) / scale) / (2 * scale)
        self._weights = (half[:, None] * weights).ravel() * density
        gap = THRESHOLD + r - queries[:, None]
        if query_scale == 0:
            below, above = (gap > 0).astype(np.float64), (gap <= 0).astype(np.float64)
        else:
            below, above = laplace_cdf(gap, query_scale), laplace_cdf(-gap, query_scale)
        self._factors = (below, above)

    def probability(self, answers: tuple[int, ...], start: int, stop: int) -> float:
        """Probability of the answers from start to stop under this threshold."""
        product = self._weights
        for i in range(start, stop):
            if answers[i] != NOT_ANSWERED:
                product = product * self._factors[answers[i]][i]
        return float(product.sum())
