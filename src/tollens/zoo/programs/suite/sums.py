"""Truths of histograms, sums and running sums."""

from __future__ import annotations

import math

from tollens.claim import pure
from tollens.relations import queries
from tollens.zoo.programs import sums
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.pairs import all_change

_COUNTS = ([1, 0, 0], [0, 0, 0])
_FIRST = ([1, 0, 0, 0], [0, 0, 0, 0])
_ALL = ([0, 0, 0, 0], [1, 1, 1, 1])

_HISTOGRAMS = (
    ("L2-eps0.2", "low", sums.histogram_low, sums.EPSILON_LOW),
    ("L2-eps0.7", "middle", sums.histogram_middle, sums.EPSILON_MIDDLE),
    ("L2-eps1.5", "high", sums.histogram_high, sums.EPSILON_HIGH),
)

PROGRAMS = (
    Program(
        id="L2-ok",
        name="l2-histogram",
        title="Histogram, exactly at its claim",
        function=sums.histogram,
        claim=pure("1/5"),
        pair=_COUNTS,
        relation=queries(3, change="one"),
        epsilon=sums.EPSILON_LOW,
        broken=False,
        tight=True,
        source="one count changes by 1, its noise has the scale 5",
    ),
    *(
        Program(
            id=key,
            name=f"l2-histogram-scale-epsilon-{size}",
            title=f"Histogram with noise of scale epsilon = {epsilon}",
            function=function,
            claim=pure(str(epsilon)),
            pair=_COUNTS,
            relation=queries(3, change="one"),
            epsilon=1 / epsilon,
            broken=epsilon < 1,
            source="one count changes by 1, its noise has the scale epsilon: 1/epsilon",
        )
        for key, size, function, epsilon in _HISTOGRAMS
    ),
    Program(
        id="L3-ok",
        name="l3-sum",
        title="Sum, exactly at its claim",
        function=sums.noisy_sum,
        claim=pure(1),
        pair=_FIRST,
        relation=queries(4, change="one"),
        epsilon=1.0,
        broken=False,
        tight=True,
        source="the loss is 1/scale at every value outside the two sums",
    ),
    Program(
        id="L3",
        name="l3-sum-half-scale",
        title="Sum with half the noise",
        function=sums.noisy_sum_half_scale,
        claim=pure(1),
        pair=_FIRST,
        relation=queries(4, change="one"),
        epsilon=2.0,
        broken=True,
        source="the loss is 1/scale at every value outside the two sums",
    ),
    Program(
        id="L4-one",
        name="l4-running-sums-one",
        title="Prefix sums, one value changes, exactly at the claim",
        function=sums.running_sums,
        claim=pure(1),
        pair=_FIRST,
        relation=queries(4, change="one"),
        epsilon=1.0,
        broken=False,
        tight=True,
        source="the steps between the sums are independent; one of them changes by 1",
    ),
    Program(
        id="L4-all",
        name="l4-running-sums-all",
        title="Prefix sums, all values change",
        function=sums.running_sums,
        claim=pure(1),
        pair=_ALL,
        relation=all_change(4),
        epsilon=4.0,
        broken=True,
        source="the steps between the sums are independent; each of them changes by 1",
    ),
    Program(
        id="L5",
        name="l5-smart-sums",
        title="Smart sums, exactly at the claim",
        function=sums.smart_sums,
        claim=pure(2),
        pair=_FIRST,
        relation=queries(4, change="one"),
        epsilon=2.0,
        broken=False,
        tight=True,
        source="a value counts in its own step and in its block, each with noise of scale 1",
    ),
    Program(
        id="L5-bug",
        name="l5-smart-sums-bare-blocks",
        title="Smart sums without noise on the blocks",
        function=sums.smart_sums_bare_blocks,
        claim=pure(2),
        pair=_FIRST,
        relation=queries(4, change="one"),
        epsilon=math.inf,
        broken=True,
        source="the second sum is exact",
    ),
)
"""Histograms and sums."""
