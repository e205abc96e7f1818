"""Report noisy max: which of several counts is the largest, after noise."""

from __future__ import annotations

from tollens import noise


def noisy_max_value(data: list[int]) -> float:
    """Return the largest noisy count, not its place."""
    best = data[0] + noise.laplace(2)
    for count in data[1:]:
        noisy = count + noise.laplace(2)
        best = max(best, noisy)
    return best
