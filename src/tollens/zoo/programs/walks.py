"""Loops that end after a random number of steps, and tell it."""

from __future__ import annotations

from tollens import noise


def walk_to_zero(data: int) -> int:
    """Count the steps of a walk from the data down to 0: down with probability 3/4, else up."""
    x, steps = data, 0
    while x >= 1:
        x += -1 if noise.flip(0.75) else 1
        steps += 1
    return steps
