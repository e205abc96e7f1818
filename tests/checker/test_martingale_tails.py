"""Moments, tails and facts on exponentials against quadrature."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from scipy import integrate

from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.polynomials import Polynomial
from tollens.checker.tails import above, cases, exponent, exponential, facts, moment, support

LAPLACE = Draw("laplace", (Fraction(3, 2),))
EXPONENTIAL = Draw("exponential", (Fraction(2, 3),))
UNIFORM = Draw("uniform", (Fraction(-1, 2), Fraction(2)))
GAUSS = Draw("gauss", (Fraction(4, 3),))
GEOMETRIC = Draw("geometric", (Fraction(1, 3),))
X = Polynomial.variable("x")


def density(draw, z):
    first = float(draw.parameters[0])
    if draw.kind == "laplace":
        return math.exp(-abs(z) / first) / (2 * first)
    if draw.kind == "exponential":
        return math.exp(-z / first) / first if z >= 0 else 0.0
    if draw.kind == "gauss":
        return math.exp(-z * z / (2 * first**2)) / (first * math.sqrt(2 * math.pi))
    low, high = map(float, draw.parameters)
    return 1 / (high - low) if low <= z <= high else 0.0


def tail_by_quadrature(draw, k, c):
    points = sorted({c, 60.0, *(p for p in (0.0, -0.5, 2.0) if p > c)})
    return sum(
        integrate.quad(lambda z: z**k * density(draw, z), a, b)[0]
        for a, b in itertools.pairwise(points)
    )


@pytest.mark.parametrize("draw", [LAPLACE, EXPONENTIAL, UNIFORM, GAUSS], ids=lambda d: d.kind)
@pytest.mark.parametrize("k", range(7))
def test_moments(draw, k):
    assert float(moment(draw, k)) == pytest.approx(tail_by_quadrature(draw, k, -60.0), abs=1e-6)


@pytest.mark.parametrize("k", range(6))
def test_moments_of_geometric_draws(k):
    series = sum(n**k * (2 / 3) ** n / 3 for n in range(400))
    assert float(moment(GEOMETRIC, k)) == pytest.approx(series)


def evaluated(polynomial, x):
    """At a number: the symbols of exponentials get the values that they stand for."""
    values = {"x": float(x)}
    for name in polynomial.symbols - {"x"}:
        inner = name.removeprefix("exp(-(").removesuffix("))").replace("^", "**")
        values[name] = math.exp(-eval(inner, {"x": float(x)}))
    return sum(
        float(c) * math.prod(values[name] for name in m) for m, c in polynomial.terms.items()
    )


@pytest.mark.parametrize("draw", [LAPLACE, EXPONENTIAL, UNIFORM], ids=lambda d: d.kind)
@pytest.mark.parametrize("c", [-3, -0.5, -0.25, 0, 0.7, 2, 3.5])
def test_tails(draw, c):
    bound = X.scaled(Fraction(-2)) + Polynomial.constant(1)  # c = 1 - 2x
    x = (1 - Fraction(c)) / 2
    held = 0
    for guards, case in cases(draw, bound):
        if all(evaluated(g, x) > 0 or (evaluated(g, x) == 0 and not s) for g, s in guards):
            held += 1
            for k in range(6):
                found = evaluated(above(draw, k, bound, case), x)
                assert found == pytest.approx(tail_by_quadrature(draw, k, float(c)), abs=1e-6)
            u = exponent(draw, bound, case)
            assert u is None or evaluated(u, x) >= 0
    assert held == 1, "exactly one case holds"


@pytest.mark.parametrize("draw", [GAUSS, GEOMETRIC], ids=lambda d: d.kind)
def test_no_branches_on_other_draws(draw):
    with pytest.raises(CertificateError, match="a branch on a"):
        cases(draw, X)


def test_no_moments_of_unknown_draws():
    with pytest.raises(CertificateError, match="not known"):
        moment(Draw("cauchy", (Fraction(1),)), 1)


def test_supports():
    assert [str(p) for p in support(UNIFORM, X)] == ["1/2 + x", "2 - x"]
    assert [str(p) for p in support(EXPONENTIAL, X)] == ["x"]
    assert [str(p) for p in support(GEOMETRIC, X)] == ["x"]
    assert support(LAPLACE, X) == support(GAUSS, X) == []


@pytest.mark.parametrize("lower", [None, Fraction(1, 3), Fraction(5, 2)])
@pytest.mark.parametrize("upper", [None, Fraction(3), Fraction(9, 2)])
def test_facts_are_true_and_tight(lower, upper):
    u = X.scaled(Fraction(3, 2)) - Polynomial.constant(Fraction(1, 4))
    known = [X]
    if lower is not None:
        known.append((u - Polynomial.constant(lower)).scaled(Fraction(5)))
    if upper is not None:
        known.append((Polynomial.constant(upper) - u).scaled(Fraction(1, 7)))
    found = list(facts(u, known))
    random.seed(3)
    ends = float(lower or 0), float(upper or 8)
    points = [*ends, *(random.uniform(*ends) for _ in range(200))]
    for fact in found:
        assert all(evaluated(fact, (p + 0.25) / 1.5) >= -1e-12 for p in points), fact
    y = exponential(u)
    uppers = [f for f in found if f.terms.get((y,), 0) < 0]
    lowers = [f for f in found if f.terms.get((y,), 0) > 0 and f.degree > 0]
    assert uppers and lowers


def test_facts_on_a_number_enclose_it():
    u = Polynomial.constant(Fraction(7, 3))
    found = list(facts(u, []))
    y = (exponential(u),)
    upper = min(f.terms[()] / -f.terms[y] for f in found if f.terms.get(y, 0) < 0)
    lower = max(-f.terms.get((), Fraction(0)) / f.terms[y] for f in found if f.terms.get(y, 0) > 0)
    assert float(lower) <= math.exp(-7 / 3) <= float(upper)
    assert float(upper / lower) < 1 + 2**-14
