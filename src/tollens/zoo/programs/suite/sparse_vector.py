"""Truths of the sparse vector technique with answers above and below."""

from __future__ import annotations

import itertools
import math

from tollens.claim import gaussian, pure
from tollens.zoo.entry import LEAK_DELTA
from tollens.zoo.programs import sparse_vector as svt
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.noises import Noise, least_epsilon
from tollens.zoo.programs.suite.pairs import all_change, last_swapped, raised, swapped_halves
from tollens.zoo.programs.suite.thresholds import (
    Comparison,
    all_answers,
    fresh_probability,
)

_LARGEST = "private by proof; the largest loss of an answer vector, by quadrature"
_HALVES = "above for the first half, below for the other: by quadrature"


def _rule(threshold: float, query: float, level: float = svt.THRESHOLD) -> Comparison:
    return Comparison(level, Noise("laplace", threshold), Noise("laplace", query))


_GAUSS = Comparison(svt.THRESHOLD, Noise("gauss", 2), Noise("gauss", 2))


def _loss(rule: Comparison, pair: tuple[list[int], list[int]], answers: tuple[bool, ...]) -> float:
    """The loss of one answer vector that is likelier on the first input."""
    return math.log(rule.probability(pair[0], answers) / rule.probability(pair[1], answers))


def _half_answers(n: int) -> tuple[bool, ...]:
    return (True,) * (n // 2) + (False,) * (n // 2)


def _gauss_leak(n: int) -> float:
    """At delta = 1e-5: every answer vector; those with equal counts of positives are alike."""
    half = n // 2
    masses = []
    for data in swapped_halves(n):
        masses.append(
            [
                math.comb(half, a)
                * math.comb(half, b)
                * _GAUSS.probability(
                    data,
                    (True,) * a + (False,) * (half - a) + (True,) * b + (False,) * (half - b),
                )
                for a, b in itertools.product(range(half + 1), repeat=2)
            ]
        )
    return least_epsilon(masses[0], masses[1], LEAK_DELTA)


def _fresh_loss(x: list[int], x_prime: list[int]) -> float:
    rule = _rule(2 * svt.CUTOFF, 4 * svt.CUTOFF)
    return max(
        abs(
            math.log(
                fresh_probability(x, answers, rule) / fresh_probability(x_prime, answers, rule)
            )
        )
        for answers in all_answers(len(x), svt.CUTOFF)
    )


PROGRAMS = (
    Program(
        id="S0-n5",
        name="s0-above-threshold-n5",
        title="Sparse vector, stop after one above",
        function=svt.above_threshold,
        claim=pure(1),
        pair=last_swapped(5),
        relation=all_change(5),
        epsilon=_rule(2, 4).largest_loss(*last_swapped(5), cutoff=1),
        supremum=1.0,
        broken=False,
        tight=True,
        source=_LARGEST,
    ),
    Program(
        id="S0-yield-n5",
        name="s0-sparse-vector-n5",
        title="Sparse vector, one answer at a time, two above",
        function=svt.sparse_vector,
        claim=pure(1),
        pair=last_swapped(5),
        relation=all_change(5),
        epsilon=_rule(2, 4 * svt.CUTOFF).largest_loss(*last_swapped(5), cutoff=svt.CUTOFF),
        broken=False,
        source=_LARGEST,
    ),
    Program(
        id="S1-n4",
        name="s1-bare-queries-n4",
        title="Sparse vector without noise on the queries",
        function=svt.bare_queries,
        claim=pure(1),
        pair=swapped_halves(4),
        relation=all_change(4),
        epsilon=math.inf,
        broken=True,
        source="no threshold lies below the ones of one input and above those of the other",
    ),
    *(
        Program(
            id=f"S2-n{n}",
            name=f"s2-no-stop-n{n}",
            title=f"Sparse vector without a stop, {n} queries",
            function=svt.no_stop,
            claim=pure(1),
            pair=swapped_halves(n),
            relation=all_change(n),
            epsilon=_loss(_rule(2, 2), swapped_halves(n), _half_answers(n)),
            supremum=n / 2,
            broken=n > 2,
            tight=n == 2,
            source=f"{_HALVES}; n/2 in the limit of far queries",
        )
        for n in (2, 4, 6, 8, 10)
    ),
    *(
        Program(
            id=f"S3-n{n}",
            name=f"s3-little-query-noise-n{n}",
            title=f"Sparse vector, too little query noise, {n} queries",
            function=svt.little_query_noise,
            claim=pure(1),
            pair=last_swapped(n),
            relation=all_change(n),
            epsilon=_loss(_rule(4, 4 / 3, level=0), last_swapped(n), (False,) * (n - 1) + (True,)),
            supremum=1.75,
            broken=True,
            source="above for the last query only, by quadrature; 7/4 in the limit of far queries",
        )
        for n in (4, 6, 10)
    ),
    Program(
        id="S8-n4",
        name="s8-fresh-thresholds-n4",
        title="Sparse vector with fresh thresholds",
        function=svt.fresh_thresholds,
        claim=pure(1),
        pair=last_swapped(4),
        relation=all_change(4),
        epsilon=_fresh_loss(*last_swapped(4)),
        broken=False,
        source=_LARGEST,
    ),
    Program(
        id="S9-n4",
        name="s9-monotone-queries-n4",
        title="Sparse vector with monotone queries",
        function=svt.monotone_queries,
        claim=pure(1),
        pair=([0, 0, 0, 0], [1, 1, 1, 0]),
        relation=raised(4),
        epsilon=_rule(2, 2).largest_loss([0, 0, 0, 0], [1, 1, 1, 0], cutoff=1),
        supremum=1.0,
        broken=False,
        tight=True,
        source=_LARGEST,
    ),
    Program(
        id="G1-ok-n8",
        name="g1-no-stop-gauss-mu-n8",
        title="Gaussian sparse vector, claimed by composition",
        function=svt.no_stop_gauss,
        claim=gaussian("1.4143"),
        pair=swapped_halves(8),
        relation=all_change(8),
        epsilon=_gauss_leak(8),
        broken=False,
        source="eight normal answers of mu = 1/2 each are sqrt(2)-GDP; this is computed from them",
    ),
    Program(
        id="G1-n8",
        name="g1-no-stop-gauss-n8",
        title="Gaussian sparse vector claimed to be purely private",
        function=svt.no_stop_gauss,
        claim=pure(1),
        pair=swapped_halves(8),
        relation=all_change(8),
        epsilon=_loss(_GAUSS, swapped_halves(8), _half_answers(8)),
        supremum=math.inf,
        broken=True,
        source=f"{_HALVES}; without bound for far queries",
    ),
)
"""Sparse vector programs."""
