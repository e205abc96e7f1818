"""What is true of each program: the claims, the pairs and the leaks, by theme."""

from __future__ import annotations

from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite import (
    gaussian,
    geometric,
    noisy_max,
    numbers,
    rare,
    responses,
    sparse_values,
    sparse_vector,
    sums,
)

__all__ = ["PROGRAMS"]

PROGRAMS: tuple[Program, ...] = (
    *responses.PROGRAMS,
    *geometric.PROGRAMS,
    *rare.PROGRAMS,
    *numbers.PROGRAMS,
    *gaussian.PROGRAMS,
    *sums.PROGRAMS,
    *sparse_vector.PROGRAMS,
    *sparse_values.PROGRAMS,
    *noisy_max.PROGRAMS,
)
"""All programs, in a fixed order."""
