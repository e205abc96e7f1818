"""Pairs from Hypothesis: neighbouring, the same each time, shrunk within their strategy."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter

import pytest

pytest.importorskip("hypothesis")

from hypothesis import find, given
from hypothesis import strategies as st

import tollens
from tollens.errors import MechanismError, UsageError
from tollens.hypothesis import COUNT, neighbours, relation_of
from tollens.keys import key_of
from tollens.relations import as_relation

ROWS = st.lists(st.integers(0, 99), max_size=8)


def bag(data):
    return Counter(map(key_of, data))


@given(neighbours(st.lists(st.integers(0, 3) | st.just(math.nan), max_size=6)))
def test_one_record_less(pair):
    x, x_prime = pair
    assert (bag(x) - bag(x_prime)).total() == 1
    assert not bag(x_prime) - bag(x)


@given(neighbours(st.lists(st.text(max_size=2), max_size=5).map(tuple), "substitute"))
def test_one_record_replaced(pair):
    x, x_prime = pair
    assert type(x) is type(x_prime) is tuple
    assert len(x) == len(x_prime)
    assert sum(a != b for a, b in zip(x, x_prime, strict=True)) == 1


def test_hypothesis_shrinks_them():
    assert find(neighbours(ROWS), lambda pair: 7 in pair[0]) == ([7], [])
    x, x_prime = find(neighbours(ROWS, "substitute"), lambda pair: sum(pair[0]) > sum(pair[1]))
    assert (x, x_prime) == ([1], [0])


def test_a_relation_has_different_pairs_up_to_a_count():
    relation = relation_of(neighbours(ROWS), count=30)
    assert len(relation) == 30
    assert len({repr((pair.x, pair.x_prime)) for pair in relation}) == 30
    assert relation[4].relation == "strategy, pair 5 of 30"
    assert len(as_relation(neighbours(ROWS))) == COUNT
    few = relation_of(st.tuples(st.booleans(), st.booleans()))
    assert {(pair.x, pair.x_prime) for pair in few} == {(True, False), (False, True)}


@pytest.mark.parametrize("i, least", [(0, 0), (7, 1), (31, 40), (44, 80), (59, 150), (58, 0)])
@pytest.mark.parametrize("name", ["add_remove", "substitute"])
def test_every_pair_that_shrinking_visits_is_of_the_strategy(i, name, least):
    relation = relation_of(neighbours(ROWS, name), count=60)
    kept = [(relation[i].x, relation[i].x_prime)]

    def refuted(pair):
        x, x_prime = pair
        assert x != x_prime
        assert all(0 <= row <= 99 for row in (*x, *x_prime))
        assert len(x) <= 8
        if name == "add_remove":
            assert (bag(x) - bag(x_prime)).total() == 1
            assert len(x_prime) == len(x) - 1
        else:
            assert len(x) == len(x_prime)
            assert (bag(x) - bag(x_prime)).total() == 1
        if sum(x) >= least:
            kept.append(pair)
        return sum(x) >= least

    relation.shrink(i, refuted)
    assert len(kept[-1][0]) <= len(kept[0][0])


def test_where_shrinking_ends():
    relation = relation_of(neighbours(ROWS), count=60)

    def end(i, predicate):
        kept = []
        relation.shrink(i, lambda pair: predicate(*pair) and (kept.append(pair) or True))
        return kept[-1] if kept else (relation[i].x, relation[i].x_prime)

    ends = [end(i, lambda x, y: len(x) >= 1) for i in range(60)]
    assert all(found == ([0], []) for found in ends)
    large = [i for i in range(60) if sum(relation[i].x) >= 150]
    assert len(large) > 5
    ends = [end(i, lambda x, y: sum(x) >= 150) for i in large]
    assert all(sum(x) == 150 and len(x) <= 3 for x, _ in ends)


def test_a_pair_is_asked_about_once():
    relation = relation_of(neighbours(ROWS), count=40)
    asked = []
    relation.shrink(33, lambda pair: asked.append(repr(pair)) or len(asked) % 3 == 0)
    assert asked
    assert len(set(asked)) == len(asked)
    assert repr((relation[33].x, relation[33].x_prime)) not in asked


def test_what_the_test_raises_is_raised():
    relation = relation_of(neighbours(ROWS), count=40)

    def refuted(pair):
        raise MechanismError("it changed its input")

    with pytest.raises(MechanismError, match="changed its input"):
        relation.shrink(33, refuted)

    def interrupted(pair):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relation.shrink(33, interrupted)


DIGEST = """
import hashlib, math
from hypothesis import strategies as st
from tollens.hypothesis import neighbours, relation_of
rows = st.lists(st.integers() | st.floats() | st.text(max_size=3), max_size=5)
digest = hashlib.sha256()
for name in ("add_remove", "substitute"):
    relation = relation_of(neighbours(rows, name), count=60)
    digest.update(repr([(pair.x, pair.x_prime) for pair in relation]).encode())
    for i in (3, 30, 59):
        relation.shrink(i, lambda pair: digest.update(repr(pair).encode()) or len(repr(pair)) % 3)
