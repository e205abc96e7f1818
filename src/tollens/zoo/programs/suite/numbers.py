"""Truths of Laplace and uniform noise on one number, and of walks."""

from __future__ import annotations

import math

from tollens.claim import approx, pure
from tollens.relations import as_relation
from tollens.zoo.programs import laplace, walks
from tollens.zoo.programs.entry import Program

_NUMBERS = (1, 0)
_RANGE = as_relation([(0, 1), (0.5, 1.5), (1, 2)])
_OUTSIDE = "the loss is 1/scale at every value outside the two inputs"


def _redrawn() -> float:
    """The answer 0 at inputs 0 and 1: the loss 1 and that of the two masses inside."""
    masses = [1 - (math.exp(-x) + math.exp(x - laplace.TOP)) / 2 for x in (0, 1)]
    return 1 + math.log(masses[1] / masses[0])


PROGRAMS = (
    Program(
        id="L1-ok",
        name="l1-laplace",
        title="Laplace noise, exactly at its claim",
        function=laplace.laplace,
        claim=pure(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=1.0,
        broken=False,
        tight=True,
        source=_OUTSIDE,
    ),
    Program(
        id="L1",
        name="l1-laplace-half-scale",
        title="Laplace noise of half the scale",
        function=laplace.laplace_half_scale,
        claim=pure(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=2.0,
        broken=True,
        source=_OUTSIDE,
    ),
    Program(
        id="L7",
        name="l7-laplace-clamped",
        title="Laplace noise, clamped to the range of the query",
        function=laplace.laplace_clamped,
        claim=pure(1),
        pair=(0, 1),
        relation=_RANGE,
        epsilon=1.0,
        broken=False,
        tight=True,
        source="the end 0 has the mass 1/2 and e^-1/2",
    ),
    Program(
        id="L8",
        name="l8-laplace-redrawn",
        title="Laplace noise, drawn again until in the range",
        function=laplace.laplace_redrawn,
        claim=pure(1),
        pair=(0, 1),
        relation=_RANGE,
        epsilon=_redrawn(),
        broken=True,
        source="the masses of [0, 2] at inputs 0 and 1 differ; the limit of small answers",
    ),
    Program(
        id="A3",
        name="a3-laplace-half-scale-delta",
        title="Laplace noise of half the scale, delta = .39347",
        function=laplace.laplace_half_scale,
        claim=approx(1, "0.39347"),
        pair=_NUMBERS,
        relation=None,
        epsilon=2 + 2 * math.log1p(-0.39347),
        broken=False,
        tight=True,
        source="delta = 1 - e^((epsilon - 1/scale)/2) is .393469 at 1",
    ),
    Program(
        id="A3-bug",
        name="a3-laplace-half-scale-small-delta",
        title="Laplace noise of half the scale, delta = 1/10",
        function=laplace.laplace_half_scale,
        claim=approx(1, "1/10"),
        pair=_NUMBERS,
        relation=None,
        epsilon=2 + 2 * math.log1p(-0.1),
        broken=True,
        source="delta = 1 - e^((epsilon - 1/scale)/2), solved for epsilon",
    ),
    Program(
        id="U1",
        name="u1-uniform-delta",
        title="Uniform noise, claimed with delta = 1/10",
        function=laplace.uniform,
        claim=approx(0, "1/10"),
        pair=_NUMBERS,
        relation=None,
        epsilon=0.0,
        broken=False,
        tight=True,
        source="a shift by 1 leaves 1/10 of the range on either side",
    ),
    Program(
        id="U1-bug",
        name="u1-uniform-as-pure",
        title="Uniform noise, claimed to be purely private",
        function=laplace.uniform,
        claim=pure(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=math.inf,
        broken=True,
        source="a shift by 1 leaves 1/10 of the range on either side",
    ),
    Program(
        id="D13-ok",
        name="d13-walk-from-noisy-start",
        title="Number of steps of a walk from a private start",
        function=walks.walk_from_noisy_start,
        claim=pure(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=-math.log(walks.RATIO),
        broken=False,
        tight=True,
        source="private as the start is; no step at all has probability a/(1+a) and 1/(1+a)",
    ),
    Program(
        id="D13",
        name="d13-walk-to-zero",
        title="Number of steps of a random walk to zero",
        function=walks.walk_to_zero,
        claim=pure(1),
        pair=(2, 1),
        relation=None,
        epsilon=math.inf,
        broken=True,
        source="the parity of the number of steps is that of the start",
    ),
    Program(
        id="P1-ok",
        name="p1-drift",
        title="Steps of a drifting number, exactly at the claim",
        function=walks.drift,
        claim=pure(1),
        pair=(1, 2),
        relation=None,
        epsilon=1.0,
        broken=False,
        tight=True,
        source="private after the first step; one step has probability 1/2 and e^-1/2",
    ),
    Program(
        id="P1",
        name="p1-drift-half-scale",
        title="Steps of a drifting number with half the noise",
        function=walks.drift_half_scale,
        claim=pure(1),
        pair=(1, 2),
        relation=None,
        epsilon=2.0,
        broken=True,
        source="2 after the first step; one step has probability 1/2 and e^-2/2",
    ),
)
"""Laplace and uniform noise, and walks."""
