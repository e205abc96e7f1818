"""The projection: as good as a general convex solver finds, and never better than can be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tollens.auditing.projection import project_approx, project_binary, project_pure
from tollens.auditing.ville import certify, worst_approx, worst_pure


@st.composite
def laws(draw, largest=4):
    k = draw(st.integers(2, largest))
    masses = st.lists(st.floats(0.02, 1), min_size=k, max_size=k)
    p, q = np.array(draw(masses)), np.array(draw(masses))
    return p / p.sum(), q / q.sum()


EPSILONS = st.floats(0.01, 2.5)
DELTAS = st.floats(0.001, 0.3)


def smallest_divergence(p, q, epsilon, delta):
    """min KL(p || p') + KL(q || q') over the promise, by a general solver.

    The value is that of a point of the promise, so no fair bet grows faster. delta None binds
    both orders without slack.
    """
    k, e = len(p), math.exp(epsilon)

    def split(v):
        return v[:k], v[k : 2 * k], v[2 * k :]

    def objective(v):
        p1, q1, _ = split(np.maximum(v, 1e-12))
        return float(p @ np.log(p / p1) + q @ np.log(q / q1))

    def gradient(v):
        p1, q1, _ = split(np.maximum(v, 1e-12))
        return np.concatenate([-p / p1, -q / q1, np.zeros(k)])

    eye, zero, ones, none = np.eye(k), np.zeros((k, k)), np.ones((1, k)), np.zeros((1, k))
    if delta is None:
        rows = np.block([[-eye, e * eye, zero], [e * eye, -eye, zero]])
        room = np.zeros(2 * k)
        slack = 0.0
    else:
        rows = np.block([[-eye, e * eye, eye], [none, none, -ones]])
        room = np.append(np.zeros(k), delta)
        slack = delta / (2 * k)
    sums = np.block([[ones, none, none], [none, ones, none]])
    start = np.concatenate([(p + q) / 2, (p + q) / 2, np.full(k, slack)])
    found = minimize(
        objective,
        start,
        jac=gradient,
        method="SLSQP",
        bounds=[(1e-9, 1)] * (2 * k) + [(0, 1)] * k,
        constraints=[
            {"type": "ineq", "fun": lambda v: rows @ v + room, "jac": lambda v: rows},
            {"type": "eq", "fun": lambda v: sums @ v - 1, "jac": lambda v: sums},
        ],
        options={"maxiter": 500, "ftol": 1e-13},
    )
    # the solver may end a little outside: step back towards an interior point
    inside = found.x + 1e-9 * (start - found.x)
    p1, q1, t = split(inside)
    feasible = np.concatenate([p1 / p1.sum(), q1 / q1.sum(), t])
    assume(found.success and np.all(rows @ feasible + room >= -1e-9))
    return objective(feasible)


def growth(p, q, fair):
    return float(p @ np.log(fair.a) + q @ np.log(fair.b))


@given(laws(), EPSILONS)
@settings(max_examples=150)
def test_pure(pair, epsilon):
    p, q = pair
    e = np.array(epsilon)
    found = project_pure(p, q, e)
    fair = certify(found, worst_pure(found, e))
    best = smallest_divergence(p, q, epsilon, None)
    assert growth(p, q, fair) <= best + 1e-6
    assert growth(p, q, fair) >= best * (1 - 1e-3) - 1e-6


@given(laws(), EPSILONS, DELTAS)
@settings(max_examples=200)
def test_approx(pair, epsilon, delta):
    p, q = pair
    e, d = np.array(epsilon), np.array(delta)
    found = project_approx(p, q, e, d)
    fair = certify(found, worst_approx(found, e, d))
    best = smallest_divergence(p, q, epsilon, delta)
    assert growth(p, q, fair) <= best + 1e-6
    assert growth(p, q, fair) >= best * (1 - 1e-3) - 1e-6


@given(laws(2), EPSILONS, DELTAS)
@settings(max_examples=100)
def test_binary(pair, epsilon, delta):
    p, q = pair
    e, d = np.array(epsilon), np.array(delta)
    found = project_binary(p[0], q[0], e, d)
    fair = certify(found, worst_approx(found, e, d))
    best = smallest_divergence(p, q, epsilon, delta)
    assert growth(p, q, fair) <= best + 1e-6
    assert growth(p, q, fair) >= best * (1 - 1e-3) - 1e-6


@given(laws(6), st.floats(0, 8))
@settings(max_examples=200)
def test_both_orders_without_slack_beat_each_order(pair, epsilon):
    p, q = pair
    e = np.array(epsilon)
    both = project_pure(p, q, e)
    both = certify(both, worst_pure(both, e))
    for first, second in ((p, q), (q, p)):
        one = project_approx(first, second, e, np.array(0.0))
        one = certify(one, worst_approx(one, e, np.array(0.0)))
        assert growth(p, q, both) >= growth(first, second, one) - 1e-9


@given(laws(6), st.floats(0.001, 3), st.floats(0, 0.2))
@settings(max_examples=200)
def test_laws_inside_the_promise_give_no_bet(pair, extra, delta):
    p, q = pair
    tight = float(np.max(np.abs(np.log(p / q))))
    found = project_pure(p, q, np.array(tight + extra))
    assert np.allclose(found.a, 1, atol=1e-9) and np.allclose(found.b, 1, atol=1e-9)
    used = float(np.maximum(p - math.exp(extra) * q, 0).sum())
    found = project_approx(p, q, np.array(extra), np.array(min(1.0, used + delta)))
    assert np.allclose(found.a, 1, atol=1e-9) and np.allclose(found.b, 1, atol=1e-9)


@given(laws(6), st.floats(0, 8), DELTAS)
@settings(max_examples=200)
def test_the_proposals_need_no_large_correction(pair, epsilon, delta):
    """The factors are fair before certification, up to what the solver leaves."""
    p, q = pair
    e, d = np.array(epsilon), np.array(delta)
    assert worst_pure(project_pure(p, q, e), e) == pytest.approx(2, abs=1e-6)
    assert worst_approx(project_approx(p, q, e, d), e, d) <= 2 + 1e-6


@given(laws(5), st.floats(0, 700))
@settings(max_examples=100)
def test_no_epsilon_breaks_it(pair, epsilon):
    p, q = pair
    e, d = np.array(epsilon), np.array(1e-5)
    for found, worst in (
        (project_pure(p, q, e), worst_pure),
        (project_approx(p, q, e, d), lambda f, e: worst_approx(f, e, d)),
    ):
        fair = certify(found, worst(found, e))
        assert np.all(np.isfinite(fair.a)) and np.all(np.isfinite(fair.b))
        assert np.all(fair.a > 0) and np.all(fair.b > 0)
        assert growth(p, q, fair) >= -1e-6


@given(laws(4), EPSILONS, st.integers(1, 60))
@settings(max_examples=100)
def test_a_quick_search_is_fair_too(pair, epsilon, steps):
    p, q = pair
    e, d = np.array(epsilon), np.array(0.01)
    pure, approx = project_pure(p, q, e, steps), project_approx(p, q, e, d, steps)
    fair_pure = certify(pure, worst_pure(pure, e))
    fair_approx = certify(approx, worst_approx(approx, e, d))
    assert worst_pure(fair_pure, e) <= 2
    assert worst_approx(fair_approx, e, d) <= 2


def test_many_problems_at_once_are_those_one_by_one():
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(5), size=(2, 7))
    e, d = rng.uniform(0, 2, size=7), rng.uniform(0, 0.1, size=7)
    pure, approx = project_pure(p, q, e), project_approx(p, q, e, d)
    for i in range(7):
        one = project_pure(p[i], q[i], e[i])
        assert np.allclose(one.a, pure.a[i], atol=1e-9) and np.allclose(one.b, pure.b[i], atol=1e-9)
        one = project_approx(p[i], q[i], e[i], d[i])
        alone = p[i] @ np.log(one.a) + q[i] @ np.log(one.b)
        together = p[i] @ np.log(approx.a[i]) + q[i] @ np.log(approx.b[i])
        assert alone == pytest.approx(together, rel=1e-3, abs=1e-9)