print(digest.hexdigest())
"""


def test_pairs_are_the_same_in_every_process(tmp_path):
    def digest(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.check_output(
            [sys.executable, "-c", DIGEST], env=environment, cwd=tmp_path, text=True
        )

    assert len({digest(seed) for seed in ("0", "1", "4711")}) == 1
    kept = tmp_path / ".hypothesis" / "examples"
    assert not kept.exists()  # nothing is taken over from one process to the next


def test_an_audit_takes_a_strategy_and_shows_a_smallest_pair():
    def distinct(rows, rng):
        return len(set(rows)) + rng.laplace(scale=0.4)

    audits = [
        tollens.audit(distinct, "epsilon=1", neighbours=neighbours(ROWS), seed=3) for _ in range(2)
    ]
    assert all(verdict.refuted for verdict in audits)
    assert audits[0].neighbours == audits[1].neighbours
    assert audits[0].neighbours.x == [0]
    assert audits[0].neighbours.x_prime == []
    assert "refuted again" in str(audits[0].notes)


def test_a_mechanism_that_cannot_bear_smaller_inputs(monkeypatch):
    """It changes inputs of fewer than three rows, which is an error: those are passed over."""

    def distinct(rows, rng):
        if len(rows) < 2:
            rows.append(0)
        return len(set(rows)) + rng.laplace(scale=0.4)

    rows = st.lists(st.integers(0, 99), min_size=3, max_size=8, unique=True) | st.lists(
        st.integers(0, 99), min_size=3, max_size=4
    )
    verdict = tollens.audit(distinct, "epsilon=1", neighbours=neighbours(rows), seed=3)
    assert verdict.refuted
    assert len(verdict.neighbours.x_prime) >= 2


@pytest.mark.parametrize(
    "make, problem",
    [
        (lambda: neighbours([1, 2]), "data is a list; give a strategy of data sets"),
        (lambda: neighbours(3, "swap"), "2 problems"),
        (lambda: neighbours(ROWS, "swap"), "use 'add_remove' or 'substitute'"),
        (
            lambda: relation_of(neighbours(st.text())),
            "the strategy made a str; data sets are lists",
        ),
        (lambda: relation_of(st.integers()), "the strategy made a int; it must make pairs"),
        (lambda: relation_of(st.tuples(ROWS, ROWS, ROWS)), "the strategy made a tuple"),
        (lambda: relation_of(st.tuples(st.just(1), st.just(1))), "no pair of two different inputs"),
        (lambda: relation_of(st.nothing()), "no pair of two different inputs"),
        (
            lambda: relation_of(neighbours(st.lists(st.just(1)), "substitute")),
            "no pair of two different inputs",
        ),
        (
            lambda: tollens.audit(len, "epsilon=1", neighbours=st.integers(), alpha=2),
            "2 problems",
        ),
    ],
)
def test_what_is_refused(make, problem):
    with pytest.raises(UsageError) as caught:
        make()
    assert problem in str(caught.value)
