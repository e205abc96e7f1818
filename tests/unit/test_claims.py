"""Claims as regions: every support and profile against an oracle that knows nothing of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog
from scipy.stats import norm

import tollens
from tollens.errors import ClaimError

DIRECTIONS = st.floats(1e-6, 20) | st.floats(-20, -1e-6) | st.just(0.0)
EPSILONS = st.floats(0, 8)
DELTAS = st.floats(0, 1)


def polygon_support(a, b, epsilon, delta, ordered):
    """max a p - b q over the inequalities of an (epsilon, delta) claim, by linear programming."""
    e = math.exp(epsilon)
    rows = [([1, -e], delta), ([-1, e], delta - 1 + e)]
    if not ordered:
        rows += [([-e, 1], delta), ([e, -1], delta - 1 + e)]
    found = linprog(
        [-a, b],
        A_ub=[row for row, _ in rows],
        b_ub=[bound for _, bound in rows],
        bounds=[(0, 1), (0, 1)],
        method="highs",
    )
    return -found.fun


def curve_support(a, b, upper):
    """max a p - b q over the region under the curve `upper` and its mirror image, on a grid."""
    q = np.unique(
        np.concatenate([np.geomspace(1e-12, 0.5, 4000), 1 - np.geomspace(1e-12, 0.5, 4000), [0, 1]])
    )
    high = upper(q)
    low = 1 - upper(1 - q)
    return float(np.max(np.maximum(a * high, a * low) - b * q))


def value(a, b, p, q):
    """max a E f(X) - b E f(Y) over all tests f in [0, 1] of laws p and q on cells."""
    return float(np.maximum(a * p - b * q, 0.0).sum())


def gaussian_upper(mu):
    return lambda q: norm.cdf(norm.ppf(q) + mu)


def both_orders(upper):
    """The lower of a boundary and of its image under swapping x and x'."""

    def swapped(q):
        # the largest p with q <= 1 - upper(1 - p) ... that is 1 - p >= upper^-1(1 - q)
        low, high = np.zeros_like(q), np.ones_like(q)
        for _ in range(60):
            middle = (low + high) / 2
            fits = upper(1 - middle) >= 1 - q
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return high

    return lambda q: np.minimum(upper(q), swapped(q))


def bernoulli_renyi(p, q, order):
    return math.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (
        order - 1
    )


@st.composite
def law_pairs(draw, largest=6):
    k = draw(st.integers(2, largest))
    masses = st.lists(st.floats(0.001, 1), min_size=k, max_size=k)
    p, q = np.array(draw(masses)), np.array(draw(masses))
    return p / p.sum(), q / q.sum()


@given(DIRECTIONS, DIRECTIONS, EPSILONS, st.booleans())
def test_support_of_pure_equals_a_linear_program(a, b, epsilon, ordered):
    claim = tollens.pure(epsilon, ordered=ordered)
    assert claim.support(a, b) == pytest.approx(
        polygon_support(a, b, epsilon, 0, ordered), abs=1e-7 * (1 + abs(a) + abs(b))
    )


@given(DIRECTIONS, DIRECTIONS, EPSILONS, DELTAS, st.booleans())
def test_support_of_approx_equals_a_linear_program(a, b, epsilon, delta, ordered):
    claim = tollens.approx(epsilon, delta, ordered=ordered)
    assert claim.support(a, b) == pytest.approx(
        polygon_support(a, b, epsilon, delta, ordered), abs=1e-7 * (1 + abs(a) + abs(b))
    )


@given(DIRECTIONS, DIRECTIONS, st.floats(0.05, 4))
@settings(max_examples=50)
def test_support_of_gaussian_equals_a_grid(a, b, mu):
    expected = curve_support(a, b, gaussian_upper(mu))
    found = tollens.gaussian(mu).support(a, b)
    assert expected - 1e-9 <= found <= expected + 1e-4 * (abs(a) + abs(b)) + 1e-9


