"""Enclosed probabilities against quadrature, simulation and closed forms."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from tollens.checker.balls import probability
from tollens.checker.clock import within
from tollens.checker.concave import Branch, Integral
from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.laws import Law, law_of

F = Fraction


def draw(kind, *parameters):
    return Draw(kind, tuple(map(F, parameters)))


def form(constant, **terms):
    """`form(1, s0=2)` is 1 + 2 s0."""
    return Form(F(constant), tuple(sorted((int(name[1:]), F(c)) for name, c in terms.items())))


def frozen(one):
    p = [float(x) for x in one.parameters]
    return {
        "gauss": lambda: stats.norm(scale=p[0]),
        "laplace": lambda: stats.laplace(scale=p[0]),
        "exponential": lambda: stats.expon(scale=p[0]),
        "uniform": lambda: stats.uniform(p[0], p[-1] - p[0]),
    }[one.kind]()


def simulated(draws, constraints, n=400_000, seed=3):
    rng = np.random.default_rng(seed)
    columns = [frozen(one).rvs(n, random_state=rng) for one in draws]
    holds = np.ones(n, dtype=bool)
    for c in constraints:
        holds &= float(c.constant) + sum(float(a) * columns[i] for i, a in c.terms) >= 0
    return holds.mean()


def star(draws, sides):
    """P(draw i is above (or below) draw 0 + shift for all i), by quadrature."""
    root, leaves = frozen(draws[0]), [frozen(one) for one in draws[1:]]

    def integrand(x):
        value = root.pdf(x)
        for leaf, (above, shift) in zip(leaves, sides, strict=True):
            value *= leaf.sf(x + shift) if above else leaf.cdf(x + shift)
        return value

    # the places where a law has a kink, seen from the root
    ends = {float(p) for p in draws[0].parameters} if draws[0].kind == "uniform" else set()
    for leaf, (_, shift) in zip(draws[1:], sides, strict=True):
        kinks = leaf.parameters if leaf.kind == "uniform" else (0,)
        ends |= {float(kink) - shift for kink in kinks}
    marks = sorted({-60.0, 0.0, 60.0, *ends, *range(-12, 13, 3)})
    return sum(integrate.quad(integrand, a, b, epsabs=1e-13)[0] for a, b in pairwise(marks))


scales = st.sampled_from([F(1), F(2), F(1, 2), F(7, 3)])
shifts = st.sampled_from([F(n, d) for n in range(-5, 6) for d in (1, 2, 3)])
draws_of = st.one_of(
    st.builds(lambda s: Draw("gauss", (s,)), scales),
    st.builds(lambda s: Draw("gauss", (s,)), scales),
    st.builds(lambda s: Draw("laplace", (s,)), scales),
    st.builds(lambda s: Draw("exponential", (s,)), scales),
    st.builds(lambda a, w: Draw("uniform", (a, a + w)), shifts, scales),
)


@given(st.lists(draws_of, min_size=2, max_size=5), st.data())
@settings(max_examples=60)
def test_stars_hold_the_value_of_quadrature(draws, data):
    sides = [(data.draw(st.booleans()), data.draw(shifts)) for _ in draws[1:]]
    constraints = []
    for i, (above, shift) in enumerate(sides, 1):
        sign = 1 if above else -1
        constraints.append(form(-sign * shift, **{"s0": -sign, f"s{i}": sign}))
    low, high = probability(draws, constraints)
    true = star(draws, [(above, float(shift)) for above, shift in sides])
    assert float(low) <= true * (1 + 1e-7) + 1e-11
    assert float(high) >= true * (1 - 1e-7) - 1e-11
    assert high - low <= F(4, 1000) * high + F(1, 10**12)


@st.composite
def trees(draw):
    """Draws below one another, one-sided: those have a root wherever it is."""
    n = draw(st.integers(2, 5))
    draws = [Draw("gauss", (draw(scales),)), *(draw(draws_of) for _ in range(n - 1))]
    constraints = []
    for i in range(1, n):
        j, sign = draw(st.integers(0, i - 1)), draw(st.sampled_from([F(1), F(-1)]))
        slope = draw(st.sampled_from([F(1), F(-1), F(2)]))
        constraints.append(Form(draw(shifts), ((j, sign * slope), (i, sign))))
    for i in range(n):
        if draw(st.integers(0, 2)) == 0:
            constraints.append(Form(draw(shifts), ((i, draw(st.sampled_from([F(1), F(-2)]))),)))
    return draws, constraints


@given(trees())
@settings(max_examples=30)
def test_trees_agree_with_simulation(case):
    draws, constraints = case
    low, high = probability(draws, constraints, Integral(256))
    assert 0 <= low <= high <= 1
    seen = simulated(draws, constraints)
    error = 5 * math.sqrt(float(high) / 400_000) + 1e-5
    assert float(low) - error <= seen <= float(high) + error
    assert high - low <= F(3, 100) * high + F(1, 10**6)


@given(trees(), st.sampled_from([16, 64, 200]))
@settings(max_examples=25)
def test_coarse_bounds_enclose_fine_ones(case, cells):
    draws, constraints = case
    low, high = probability(draws, constraints, Integral(cells))
    inner_low, inner_high = probability(draws, constraints, Integral(500))
    assert low <= inner_high and inner_low <= high


def test_one_normal_draw_is_nearly_exact():
    for sigma, at in ((1, 2), (3, F(1, 7)), (F(1, 2), 4), (1, -5), (2, 30)):
        low, high = probability([draw("gauss", sigma)], [form(-F(at), s0=1)])
        true = stats.norm.sf(float(F(at) / F(sigma)))
        assert float(low) <= true * (1 + 1e-12) and float(high) >= true * (1 - 1e-12)
        assert high - low < low / 10**15
    low, high = probability([draw("gauss", 1)], [form(0, s0=1), form(F(1, 10**6), s0=-1)])
    assert float(low) == pytest.approx(1e-6 / math.sqrt(2 * math.pi), rel=1e-9)
    assert high - low < low / 10**9


def test_sums_of_normal_draws_count_as_one():
    draws = [draw("gauss", 1), draw("gauss", 2), draw("gauss", 3)]
    low, high = probability(draws, [form(-3, s0=1, s1=-1, s2=2)])
    assert float(low) == pytest.approx(stats.norm.sf(3 / math.sqrt(1 + 4 + 36)), rel=1e-12)
    assert high - low < low / 10**12
    # (s0 + s1) against s2, twice
    low, high = probability(draws, [form(0, s0=1, s1=1, s2=-1), form(1, s0=-1, s1=-1, s2=3)])
    assert float(low) == pytest.approx(
        simulated(draws, [form(0, s0=1, s1=1, s2=-1), form(1, s0=-1, s1=-1, s2=3)]), abs=4e-3
    )


@pytest.mark.parametrize("n", [2, 3, 5])
def test_orders_of_equal_draws(n):
    draws = [draw("gauss", 2)] * n
    chain = [form(0, **{f"s{i}": 1, f"s{i + 1}": -1}) for i in range(n - 1)]
    low, high = probability(draws, chain)
    assert low <= F(1, math.factorial(n)) <= high < low * F(1003, 1000)
    top = [form(0, s0=1, **{f"s{i}": -1}) for i in range(1, n)]
    low, high = probability(draws, top)
    assert low <= F(1, n) <= high < low * F(1001, 1000)


def test_a_sparse_vector_of_eight_queries_is_fast():
    draws = [draw("gauss", 2)] + [draw("gauss", 4)] * 8
    constraints = [form(0, **{"s0": 1, f"s{i}": -1}) for i in range(1, 5)]
    constraints += [form(-1, **{"s0": -1, f"s{i}": 1}) for i in range(5, 9)]
    started = time.process_time()
    low, high = probability(draws, constraints)
    assert time.process_time() - started < 10
    true = star(draws, [(False, 0.0)] * 4 + [(True, 1.0)] * 4)
    assert float(low) < true < float(high) and high < low * F(1001, 1000)


def test_small_probabilities_keep_their_digits():
    draws = [draw("gauss", 1), draw("laplace", 1)]
    low, high = probability(draws, [form(-40, s0=1, s1=1)])
    assert float(low) < math.exp(-40 + 0.5) / 2 < float(high)
    assert high < low * F(1001, 1000)


def test_independent_parts_multiply_and_parts_without_normal_draws_are_exact():
    draws = [draw("gauss", 1), draw("laplace", 1), draw("laplace", 1), draw("uniform", 0, 1)]
    low, high = probability(draws, [form(0, s0=1), form(0, s1=1, s2=-1), form(F(-1, 4), s3=1)])
    assert low <= F(3, 16) <= high and high - low < F(1, 10**15)


def test_degenerate_constraints():
    one = [draw("gauss", 1), draw("gauss", 1)]
    half = (F(1, 2), F(1, 2))
    assert probability(one, []) == (1, 1)
    assert probability(one, [form(1), form(0)]) == (1, 1)
    assert probability(one, [form(-1), form(0, s0=1)]) == (0, 0)
    assert probability(one, [Form(F(0), ((0, F(1)), (1, F(0))))]) == half
    assert probability(one, [form(0, s0=1), form(0, s0=5), form(1, s0=1)]) == half
    assert probability(one, [form(-1, s0=1), form(0, s0=-1)]) == (0, 0)
    assert probability(one, [form(-1, s0=1), form(1, s0=-1)]) == (0, 0)
    touching = [form(0, s0=1, s1=-1), form(0, s0=-1, s1=1)]
    assert probability(one, touching)[0] == 0
    assert probability(one, [form(-1, s0=1, s1=-1), form(0, s0=-1, s1=1)])[0] == 0


def test_supports_narrow_what_hangs_together():
    draws = [draw("gauss", 1), draw("exponential", 1), draw("uniform", 2, 3)]
    low, high = probability(draws, [form(0, s0=1, s1=-1), form(0, s0=-1, s2=1)])
    assert low <= simulated(draws, [form(0, s0=1, s1=-1), form(0, s0=-1, s2=1)]) + 2e-3
    assert high < low * F(1002, 1000)
    assert probability(draws, [form(0, s0=1, s2=-1), form(1, s0=-1)]) == (0, 0)


def test_what_cannot_be_redone():
    normal = [draw("gauss", 1)] * 3
    with pytest.raises(CertificateError, match="three draws"):
        probability(normal, [form(0, s0=1), form(0, s0=1, s1=1), form(0, s0=1, s1=1, s2=1)])
    with pytest.raises(CertificateError, match="no trees"):
        probability(normal, [form(0, s0=1, s1=-1), form(0, s1=1, s2=-1), form(1, s2=1, s0=-1)])
    between = []  # each of two inner draws between two places of the other
    for i, j in ((0, 1), (2, 3), (4, 1)):
        between += [form(1, **{f"s{i}": 1, f"s{j}": -1}), form(1, **{f"s{i}": -1, f"s{j}": 1})]
    path = [form(1, s0=1, s2=-1), form(1, s0=-1, s2=1), form(2, s4=1, s5=-1), form(2, s4=-1, s5=1)]
    with pytest.raises(CertificateError, match="inner draw"):
        probability([draw("gauss", 1)] * 6, [*between, *path])
    with pytest.raises(CertificateError, match="cells"):
        probability(normal, [form(0, s0=1, s1=-1)], Integral(10**6))


def test_hostile_cases_end_soon():
    n = 60
    draws = [draw("gauss", 1)] * n
    chain = [form(0, **{f"s{i}": 1, f"s{i + 1}": -1}) for i in range(n - 1)]
    started = time.process_time()
    with pytest.raises(CertificateError, match="too long"):
        probability(draws, chain, Integral(8000))
    assert time.process_time() - started < 30
    tiny = [draw("gauss", F(1, 10**12)), draw("gauss", 10**12)]
    low, high = probability(tiny, [form(0, s0=1, s1=-1)])
    assert low <= F(1, 2) <= high


def test_one_integral_bounds_the_work_of_many_calls(monkeypatch):
    draws = [draw("gauss", 1)] * 3
    integral = Integral(100)
    top = [form(0, s0=1, s1=-1), form(0, s0=1, s2=-1)]
    once = probability(draws, top, integral)
    monkeypatch.setattr(integral, "_left_in_all", 500)
    assert probability(draws, top, integral) == once  # it is remembered
    for i in range(1, 9):
        try:
            probability(draws, [form(i, s0=1, s1=-1), top[1]], integral)
        except CertificateError as error:
            assert "too long" in str(error)
            break
    else:
        raise AssertionError("the work was not bounded")


def test_the_clock_of_a_check_is_heard():
    draws = [draw("gauss", 1)] * 3
    with within(-1), pytest.raises(CertificateError, match="too long"):
        probability(draws, [form(0, s0=1, s1=-1), form(0, s0=1, s2=-1)])


def test_laws_against_scipy():
    cases = [
        draw("gauss", 2),
        draw("laplace", F(3, 2)),
        draw("exponential", 2),
        draw("uniform", -1, 2),
    ]
    for one in cases:
        law, true = law_of(one, 60), frozen(one)
        for x in (F(-3), F(-1, 2), F(0), F(1, 3), F(5, 2)):
            low, high = law.density(x)
            assert float(low) == pytest.approx(true.pdf(float(x)), rel=1e-12)
            assert low <= high
            for y in (None, x + F(1, 10), x + 4):
                low, high = law.mass(x, y)
                wanted = true.sf(float(x)) - (0 if y is None else true.sf(float(y)))
                assert float(low) == pytest.approx(wanted, rel=1e-11, abs=1e-300)
                assert 0 <= low <= high <= 1
            assert float(law.mass(None, x)[1]) == pytest.approx(true.cdf(float(x)), rel=1e-12)
        assert law.mass(F(1), F(1)) == law.mass(F(2), F(1)) == (0, 0)
    assert law_of(draw("laplace", F(1, 10**6)), 40).mass(F(1), None)[0] == 0
    with pytest.raises(CertificateError, match="no law"):
        law_of(Draw("geometric", (F(1, 2),)), 40)


def test_irrational_deviations_are_enclosed():
    law = Law("normal", (F(2),), 60)
    low, high = law.mass(F(1), None)
    assert float(low) == pytest.approx(stats.norm.sf(1 / math.sqrt(2)), rel=1e-14) and low < high
    low, high = law.density(F(1))
    assert float(low) == pytest.approx(stats.norm.pdf(1, scale=math.sqrt(2)), rel=1e-14)


def test_branches_between_two_places():
    law = Law("normal", (F(1),), 40)
    leaf = Branch(law, lows=((F(0), F(1)), (F(0), F(-1))), highs=((F(3), F(0)),))
    low, high = Integral(200).total(Branch(law, branches=(leaf,)))
    draws = [draw("gauss", 1)] * 2
    seen = simulated(draws, [form(0, s1=1, s0=-1), form(0, s1=1, s0=1), form(3, s1=-1)])
    assert float(low) - 3e-3 < seen < float(high) + 3e-3 and high < low * F(1003, 1000)
