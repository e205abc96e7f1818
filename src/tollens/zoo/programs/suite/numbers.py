"""Truths of noise on one number."""

from __future__ import annotations

import math

from tollens.claim import pure
from tollens.relations import as_relation
from tollens.zoo.programs import laplace
from tollens.zoo.programs.entry import Program

PROGRAMS = (
    Program(
        id="L1",
        name="l1-laplace-half-scale",
        title="Laplace noise of half the scale",
        function=laplace.laplace_half_scale,
        claim=pure(1),
        pair=(1, 0),
        relation=as_relation((1, 0)),
        epsilon=2.0,
        broken=True,
        source="the loss is 1/scale = 2 at every value outside the two inputs",
    ),
    Program(
        id="L6",
        name="l6-gauss-as-pure",
        title="Gaussian noise claimed to be purely private",
        function=laplace.gauss_unit,
        claim=pure(1),
        pair=(1, 0),
        relation=as_relation((1, 0)),
        epsilon=math.inf,
        broken=True,
        source="the loss at y is y - 1/2, without bound",
    ),
)
"""Laplace and Gaussian noise."""
