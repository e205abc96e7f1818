"""Exact probabilities against the checker's own integrals, simulation and closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.draws import Draw
from tollens.checker.form import Form
from tollens.checker.integration import Integrator
from tollens.refutation.exact import Exact, ExpSum, NotAForest
from tollens.refutation.exact.pieces import Pieces, Piecewise, times

F = Fraction
ONE = ExpSum({F(0): F(1)})


def draw(kind, *parameters):
    return Draw(kind, tuple(map(F, parameters)))


def form(constant, **terms):
    """`form(1, s0=2)` is 1 + 2 s0."""
    return Form(F(constant), tuple(sorted((int(name[1:]), F(c)) for name, c in terms.items())))


def probability(draws, constraints):
    return Exact().probability(draws, constraints)


def simulated(draws, constraints, n=200_000, seed=1):
    rng = np.random.default_rng(seed)
    columns = []
    for one in draws:
        p = [float(x) for x in one.parameters]
        columns.append(
            {
                "laplace": lambda p=p: rng.laplace(0, p[0], n),
                "exponential": lambda p=p: rng.exponential(p[0], n),
                "uniform": lambda p=p: rng.uniform(p[0], p[1], n),
            }[one.kind]()
        )
    holds = np.ones(n, dtype=bool)
    for c in constraints:
        holds &= float(c.constant) + sum(float(a) * columns[i] for i, a in c.terms) >= 0
    return holds.mean()


fractions = st.sampled_from([F(n, d) for n in range(-6, 7) for d in (1, 2, 3)])
draws_of = st.one_of(
    st.builds(lambda s: Draw("laplace", (s,)), st.sampled_from([F(1), F(2), F(1, 2), F(2, 3)])),
    st.builds(lambda s: Draw("exponential", (s,)), st.sampled_from([F(1), F(2), F(3, 2)])),
    st.builds(
        lambda a, w: Draw("uniform", (a, a + w)), fractions, st.sampled_from([F(1), F(5, 2)])
    ),
)


@st.composite
def trees(draw, size=4):
    """Draws, and constraints along a tree on them, some twice, some on one draw alone."""
    n = draw(st.integers(1, size))
    draws = [draw(draws_of) for _ in range(n)]
    constraints = []
    for i in range(1, n):
        j = draw(st.integers(0, i - 1))
        slope = draw(st.sampled_from([F(1), F(-1), F(2), F(-1, 2)]))
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
            sign = draw(st.sampled_from([F(1), F(-1)]))
            constraints.append(Form(draw(fractions), ((j, sign * slope), (i, sign))))
    for i in range(n):
        if draw(st.booleans()):
            constraints.append(Form(draw(fractions), ((i, draw(st.sampled_from([F(1), F(-2)]))),)))
    return draws, constraints


@st.composite
def chains(draw, size=4):
    """Draws, and constraints on their partial sums."""
    n = draw(st.integers(2, size))
    draws = [draw(draws_of) for _ in range(n)]
    constraints = []
    for k in range(1, n + 1):
        sign = draw(st.sampled_from([F(1), F(-1)]))
        constraints.append(Form(draw(fractions), tuple((i, sign) for i in range(k))))
    return draws, constraints


@given(st.one_of(trees(), chains()))
@settings(max_examples=150)
def test_equal_to_the_integrals_of_the_checker(case):
    draws, constraints = case
    assert probability(draws, constraints).terms == dict(
        sorted(Integrator().probability(draws, constraints).items())
    )


@given(st.one_of(trees(5), chains(5)))
@settings(max_examples=40)
def test_agrees_with_simulation(case):
    draws, constraints = case
    p = float(probability(draws, constraints))
    assert abs(simulated(draws, constraints) - p) < 6e-3
    assert 0 <= p <= 1


@given(trees(), st.data())
@settings(max_examples=60)
def test_a_constraint_and_its_opposite_add_up(case, data):
    draws, constraints = case
    if not constraints:
        return
    split = data.draw(st.sampled_from(constraints))
    opposite = Form(-split.constant, tuple((i, -c) for i, c in split.terms))
    rest = [c for c in constraints if c.terms != split.terms and c.terms != opposite.terms]
    exact = Exact()
    whole = exact.probability(draws, rest)
    halves = exact.probability(draws, [*rest, split]) + exact.probability(draws, [*rest, opposite])
    assert halves == whole


def test_memory_changes_nothing():
    draws = [draw("laplace", 2)] * 5
    exact = Exact()
    for shift in (F(0), F(1, 3), F(1), F(5, 7), F(1, 3)):
        constraints = [form(shift * i - 1, s0=1, **{f"s{i}": -1}) for i in range(1, 5)]
        assert exact.probability(draws, constraints) == probability(draws, constraints)


def test_closed_forms():
    lap = draw("laplace", 1)
    assert probability([lap], [form(-2, s0=1)]).terms == {F(-2): F(1, 2)}
    assert probability([lap], [form(2, s0=1)]).terms == {F(-2): F(-1, 2), F(0): F(1)}
    assert probability([lap, lap], [form(0, s0=1, s1=-1)]).terms == {F(0): F(1, 2)}
    exponential = draw("exponential", F(1, 3))
    assert probability([exponential], [form(-1, s0=1)]).terms == {F(-3): F(1)}
    # P(E1 > E2) for rates 3 and 1
    assert probability([exponential, draw("exponential", 1)], [form(0, s0=1, s1=-1)]).terms == {
        F(0): F(1, 4)
    }
    assert probability([draw("uniform", -1, 3)], [form(0, s0=1)]).terms == {F(0): F(3, 4)}


def test_equal_rates_give_polynomials():
    """P(z0 + z1 > t) of two Laplace draws is e^-t (2 + t)/4, of n exponentials a Poisson sum."""
    lap = draw("laplace", 1)
    for t in (F(0), F(1), F(7, 3)):
        assert probability([lap, lap], [form(-t, s0=1, s1=1)]).terms == {-t: (2 + t) / 4}
    exponentials = [draw("exponential", 1)] * 5
    erlang = probability(exponentials, [form(-2, s0=1, s1=1, s2=1, s3=1, s4=1)])
    assert erlang.terms == {F(-2): sum(F(2) ** k / math.factorial(k) for k in range(5))}


def test_the_order_of_equal_draws_is_uniform():
    for kind in ("laplace", "exponential"):
        draws = [draw(kind, 2)] * 6
        above = [form(0, s0=1, **{f"s{i}": -1}) for i in range(1, 6)]
        assert probability(draws, above).terms == {F(0): F(1, 6)}
        chain = [form(0, **{f"s{i}": 1, f"s{i + 1}": -1}) for i in range(5)]
        assert probability(draws, chain).terms == {F(0): F(1, 720)}


def test_paths_of_a_sequential_noisy_maximum_add_up_to_one():
    n, queries = 5, [F(1), F(0), F(1, 2), F(0), F(0)]
    draws, exact = [draw("laplace", 2)] * n, Exact()

    def below(i, best, constraints):
        if i == n:
            return exact.probability(draws, constraints)
        ahead = Form(queries[i] - queries[best], ((best, F(-1)), (i, F(1))))
        behind = Form(queries[best] - queries[i], ((best, F(1)), (i, F(-1))))
        return below(i + 1, i, [*constraints, ahead]) + below(i + 1, best, [*constraints, behind])

    assert below(1, 0, []) == ONE


def test_answers_of_a_sparse_vector_add_up_to_one():
    n, exact, total = 4, Exact(), ExpSum()
    draws = [draw("laplace", 2)] + [draw("laplace", 4)] * n
    for answers in range(2**n):
        constraints = []
        for i in range(n):
            sign = 1 if answers >> i & 1 else -1
            constraints.append(Form(F(sign * (i % 2)), ((0, F(-sign)), (i + 1, F(sign)))))
        total = total + exact.probability(draws, constraints)
    assert total == ONE


def test_degenerate_constraints():
    lap, uni = draw("laplace", 1), draw("uniform", 0, 1)
    half = {F(0): F(1, 2)}
    assert probability([], []) == ONE
    assert probability([lap, uni], []) == ONE
    assert probability([lap], [Form(F(1), ()), Form(F(0), ())]) == ONE
    assert not probability([lap], [Form(F(-1), ())])
    assert probability([lap], [Form(F(0), ((0, F(1)), (1, F(0))))]).terms == half  # coefficient 0
    assert not probability([lap], [form(-1, s0=1), form(0, s0=-1)])  # no such place
    assert not probability([lap], [form(-1, s0=1), form(1, s0=-1)])  # a point
    assert probability([lap], [form(0, s0=1)] * 3).terms == half
    assert probability([lap], [form(0, s0=1), form(-3, s0=7), form(1, s0=1)]).terms == {
        F(-3, 7): F(1, 2)
    }


def test_uniform_edges():
    uni = draw("uniform", 0, 1)
    assert probability([uni], [form(0, s0=1)]) == ONE
    assert not probability([uni], [form(-1, s0=1)])
    assert not probability([uni], [form(-5, s0=1)])
    assert not probability([uni, draw("uniform", 1, 2)], [form(0, s0=1, s1=-1)])
    assert probability([uni, draw("uniform", 1, 2)], [form(0, s0=-1, s1=1)]) == ONE
    assert probability([uni, uni], [form(F(-1, 2), s0=1, s1=-1)]).terms == {F(0): F(1, 8)}
    # the sum of three: Irwin and Hall
    assert probability([uni] * 3, [form(1, s0=-1, s1=-1, s2=-1)]).terms == {F(0): F(1, 6)}


def test_three_directions_at_one_draw():
    draws = [draw("laplace", 1), draw("exponential", 2), draw("uniform", -1, 2)]
    constraints = [
        form(1, s0=1, s1=-1), form(2, s0=1, s1=2), form(0, s0=-2, s1=1), form(F(1, 2), s0=-1, s2=1),
    ]  # fmt: skip
    exact = probability(draws, constraints)
    assert exact.terms == dict(sorted(Integrator().probability(draws, constraints).items()))
    assert float(exact) == pytest.approx(simulated(draws, constraints, 10**6), abs=2e-3)


def test_cycles_and_other_noises_are_refused():
    lap = draw("laplace", 1)
    cycle = [form(0, s0=1, s1=-1), form(0, s1=1, s2=-1), form(1, s2=1, s0=-1)]
    with pytest.raises(NotAForest, match="draw 0") as refused:
        probability([lap] * 3, cycle)
    assert refused.value.symbol == 0
    with pytest.raises(ValueError, match="gauss"):
        probability([draw("gauss", 1)], [form(0, s0=1)])


def test_the_sign_is_decided_exactly():
    e = ExpSum({F(1): F(1)})
    for bits in (100, 1000, 5000):
        low, high = e.enclosure(bits)
        assert low < high and high - low < F(3, 2**bits)
        assert (e - ExpSum({F(0): low})).sign() == 1
        assert (e - ExpSum({F(0): high})).sign() == -1
    square = (e - ExpSum({F(0): F(1)})) * (e + ExpSum({F(0): F(1)}))
    assert (square - ExpSum({F(2): F(1), F(0): F(-1)})).sign() == 0


def test_arithmetic_of_sums():
    a = ExpSum({F(1, 2): F(2), F(0): F(0)})
    assert a.terms == {F(1, 2): F(2)}
    assert a.shifted(F(1, 3)).terms == {F(5, 6): F(2)}
    assert (a * a).terms == {F(1): F(4)}
    assert a.scaled(F(0)) == ExpSum() and not ExpSum()
    assert float(a) == pytest.approx(2 * math.exp(0.5))
    assert ExpSum().enclosure(10) == (0, 0) and str(ExpSum()) == "0"
    assert hash(a + a) == hash(a.scaled(F(2)))
    tiny = ExpSum({F(-2000): F(1)})
    low, high = tiny.enclosure(30)
    assert 0 < low < high and (high - low) * 2**30 < low


def test_probabilities_beyond_floats_keep_their_digits():
    lap = draw("laplace", 1)
    low, high = probability([lap], [form(-3000, s0=1)]).enclosure(40)
    assert 0 < low < high < F(1, 2) ** 4000


def test_pieces_multiply_and_join():
    pieces = Pieces(1, 1)
    zero_to_two = pieces.product([pieces.between(0, None), pieces.between(None, 2)])
    assert zero_to_two.cuts == (0, 2)
    assert pieces.product([zero_to_two, pieces.between(2, None)]).cuts == ()
    part = {(1, 2, 3): next(iter(zero_to_two.parts[1].values()))}
    assert times(part, part) == {(2, 4, 6): 1}
    assert isinstance(pieces.composed(zero_to_two, F(-1, 1), 1), Piecewise)
    assert pieces.composed(zero_to_two, -1, 1).cuts == (-1, 1)
