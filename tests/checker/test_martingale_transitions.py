"""Locations, steps and cells: guards at ties, integers, pieces, and means against simulation."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tollens.checker.compiling import compile_text
from tollens.checker.errors import CertificateError
from tollens.checker.polynomials import Polynomial, total
from tollens.checker.transitions import Guard, System, guard

X, T = Polynomial.variable("x"), Polynomial.variable("t")
ONE = Polynomial.constant(1)


def system(text, data, opened, kept=None, cuts=None):
    program = compile_text("from tollens import noise\n" + text, "f")
    return System(program, data, opened, kept or {}, cuts or {})


def holds(guard, point):
    value = sum(
        c * math.prod((point[name] for name in m), start=Fraction(1))
        for m, c in guard.form.terms.items()
    )
    return value > 0 or (value == 0 and not guard.strict)


WALK = """
def f(x):
    t = 0
    while x >= 1:
        x += -1 if noise.flip(3/4) else 1
        t += 1
    return t
"""


def test_a_walk():
    found = system(WALK, 2, {0: ["t", "x"]})
    assert [here.head for here in found.locations] == [None, 0]
    assert found.integers[1] == {"t", "x"}
    into, out = found.cells(1, ())
    assert [str(g.closed(found.integers[1])) for g in into.guards] == ["-1 + x"]
    assert [str(g.closed(found.integers[1])) for g in out.guards] == ["-x"]
    assert sorted(step.mass for step in into.steps) == [Fraction(1, 4), Fraction(3, 4)]
    assert total(s.mean(X.at(s.values)) for s in into.steps) == X - Polynomial.constant(
        Fraction(1, 2)
    )


@pytest.mark.parametrize("start", [Fraction(5, 2), Fraction(1, 3)])
def test_no_rounding_where_values_are_no_integers(start):
    found = system(WALK, start, {0: ["t", "x"]})
    assert found.integers[1] == {"t"}
    out = found.cells(1, ())[1]
    assert [str(g.closed(found.integers[1])) for g in out.guards] == ["1 - x"]


@pytest.mark.parametrize(
    ("update", "whole"),
    [
        ("x += 1", True),
        ("x += 1/2", False),
        ("x = 2*x - t", True),
        ("x = x/2", False),
        ("x += noise.uniform(0, 1)", False),
        ("x += noise.geometric(1/2)", True),
        ("x += noise.discrete({-1: 1/2, 2: 1/2})", True),
        ("x += noise.discrete({-1: 1/2, 0.5: 1/2})", False),
        ("t = t/2\n        x += t", False),
    ],
)
def test_integers_are_inductive(update, whole):
    text = f"def f(x):\n    t = 0\n    while noise.flip(1/2):\n        {update}\n    return x + t\n"
    found = system(text, 3, {0: ["t", "x"]})
    assert ("x" in found.integers[1]) == whole


TIES = """
def f(x):
    t = 0
    while noise.flip(1/2):
        if x > 0:
            t += 1
        elif x >= 0:
            t += 10
        else:
            t += 100
        x += 1
    return t
