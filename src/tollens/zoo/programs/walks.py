"""Loops that end after a random number of steps, and tell it."""

from __future__ import annotations

from tollens import noise

RATIO = 0.36787945  # a little above e^-1


def walk_to_zero(data: int) -> int:
    """Count the steps of a walk from the data down to 0: down with probability 3/4, else up."""
    x, steps = data, 0
    while x >= 1:
        x += -1 if noise.flip(0.75) else 1
        steps += 1
    return steps


def walk_from_noisy_start(data: int) -> int:
    """The same walk from a start that is private itself."""
    x, steps = data + noise.geometric(1 - RATIO) - noise.geometric(1 - RATIO), 0
    while x >= 1:
        x += -1 if noise.flip(0.75) else 1
        steps += 1
    return steps


def drift_half_scale(data: float) -> int:
    """Count the steps until a number with drift -1 and Laplace noise of scale 1/2 is negative."""
    x, steps = data, 0
    while x >= 0:
        x += -1 + noise.laplace(0.5)
        steps += 1
    return steps


def drift(data: float) -> int:
    """The same with noise of scale 1."""
    x, steps = data, 0
    while x >= 0:
        x += -1 + noise.laplace(1)
        steps += 1
    return steps
