"""Promises declared beside the code, and pairs of neighbours."""

from __future__ import annotations

import functools
import types

import numpy as np
import pytest

import tollens
from tollens.errors import ClaimError, UsageError
from tollens.neighbours import Pair, as_pair
from tollens.promises import declared, declared_in

PAIR = ([1, 1], [1])


def count(rows, rng):
    return len(rows) + rng.laplace()


class TestPromise:
    def test_the_mechanism_stays_itself(self):
        def mine(rows, rng):
            return count(rows, rng)

        promised = tollens.promise("epsilon=1", neighbours=PAIR)(mine)
        assert promised is mine
        assert declared(mine).claim == tollens.parse_claim("epsilon=1")
        assert declared(mine).neighbours == PAIR

    @pytest.mark.parametrize("claim", [tollens.pure(1), "mu=1", None])
    def test_claims_texts_and_none(self, claim):
        mine = tollens.promise(claim, neighbours=PAIR)(functools.partial(count))
        expected = tollens.parse_claim(claim) if isinstance(claim, str) else claim
        assert declared(mine).claim == expected

    def test_batched_mechanisms_can_promise(self):
        @tollens.promise("epsilon=1", neighbours=PAIR)
        @tollens.batched
        def noisy(rows, n, rng):
            return len(rows) + rng.laplace(size=n)

        assert declared(noisy) is not None
        assert noisy([1], 3, np.random.default_rng(0)).shape == (3,)

    def test_nothing_is_declared_by_default(self):
        assert declared(count) is None
        assert declared(3) is None

    def test_wrong_claims_are_refused_at_once(self):
        with pytest.raises(ClaimError):
            tollens.promise("epsilon=x", neighbours=PAIR)
        with pytest.raises(UsageError, match="the claim is a int"):
            tollens.promise(3, neighbours=PAIR)

    @pytest.mark.parametrize("thing", [3, "text", len, (1, 2)])
    def test_what_cannot_carry_a_promise(self, thing):
        with pytest.raises(UsageError, match="cannot carry a promise"):
            tollens.promise("epsilon=1", neighbours=PAIR)(thing)

    def test_all_promises_of_a_module(self):
        module = types.ModuleType("mine")
        promise = tollens.promise("epsilon=1", neighbours=PAIR)
        module.first = promise(functools.partial(count))
        module.second = functools.partial(count)
        module.third = promise(functools.partial(count))
        assert list(declared_in(module)) == ["first", "third"]

    def test_audit_takes_the_declared_claim(self):
        mine = tollens.promise("epsilon=0.25", neighbours=PAIR)(functools.partial(count))
        verdict = tollens.audit(mine, neighbours=PAIR, seed=1)
        assert verdict.refuted
        assert str(verdict.claim) == "epsilon=0.25"

    def test_audit_prefers_the_claim_it_is_given(self):
        mine = tollens.promise("epsilon=0.25", neighbours=PAIR)(functools.partial(count))
        verdict = tollens.audit(mine, "epsilon=1", neighbours=PAIR, budget=300, seed=1)
        assert not verdict.refuted
        assert str(verdict.claim) == "epsilon=1"

    def test_audit_needs_a_claim(self):
        with pytest.raises(UsageError, match="promise"):
            tollens.audit(count, neighbours=PAIR)


class TestNeighbours:
    def test_a_tuple_is_a_pair(self):
        pair = as_pair(PAIR)
        assert (pair.x, pair.x_prime, pair.relation) == ([1, 1], [1], "explicit")
        assert as_pair(pair) is pair
        assert as_pair(Pair(1, 2, "substitute")).relation == "substitute"

    @pytest.mark.parametrize(
        "thing, problem",
        [
            ([1, 2], "is a list"),
            ((1,), "a tuple of 1"),
            ((1, 2, 3), "a tuple of 3"),
            ((), "a tuple of 0"),
            (None, "is a NoneType"),
            ("ab", "is a str"),
            (({1: 2}), "is a dict"),
        ],
    )
    def test_what_is_no_pair(self, thing, problem):
        with pytest.raises(UsageError, match=problem):
            as_pair(thing)

    def test_both_inputs_must_be_readable_again(self):
        for x, x_prime, which in (
            (iter([1]), [1], "x is"),
            ([1], iter([1]), "x_prime is"),
        ):
            with pytest.raises(UsageError, match=which):
                as_pair((x, x_prime))
