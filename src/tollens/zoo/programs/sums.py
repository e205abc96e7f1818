"""Histograms, sums and running sums with Laplace noise."""

from __future__ import annotations

from tollens import noise

EPSILON_LOW = 0.2
EPSILON_MIDDLE = 0.7
EPSILON_HIGH = 1.5
BLOCK = 2


def noisy_counts(counts: list[int], scale: float) -> list[float]:
    """Each count with its own noise."""
    return [count + noise.laplace(scale) for count in counts]


def histogram(data: list[int]) -> list[float]:
    """Counts with noise of scale 1/epsilon, where a record changes one count by 1."""
    return noisy_counts(data, 1 / EPSILON_LOW)


def histogram_low(data: list[int]) -> list[float]:
    """Scale epsilon in place of 1/epsilon, at .2."""
    return noisy_counts(data, EPSILON_LOW)


def histogram_middle(data: list[int]) -> list[float]:
    """Scale epsilon in place of 1/epsilon, at .7."""
    return noisy_counts(data, EPSILON_MIDDLE)


def histogram_high(data: list[int]) -> list[float]:
    """Scale epsilon in place of 1/epsilon, at 1.5, where this is more noise than needed."""
    return noisy_counts(data, EPSILON_HIGH)


def noisy_sum(data: list[int]) -> float:
    """A sum with noise of scale 1."""
    total = 0
    for value in data:
        total += value
    return total + noise.laplace(1)


def noisy_sum_half_scale(data: list[int]) -> float:
    """A sum with noise of scale 1/2."""
    total = 0
    for value in data:
        total += value
    return total + noise.laplace(0.5)


def running_sums(data: list[int]) -> list[float]:
    """All prefix sums; each step adds a value and noise of its own to the sum before."""
    total, sums = 0.0, []
    for value in data:
        total += value + noise.laplace(1)
        sums.append(total)
    return sums


def smart_sums(data: list[int]) -> list[float]:
    """Prefix sums in two levels (Chan, Shi, Song 2011): noisy blocks, noisy values within one."""
    blocks, block, total, sums = 0.0, 0, 0.0, []
    for i, value in enumerate(data):
        block += value
        if (i + 1) % BLOCK == 0:
            blocks += block + noise.laplace(1)
            block = 0
            total = blocks
        else:
            total += value + noise.laplace(1)
        sums.append(total)
    return sums


def smart_sums_bare_blocks(data: list[int]) -> list[float]:
    """The same without the noise of the blocks."""
    blocks, block, total, sums = 0.0, 0, 0.0, []
    for i, value in enumerate(data):
        block += value
        if (i + 1) % BLOCK == 0:
            blocks += block
            block = 0
            total = blocks
        else:
            total += value + noise.laplace(1)
        sums.append(total)
    return sums
