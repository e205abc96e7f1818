"""Truths of noisy max."""

from __future__ import annotations

import math

from tollens.claim import pure
from tollens.relations import as_relation
from tollens.zoo.programs import noisy_max
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.noises import Noise
from tollens.zoo.programs.suite.pairs import all_change
from tollens.zoo.programs.suite.thresholds import largest_winner_loss

_EIGHT = ([1] + [0] * 7, [0] + [1] * 7)
_FIVE = ([1] + [0] * 4, [0] + [1] * 4)
_FAR = ([-2] + [0] * 4, [-3] + [1] * 4)
_FARTHER = ([-20] + [0] * 4, [-21] + [1] * 4)
_WINNER = "private by proof; the largest loss of a winner, by quadrature; 1 in the limit"

PROGRAMS = (
    Program(
        id="N1-n8",
        name="n1-noisy-max-n8",
        title="Noisy max with Laplace noise",
        function=noisy_max.noisy_max,
        claim=pure(1),
        pair=_EIGHT,
        relation=all_change(8),
        epsilon=largest_winner_loss(*_EIGHT, Noise("laplace", 2)),
        supremum=1.0,
        broken=False,
        tight=True,
        source=_WINNER,
    ),
    Program(
        id="N1-far-n5",
        name="n1-noisy-max-far-n5",
        title="Noisy max with Laplace noise, counts far apart",
        function=noisy_max.noisy_max,
        claim=pure(1),
        pair=_FARTHER,
        relation=as_relation([_FARTHER, _FAR, _FIVE]),
        epsilon=largest_winner_loss(*_FARTHER, Noise("laplace", 2)),
        supremum=1.0,
        broken=False,
        tight=True,
        source=_WINNER,
    ),
    Program(
        id="N2-n8",
        name="n2-noisy-max-exponential-n8",
        title="Noisy max with exponential noise",
        function=noisy_max.noisy_max_exponential,
        claim=pure(1),
        pair=_EIGHT,
        relation=all_change(8),
        epsilon=largest_winner_loss(*_EIGHT, Noise("exponential", 2)),
        supremum=1.0,
        broken=False,
        tight=True,
        source=_WINNER,
    ),
    *(
        Program(
            id=f"N3-n{n}",
            name=f"n3-max-value-n{n}",
            title=f"Noisy max that returns the maximum, {n} counts",
            function=noisy_max.noisy_max_value,
            claim=pure(1),
            pair=([0] * n, [1] * n),
            relation=all_change(n),
            epsilon=n / 2,
            broken=n > 2,
            tight=n == 2,
            source="P(max <= 0) is (1/2)^n and (e^(-1/2)/2)^n; no count gives more than 1/2",
        )
        for n in (2, 3, 5)
    ),
    Program(
        id="N4-n3",
        name="n4-max-value-exponential-n3",
        title="Noisy max that returns the maximum, exponential noise",
        function=noisy_max.noisy_max_value_exponential,
        claim=pure(1),
        pair=([0, 0, 0], [1, 1, 1]),
        relation=all_change(3),
        epsilon=math.inf,
        broken=True,
        source="exponential noise never lowers a count: below 1 only if all counts are 0",
    ),
    Program(
        id="N5-n5",
        name="n5-noisy-max-half-scale-n5",
        title="Noisy max with half the noise",
        function=noisy_max.noisy_max_half_scale,
        claim=pure(1),
        pair=_FIVE,
        relation=all_change(5),
        epsilon=largest_winner_loss(*_FIVE, Noise("laplace", 1)),
        supremum=2.0,
        broken=True,
        source="the first count wins, by quadrature; 2 in the limit of far counts",
    ),
    Program(
        id="N5-far-n5",
        name="n5-noisy-max-half-scale-far-n5",
        title="Noisy max with half the noise, counts far apart",
        function=noisy_max.noisy_max_half_scale,
        claim=pure(1),
        pair=_FAR,
        relation=as_relation([_FAR, _FIVE]),
        epsilon=largest_winner_loss(*_FAR, Noise("laplace", 1)),
        supremum=2.0,
        broken=True,
        source="the first count wins, by quadrature; 2 in the limit of far counts",
    ),
)
"""Noisy max."""
