"""Truths of noise in whole numbers."""

from __future__ import annotations

import math

from tollens.claim import approx, pure
from tollens.relations import as_relation
from tollens.zoo.programs import geometric, integers
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.noises import least_epsilon

_A = geometric.RATIO
_LOSS = -math.log(_A)
_COUNTS = (1, 0)


def _steps(top: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Neighbouring counts within 0, ..., top, each with the top."""
    return [((count, top), (count + 1, top)) for count in range(top)]


def _renormalised(top: int) -> float:
    """The answer 0 at counts 0 and 1: the loss ln(1/a) and that of the two totals."""
    totals = [sum(_A ** abs(value - count) for value in range(top + 1)) for count in (0, 1)]
    return _LOSS + math.log(totals[1] / totals[0])


_TABLE = (0.1, 0.2, 0.4, 0.2, 0.1)
_SHIFTED = ((*_TABLE, 0.0), (0.0, *_TABLE))
_INTEGER_RATIO = integers.LOW / integers.HIGH

PROGRAMS = (
    Program(
        id="D4",
        name="d4-geometric-count",
        title="Geometric count by coins, at its claim",
        function=geometric.geometric_count,
        claim=pure(1),
        pair=_COUNTS,
        relation=None,
        epsilon=_LOSS,
        broken=False,
        tight=True,
        source="the loss is ln(1/a) at every value outside the two counts",
    ),
    Program(
        id="D4-bug",
        name="d4-geometric-half-scale",
        title="Geometric count with the noise of twice the epsilon",
        function=geometric.geometric_count_half_scale,
        claim=pure(1),
        pair=_COUNTS,
        relation=None,
        epsilon=-math.log(geometric.RATIO_OF_TWO),
        broken=True,
        source="the loss is ln(1/a) at every value outside the two counts, a = .13534",
    ),
    Program(
        id="D5",
        name="d5-one-sided-geometric",
        title="Count with geometric noise on one side only",
        function=geometric.one_sided_count,
        claim=pure(1),
        pair=_COUNTS,
        relation=None,
        epsilon=math.inf,
        broken=True,
        source="the smaller count itself is impossible from the larger one",
    ),
    Program(
        id="D6",
        name="d6-signed-geometric",
        title="Geometric magnitude with a sign, one zero",
        function=geometric.signed_count,
        claim=pure(1),
        pair=_COUNTS,
        relation=None,
        epsilon=_LOSS,
        broken=False,
        tight=True,
        source="minus zero drawn again, this is the geometric mechanism",
    ),
    Program(
        id="D6-bug",
        name="d6-signed-geometric-two-zeros",
        title="Geometric magnitude with a sign, two zeros",
        function=geometric.signed_count_two_zeros,
        claim=pure(1),
        pair=_COUNTS,
        relation=None,
        epsilon=_LOSS + math.log(2),
        broken=True,
        source="zero noise has probability 1 - a, noise of one a(1-a)/2: ln(2/a)",
    ),
    Program(
        id="D7-n2",
        name="d7-clamped-geometric-n2",
        title="Geometric count clamped to 0, 1, 2",
        function=geometric.clamped_count,
        claim=pure(1),
        pair=((0, 2), (1, 2)),
        relation=as_relation(_steps(2)),
        epsilon=_LOSS,
        broken=False,
        tight=True,
        source="P(0) is 1/(1+a) and a/(1+a)",
    ),
    *(
        Program(
            id=f"D7-bug-n{top}",
            name=f"d7-renormalised-geometric-n{top}",
            title=f"Geometric weights on 0, ..., {top}, renormalised",
            function=geometric.renormalised_count,
            claim=pure(1),
            pair=((0, top), (1, top)),
            relation=as_relation(_steps(top)),
            epsilon=_renormalised(top),
            broken=True,
            source="the totals of the weights a^|y-c| at counts 0 and 1 differ",
        )
        for top in (2, 5)
    ),
    Program(
        id="D7-redraw-n2",
        name="d7-redrawn-geometric-n2",
        title="Geometric count drawn again until in 0, 1, 2",
        function=geometric.redrawn_count,
        claim=pure(1),
        pair=((0, 2), (1, 2)),
        relation=as_relation(_steps(2)),
        epsilon=_renormalised(2),
        broken=True,
        source="the same law as from the renormalised weights",
    ),
    Program(
        id="D8",
        name="d8-integer-count",
        title="Geometric count in whole numbers",
        function=integers.integer_count,
        claim=pure("ln 3/2"),
        pair=((1, 3), (2, 3)),
        relation=as_relation(_steps(3)),
        epsilon=-math.log(_INTEGER_RATIO),
        broken=False,
        tight=True,
        source="a clamped geometric count with a = 2^k/(2^k+1): ln(1+2^-k), k = 1",
    ),
    Program(
        id="D8-bug",
        name="d8-integer-count-low-exponent",
        title="Whole-number sampler, exponent off by one below",
        function=integers.integer_count_low_exponent,
        claim=pure("ln 3/2"),
        pair=((1, 3), (2, 3)),
        relation=as_relation(_steps(3)),
        epsilon=math.log((1 + _INTEGER_RATIO) / _INTEGER_RATIO**2),
        broken=True,
        source="P(1) is F(1) - F(0) = 1 - a at count 1, a^2 (1-a)/(1+a) at count 2",
    ),
    Program(
        id="D8-bug-high",
        name="d8-integer-count-high-exponent",
        title="Whole-number sampler, exponent off by one from the count",
        function=integers.integer_count_high_exponent,
        claim=pure("ln 3/2"),
        pair=((1, 3), (2, 3)),
        relation=as_relation(_steps(3)),
        epsilon=math.inf,
        broken=True,
        source="F(c) = F(c-1): an inner count itself is impossible, its neighbours give it",
    ),
    Program(
        id="A1",
        name="a1-table-noise",
        title="Count with a short table of noise, at its claim",
        function=geometric.table_count,
        claim=approx("ln 2", "1/10"),
        pair=_COUNTS,
        relation=None,
        epsilon=least_epsilon(*_SHIFTED, delta=0.1),
        broken=False,
        tight=True,
        source="one end of mass 1/10 tells the count, the loss elsewhere is ln 2",
    ),
    Program(
        id="A1-bug",
        name="a1-table-noise-small-epsilon",
        title="Count with a short table of noise, epsilon too small",
        function=geometric.table_count,
        claim=approx("1/2", "1/10"),
        pair=_COUNTS,
        relation=None,
        epsilon=least_epsilon(*_SHIFTED, delta=0.1),
        broken=True,
        source="P(noise <= 0) is .7 and .3: ln((.7 - .1)/.3) = ln 2",
    ),
)
"""Geometric noise and the whole-number sampler."""
