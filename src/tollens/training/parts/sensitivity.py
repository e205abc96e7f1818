"""Does clipping work: the change that one canary makes to the sum, compared with the promise."""

from __future__ import annotations

import math

from tollens.training.parts.part import Finding
from tollens.training.parts.reading import Reading

TOLERANCE = 1e-4
"""What sums of clipped gradients in single precision may exceed the clipping norm by."""


class Sensitivity:
    """An exact comparison: a sensitivity above 1, or one that is no number, is a fault.

    Chance has no part in it, so the evidence is 1 or infinite.

    >>> check = Sensitivity()
    >>> for sensitivity in (1.00005, 10.0, 2.0):
    ...     check.update(Reading(sensitivity=sensitivity))
    >>> check.finding.step, check.finding.text
    (2, 'the canary changed the sum by 10 C, the promise is at most 1 C')
    """

    name = "sensitivity"
    assumes = "the step is replayed as it was taken"

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        self.tolerance = tolerance
        self.steps = 0
        self.largest = 0.0
        self.fault_at: int | None = None
        self._not_finite = False

    @property
    def log_e_value(self) -> float:
        """Zero as long as all is well, then infinity."""
        return 0.0 if self.fault_at is None else math.inf

    @property
    def finding(self) -> Finding | None:
        """The fault, with the step at which it was first seen and the largest sensitivity."""
        if self.fault_at is None:
            return None
        return Finding(self.name, "fault", self.fault_at, self.words(), self.assumes)

    def update(self, reading: Reading) -> None:
        """Compare the sensitivity of one step."""
        self.steps += 1
        if reading.sensitivity is None:
            return
        value = float(reading.sensitivity)
        if math.isfinite(value):
            self.largest = max(self.largest, value)
        else:
            self._not_finite = True
        if self.fault_at is None and not value <= 1.0 + self.tolerance:
            self.fault_at = self.steps

    def words(self) -> str:
        """The largest change, and whether one was not finite."""
        if self.largest > 1.0 + self.tolerance:
            text = f"the canary changed the sum by {self.largest:.5g} C, the promise is at most 1 C"
            return f"{text}; in some steps the change is not finite" if self._not_finite else text
        if self._not_finite:
            return "the change that the canary makes to the sum is not finite"
        return "the canary changed the sum by no more than promised"
