"""Polynomials: their arithmetic, and reading them from hostile JSON."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollens.checker.clock import within
from tollens.checker.errors import CertificateError
from tollens.checker.polynomials import Polynomial, read, total, written

NAMES = ("a", "b", "t")
monomials = st.lists(st.sampled_from(NAMES), max_size=4).map(lambda m: tuple(sorted(m)))
rationals = st.fractions(max_denominator=50).filter(lambda q: abs(q) < 1000)
polynomials = st.dictionaries(monomials, rationals, max_size=5).map(Polynomial)
points = st.fixed_dictionaries(dict.fromkeys(NAMES, rationals))


def value(polynomial, point):
    found = Fraction(0)
    for monomial, c in polynomial.terms.items():
        found += math.prod((point[name] for name in monomial), start=c)
    return found


@given(polynomials, polynomials, points)
def test_arithmetic(p, q, point):
    assert value(p + q, point) == value(p, point) + value(q, point)
    assert value(p - q, point) == value(p, point) - value(q, point)
    assert value(p * q, point) == value(p, point) * value(q, point)
    assert total([p, q, p]) == p + q + p


@given(polynomials, polynomials, points)
def test_substitution(p, q, point):
    there = {**point, "t": value(q, point)}
    assert value(p.at({"t": q}), point) == value(p, there)


@given(polynomials)
def test_json(p):
    assert read(written(p), NAMES) == p
    assert hash(read(written(p), NAMES)) == hash(p)
    assert all(p.terms.values())


@pytest.mark.parametrize(
    "data",
    [
        None, [], "x", 3, {"x": 1}, {"x": "1.5"}, {"x": "1/0"}, {"z": "1"}, {"x^0": "1"},
        {"x^": "1"}, {"x**2": "1"}, {"2*x": "1"}, {"": "1"}, {"x*1": "1"}, {"x^41": "1"},
        {"x^2": "1", "x*x": "1"}, {"x^999": "1"}, {"x y": "1"}, {"exp(-(x))": "1"}, {"#0": "1"},
        {"x": "9" * 5000}, {"x": True},
    ],
)  # fmt: skip
def test_refused(data):
    with pytest.raises(CertificateError):
        read(data, ["x", "y"])


def test_too_large():
    wide = Polynomial({("x",) * k + ("y",) * j: Fraction(1) for k in range(9) for j in range(9)})
    product = wide
    with pytest.raises(CertificateError, match=r"too many terms|too long"):
        for _ in range(10):
            product = product * product


def test_too_long():
    x = Polynomial.variable("x")
    with within(-1.0), pytest.raises(CertificateError, match="too long"):
        _ = x * x
    assert (x * x).degree == 2
    long = Polynomial.constant(Fraction(1 << 10**8))
    with pytest.raises(CertificateError, match="too long"):
        _ = long * long
