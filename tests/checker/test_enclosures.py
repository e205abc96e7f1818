"""Enclosures hold the value, are as narrow as they say, and hostile arguments cost little."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tollens.checker.enclosures import (
    MOST,
    MOST_BITS,
    density_bounds,
    dyadic,
    exp_bounds,
    fixed,
    ln_bounds,
    phi_bounds,
)
from tollens.checker.errors import CertificateError

mpmath = pytest.importorskip("mpmath")
F = Fraction
bits_of = st.sampled_from([1, 3, 20, 53, 64, 150])
numbers = st.builds(
    F, st.integers(-(10**12), 10**12), st.sampled_from([1, 7, 10**4, 2**20, 10**11, 3**30])
)


def real(q):
    return mpmath.mpf(q.numerator) / q.denominator


def holds(bounds, true, width):
    low, high = map(real, bounds)
    return low <= true <= high and high - low < width


@given(numbers, bits_of)
@example(F(0), 64)
@example(F(MOST), 200)
@example(F(-MOST), 200)
@example(F(1, 10**30), 20)
def test_exp(q, bits):
    if abs(q) > MOST:
        with pytest.raises(CertificateError, match="beyond 10000"):
            exp_bounds(q, bits)
        return
    with mpmath.workprec(bits + 200):
        true = mpmath.exp(real(q))
        assert holds(exp_bounds(q, bits), true, true / 2**bits)


@given(numbers.map(abs).filter(bool), bits_of)
@example(F(1), 64)
@example(F(10**400), 64)
@example(F(1, 10**400), 64)
@example(F(3, 2) + F(1, 10**40), 10)
def test_ln(q, bits):
    with mpmath.workprec(bits + 200):
        assert holds(ln_bounds(q, bits), mpmath.log(real(q)), mpmath.mpf(2) ** -bits)


@given(numbers, bits_of)
@example(F(0), 64)
@example(F(3), 64)
@example(F(-3), 200)
@example(F(-3) + F(1, 10**40), 64)
@example(F(-140), 100)
@example(F(-139), 300)
@example(F(9), 100)
def test_normal_distribution(x, bits):
    with mpmath.workprec(bits + 300):
        true, density = mpmath.ncdf(real(x)), mpmath.npdf(real(x))
        near = abs(x) <= 140
        assert holds(phi_bounds(x, bits), true, true / 2**bits if near or x > 0 else 1)
        assert holds(density_bounds(x, bits), density, density / 2**bits if near else 1)


def test_far_tails_are_enclosed_too():
    for bounds in (phi_bounds, density_bounds):
        low, high = bounds(F(-(10**9)), 20)
        assert low == 0 < high < F(1, 2**10000)
    assert 0 < 1 - phi_bounds(F(10**9), 20)[0] < F(1, 2**10000)


def test_the_highest_precision():
    with mpmath.workprec(3 * MOST_BITS):
        q = F(-31, 3)
        assert holds(exp_bounds(q, MOST_BITS), mpmath.exp(real(q)), mpmath.mpf(2) ** -MOST_BITS)
        assert holds(ln_bounds(-q, MOST_BITS), mpmath.log(-real(q)), mpmath.mpf(2) ** -MOST_BITS)
        for x in (F(-5, 2), q):
            true = mpmath.ncdf(real(x))
            assert holds(phi_bounds(x, MOST_BITS), true, true / 2**MOST_BITS)


def test_monotone_where_it_matters():
    """The ends of intervals are compared across arguments: they must not cross."""
    points = [F(i, 7) for i in range(-60, 61)]
    for bounds in (phi_bounds, exp_bounds):
        ends = [bounds(x, 40) for x in points]
        assert all(a[1] < b[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("bounds", [exp_bounds, phi_bounds, density_bounds, ln_bounds])
def test_ends_are_dyadic_and_small(bounds):
    for q in (F(10**300 + 1, 3 * 10**300), F(2**9000 + 1, 2**9001)):
        for end in bounds(q, 64):
            assert end.denominator & (end.denominator - 1) == 0
            assert end.denominator.bit_length() < 200


def test_what_is_refused():
    for q in (F(0), F(-1)):
        with pytest.raises(CertificateError, match="not positive"):
            ln_bounds(q, 10)
    for bits in (0, -3, MOST_BITS + 1, 10**9):
        for bounds in (exp_bounds, ln_bounds, phi_bounds, density_bounds):
            with pytest.raises(CertificateError, match="precision"):
                bounds(F(1, 2), bits)


def test_hostile_arguments_cost_little():
    huge = F(7**200_000, 3**100_000)
    started = time.process_time()
    with pytest.raises(CertificateError):
        exp_bounds(huge, 64)
    ln_bounds(huge, 64)
    phi_bounds(-huge, 64)
    density_bounds(huge, 64)
    exp_bounds(1 / huge, 64)
    phi_bounds(F(-140), 64)
    assert time.process_time() - started < 20


def test_fixed_point():
    assert fixed(F(-1, 3), 3) == (-3, -2)
    assert fixed(F(5), 2) == (20, 20)
    assert dyadic(3, 2) == 12 and dyadic(3, -2) == F(3, 4)
