"""Truths of randomised response."""

from __future__ import annotations

import itertools
import math

from tollens.claim import pure, renyi
from tollens.relations import Relation, as_relation
from tollens.zoo.entry import LEAK_DELTA
from tollens.zoo.programs import responses
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.noises import least_epsilon

_BITS = (1, 0)


def _filters(bits: int, ones: int) -> Relation:
    """Bloom filters with so many ones, the first of them against all that differ most."""
    chosen = [
        [1 if i in places else 0 for i in range(bits)]
        for places in itertools.combinations(range(bits), ones)
    ]
    apart = [f for f in chosen if not any(a and b for a, b in zip(f, chosen[0], strict=True))]
    return as_relation([(chosen[0], f) for f in apart])


def _rappor(ones: int) -> float:
    odds = (1 - responses.PERMANENT / 2) / (responses.PERMANENT / 2)
    return 2 * ones * math.log(odds)


PROGRAMS = (
    Program(
        id="D1",
        name="d1-response-coin",
        title="Randomised response, exactly at its claim",
        function=responses.response_coin,
        claim=pure("ln 3"),
        pair=_BITS,
        relation=None,
        epsilon=math.log(3),
        broken=False,
        tight=True,
        source="the truth is told with probability p = 3/4: ln(p/(1-p)) on both answers",
    ),
    Program(
        id="D1-bug",
        name="d1-response-coin-biased",
        title="Randomised response with a biased coin",
        function=responses.response_coin_biased,
        claim=pure("ln 3"),
        pair=_BITS,
        relation=None,
        epsilon=math.log(4),
        broken=True,
        source="the truth is told with probability p = 4/5: ln(p/(1-p)) on both answers",
    ),
    Program(
        id="D2",
        name="d2-two-coins",
        title="Response with two coins, exactly at its claim",
        function=responses.two_coins,
        claim=pure("ln 3"),
        pair=_BITS,
        relation=None,
        epsilon=least_epsilon([3 / 4, 1 / 4], [1 / 4, 3 / 4]),
        broken=False,
        tight=True,
        source="the answer 1 has probability 3/4 and 1/4",
    ),
    Program(
        id="D2-bug",
        name="d2-two-coins-biased",
        title="Response whose second coin is biased",
        function=responses.two_coins_biased,
        claim=pure("ln 3"),
        pair=_BITS,
        relation=None,
        epsilon=least_epsilon([5 / 8, 3 / 8], [1 / 8, 7 / 8]),
        broken=True,
        source="the answer 1 has probability 5/8 and 1/8: ln 5",
    ),
    *(
        Program(
            id=f"D3{suffix}",
            name=f"d3-rappor-once{suffix}",
            title=title,
            function=responses.rappor_once,
            claim=pure(claimed),
            pair=([1, 1, 0, 0, 0], [0, 0, 1, 1, 0]),
            relation=_filters(5, 2),
            epsilon=_rappor(2),
            broken=broken,
            tight=not broken,
            source="2h bits differ, each with the loss ln((1-f/2)/(f/2)); h = 2, f = 3/4",
        )
        for suffix, title, claimed, broken in (
            ("", "One-time RAPPOR, exactly at its claim", "ln 625/81", False),
            ("-bug", "One-time RAPPOR, counting h bits in place of 2h", "ln 25/9", True),
        )
    ),
    *(
        Program(
            id=f"D12{suffix}",
            name=f"d12-repeated-response{suffix}",
            title=title,
            function=responses.repeated_response,
            claim=pure(claimed),
            pair=_BITS,
            relation=None,
            epsilon=responses.TIMES * math.log(3),
            broken=broken,
            tight=not broken,
            source="three equal answers: k times ln 3",
        )
        for suffix, title, claimed, broken in (
            ("", "Three responses, claimed as three", "ln 27", False),
            ("-bug", "Three responses, claimed as one", "ln 3", True),
        )
    ),
    *(
        Program(
            id=f"R1{suffix}",
            name=f"r1-response-renyi{suffix}",
            title=title,
            function=responses.response_coin,
            claim=renyi(2, claimed),
            pair=_BITS,
            relation=None,
            epsilon=least_epsilon([3 / 4, 1 / 4], [1 / 4, 3 / 4], LEAK_DELTA),
            broken=broken,
            tight=not broken,
            source="sum of p^2/q is (3/4)^2/(1/4) + (1/4)^2/(3/4) = 7/3",
        )
        for suffix, title, claimed, broken in (
            ("", "Randomised response, Rényi claim met exactly", "ln 7/3", False),
            ("-bug", "Randomised response, Rényi claim too small", "1/2", True),
        )
    ),
)
"""Randomised response."""