@pytest.mark.parametrize(
    "claim",
    [
        tollens.pure(1),
        tollens.approx(1, 0.1),
        tollens.approx(1, 0.1, ordered=True),
        tollens.gaussian(1),
        tollens.zcdp(0.5),
        tollens.renyi(3, 0.5),
        tollens.renyi(3, 0.5, ordered=True),
        tollens.tradeoff(lambda a: (1 - a) ** 2),
        tollens.tradeoff(lambda a: (1 - a) ** 2, ordered=True),
        tollens.profile(tollens.gaussian(1).delta),
    ],
    ids=str,
)
class TestEveryKind:
    @given(a=DIRECTIONS, b=DIRECTIONS, c=DIRECTIONS, d=DIRECTIONS)
    @settings(max_examples=40)
    def test_support_is_sublinear(self, claim, a, b, c, d):
        both = claim.support(a + c, b + d)
        assert both <= claim.support(a, b) + claim.support(c, d) + 1e-9
        assert claim.support(3 * a, 3 * b) == pytest.approx(3 * claim.support(a, b), abs=1e-9)

    @given(a=DIRECTIONS, b=DIRECTIONS)
    @settings(max_examples=40)
    def test_the_region_is_symmetric_under_complements(self, claim, a, b):
        assert claim.support(a, b) == pytest.approx(a - b + claim.support(-a, -b), abs=1e-9)

    @given(a=DIRECTIONS, b=DIRECTIONS, p=st.floats(0, 1))
    @settings(max_examples=40)
    def test_tests_that_ignore_the_output_are_allowed(self, claim, a, b, p):
        assert claim.support(a, b) >= (a - b) * p - 1e-12

    @given(a=DIRECTIONS, b=DIRECTIONS)
    @settings(max_examples=40)
    def test_unordered_claims_bind_both_orders(self, claim, a, b):
        if not claim.ordered:
            slack = 1e-3 * (abs(a) + abs(b))  # curves are tables
            assert claim.support(a, b) == pytest.approx(claim.support(-b, -a), abs=slack)

    @given(epsilon=st.floats(0, 20))
    @settings(max_examples=40)
    def test_the_profile_is_the_support(self, claim, epsilon):
        delta = claim.delta(epsilon)
        assert 0 <= delta <= 1
        assert delta == pytest.approx(max(0.0, claim.support(1, math.exp(epsilon))), abs=1e-12)

    @given(delta=st.floats(1e-9, 1))
    @settings(max_examples=40)
    def test_epsilon_inverts_delta(self, claim, delta):
        epsilon = claim.epsilon(delta)
        assert epsilon >= 0
        if math.isfinite(epsilon):
            assert claim.delta(epsilon) <= delta
        if 1e-6 < epsilon < math.inf:
            assert claim.delta(epsilon - 1e-6) > delta - 1e-15

    def test_promises_are_implied_by_the_claim(self, claim):
        assert claim.promises()
        for promise in claim.promises():
            assert promise.delta >= claim.delta(promise.epsilon) - 1e-15
            assert promise.delta <= claim.delta(promise.epsilon) + 1e-9
            assert (promise.order == 1) if claim.ordered else (promise.order in (-1, 0, 1))
        orders = {promise.order for promise in claim.promises()}
        assert claim.ordered or orders in ({0}, {1, -1}, {0, 1, -1})

    def test_it_says_what_it_is(self, claim):
        assert claim.words().strip() == claim.words()
        assert len(claim.words()) > 20
        assert str(claim).endswith(", ordered") == claim.ordered
        assert str(claim) in repr(claim) or len(repr(claim)) > 10

    @pytest.mark.parametrize("a, b", [(math.inf, 1), (1, math.nan), (-math.inf, 0)])
    def test_directions_must_be_finite(self, claim, a, b):
        with pytest.raises(ClaimError, match="not finite"):
            claim.support(a, b)


