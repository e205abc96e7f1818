"""Truths of normal noise on one number."""

from __future__ import annotations

import math

from tollens.claim import approx, gaussian, pure, zcdp
from tollens.zoo.entry import LEAK_DELTA
from tollens.zoo.programs import gaussian as normal
from tollens.zoo.programs.entry import Program

_NUMBERS = (1, 0)
_DELTA = "1/100000"


def _leak(sigma: float) -> float:
    """The profile of N(0, 1) against N(1/sigma, 1), solved for epsilon."""
    return gaussian(1 / sigma).epsilon(LEAK_DELTA)


_PROFILE = "the profile Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu) with mu = 1/deviation"

PROGRAMS = (
    Program(
        id="L6",
        name="l6-gauss-as-pure",
        title="Gaussian noise claimed to be purely private",
        function=normal.gauss_unit,
        claim=pure(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=math.inf,
        broken=True,
        source="the loss at y is y - 1/2, without bound",
    ),
    Program(
        id="G2",
        name="g2-gauss-least",
        title="Least Gaussian noise for its epsilon and delta",
        function=normal.gauss_least,
        claim=approx(1, _DELTA),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(normal.LEAST),
        broken=False,
        tight=True,
        source=_PROFILE,
    ),
    Program(
        id="G2-classic",
        name="g2-gauss-classic",
        title="Gaussian noise of the classic formula",
        function=normal.gauss_classic,
        claim=approx(1, _DELTA),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(normal.CLASSIC),
        broken=False,
        source=_PROFILE,
    ),
    Program(
        id="G2-bug",
        name="g2-gauss-classic-without-two",
        title="Classic formula without the 2 under the root",
        function=normal.gauss_classic_without_two,
        claim=approx(1, _DELTA),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(normal.WITHOUT_TWO),
        broken=True,
        source=_PROFILE,
    ),
    Program(
        id="G3",
        name="g3-gauss-zcdp",
        title="Gaussian noise, exactly at its zCDP claim",
        function=normal.gauss_unit,
        claim=zcdp("1/2"),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(1.0),
        broken=False,
        tight=True,
        source="rho = 1/(2 variance) = 1/2",
    ),
    Program(
        id="G3-bug",
        name="g3-gauss-root-forgotten",
        title="Gaussian noise for zCDP, the root forgotten",
        function=normal.gauss_root_forgotten,
        claim=zcdp(normal.RHO),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(1 / (2 * normal.RHO)),
        broken=True,
        source="rho = 1/(2 variance) = 2, claimed 1",
    ),
    Program(
        id="G4",
        name="g4-gauss-mu",
        title="Gaussian noise, exactly at its mu",
        function=normal.gauss_unit,
        claim=gaussian(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(1.0),
        broken=False,
        tight=True,
        source="mu = 1/deviation = 1",
    ),
    Program(
        id="G4-bug",
        name="g4-gauss-mu-small-noise",
        title="Gaussian noise a fifth too small for its mu",
        function=normal.gauss_four_fifths,
        claim=gaussian(1),
        pair=_NUMBERS,
        relation=None,
        epsilon=_leak(0.8),
        broken=True,
        source="mu = 1/deviation = 5/4, claimed 1",
    ),
)
"""Normal noise."""
