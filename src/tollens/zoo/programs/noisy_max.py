"""Report noisy max: which of several counts is the largest, after noise.

A record changes each count by at most 1 (Dwork, Roth 2014, section 3.3).
"""

from __future__ import annotations

from tollens import noise


def noisy_max(data: list[int]) -> int:
    """The place of the largest count after Laplace noise of scale 2."""
    best, place = data[0] + noise.laplace(2), 0
    for i in range(1, len(data)):
        noisy = data[i] + noise.laplace(2)
        if noisy > best:
            best, place = noisy, i
    return place


def noisy_max_exponential(data: list[int]) -> int:
    """The same with exponential noise of scale 2."""
    best, place = data[0] + noise.exponential(2), 0
    for i in range(1, len(data)):
        noisy = data[i] + noise.exponential(2)
        if noisy > best:
            best, place = noisy, i
    return place


def noisy_max_half_scale(data: list[int]) -> int:
    """Laplace noise of scale 1."""
    best, place = data[0] + noise.laplace(1), 0
    for i in range(1, len(data)):
        noisy = data[i] + noise.laplace(1)
        if noisy > best:
            best, place = noisy, i
    return place


def noisy_max_value(data: list[int]) -> float:
    """Return the largest noisy count, not its place."""
    best = data[0] + noise.laplace(2)
    for count in data[1:]:
        best = max(best, count + noise.laplace(2))
    return best


def noisy_max_value_exponential(data: list[int]) -> float:
    """The same with exponential noise, which never lowers a count."""
    return max(count + noise.exponential(2) for count in data)