"""


def test_each_state_is_in_one_cell_with_the_steps_of_the_program():
    found = system(TIES, -2, {0: ["t", "x"]})
    for x, gain in ((-1, 100), (0, 10), (1, 1), (2, 1), (Fraction(1, 2), 1)):
        at = [
            cell
            for cell in found.cells(1, ())
            if all(holds(g, {"x": Fraction(x), "t": Fraction(0)}) for g in cell.guards)
        ]
        assert len(at) == 1, x
        gains = {str(s.values["t"] - T) for s in at[0].steps if s.target is not None}
        assert gains == {str(gain)}, x


def test_opposites_exclude_each_other():
    above = guard(X - ONE, True)
    assert above.excludes(above.opposite) and above.opposite.excludes(above)
    assert not guard(X, False).excludes(guard(-X, False))
    assert guard(X, False).excludes(guard(-X, True))
    assert guard(X.scaled(Fraction(4)) - ONE, False).excludes(guard(-X, False))
    assert not guard(X, False).excludes(guard(T, False))


@pytest.mark.parametrize(
    ("form", "strict", "closed"),
    [
        (X.scaled(Fraction(2)) - ONE, False, "-1 + x"),
        (X.scaled(Fraction(2)) - ONE, True, "-1 + x"),
        (X - ONE, True, "-2 + x"),
        (X - ONE, False, "-1 + x"),
        (X.scaled(Fraction(2)) + T.scaled(Fraction(4)) - ONE, False, "-1 + 2*t + x"),
        (X.scaled(Fraction(1, 3)) + Polynomial.constant(Fraction(-7, 9)), False, "-3 + x"),
    ],
)
def test_closing_over_integers(form, strict, closed):
    made = guard(form, strict)
    assert str(made.closed(frozenset({"x", "t"}))) == closed
    assert made.closed(frozenset({"t"})) == made.form
    for x in range(-3, 5):
        for t in range(-3, 5):
            point = {"x": Fraction(x), "t": Fraction(t)}
            now = holds(Guard(made.closed(frozenset({"x", "t"})), False), point)
            assert now == holds(made, point)


LAPLACE_WALK = """
def f(x):
    t = 0
    while x >= 0:
        x += -1 + noise.laplace(1/2)
        t += 1
    return t
"""


def means(found, at, part, point, value):
    """E[value after a step] at a state, from the cell that it is in."""
    for cell in found.cells(at, found.parts(at)[part]):
        if all(holds(g, point) for g in cell.guards):
            result = 0.0
            for step in cell.steps:
                mean = step.mean(value(step))
                for monomial, c in mean.terms.items():
                    term = float(c)
                    for name in monomial:
                        term *= (
                            float(point[name])
                            if name in point
                            else math.exp(
                                -eval(
                                    name.removeprefix("exp(-(").removesuffix("))"),
                                    {k: float(v) for k, v in point.items()},
                                )
                            )
                        )
                    result += term
            return result
    raise AssertionError("no cell")


@pytest.mark.parametrize("x", [0, 0.25, 1, 1.5, 4])
def test_pieces_of_a_walk_with_laplace_steps(x):
    found = system(LAPLACE_WALK, 1, {0: ["t", "x"]}, cuts={0: []})
    assert len(found.parts(1)) == 2
    within = next(i for i, part in enumerate(found.parts(1)) if str(part[0].form) == "x")
    point = {"x": Fraction(x), "t": Fraction(3)}

    def value(step):
        return (
            step.values["x"] * step.values["x"] * step.values["t"]
            if step.target == (1, within)
            else Polynomial({})
        )

    z = np.random.default_rng(5).laplace(0, 0.5, 400_000)
    there = x - 1 + z
    sampled = np.where(there >= 0, there**2 * 4, 0)
    error = 5 * sampled.std() / math.sqrt(len(sampled))
    assert means(found, 1, within, point, value) == pytest.approx(sampled.mean(), abs=error)


BAND = """
def f(x):
    t = 0
    while -2 <= x <= 1:
        x += noise.%s
        t += 1
    return t
