"""Curved claims on two-valued outputs: tangents lose little against the exact region."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import tollens
from tollens.auditing.experts import bets

ENOUGH = 0.9
"""The part of the largest possible growth that the best bet against one promise must have."""

LEAST = 0.01
"""Growth a pair below which it does not matter: 1000 pairs would refute nothing at all."""

CLAIMS = {
    "order=2, epsilon=0.5": ([2.0], lambda order: 0.5),
    "order=8, epsilon=0.3": ([8.0], lambda order: 0.3),
    "order=4, epsilon=2": ([4.0], lambda order: 2.0),
    "order=1.5, epsilon=0.1": ([1.5], lambda order: 0.1),
    "rho=0.5": (1 + np.geomspace(1e-5, 1e5, 1500), lambda order: 0.5 * order),
    "rho=0.05": (1 + np.geomspace(1e-5, 1e5, 1500), lambda order: 0.05 * order),
    "rho=2": (1 + np.geomspace(1e-5, 1e5, 1500), lambda order: 2.0 * order),
}

LAWS = [
    (0.9, 0.1),
    (0.7, 0.3),
    (0.99, 0.5),
    (0.5, 0.01),
    (0.2, 0.02),
    (0.05, 0.001),
    (0.95, 0.6),
    (0.999, 0.2),
    (0.6, 0.15),
    (0.1, 0.7),
    (0.999, 0.001),
    (0.001, 0.98),
    (0.9, 0.0005),
]


def excess(p, q, orders, bound):
    """The largest D_alpha(Bern(p) || Bern(q)) - bound over the orders, both ways round."""
    orders = np.asarray(orders)
    bounds = bound(orders)
    worst = -math.inf
    for a, b in ((p, q), (q, p)):
        yes = orders * math.log(a) + (1 - orders) * math.log(b)
        no = orders * math.log1p(-a) + (1 - orders) * math.log1p(-b)
        worst = max(worst, float(np.max(np.logaddexp(yes, no) / (orders - 1) - bounds)))
    return worst


def kl(a, b):
    return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))


def nearest(p, q, orders, bound):
    """The p' nearest to p for which (p', q) lies in the region, which contains (q, q)."""
    if excess(p, q, orders, bound) <= 0:
        return p
    edge = brentq(
        lambda s: excess(q + s * (p - q), q, orders, bound), 1e-12, 1.0, xtol=1e-13, rtol=1e-13
    )
    return q + edge * (p - q)


def largest_growth(p, q, orders, bound):
    """KL*, the least KL(p || p') + KL(q || q') over the exact region: no fair bet has more."""

    def cost(q_there):
        return kl(p, nearest(p, q_there, orders, bound)) + kl(q, q_there)

    low, high = min(p, q), max(p, q)
    grid = np.linspace(low, high, 42)[1:-1]
    costs = [cost(there) for there in grid.tolist()]
    best = int(np.argmin(costs))
    around = np.concatenate([[low + 1e-9], grid, [high - 1e-9]])[best : best + 3]
    found = minimize_scalar(
        cost, bounds=(around[0], around[-1]), method="bounded", options={"xatol": 1e-10}
    )
    return min(float(found.fun), costs[best])


def growths(p, q, promises):
    """The growth of the bet against each promise, if the laws are the truth."""
    first, second = np.array([p, 1 - p]), np.array([q, 1 - q])
    made = bets(first, second, np.ones(2, dtype=bool), promises)
    return np.log(made.a) @ first + np.log(made.b) @ second


def compared(text):
    """For each law that matters outside the region: it, the best growth found, and KL*."""
    orders, bound = CLAIMS[text]
    promises = tollens.parse_claim(text).promises()
    found = []
    for p, q in LAWS:
        if excess(p, q, orders, bound) > 0:
            limit = largest_growth(p, q, orders, bound)
            if limit >= LEAST:
                found.append(((p, q), float(growths(p, q, promises).max()), limit))
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("text", CLAIMS)
def test_the_best_bet_grows_nearly_as_fast_as_any_can(text):
    short = {laws: round(best / limit, 4) for laws, best, limit in compared(text)}
    assert {laws: part for laws, part in short.items() if part < ENOUGH} == {}


@pytest.mark.parametrize("text", CLAIMS)
def test_no_bet_grows_faster(text):
    for laws, best, limit in compared(text):
        assert best <= limit * (1 + 1e-7), laws


@pytest.mark.parametrize("text", CLAIMS)
def test_laws_inside_the_region_give_no_growth(text):
    orders, bound = CLAIMS[text]
    promises = tollens.parse_claim(text).promises()
    inside = 0
    rng = np.random.default_rng(0)
    while inside < 20:
        q = float(rng.uniform(0.02, 0.98))
        p = q + float(rng.uniform()) * (float(rng.uniform(0.02, 0.98)) - q)
        if excess(p, q, orders, bound) <= 0:
            inside += 1
            assert growths(p, q, promises).max() <= 1e-9
