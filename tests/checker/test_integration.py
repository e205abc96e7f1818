"""Exact probabilities of constraints against quadrature, simulation, and identities that hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollens.checker.draws import Draw
from tollens.checker.errors import CertificateError
from tollens.checker.form import Form, groups
from tollens.checker.integration import Integrator, _times, enclosure

F = Fraction
WHOLE = {F(0): F(1)}


def draw(kind, *parameters):
    return Draw(kind, tuple(map(F, parameters)))


def form(constant, *terms):
    """`form(1, (0, 2))` is 1 + 2 s0."""
    return Form(F(constant), tuple((i, F(c)) for i, c in terms))


def probability(draws, constraints):
    return Integrator().probability(draws, constraints)


def value(total):
    return sum(float(c) * math.exp(q) for q, c in total.items())


scales = st.sampled_from([F(1), F(2), F(1, 2), F(2, 3)])
places = st.sampled_from([F(n, d) for n in range(-4, 5) for d in (1, 2, 3)])
draws_of = st.one_of(
    st.builds(lambda s: draw("laplace", s), scales),
    st.builds(lambda s: draw("exponential", s), scales),
    st.builds(lambda a, w: draw("uniform", a, a + w), places, scales),
)


@st.composite
def trees(pick, most=4, star=False):
    """Draws, and constraints along a tree of them, some on one draw alone."""
    n = pick(st.integers(1, most))
    draws = [pick(draws_of) for _ in range(n)]
    made = []
    for i in range(1, n):
        j = 0 if star else pick(st.integers(0, i - 1))
        for _ in range(pick(st.sampled_from([1, 1, 2]))):
            sign = pick(st.sampled_from([1, -1]))
            slope = pick(st.sampled_from([F(1), F(-1)]))
            made.append(form(pick(places), (j, sign * slope), (i, sign)))
    for i in range(n):
        if pick(st.booleans()):
            made.append(form(pick(places), (i, pick(st.sampled_from([1, -2, F(1, 2)])))))
    return draws, made


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@settings(max_examples=60)
@given(trees(most=4, star=True))
def test_stars_against_quadrature(oracle, tree):
    draws, made = tree
    assert value(probability(draws, made)) == pytest.approx(
        oracle.quadrature(draws, made), abs=2e-5
    )


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@settings(max_examples=25)
@given(trees(most=3))
def test_trees_against_quadrature(oracle, tree):
    draws, made = tree
    pieces = 1.0
    for symbols, forms in groups(made):  # quadrature follows one tree
        names = {i: k for k, i in enumerate(sorted(symbols))}
        own = [Form(f.constant, tuple((names[i], c) for i, c in f.terms)) for f in forms]
        pieces *= oracle.quadrature([draws[i] for i in names], own)
    assert value(probability(draws, made)) == pytest.approx(pieces, abs=2e-4)


def test_long_trees_against_simulation():
    rng = np.random.default_rng(3)
    n = 400_000
    for seed in range(6):
        pick = np.random.default_rng(seed)
        draws, columns, made = [], [], []
        for i in range(7):
            scale = F(int(pick.integers(1, 4)), 2)
            kind = ("laplace", "exponential", "uniform")[int(pick.integers(3))]
            draws.append(draw(kind, -scale, scale) if kind == "uniform" else draw(kind, scale))
            s = float(scale)
            columns.append(
                {"laplace": rng.laplace(0, s, n), "exponential": rng.exponential(s, n),
                 "uniform": rng.uniform(-s, s, n)}[kind]
            )  # fmt: skip
            if i:
                j, sign = int(pick.integers(0, i)), int(pick.choice([-1, 1]))
                made.append(form(F(int(pick.integers(-1, 4)), 2), (j, sign), (i, -sign)))
        holds = np.ones(n, dtype=bool)
        for c in made:
            holds &= float(c.constant) + sum(float(a) * columns[i] for i, a in c.terms) >= 0
        p = value(probability(draws, made))
        assert abs(holds.mean() - p) < 5 * math.sqrt(p * (1 - p) / n) + 1e-9


@settings(max_examples=150)
@given(trees(most=5), st.data())
def test_a_constraint_and_its_opposite_make_what_is_left(tree, data):
    draws, made = tree
    if not made:
        return
    at = data.draw(st.integers(0, len(made) - 1))
    others = made[:at] + made[at + 1 :]
    opposite = Form(-made[at].constant, tuple((i, -c) for i, c in made[at].terms))
    both = dict(probability(draws, [*others, made[at]]))
    for q, c in probability(draws, [*others, opposite]).items():
        both[q] = both.get(q, F(0)) + c
    assert {q: c for q, c in both.items() if c} == probability(draws, others)


@settings(max_examples=80)
@given(trees(most=4), st.randoms(use_true_random=False), st.sampled_from([F(2), F(1, 3)]))
def test_order_names_and_units_do_not_matter(tree, rng, unit):
    draws, made = tree
    wanted = probability(draws, made)
    order = list(range(len(draws)))
    rng.shuffle(order)
    place = {i: k for k, i in enumerate(order)}
    moved = [Form(c.constant, tuple(sorted((place[i], a) for i, a in c.terms))) for c in made]
    rng.shuffle(moved)
    assert probability([draws[i] for i in order], moved) == wanted
    larger = [Form(3 * c.constant, tuple((i, 3 * a) for i, a in c.terms)) for c in made]
    assert probability(draws, larger + larger) == wanted
    scaled = [Draw(d.kind, tuple(unit * p for p in d.parameters)) for d in draws]
    stretched = [Form(c.constant * unit, c.terms) for c in made]
    assert probability(scaled, stretched) == wanted


@settings(max_examples=60)
@given(st.lists(trees(most=3), min_size=2, max_size=4))
def test_memory_and_components(several):
    """One integrator for all, and all of them at once as parts that do not meet."""
    shared = Integrator()
    product, draws, made = WHOLE, [], []
    for own, constraints in several:
        fresh = probability(own, constraints)
        assert shared.probability(own, constraints) == fresh
        assert shared.probability(own, constraints) == fresh
        product = _times(product, fresh)
        made += [
            Form(c.constant, tuple((i + len(draws), a) for i, a in c.terms)) for c in constraints
        ]
        draws += own
    assert shared.probability(draws, made) == product


class TestKnown:
    LAP, EXP, UNI = draw("laplace", 1), draw("exponential", 1), draw("uniform", 0, 1)

    def test_no_constraints(self):
        assert probability([self.LAP], []) == WHOLE == probability([], [])

    def test_boundaries_have_no_weight(self):
        half = form(F(-1, 2), (0, 1)), form(F(1, 2), (0, -1))
        for one in (self.LAP, self.EXP, self.UNI):
            assert probability([one], half) == {}
            assert (
                probability([one, one], [form(0, (0, 1), (1, -1)), form(0, (0, -1), (1, 1))]) == {}
            )

    def test_impossible_and_certain(self):
        assert probability([self.UNI], [form(-1, (0, 1))]) == {}
        assert probability([self.UNI], [form(1, (0, -1)), form(0, (0, 1))]) == WHOLE
        assert probability([self.EXP], [form(0, (0, -1))]) == {}
        assert probability([self.LAP], [form(-2, (0, 1)), form(1, (0, -1))]) == {}

    def test_symmetry_of_orders(self):
        for one in (self.LAP, self.EXP, self.UNI):
            for a, b, c in permutations(range(3)):
                found = probability([one] * 3, [form(0, (a, 1), (b, -1)), form(0, (b, 1), (c, -1))])
                assert found == {F(0): F(1, 6)}

    def test_closed_forms(self):
        two = [self.LAP, self.LAP]  # P(s0 - s1 > t) = (2 + t) e^-t / 4
        assert probability(two, [form(-3, (0, 1), (1, -1))]) == {F(-3): F(5, 4)}
        uneven = [draw("exponential", 1), draw("exponential", 2)]  # 2/3 e^(-t/2)
        assert probability(uneven, [form(-1, (1, 1), (0, -1))]) == {F(-1, 2): F(2, 3)}
        assert probability([self.UNI] * 2, [form(F(-1, 2), (0, 1), (1, 1))]) == {F(0): F(7, 8)}
        mixed = [self.UNI, self.EXP]
        assert probability(mixed, [form(0, (0, 1), (1, -1))]) == {F(-1): F(1)}

    def test_cycles_and_normal_draws_are_refused(self):
        ring = [form(0, (0, 1), (1, 1)), form(0, (1, 1), (2, 2)), form(0, (0, 1), (2, 1))]
        with pytest.raises(CertificateError, match="no order of the draws"):
            probability([self.LAP] * 3, ring)
        with pytest.raises(CertificateError, match="no exact integral over a gauss"):
            probability([draw("gauss", 1)], [form(0, (0, 1))])
        assert probability([draw("gauss", 1), self.EXP], [form(-1, (1, 1))]) == {F(-1): F(1)}

    def test_enclosures(self):
        low, high = enclosure({F(-1): F(1, 2), F(-2): F(-3), F(0): F(1, 7)}, 60)
        assert low < high < low + F(1, 2**55)
        true = 1 / 7 + math.exp(-1) / 2 - 3 * math.exp(-2)
        assert low - F(1, 2**50) <= true <= high + F(1, 2**50)
        assert enclosure({}) == (0, 0)
        assert enclosure({F(0): F(2, 3)}) == (F(2, 3), F(2, 3))