"""


@pytest.mark.parametrize(
    ("draw", "sample"),
    [
        ("laplace(1)", lambda rng: rng.laplace(0, 1, 400_000)),
        ("uniform(-1, 2)", lambda rng: rng.uniform(-1, 2, 400_000)),
        ("exponential(2)", lambda rng: rng.exponential(2, 400_000)),
    ],
)
@pytest.mark.parametrize("x", [-2, -1.5, 0, 0.75, 1])
def test_two_ends(draw, sample, x):
    found = system(BAND % draw, 0, {0: ["t", "x"]}, cuts={0: []})
    parts = found.parts(1)
    point = {"x": Fraction(x), "t": Fraction(0)}
    here = next(i for i, part in enumerate(parts) if all(holds(g, point) for g in part))

    def value(step):
        return step.values["x"] + ONE if step.target == (1, here) else Polynomial({})

    there = x + sample(np.random.default_rng(6))
    sampled = np.where((there >= -2) & (there <= 1), there + 1, 0)
    error = 5 * sampled.std() / math.sqrt(len(sampled))
    assert means(found, 1, here, point, value) == pytest.approx(sampled.mean(), abs=error)


def test_flags_are_kept_and_counted_as_locations():
    text = "def f(x):\n    done = False\n    n = x\n    while not done:\n        n += 1\n"
    text += "        done = noise.flip(1/3)\n    return n\n"
    found = system(text, 0, {0: ["n"]}, {0: ["done"]})
    assert [here.kept for here in found.locations] == [{}, {"done": False}, {"done": True}]


@pytest.mark.parametrize(
    ("text", "opened", "kept", "message"),
    [
        ("def f(x):\n    while x >= 1:\n        x -= 1\n    return x\n", {}, {}, "no value yet"),
        (
            "def f(x):\n    while noise.flip(1/2):\n        x += 1\n    return x\n",
            {}, {0: ["x"]}, "too many locations",
        ),
        (
            "def f(x):\n    while noise.flip(1/2):\n        x += noise.gauss(1)\n    return x\n",
            {}, {0: ["x"]}, "open it",
        ),
        ("def f(x):\n    while noise.flip(1/2):\n        yield x\n", {}, {}, "yielded"),
        (
            "def f(x):\n    while noise.flip(1/2):\n        pass\n    return x\n",
            {0: ["x", "y"]}, {}, "y is no number",
        ),
        (
            "def f(x):\n    while noise.flip(1/2):\n        x = x * x\n    return x\n",
            {0: ["x"]}, {}, "product",
        ),
        (
            "def g(x):\n    while noise.flip(1/2):\n        x += 1\n    return x\n"
            "def f(x):\n    y = g(x)\n    return y\n",
            {0: ["x"]}, {}, "within an expression|called",
        ),
        (
            "def f(x):\n    while noise.flip(1/2):\n        if noise.geometric(1/2) >= 1:\n"
            "            x += 1\n    return x\n",
            {0: ["x"]}, {}, "branch on a geometric",
        ),
        (
            "def f(x):\n    while noise.flip(1/2):\n        if noise.geometric(1/2) == 1:\n"
            "            x += 1\n    return x\n",
            {0: ["x"]}, {}, "geometric",
        ),
        (
            "def f(x):\n    while noise.flip(1/2):\n"
            "        if noise.laplace(1) >= noise.laplace(1):\n"
            "            x += 1\n    return x\n",
            {0: ["x"]}, {}, "several draws",
        ),
        (
            "def f(x):\n    while noise.flip(1/2):\n        if noise.gauss(1) >= 0:\n"
            "            x += 1\n    return x\n",
            {0: ["x"]}, {}, "branch on a gauss",
        ),
    ],
)  # fmt: skip
def test_refused(text, opened, kept, message):
    with pytest.raises(CertificateError, match=message):
        found = system(text, 1, opened, kept)
        for at in range(len(found.locations)):
            found.cells(at, ())


def test_cuts_must_be_affine():
    found = system(LAPLACE_WALK, 1, {0: ["t", "x"]}, cuts={0: [X * X - ONE]})
    with pytest.raises(CertificateError, match="affine"):
        found.parts(1)


def test_too_many_cuts():
    cuts = [X - Polynomial.constant(k) for k in range(12)]
    found = system(LAPLACE_WALK, 1, {0: ["t", "x"]}, cuts={0: cuts})
    with pytest.raises(CertificateError, match="cells"):
        found.parts(1)


def test_a_gap_in_the_steps_is_noticed():
    found = system(WALK, 2, {0: ["t", "x"]})
    here = found.locations[1]
    kept = tuple(step for step in here.steps if step.mass != Fraction(1, 4))
    found.locations[1] = replace(here, steps=kept)
    with pytest.raises(CertificateError, match="sum to 1"):
        found.cells(1, ())
