"""What the search must not depend on: rounding of tails, and engines that repeat others."""

import time

import numpy as np
import pytest

from tollens.exact import exact_claim
from tollens.refutation import engine
from tollens.refutation.inputs import exact_relation
from tollens.refutation.intervals import _without_rounding
from tollens.refutation.program import read_program
from tollens.relations import as_relation
from tollens.zoo.programs import get


def found(function, claim, pair):
    relation = exact_relation(as_relation(pair))
    source = read_program(function)
    return engine.search(source, exact_claim(claim), relation, "auto", time.monotonic() + 60)


def test_rounding_in_the_difference_of_tails_is_no_mass_and_hides_none():
    p, q = _without_rounding(np.array([2e-16, 0.06, 2e-14]), np.array([0.0, 2e-16, 7e-15]))
    assert p.tolist() == [0.0, 0.06, 2e-14]
    assert q.tolist() == [0.0, 0.0, 7e-15]


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
