"""Randomised response: a record answers for itself with some probability, otherwise by chance."""

from __future__ import annotations

from tollens import noise


def response_coin(data: int) -> int:
    """Tell the bit with probability 3/4, otherwise the opposite (Warner 1965)."""
    return data if noise.flip(0.75) else 1 - data


def response_coin_biased(data: int) -> int:
    """The same with a coin that shows the truth too often: 4/5 in place of 3/4."""
    return data if noise.flip(0.8) else 1 - data
