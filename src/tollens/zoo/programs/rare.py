"""Answers that are about the record with a small probability only."""

from __future__ import annotations

from tollens import noise

BITS = 40
RATE = 0.1
E = 2.71828182  # a little below e
TRUTH = E / (1 + E)
BASE = 0  # what an empty sample answers for
KEY_BOUND = 4.91203  # a little above 1 + ln(1/(2 delta)) with delta = 1/100
KEY_BOUND_SHORT = 3.91203  # without the 1


def rare_secret(data: int) -> int:
    """Show the record if each of 40 coins comes up heads."""
    for _ in range(BITS):
        if not noise.flip(0.5):
            return 2
    return data


def respond(bit: int) -> int:
    """Randomised response with epsilon = 1."""
    return bit if noise.flip(TRUTH) else 1 - bit


def sampled_response(data: int) -> int:
    """Ask the record with probability 1/10, otherwise answer for a fixed bit."""
    return respond(data) if noise.flip(RATE) else respond(BASE)


def release_key(data: int) -> float | None:
    """The noisy count of a key, if there is any record with it and the count is large enough."""
    if data == 0:
        return None
    noisy = data + noise.laplace(1)
    return noisy if noisy >= KEY_BOUND else None


def release_key_early(data: int) -> float | None:
    """The same with a bound that forgets that the first record counts 1 itself."""
    if data == 0:
        return None
    noisy = data + noise.laplace(1)
    return noisy if noisy >= KEY_BOUND_SHORT else None
