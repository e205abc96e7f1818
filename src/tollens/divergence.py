"""Divergences between two-valued laws: the exact regions behind Gaussian and Rényi claims."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ORDERS = 1.0 + np.geomspace(1e-3, 1e4, 80)
"""Orders at which a zCDP claim is imposed; using finitely many is the safe side."""

_BISECTIONS = 60


def normal_cdf(z: float) -> float:
    """The standard normal distribution function.

    >>> normal_cdf(0.0)
    0.5
    """
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def gaussian_hockey_stick(mu: float, ratio: float) -> float:
    """sup over events S of P(S) - ratio Q(S) for P = N(mu, 1) and Q = N(0, 1).

    With ratio = e^eps this is Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle, Wang 2018).

    >>> gaussian_hockey_stick(1.0, 0.0), gaussian_hockey_stick(0.0, 0.25)
    (1.0, 0.75)
    """
    if ratio <= 0:
        return 1.0
    if mu == 0:
        return max(0.0, 1.0 - ratio)
    epsilon = math.log(ratio)
    first = normal_cdf(mu / 2 - epsilon / mu)
    if first == 0.0:
        return 0.0
    return max(0.0, 1.0 - ratio, first - ratio * normal_cdf(-mu / 2 - epsilon / mu))


def renyi_curve(orders: Array, bounds: Array, ordered: bool) -> Callable[[Array], Array]:
    """The function q -> largest p with D_alpha(Bern(p) || Bern(q)) <= bound for all orders.

    Both orders of the pair unless `ordered`. By data processing the pair of means of any test
    lies under this curve. Values are upper ends of a bisection.

    >>> curve = renyi_curve(np.array([2.0]), np.array([0.0]), True)
    >>> curve(np.array([0.0, 0.5, 1.0])).round(6).tolist()
    [0.0, 0.5, 1.0]
    """

    def curve(q: Array) -> Array:
        low, high = q.copy(), np.ones_like(q)
        inside = (q > 0) & (q < 1)
        high[q <= 0] = 0.0
        for _ in range(_BISECTIONS):
            p = (low + high) / 2
            worst = _excess(p[inside], q[inside], orders, bounds)
            if not ordered:
                worst = np.maximum(worst, _excess(q[inside], p[inside], orders, bounds))
            fits = np.zeros(q.shape, dtype=bool)
            fits[inside] = worst <= 0
            low = np.where(fits, p, low)
            high = np.where(~fits & inside, p, high)
        return high

    return curve


def _excess(p: Array, q: Array, orders: Array, bounds: Array) -> Array:
    """max over orders of D_alpha(Bern(p) || Bern(q)) - bound; p and q inside (0, 1)."""
    alpha = orders[None, :]
    with np.errstate(divide="ignore"):
        lp, lq = np.log(p)[:, None], np.log(q)[:, None]
        mp, mq = np.log1p(-p)[:, None], np.log1p(-q)[:, None]
    with np.errstate(invalid="ignore"):
        total = np.logaddexp(alpha * lp + (1 - alpha) * lq, alpha * mp + (1 - alpha) * mq)
    total = np.where(np.isnan(total), np.inf, total)
    return np.asarray((total / (alpha - 1) - bounds[None, :]).max(axis=1))
