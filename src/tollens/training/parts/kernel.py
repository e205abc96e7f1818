"""The published per-step kernel audit on the same projections, for `method="mmd"`."""

from __future__ import annotations

import numpy as np

from tollens.auditing.kernel import KernelBettor
from tollens.claim import Claim
from tollens.training.parts.reading import Reading

BLOCK = 1
"""Steps a call; the bettor's cost a step grows with their number, as published."""


class KernelScores:
    """The sequential kernel (MMD) bet on the projections of both worlds.

    There for comparison: `Projection` refutes what it refutes in fewer steps and has no ceiling.

    >>> from tollens.claim import approx
    >>> part = KernelScores(approx(0.01, 1e-5))
    >>> for step in range(90):
    ...     part.update(Reading(with_canary=1.0 + 0.01 * (step % 3), without_canary=0.0))
    >>> part.log_e_value > 0
    True
    """

    name = "kernel"
    assumes = "nothing but that the canary's step is one run of the mechanism on a neighbour"

    def __init__(self, claim: Claim) -> None:
        self._bettor = KernelBettor(claim, setting="paper", seed=0)
        self.pairs = 0

    def update(self, reading: Reading) -> None:
        """Score one step; passed over where a projection is missing or not finite."""
        x, y = reading.with_canary, reading.without_canary
        if x is None or y is None or not (np.isfinite(x) and np.isfinite(y)):
            return
        self.pairs += 1
        self._bettor.update(np.array([[x]], dtype=float), np.array([[y]], dtype=float))

    @property
    def log_e_value(self) -> float:
        """The natural log of the wealth of the kernel bet, now."""
        return float(self._bettor.log_value)

    def words(self) -> str:
        """The kernel bet has no event that can be named."""
        return (
            f"a smooth function of the projection has means further apart than the claim allows, "
            f"after {self.pairs} pairs of steps"
        )
