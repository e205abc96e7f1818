"""The best squares of polynomials: known values, optimality, and the engine on programs."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from tollens.checker.compiling import compile_text
from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.checker.moments import bounds, mean_square, moments, read
from tollens.neighbours import Pair
from tollens.refutation.by_moments import by_moments
from tollens.refutation.moments import best_square, prove
from tollens.refutation.objectives import objective
from tollens.refutation.task import Task
from tollens.relations import as_relation

F = Fraction
ONE = F(1)


def at(x, n=1):
    return Form(F(x), tuple((i, ONE) for i in range(n)))


def leak(lower, upper):
    return math.log(lower / upper)


@pytest.mark.parametrize(
    ("degree", "epsilon"), [(1, 1.317), (2, 1.831), (4, 1.995), (8, 2.0), (16, 2.0)]
)
def test_laplace_with_half_the_scale(degree, epsilon):
    started = time.process_time()
    _, lower, upper = prove([Draw("laplace", (F(1, 2),))], at(1), at(0), degree)
    assert leak(lower, upper) == pytest.approx(epsilon, abs=6e-4)
    assert lower < upper * F(7389057, 10**6)  # never above e^2, the truth
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("degree", "epsilon"), [(1, 0.96), (2, 1.67), (4, 2.76), (8, 4.38), (12, 5.64)]
)
def test_gauss_claimed_as_pure(degree, epsilon):
    _, lower, upper = prove([Draw("gauss", (ONE,))], at(1), at(0), degree)
    assert leak(lower, upper) == pytest.approx(epsilon, abs=6e-3)


draws_of = st.one_of(
    st.builds(lambda k, s: Draw(k, (s,)), st.sampled_from(["laplace", "gauss", "exponential"]),
              st.sampled_from([F(1), F(2), F(1, 2)])),
    st.just(Draw("uniform", (F(-1), F(2)))),
)  # fmt: skip


@given(st.lists(draws_of, min_size=1, max_size=3), st.sampled_from([F(1), F(-1), F(1, 3), F(2)]))
@settings(max_examples=40)
def test_the_best_square_is_the_largest_eigenvalue(draws, shift):
    form, moved, degree = at(0, len(draws)), at(shift, len(draws)), 3
    witness, lower, upper = prove(draws, moved, form, degree)
    _, p = read(witness)
    laws = [[(ONE, tuple(draws), each)] for each in (moved, form)]
    assert (lower, upper) == tuple(mean_square(law, p) for law in laws)
    first, second = (
        np.array([[float(moments(law, 6)[i + j]) for i in range(4)] for j in range(4)])
        for law in laws
    )
    largest = linalg.eigh(first, second, eigvals_only=True)[-1]
    assert float(lower / upper) == pytest.approx(largest, rel=1e-4)


@given(st.lists(st.fractions(-3, 3, max_denominator=9), min_size=4, max_size=4))
def test_no_other_polynomial_is_better(p):
    draws = (Draw("laplace", (ONE,)), Draw("uniform", (F(0), ONE)))
    laws = [[(ONE, draws, at(x, 2))] for x in (1, 0)]
    _, lower, upper = best_square(*laws, degree=3)
    above, below = (mean_square(law, p) for law in laws)
    assert above * upper <= lower * below * F(1000002, 1000000)


def test_laws_without_noise_are_told_apart_for_sure():
    for other in ([(ONE, (), F(0))], [(F(1, 3), (), F(0)), (F(2, 3), (), F(5))]):
        p, lower, upper = best_square([(ONE, (), F(1))], other, 4)
        assert lower > 0 == upper and mean_square(other, p) == 0
    # no noise on the likely side only
    laplace = [(ONE, (Draw("laplace", (ONE,)),), at(0))]
    _, lower, upper = best_square([(ONE, (), F(9))], laplace, 3)
    assert 0 < upper < lower
    # the same law without noise
    _, lower, upper = best_square([(ONE, (), F(1))], [(ONE, (), F(1))], 4)
    assert lower == upper > 0


def test_far_inputs_do_not_overflow():
    _, lower, upper = prove([Draw("gauss", (ONE,))], at(10**6), at(0), 12)
    assert 0 < upper < lower


def task(body, x, x_prime, epsilon="1", kind="pure", ordered=False):
    text = "from tollens import noise\n\ndef program(data):\n" + body
    claim = {"kind": kind, "epsilon": epsilon, "ordered": ordered}
    if kind == "approx":
        claim["delta"] = "1/100000"
    pairs = as_relation(Pair(x, x_prime))
    return Task(
        compile_text(text, "program"), text, claim, objective(claim), pairs, time.monotonic() + 20
    )


def confirmed(job, attempt):
    """The checker comes to the same bounds from the program and the witness."""
    document = attempt.document
    x, x_prime = job.pairs[0].x, job.pairs[0].x_prime
    if document["likely_under"] == "x_prime":
        x, x_prime = x_prime, x
    low, high = bounds(job.program, x, x_prime, document["witness"], document["proof"], 10.0)
    assert low >= F(document["lower"]) and high <= F(document["upper"])
    return leak(F(document["lower"]), F(document["upper"])) if high else math.inf


def test_the_engine_refutes_half_the_scale():
    job = task("    return data + noise.laplace(1/2)\n", F(1), F(0), "19/10")
    attempt = by_moments(job)
    assert 1.9 < confirmed(job, attempt) <= attempt.epsilon < 2


def test_the_engine_spares_what_is_right():
    attempt = by_moments(task("    return data + noise.laplace(1)\n", F(1), F(0)))
    assert attempt.document is None and 0.99 < attempt.value <= 1


def test_the_engine_weighs_the_numbers_of_an_output():
    body = "    return [data[0] + noise.gauss(1), data[1] + noise.gauss(1)]\n"
    job = task(body, [F(1), F(1)], [F(0), F(0)], "4/3")
    attempt = by_moments(job)
    assert confirmed(job, attempt) > 4 / 3
    assert len(attempt.document["witness"]["weights"]) == 2
    leaked = "    z = noise.laplace(1)\n    return [data + z, 2 * z]\n"
    job = task(leaked, F(1), F(0))
    assert confirmed(job, by_moments(job)) > 1


def test_the_engine_finds_what_is_impossible_on_one_side():
    job = task("    return [noise.gauss(1), data]\n", F(1), F(0))
    attempt = by_moments(job)
    assert attempt.value == math.inf and confirmed(job, attempt) == math.inf


def test_the_engine_says_why_it_does_not_apply():
    branch = "    if data + noise.laplace(1) > 0:\n        return 1\n    return 0\n"
    assert "branches" in by_moments(task(branch, F(1), F(0))).note
    plain = "    return data + noise.laplace(1)\n"
    assert "pure claims" in by_moments(task(plain, F(1), F(0), kind="approx")).note
    assert "numbers" in by_moments(task('    return "no"\n', F(1), F(0))).note
    same = by_moments(task("    return noise.laplace(1)\n", F(1), F(0)))
    assert same.document is None and "no square" in same.note


def test_one_order_only_where_the_claim_binds_one():
    """Exponential noise: the smaller input can never be mistaken for the larger one."""
    body = "    return data + noise.exponential(1)\n"
    forward = by_moments(task(body, F(0), F(1), "1/2", ordered=True))
    both = by_moments(task(body, F(0), F(1), "1/2"))
    assert both.value >= forward.value > 0
