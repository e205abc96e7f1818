"""Exact moments against quadrature, and the proofs by them: read, recomputed, refused."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from tollens.checker.compiling import compile_text
from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form
from tollens.checker.moments import MOST_DEGREE, bounds, mean_square, moments, read

F = Fraction
ONE = F(1)


def square(coefficients, weights=("1",)):
    return {"kind": "square", "weights": list(weights), "coefficients": list(coefficients)}


def compiled(body):
    text = "from tollens import noise\n\ndef program(data):\n" + body
    return compile_text(text, "program")


def check(body, x, x_prime, witness):
    return bounds(compiled(body), x, x_prime, witness, {"kind": "moments"}, 10.0)


LAWS = [
    (Draw("laplace", (F(3, 2),)), stats.laplace(scale=1.5)),
    (Draw("gauss", (F(2),)), stats.norm(scale=2)),
    (Draw("exponential", (F(1, 2),)), stats.expon(scale=0.5)),
    (Draw("uniform", (F(-1), F(2))), stats.uniform(-1, 3)),
]


@pytest.mark.parametrize(("draw", "law"), LAWS)
def test_moments_of_one_draw(draw, law):
    form = Form(F(1, 3), ((0, F(-2)),))
    low, high = law.ppf(0), law.ppf(1)
    for k, exact in enumerate(moments([(ONE, (draw,), form)], 6)):
        true = integrate.quad(lambda z, k=k: (1 / 3 - 2 * z) ** k * law.pdf(z), low, high)[0]
        assert float(exact) == pytest.approx(true, rel=1e-6, abs=1e-7)


def test_moments_of_sums_and_mixtures():
    draws = tuple(draw for draw, _ in LAWS)
    form = Form(F(1), tuple((i, F(i + 1)) for i in range(4)))
    known = moments([(ONE, draws, form)], 2)
    means = [float(law.mean()) for _, law in LAWS]
    variances = [float(law.var()) for _, law in LAWS]
    mean = 1 + sum((i + 1) * m for i, m in enumerate(means))
    variance = sum((i + 1) ** 2 * v for i, v in enumerate(variances))
    assert known[0] == 1
    assert float(known[1]) == pytest.approx(mean)
    assert float(known[2]) == pytest.approx(variance + mean**2)
    mixed = moments([(F(1, 4), (), F(2)), (F(3, 4), draws, form)], 2)
    assert mixed == [1, F(1, 2) + F(3, 4) * known[1], 1 + F(3, 4) * known[2]]


@given(
    st.lists(st.fractions(-3, 3, max_denominator=7), min_size=1, max_size=5),
    st.fractions(-2, 2, max_denominator=5),
)
def test_the_mean_square_expands(p, x):
    """E[p(x + z)^2] as the sum over all pairs of coefficients, and never below 0."""
    draw = Draw("gauss", (F(1),))
    law = [(ONE, (draw,), Form(x, ((0, ONE),)))]
    known = moments(law, 2 * len(p))
    expanded = sum(a * b * known[i + j] for i, a in enumerate(p) for j, b in enumerate(p))
    assert mean_square(law, p) == expanded >= 0


def test_bounds_of_programs():
    laplace = "    return data + noise.laplace(1)\n"
    assert check(laplace, F(1), F(0), square(["1", "1"])) == (F(6), F(3))
    # the numbers of an output are weighted
    pair = "    z = noise.gauss(1)\n    return [data + z, z]\n"
    assert check(pair, F(3), F(0), square(["0", "1"], ["1", "-1"])) == (F(9), F(0))
    # discrete draws are a mixture
    coin = "    if noise.flip(1/4):\n        return data\n    return noise.exponential(1)\n"
    assert check(coin, F(2), F(0), square(["0", "1"])) == (F(5, 2), F(3, 2))


def test_what_moments_do_not_prove():
    branch = "    z = noise.laplace(1)\n    if z > 0:\n        return data + z\n    return z\n"
    with pytest.raises(CertificateError, match="branches"):
        check(branch, F(1), F(0), square(["1"]))
    with pytest.raises(CertificateError, match="numbers"):
        check('    return "yes"\n', F(1), F(0), square(["1"]))
    with pytest.raises(CertificateError, match="weights"):
        check("    return [data, data]\n", F(1), F(0), square(["1"]))
    endless = "    while noise.flip(1/2):\n        data = data + 1\n    return data\n"
    with pytest.raises(CertificateError):
        check(endless, F(1), F(0), square(["0", "1"]))
    many = "    total = data\n    for _ in range(500):\n        total = total + noise.gauss(1)\n"
    with pytest.raises(CertificateError, match="too many draws"):
        check(many + "    return total\n", F(1), F(0), square(["1"] * (MOST_DEGREE + 1)))


@pytest.mark.parametrize(
    ("witness", "fault"),
    [
        ({"kind": "square"}, "no 'coefficients'"),
        ({**square(["1"]), "kind": "event"}, "no square"),
        (square([]), "1 to 41"),
        (square(["1"] * (MOST_DEGREE + 2)), "1 to 41"),
        (square(["1"], ["1"] * 201), "1 to 200"),
        ({**square([]), "coefficients": "1"}, "1 to 41"),
        (square([1]), "exact number"),
        (square(["1.5"]), "exact number"),
        (square(["1/0"]), "divides by 0"),
        ({**square(["1"]), "more": 1}, "without use"),
        (None, "no object"),
    ],
)
def test_witnesses_that_are_none(witness, fault):
    with pytest.raises(CertificateError, match=fault):
        read(witness)


def test_the_proof_says_its_kind():
    body = "    return data + noise.laplace(1)\n"
    for proof in ({"kind": "paths"}, {"kind": "moments", "rounds": 1}, None):
        with pytest.raises(CertificateError):
            bounds(compiled(body), F(1), F(0), square(["1"]), proof, 10.0)


def test_high_moments_are_fast_and_exact():
    draw = Draw("laplace", (F(1, 2),))
    known = moments([(ONE, (draw,), Form(F(0), ((0, ONE),)))], 2 * MOST_DEGREE)
    assert known[-1] == F(math.factorial(80), 2**80)
