"""Invariants, which names are open, and products of facts."""

from fractions import Fraction

import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.polynomials import Polynomial
from tollens.refutation.handelman import products
from tollens.refutation.invariants import impossible, least
from tollens.refutation.loops import needed_names, opened_names, read_loops
from tollens.refutation.martingale import Settings, prove

X, Y = Polynomial.variable("x"), Polynomial.variable("y")
ONE = Polynomial.constant(1)


def compiled(text):
    return compile_text("from tollens import noise\n" + text, "f")


def known(text, data, *, pairs=False):
    loops = read_loops(compiled(text), data, pieces=True, finer=False, pairs=pairs)
    return [{str(form) for form in here.invariants} for here in loops.known]


WALK = """
def f(x):
    t = 0
    while x >= 1:
        x += -1 if noise.flip(3/4) else 1
        t += 1
    return t
"""


def test_a_walk():
    assert known(WALK, 2) == [set(), {"t", "x"}]
    assert "-2 + t + x" in known(WALK, 2, pairs=True)[1], "each step lowers x by at most 1"


def test_long_ways_down_are_skipped():
    assert known(WALK, 5000) == [set(), {"t", "x"}]


def test_upper_bounds():
    text = "def f(x):\n    n = 0\n    while n < 10:\n"
    text += "        n += noise.discrete({1: 1/2, 3: 1/2})\n    return n\n"
    assert known(text, 0) == [set(), {"n", "12 - n"}]


def test_draws_with_bounds():
    text = "def f(x):\n    while x > 0:\n        x -= noise.uniform(0, 1/2)\n    return x\n"
    assert known(text, 2) == [set(), {"1/2 + x", "2 - x"}]


def test_draws_without_bounds():
    text = "def f(x):\n    while x > 0:\n        x -= noise.gauss(1)\n    return x\n"
    assert known(text, 2) == [set(), set()]


def test_the_names_of_two_loops():
    text = "def f(x):\n    a = x\n    b = 0\n    c = 7\n    while a >= 1:\n"
    text += "        a -= 1\n        b += c\n"
    text += "    while b >= 1:\n        b -= 1\n        a += 1\n    return a\n"
    program = compiled(text)
    needed = needed_names(program)
    assert needed == {0: {"a", "b", "c"}, 1: {"a", "b"}}
    assert opened_names(program, Fraction(3), needed) == {0: ["a", "b"], 1: ["a", "b"]}


def test_least():
    assert least(X + Y, [X - ONE, Y - ONE - ONE]) == 3
    assert least(X, [Y]) is None
    assert least(ONE, []) == 1
    assert impossible([X - ONE, -X])
    assert not impossible([X - ONE, -Y])


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
def test_all_products_up_to_a_degree(degree):
    found = [p.factors for p in products([X, Y], degree)]
    assert len(found) == len(set(found)) == (degree + 1) * (degree + 2) // 2
    for product in products([X, Y, X * X], degree, roots=[X - Y]):
        value = ONE
        for i in product.factors:
            value *= [X, Y, X * X][i]
        if product.root is not None:
            value = value * product.root * product.root
        assert value == product.value
        assert value.degree <= degree


def test_exponentials_occur_once():
    y = Polynomial.variable("exp(-(x))")
    found = [p.factors for p in products([X, y, ONE - y], 3)]
    assert (0, 0, 1) in found and not any({1, 2} <= set(f) or f.count(1) > 1 for f in found)


def test_steps_that_are_never_taken():
    """Above 1 in the loop, the second branch is dead: what it says of b needs no proof."""
    text = "def f(x):\n    a = x\n    b = 0\n    while a >= 1:\n        if a >= 1/2:\n"
    text += "            a -= 1 if noise.flip(3/4) else 0\n        else:\n            b = a + 5\n"
    text += "    return a - b + 1\n"
    found = prove(compiled(text), Fraction(2), Fraction(1), Settings(1))
    assert found is not None and found.lower == found.upper
