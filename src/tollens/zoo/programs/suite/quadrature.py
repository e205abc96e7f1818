"""Probabilities of answers that share one noisy threshold, by Gauss-Legendre quadrature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tollens.zoo.law import laplace_cdf

_NODES = 24
_REACH = 40


def answers_probability(
    queries: Sequence[float],
    answers: Sequence[bool],
    *,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
) -> float:
    """Probability that each query with Laplace noise lies above or below one noisy threshold.

    `integral of f(r) prod_i P(q_i + noise is above, or below, threshold + r) dr` with the Laplace
    density f of the threshold's noise. The integrand is smooth between r = 0 and the points where
    threshold + r is a query. Queries after the last answer count for nothing.

    >>> p = answers_probability([0], [True], threshold=0, threshold_scale=2, query_scale=2)
    >>> round(p, 12)
    0.5
    """
    gaps = [query - threshold for query in queries]
    steps = np.linspace(-_REACH, _REACH, 2 * _REACH + 1) * threshold_scale
    breaks = np.unique(np.concatenate([steps, gaps]))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(breaks) / 2
    r = ((breaks[1:] + breaks[:-1])[:, None] / 2 + half[:, None] * nodes).ravel()
    product = (half[:, None] * weights).ravel()
    product *= np.exp(-np.abs(r) / threshold_scale) / (2 * threshold_scale)
    for gap, above in zip(gaps, answers, strict=False):
        product *= laplace_cdf(gap - r if above else r - gap, query_scale)
    return float(product.sum())