@given(EPSILONS, DELTAS)
def test_known_values(epsilon, delta):
    e = math.exp(epsilon)
    claim = tollens.approx(epsilon, delta)
    assert claim.support(1, e) == pytest.approx(delta, abs=1e-12)
    assert claim.support(1, 1) == pytest.approx((e - 1 + 2 * delta) / (e + 1), abs=1e-12)
    assert claim.leak_delta == delta
    assert tollens.pure(epsilon).support(1, e) == pytest.approx(0, abs=1e-12)
    assert tollens.pure(epsilon).leak_delta == 0


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 1.0, 3.0, 10.0])
def test_gaussian_profile_against_scipy(mu, epsilon):
    expected = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(
        -mu / 2 - epsilon / mu
    )
    assert tollens.gaussian(mu).delta(epsilon) == pytest.approx(max(expected, 0), abs=1e-14)


def test_perfect_privacy():
    for claim in (tollens.pure(0), tollens.gaussian(0), tollens.approx(0, 0)):
        assert claim.support(1, 1) == pytest.approx(0, abs=1e-15)
        assert claim.epsilon(0) == 0
    for claim in (tollens.zcdp(0), tollens.renyi(2, 0)):
        assert 0 <= claim.support(1, 1) <= 1e-7


@given(law_pairs(), st.floats(1.01, 50), DIRECTIONS, DIRECTIONS)
@settings(max_examples=200)
def test_renyi_allows_every_law_in_its_sublevel_set(laws, order, a, b):
    p, q = laws
    logs = np.log(np.sum(p**order * q ** (1 - order))), np.log(np.sum(q**order * p ** (1 - order)))
    first, second = (max(0.0, float(total)) / (order - 1) for total in logs)
    assume(max(first, second) < 600)
    unordered = tollens.renyi(order, max(first, second) * (1 + 1e-12) + 1e-13)
    ordered = tollens.renyi(order, first * (1 + 1e-12) + 1e-13, ordered=True)
    assert value(a, b, p, q) <= unordered.support(a, b) + 1e-9
    assert value(a, b, p, q) <= ordered.support(a, b) + 1e-9


@given(law_pairs(), DIRECTIONS, DIRECTIONS)
@settings(max_examples=60)
def test_zcdp_allows_every_law_in_its_sublevel_set(laws, a, b):
    p, q = laws
    orders = 1 + np.geomspace(1e-6, 1e5, 2000)
    logs = np.log(p)[:, None], np.log(q)[:, None]
    rho = 0.0
    for lp, lq in (logs, logs[::-1]):
        terms = orders * lp + (1 - orders) * lq
        top = terms.max(axis=0)
        divergence = (top + np.log(np.exp(terms - top).sum(axis=0))) / (orders - 1)
        rho = max(rho, float(np.max(divergence / orders)))
    rho = max(rho, float(np.sum(p * np.log(p / q))), float(np.sum(q * np.log(q / p))))
    assert value(a, b, p, q) <= tollens.zcdp(rho * (1 + 1e-9)).support(a, b) + 1e-9


@given(law_pairs(), DIRECTIONS, DIRECTIONS)
def test_pure_and_approx_allow_every_law_that_keeps_them(laws, a, b):
    p, q = laws
    epsilon = float(np.max(np.abs(np.log(p / q))))
    assert value(a, b, p, q) <= tollens.pure(epsilon).support(a, b) + 1e-9
    half = math.exp(epsilon / 2)
    delta = max(value(1, half, p, q), value(1, half, q, p))
    assert value(a, b, p, q) <= tollens.approx(epsilon / 2, delta).support(a, b) + 1e-9


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("bound", [0.01, 0.3, 2.0])
def test_renyi_boundary_is_exact_for_two_valued_tests(order, bound):
    claim = tollens.renyi(order, bound, ordered=True)
    for q in (0.001, 0.05, 0.3, 0.5, 0.8):
        p = brentq(
            lambda p, q=q: bernoulli_renyi(p, q, order) - bound, q, 1 - 1e-13, xtol=1e-14
        ) if bernoulli_renyi(1 - 1e-13, q, order) > bound else 1.0  # fmt: skip
        height = claim._boundary.height(q)
        assert p - 1e-12 <= height <= p + 2e-3 * min(1, p)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("bound", [0.01, 0.3, 2.0])
