"""Randomised response: a record answers for itself with some probability, otherwise by chance."""

from __future__ import annotations

from tollens import noise

PERMANENT = 0.75  # chance that a bit of a report is a coin and not the bit
TIMES = 3


def response_coin(data: int) -> int:
    """Tell the bit with probability 3/4, otherwise the opposite (Warner 1965)."""
    return data if noise.flip(0.75) else 1 - data


def response_coin_biased(data: int) -> int:
    """The same with a coin that shows the truth too often: 4/5 in place of 3/4."""
    return data if noise.flip(0.8) else 1 - data


def two_coins(data: int) -> int:
    """Heads: the bit. Tails: a second coin decides the answer, heads for 1."""
    if noise.flip(0.5):
        return data
    return 1 if noise.flip(0.5) else 0


def two_coins_biased(data: int) -> int:
    """The same with a second coin that shows heads one time in four."""
    if noise.flip(0.5):
        return data
    return 1 if noise.flip(0.25) else 0


def rappor_once(data: list[int]) -> list[int]:
    """One-time RAPPOR: bits of a Bloom filter, each kept or replaced by a fair coin.

    Only the permanent step of Erlingsson, Pihur, Korolova 2014, as for a report made once.
    """
    report = []
    for bit in data:
        if noise.flip(PERMANENT):
            report.append(1 if noise.flip(0.5) else 0)
        else:
            report.append(bit)
    return report


def repeated_response(data: int) -> list[int]:
    """Ask the same record several times."""
    return [response_coin(data) for _ in range(TIMES)]
