"""Truths of whole-numbered noise and of walks."""

from __future__ import annotations

import math

from tollens.claim import pure
from tollens.relations import as_relation
from tollens.zoo.programs import geometric, walks
from tollens.zoo.programs.entry import Program

PROGRAMS = (
    Program(
        id="D4-bug",
        name="d4-geometric-half-scale",
        title="Geometric count with the noise of twice the epsilon",
        function=geometric.geometric_count_half_scale,
        claim=pure(1),
        pair=(1, 0),
        relation=as_relation((1, 0)),
        epsilon=-math.log(geometric.RATIO_OF_TWO),
        broken=True,
        source="the loss is ln(1/a) at every value outside the two counts, a = .13534",
    ),
    Program(
        id="D13",
        name="d13-walk-to-zero",
        title="Number of steps of a random walk to zero",
        function=walks.walk_to_zero,
        claim=pure(0.5),
        pair=(2, 1),
        relation=as_relation((2, 1)),
        epsilon=math.inf,
        broken=True,
        source="the parity of the number of steps is that of the start",
    ),
)
"""Geometric noise and walks."""
