"""The sparse vector technique that also releases a value: one correct form, one broken.

Queries of sensitivity 1 are compared one by one with a noisy threshold, until the first that is
above; its place and a noisy value of it, rounded up to 0, 1, 2 or 3, are released. The value must
get noise of its own: the value that was compared says how low the threshold was (Lyu, Su, Li,
arXiv 1603.01699, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.claim import pure
from tollens.mechanism import batched
from tollens.zoo.entry import Entry
from tollens.zoo.law import Array, Cells, Law, interval_cells, laplace_cdf, noise_masses

EDGES = (0.0, 1.0, 2.0)
"""A value is 0 up to 0, then 1 up to 1, 2 up to 2, and 3 above."""

_NODES = 20
_STEPS = 60


@dataclass(frozen=True, slots=True)
class ValueRule:
    """Laplace scales of the threshold and of each comparison, and of a fresh value noise.

    `value_scale` None releases the value that was compared.
    """

    threshold_scale: float
    query_scale: float
    value_scale: float | None


def first_above(
    data: Sequence[float], n: int, rng: np.random.Generator, *, rule: ValueRule
) -> NDArray[np.intp]:
    """Rows (place of the first query above 0, its noisy value rounded up), shape (n, 2).

    (number of queries, 0) where none is above. The draws do not depend on the data.

    >>> rule = ValueRule(2.0, 2.0, None)
    >>> first_above((0, 0), 3, np.random.default_rng(0), rule=rule).shape
    (3, 2)
    """
    threshold = rng.laplace(0.0, rule.threshold_scale, (n, 1))
    compared = np.asarray(data) + rng.laplace(0.0, rule.query_scale, (n, len(data)))
    above = compared >= threshold
    place = np.where(above.any(axis=1), above.argmax(axis=1), len(data))
    values = compared
    if rule.value_scale is not None:
        values = np.asarray(data) + rng.laplace(0.0, rule.value_scale, (n, 1))
    padded = np.column_stack([values, np.zeros(n)])
    return np.column_stack([place, interval_cells(padded[np.arange(n), place], edges=EDGES)])


def value_cells(outputs: NDArray[np.integer]) -> Cells:
    """Number the rows (place, value), of which "none above" is the last.

    >>> value_cells(np.array([[1, 3], [2, 0]]))
    array([7, 8])
    """
    return np.asarray(outputs @ [len(EDGES) + 1, 1])


def value_masses(data: Sequence[float], *, rule: ValueRule) -> Array:
    """Exact masses of all outputs, by Gauss-Legendre quadrature over the noisy threshold r.

    `P(first is j, value in V) = E[prod_(i<j) F(r - q_i) P(q_j + z in V, q_j + z >= r)]`.
    Without a fresh noise V and the comparison share z; otherwise they are independent.

    >>> rule = ValueRule(2.0, 2.0, None)
    >>> float(value_masses((0, 1), rule=rule).sum().round(12))
    1.0
    """
    queries, scale = np.asarray(data, dtype=np.float64), rule.threshold_scale
    grid = np.linspace(-_STEPS, _STEPS, 4 * _STEPS + 1) * min(scale, rule.query_scale)
    breaks = np.unique(np.concatenate([grid, [-45 * scale, 45 * scale], queries, EDGES]))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    centre, half = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
    r = (centre[:, None] + half[:, None] * nodes).ravel()
    mass = (half[:, None] * weights).ravel() * np.exp(-np.abs(r) / scale) / (2 * scale)
    cdf = partial(laplace_cdf, scale=rule.query_scale)
    parts = []
    for query in queries:
        if rule.value_scale is not None:
            value_cdf = partial(laplace_cdf, scale=rule.value_scale)
            inside = noise_masses(value_cdf, float(query), EDGES)
            parts.append((mass @ cdf(query - r)) * inside)
        else:
            ends = np.maximum(np.r_[-np.inf, EDGES, np.inf][:, None], r)
            upper = cdf(query - ends)  # P(q + z >= end), digits kept where it is small
            parts.append((upper[:-1] - upper[1:]) @ mass)
        mass = mass * cdf(r - query)
    return np.concatenate([*parts, [mass.sum()]])


_REUSED = ValueRule(threshold_scale=1.0, query_scale=1.0, value_scale=None)
_FRESH = ValueRule(threshold_scale=3.0, query_scale=6.0, value_scale=3.0)


def _law(rule: ValueRule) -> Law:
    return Law(partial(value_masses, rule=rule), value_cells)


ENTRIES = (
    Entry(
        name="svt3",
        title="Sparse vector that releases the value it compared",
        claim=pure(2),
        neighbours=((0,) * 9, (1,) * 8 + (0,)),
        mechanism=batched(partial(first_above, rule=_REUSED)),
        holds=False,
        truth="none of 8 above, then a value below 0: each of the 8 adds exactly 1 to the loss",
        source="arXiv 1603.01699, algorithm 3",
        law=_law(_REUSED),
        closed_form=8.0,
        budget=56_000,
    ),
    Entry(
        name="numerical-svt",
        title="Sparse vector that releases a fresh noisy value",
        claim=pure(1),
        neighbours=((0,) * 5, (1,) * 4 + (0,)),
        mechanism=batched(partial(first_above, rule=_FRESH)),
        holds=True,
        truth="epsilon-DP by proof, a third each; on this pair every output by quadrature",
        source="Lyu, Su, Li, arXiv 1603.01699, algorithm 7",
        law=_law(_FRESH),
    ),
)
"""Sparse vector that releases values."""
