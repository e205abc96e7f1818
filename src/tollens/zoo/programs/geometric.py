"""Counts with geometric noise, thrown coin by coin."""

from __future__ import annotations

from tollens import noise

RATIO = 0.36787945  # a little above e^-1
RATIO_OF_TWO = 0.13534  # a little above e^-2


def tosses(ratio: float) -> int:
    """How often a coin comes up before it fails: k with probability (1 - ratio) ratio^k."""
    count = 0
    while noise.flip(ratio):
        count += 1
    return count


def geometric_count(data: int) -> int:
    """A count plus the difference of two geometric draws (Ghosh, Roughgarden, Sundararajan)."""
    return data + tosses(RATIO) - tosses(RATIO)


def geometric_count_half_scale(data: int) -> int:
    """The same with the noise of epsilon = 2."""
    return data + tosses(RATIO_OF_TWO) - tosses(RATIO_OF_TWO)