def test_renyi_profile_is_no_looser_than_the_usual_conversions(order, bound):
    claim = tollens.renyi(order, bound)
    for epsilon in np.linspace(bound + 1e-3, bound + 6, 25):
        mironov = math.exp((order - 1) * (bound - epsilon))
        canonne = mironov / order * (1 - 1 / order) ** (order - 1)
        assert claim.delta(epsilon) <= min(1.0, mironov) * (1 + 1e-6) + 1e-9
        assert claim.delta(epsilon) <= min(1.0, canonne) * (1 + 2e-2) + 1e-9


@pytest.mark.parametrize("rho", [0.005, 0.1, 0.5, 2.0])
def test_zcdp_lies_between_the_gaussian_and_the_usual_conversion(rho):
    claim, gauss = tollens.zcdp(rho), tollens.gaussian(math.sqrt(2 * rho))
    for epsilon in np.linspace(0, rho + 6 * math.sqrt(rho), 25):
        assert claim.delta(epsilon) >= gauss.delta(epsilon) - 1e-9
        if epsilon >= rho:
            bun_steinke = math.exp(-((epsilon - rho) ** 2) / (4 * rho))
            assert claim.delta(epsilon) <= bun_steinke * (1 + 1e-2) + 1e-9


@given(st.floats(0.1, 3), st.floats(0, 0.2), DIRECTIONS, DIRECTIONS, st.booleans())
@settings(max_examples=40)
def test_a_tradeoff_table_is_on_the_safe_side(epsilon, delta, a, b, ordered):
    def f(alpha):
        e = math.exp(epsilon)
        return max(0.0, 1 - delta - e * alpha, (1 - delta - alpha) / e)

    claim = tollens.tradeoff(f, ordered=ordered)
    exact = tollens.approx(epsilon, delta).support(a, b)
    assert claim.support(a, b) >= exact - 1e-6 * (abs(a) + abs(b))
    assert claim.support(a, b) <= exact + 0.02 * (abs(a) + abs(b)) + 1e-9


def test_a_tradeoff_table_is_on_the_safe_side_of_a_kink():
    claim = tollens.tradeoff(lambda a: max(0.0, 1 - math.e * a, (1 - a) / math.e))
    assert claim.support(1, 1) >= tollens.pure(1).support(1, 1) - 1e-12


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("a, b", [(1, 1), (1, 3), (3, 1), (-1, -2), (-2, -1), (2, -1), (-1, 1)])
def test_an_asymmetric_tradeoff_curve(a, b, ordered):
    claim = tollens.tradeoff(lambda alpha: (1 - alpha) ** 3, ordered=ordered)

    def upper(q):
        return 1 - (1 - q) ** 3

    expected = curve_support(a, b, upper if ordered else both_orders(upper))
    assert expected - 1e-9 <= claim.support(a, b) <= expected + 2e-3 * (abs(a) + abs(b))


@given(st.floats(0.3, 3), DIRECTIONS, DIRECTIONS)
@settings(max_examples=30)
def test_a_profile_table_is_on_the_safe_side(mu, a, b):
    gauss = tollens.gaussian(mu)
    claim = tollens.profile(gauss.delta)
    assert claim.support(a, b) >= gauss.support(a, b) - 1e-12
    assert claim.support(a, b) <= gauss.support(a, b) + 5e-3 * (abs(a) + abs(b))


@given(st.floats(0.3, 3), st.floats(0, 9.9))
@settings(max_examples=30)
def test_an_ordered_profile_keeps_its_profile(mu, epsilon):
    gauss = tollens.gaussian(mu)
    claim = tollens.profile(gauss.delta, ordered=True)
    assert gauss.delta(epsilon) - 1e-12 <= claim.delta(epsilon) <= gauss.delta(epsilon) + 2e-3


