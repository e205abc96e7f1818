"""The floats of the search are near to the enclosures, and much faster."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from tollens.checker import balls
from tollens.checker.concave import Integral
from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.refutation.exact import Exact
from tollens.refutation.quadrature import estimate

F = Fraction


def draw(kind, *parameters):
    return Draw(kind, tuple(map(F, parameters)))


def form(constant, **terms):
    """`form(1, s0=2)` is 1 + 2 s0."""
    return Form(F(constant), tuple(sorted((int(name[1:]), F(c)) for name, c in terms.items())))


scales = st.sampled_from([F(1), F(2), F(1, 2), F(7, 3)])
shifts = st.sampled_from([F(n, d) for n in range(-5, 6) for d in (1, 2, 3)])
draws_of = st.one_of(
    st.builds(lambda s: Draw("gauss", (s,)), scales),
    st.builds(lambda s: Draw("laplace", (s,)), scales),
    st.builds(lambda s: Draw("exponential", (s,)), scales),
    st.builds(lambda a, w: Draw("uniform", (a, a + w)), shifts, scales),
)


@st.composite
def trees(draw):
    n = draw(st.integers(1, 5))
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
@settings(max_examples=60)
def test_near_to_the_enclosure(case):
    low, high = map(float, balls.probability(*case, Integral(256)))
    assert low * 0.998 - 1e-12 <= estimate(*case, Exact()) <= high * 1.002 + 1e-12


@given(trees())
@settings(max_examples=30)
def test_at_most_one(case):
    assume(case[1])
    assert 0 <= estimate(*case, Exact()) <= 1 + 1e-9


def test_known_values_far_and_near():
    normal = draw("gauss", 1)
    for at in (-2, 0, 3, 20):
        assert estimate([normal], [form(-at, s0=1)], Exact()) == pytest.approx(stats.norm.sf(at))
    draws = [normal] * 4
    chain = [form(0, **{f"s{i}": 1, f"s{i + 1}": -1}) for i in range(3)]
    assert estimate(draws, chain, Exact()) == pytest.approx(1 / math.factorial(4), rel=1e-3)
    pair = [normal, draw("laplace", 1)]
    low, high = map(float, balls.probability(pair, [form(-30, s0=1, s1=1)]))
    assert low <= estimate(pair, [form(-30, s0=1, s1=1)], Exact()) <= high
    # a part without normal draws
    both = [*pair, draw("laplace", 1)]
    assert estimate(both, [form(0, s0=1), form(0, s1=1, s2=-1)], Exact()) == pytest.approx(1 / 4)


def test_degenerate_constraints():
    one = [draw("gauss", 1)] * 2
    assert estimate(one, [], Exact()) == 1
    assert estimate(one, [form(-1)], Exact()) == 0
    assert estimate(one, [form(-1, s0=1), form(0, s0=-1)], Exact()) == 0
    with pytest.raises(CertificateError):
        estimate(one * 2, [form(0, s0=1, s1=1), form(0, s1=1, s2=1), form(0, s2=1, s0=-1)], Exact())


def test_fast():
    draws = [draw("gauss", 2)] + [draw("gauss", 4)] * 8
    constraints = [form(-F(i, 7), **{"s0": -1, f"s{i}": 1}) for i in range(1, 9)]
    started = time.process_time()
    for _ in range(20):
        estimate(draws, constraints, Exact())
    assert time.process_time() - started < 10  # about 1 ms each
