"""What is true of each program: the claims, the pairs and the leaks, by theme."""

from __future__ import annotations

from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite import counts, numbers, responses, selection, sparse_vector

__all__ = ["PROGRAMS"]

PROGRAMS: tuple[Program, ...] = (
    *responses.PROGRAMS,
    *counts.PROGRAMS,
    *numbers.PROGRAMS,
    *sparse_vector.PROGRAMS,
    *selection.PROGRAMS,
)
"""All programs, in a fixed order."""