@pytest.mark.parametrize(
    "f, problem",
    [
        (lambda a: 1.0, "0 <= f"),
        (lambda a: -0.1, "0 <= f"),
        (lambda a: math.nan, "not finite"),
        (lambda a: min(a, 1 - a), "nonincreasing"),
        (lambda a: 1 - a if a < 0.5 else 0.0, "convex"),
    ],
)
def test_impossible_tradeoff_functions(f, problem):
    with pytest.raises(ClaimError, match=problem):
        tollens.tradeoff(f)


@pytest.mark.parametrize(
    "delta, problem",
    [
        (lambda e: 1.5, r"in \[0, 1\]"),
        (lambda e: math.nan, r"in \[0, 1\]"),
        (lambda e: min(1.0, e), "not increase"),
    ],
)
def test_impossible_profiles(delta, problem):
    with pytest.raises(ClaimError, match=problem):
        tollens.profile(delta)


@pytest.mark.parametrize("epsilon", [20.0, 400.0])
def test_large_epsilon_is_inverted_too(epsilon):
    assert tollens.pure(epsilon).epsilon(1e-12) == pytest.approx(epsilon, rel=1e-6)


def test_the_largest_epsilon_is_inverted_too():
    assert tollens.pure(600).epsilon(1e-12) == pytest.approx(600, rel=1e-6)


def test_support_of_a_steep_direction():
    assert tollens.pure(1).support(1e-300, 1e10) == pytest.approx(0, abs=1e-12)


class Pld:
    """Looks like a privacy loss distribution."""

    def get_delta_for_epsilon(self, epsilon):
        return tollens.gaussian(1).delta(epsilon)


def test_accountant_of_anything_with_a_profile():
    claim = tollens.accountant(Pld())
    assert claim.kind == "profile"
    assert str(claim).startswith("accountant: epsilon=4.")
    assert claim.delta(1) == pytest.approx(tollens.gaussian(1).delta(1), abs=1e-3)


@pytest.mark.parametrize("thing", ["text", 3, None, object()])
def test_accountant_of_anything_else(thing):
    with pytest.raises(ClaimError, match="accountant"):
        tollens.accountant(thing)


class TestDpAccounting:
    @pytest.fixture
    def dp_accounting(self):
        return pytest.importorskip("dp_accounting")

    def test_an_event(self, dp_accounting):
        claim = tollens.accountant(dp_accounting.GaussianDpEvent(1.0))
        for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
            exact = tollens.gaussian(1).delta(epsilon)
            assert exact - 1e-9 <= claim.delta(epsilon) <= exact + 2e-3

    def test_a_composition(self, dp_accounting):
        event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(4.0), 16)
        claim = tollens.accountant(event)
        assert claim.delta(1) == pytest.approx(tollens.gaussian(1).delta(1), abs=2e-3)

    def test_a_loss_distribution(self, dp_accounting):
        from dp_accounting.pld import privacy_loss_distribution as pld

        claim = tollens.accountant(pld.from_laplace_mechanism(1.0))
        exact = 1 - math.exp(-0.5)  # the total variation of Laplace noise, sensitivity 1, scale 1
        assert claim.support(1, 1) == pytest.approx(exact, abs=1e-3)
        assert claim.delta(1.0) == pytest.approx(0, abs=1e-3)

    def test_a_zcdp_event_the_accountant_cannot_compose(self, dp_accounting):
        with pytest.raises(ClaimError, match="cannot compose"):
            tollens.accountant(dp_accounting.ZCDpEvent(0.5))


def test_claims_are_values():
    assert tollens.pure(1) == tollens.pure(1)
    assert hash(tollens.approx("ln 3", 0.1)) == hash(tollens.approx("ln 3", 0.1))
    assert tollens.pure(1) != tollens.pure(1, ordered=True)
    with pytest.raises(AttributeError):
        tollens.pure(1).ordered = True
