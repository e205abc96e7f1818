"""Truths of randomised response."""

from __future__ import annotations

import math

from tollens.claim import pure
from tollens.relations import as_relation
from tollens.zoo.programs import responses
from tollens.zoo.programs.entry import Program

_BITS = (1, 0)

PROGRAMS = (
    Program(
        id="D1",
        name="d1-response-coin",
        title="Randomised response, exactly at its claim",
        function=responses.response_coin,
        claim=pure("ln 3"),
        pair=_BITS,
        relation=as_relation(_BITS),
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
        relation=as_relation(_BITS),
        epsilon=math.log(4),
        broken=True,
        source="the truth is told with probability p = 4/5: ln(p/(1-p)) on both answers",
    ),
)
"""Randomised response."""
