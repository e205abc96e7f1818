"""What the search must not depend on: rounding of tails, and engines that repeat others."""

import time
from fractions import Fraction

import numpy as np
import pytest

import tollens
from tollens import noise
from tollens.checker.draws import Draw
from tollens.checker.form import symbol
from tollens.checker.patterns import Between
from tollens.exact import exact_claim
from tollens.refutation import engine
from tollens.refutation.inputs import exact_relation
from tollens.refutation.intervals import _probabilities
from tollens.refutation.laws import Laws
from tollens.refutation.program import read_program
from tollens.relations import as_relation
from tollens.zoo.programs import get


def found(function, claim, pair):
    relation = exact_relation(as_relation(pair))
    source = read_program(function)
    return engine.search(source, exact_claim(claim), relation, "auto", time.monotonic() + 60)


def test_the_rounding_in_a_difference_of_tails_is_known():
    tail = Laws().tail([Draw("laplace", (Fraction(1),))], [], symbol(0))
    far = [Between(None, Fraction(-30)), Between(Fraction(30), None), Between(None, Fraction(-1))]
    masses, rounding = _probabilities([(1.0, tail)], far)
    truth = np.array([np.exp(-30) / 2, np.exp(-30) / 2, np.exp(-1) / 2])
    assert np.all(np.abs(masses - truth) <= rounding + 1e-15 * truth)
    assert rounding[0] > masses[0] / 100 and rounding[1] == 0 and rounding[2] < 1e-13


def test_of_equal_leaks_the_one_that_is_easy_to_read_is_taken():
    program = get("L1")
    best = found(program.function, program.claim, (0, 1))
    assert best.certificate["witness"]["patterns"] == [{"between": [None, "0"]}]


@pytest.mark.parametrize(("key", "epsilon"), [("L4-all", 4.0), ("N3-n5", 2.5), ("L2-eps0.2", 5.0)])
def test_far_tails_are_no_infinite_leak(key, epsilon):
    program = get(key)
    best = found(program.function, program.claim, program.pair)
    assert (best.engine, best.best_epsilon) == ("events", pytest.approx(epsilon))


def test_an_event_that_is_impossible_on_one_side_is_found_beside_an_empty_one():
    program = get("N4-n3")
    assert found(program.function, program.claim, program.pair).best_epsilon == np.inf


@pytest.mark.parametrize(("key", "asked"), [("L1-ok", False), ("G2", True)])
def test_balls_are_for_normal_draws(key, asked, monkeypatch):
    program, seen = get(key), []

    def balls(task):
        seen.append(task)
        return engine.by_balls(task)

    monkeypatch.setattr(engine, "_ENGINES", {**engine._ENGINES, "balls": balls})
    assert found(program.function, program.claim, program.pair).certificate is None
    assert bool(seen) is asked


def in_a_circle(data):
    a, b, c = data + noise.laplace(1), noise.laplace(1), noise.laplace(1)
    return a > b, b > c, a > c + 1


def without_end(data):
    while True:
        data += 1
    return data


@pytest.mark.parametrize("function", [in_a_circle, without_end])
def test_where_no_event_could_be_weighed_nothing_was_searched(function):
    best = found(function, tollens.pure(1), (0, 1))
    assert best.engine is None and best.certificate is None and best.notes
