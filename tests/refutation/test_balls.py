"""Balls hold the exact values where there are any, and meet the enclosures of the checker."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from tollens.checker import balls as checked
from tollens.checker.concave import Integral
from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.refutation.balls import Hard, enclosure, probability
from tollens.refutation.exact import Exact
from tollens.refutation.forest import NotAForest

F = Fraction


def draw(kind, *parameters):
    return Draw(kind, tuple(map(F, parameters)))


def form(constant, **terms):
    """`form(1, s0=2)` is 1 + 2 s0."""
    return Form(F(constant), tuple(sorted((int(name[1:]), F(c)) for name, c in terms.items())))


scales = st.sampled_from([F(1), F(2), F(1, 2), F(7, 3)])
shifts = st.sampled_from([F(n, d) for n in range(-5, 6) for d in (1, 2, 3)])
plain = st.one_of(
    st.builds(lambda s: Draw("laplace", (s,)), scales),
    st.builds(lambda s: Draw("exponential", (s,)), scales),
    st.builds(lambda a, w: Draw("uniform", (a, a + w)), shifts, scales),
)
mixed = st.one_of(st.builds(lambda s: Draw("gauss", (s,)), scales), plain)


@st.composite
def stars(draw, kinds, size):
    """A root, leaves tied to it once or twice, and limits on single draws."""
    n = draw(st.integers(1, size))
    draws = [draw(kinds) for _ in range(n)]
    constraints = []
    for i in range(1, n):
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            sign = draw(st.sampled_from([F(1), F(-1)]))
            slope = draw(st.sampled_from([F(1), F(-1), F(2)]))
            constraints.append(Form(draw(shifts), ((0, sign * slope), (i, sign))))
    for i in range(n):
        if draw(st.booleans()):
            constraints.append(Form(draw(shifts), ((i, draw(st.sampled_from([F(1), F(-2)]))),)))
    return draws, constraints


def meets(bounds, others):
    return bounds[0] <= others[1] and others[0] <= bounds[1]


@given(stars(plain, 4))
@settings(max_examples=60)
def test_balls_hold_the_exact_value(case):
    exact = Exact().probability(*case).enclosure(200)
    low, high = enclosure(*case)
    assert meets((low, high), exact)
    assert high - low <= F(1, 2**24) * high + F(1, 2**80)


@given(stars(mixed, 4))
@settings(max_examples=60)
def test_balls_meet_the_enclosures_of_the_checker(case):
    draws, constraints = case
    assume(any(one.kind == "gauss" for one in draws))
    assert meets(
        enclosure(draws, constraints), checked.probability(draws, constraints, Integral(100))
    )


def test_closed_forms():
    one = draw("gauss", 2)
    for at in (-3, 0, 1, 9, 20):
        low, high = enclosure([one], [form(-at, s0=1)])
        assert float(low) == pytest.approx(stats.norm.sf(at / 2), rel=1e-12)
        assert high - low <= low / 2**40
    low, high = enclosure([one, one], [form(0, s0=1, s1=-1)])
    assert low <= F(1, 2) <= high < low + F(1, 10**8)
    low, high = enclosure([one] * 4, [form(0, s0=1, **{f"s{i}": -1}) for i in (1, 2, 3)])
    assert low <= F(1, 4) <= high < low + F(1, 10**8)
    # two normal draws beyond a place, as one of deviation sqrt(5): far out in the tail
    low, high = enclosure([draw("gauss", 1), one], [form(-30, s0=1, s1=1)])
    assert float(low) == pytest.approx(stats.norm.sf(30 / math.sqrt(5)), rel=1e-10)
    assert 0 < low < high < low * F(1001, 1000)


def test_degenerate_constraints():
    one = [draw("gauss", 1)] * 2
    assert enclosure(one, []) == (1, 1)
    assert enclosure(one, [form(-1)]) == (0, 0)
    assert enclosure(one, [form(-1, s0=1), form(0, s0=-1)]) == (0, 0)
    assert enclosure(one, [form(-1, s0=1, s1=-1), form(0, s0=-1, s1=1)]) == (0, 0)
    low, high = enclosure([one[0], draw("uniform", 0, 1)], [form(-2, s1=1), form(0, s0=1, s1=1)])
    assert low == 0 and high < F(1, 2**90)


def test_a_sparse_vector_of_eight_queries_is_fast():
    draws = [draw("gauss", 2)] + [draw("gauss", 4)] * 8
    constraints = [form(0, **{"s0": 1, f"s{i}": -1}) for i in range(1, 5)]
    constraints += [form(-1, **{"s0": -1, f"s{i}": 1}) for i in range(5, 9)]
    started = time.process_time()
    low, high = enclosure(draws, constraints)
    assert time.process_time() - started < 10  # about 5 ms
    assert high - low < low / 10**8
    assert meets((low, high), checked.probability(draws, constraints))


def test_deeper_trees_take_the_enclosure_of_the_checker():
    draws = [draw("gauss", 1)] * 5
    chain = [form(0, **{f"s{i}": 1, f"s{i + 1}": -1}) for i in range(4)]
    with pytest.raises(Hard):
        probability(draws, chain, nested=1)
    assert enclosure(draws, chain) == checked.probability(draws, chain)


def test_partial_sums_are_nested_integrals():
    """What the checker cannot redo: P(S_1 > 0, S_2 > 0, S_3 > 0) = 5/16 for symmetric steps."""
    draws = [draw("gauss", 1)] * 3
    sums = [form(0, s0=1), form(0, s0=1, s1=1), form(0, s0=1, s1=1, s2=1)]
    with pytest.raises(CertificateError):
        checked.probability(draws, sums)
    low, high = enclosure(draws, sums)
    assert low <= F(5, 16) <= high < low + F(1, 10**8)
    with pytest.raises(Hard, match="inside one another"):
        enclosure(draws, sums, nested=1)


def test_cycles_are_no_forests():
    with pytest.raises(NotAForest):
        enclosure(
            [draw("gauss", 1)] * 3,
            [form(0, s0=1, s1=-1), form(0, s1=1, s2=-1), form(1, s2=1, s0=-1)],
        )
