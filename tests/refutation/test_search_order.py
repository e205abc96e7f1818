"""What the search must not depend on: rounding of tails, and engines that repeat others."""

import time
from fractions import Fraction

import numpy as np
import pytest

from tollens.checker.patterns import Between
from tollens.exact import exact_claim
from tollens.refutation import engine
from tollens.refutation.inputs import exact_relation
from tollens.refutation.intervals import _probabilities
from tollens.refutation.program import read_program
from tollens.relations import as_relation
from tollens.zoo.programs import get


def found(function, claim, pair):
    relation = exact_relation(as_relation(pair))
    source = read_program(function)
    return engine.search(source, exact_claim(claim), relation, "auto", time.monotonic() + 60)


def test_rounding_in_the_difference_of_tails_is_no_mass():
    def tail(z):
        return np.where(z < 1, 1 + 2e-16 * (z > 0), np.exp(-np.abs(z)))

    tried = [Between(None, Fraction(1, 2)), Between(Fraction(2), Fraction(3))]
    p = _probabilities([(1.0, tail)], tried)
    assert p[0] == 0.0
    assert p[1] == pytest.approx(np.exp(-2) - np.exp(-3))


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
