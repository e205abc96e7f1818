"""Counts with noise of whole numbers: P(Z = z) falls like ratio^|z|."""

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


def one_sided_count(data: int) -> int:
    """A count plus one geometric draw: it never falls below the count."""
    return data + noise.geometric(1 - RATIO)


def signed_count(data: int) -> int:
    """A geometric magnitude with a random sign; minus zero is drawn again."""
    while True:
        negative = noise.flip(0.5)
        magnitude = noise.geometric(1 - RATIO)
        if negative and magnitude == 0:
            continue
        return data - magnitude if negative else data + magnitude


def signed_count_two_zeros(data: int) -> int:
    """The same, where plus and minus zero both count."""
    magnitude = noise.geometric(1 - RATIO)
    return data - magnitude if noise.flip(0.5) else data + magnitude


def clamped_count(data: tuple[int, int]) -> int:
    """A count between 0 and the size of the data, both of them given, clamped after the noise."""
    count, top = data
    noisy = count + noise.geometric(1 - RATIO) - noise.geometric(1 - RATIO)
    return max(0, min(noisy, top))


def redrawn_count(data: tuple[int, int]) -> int:
    """Draw again, in place of clamping, what falls outside."""
    count, top = data
    noisy = -1
    while not 0 <= noisy <= top:
        noisy = count + noise.geometric(1 - RATIO) - noise.geometric(1 - RATIO)
    return noisy


def renormalised_count(data: tuple[int, int]) -> int:
    """The same law as `redrawn_count`, from a table of the weights inside."""
    count, top = data
    weights = []
    for value in range(top + 1):
        weight = 1.0
        for _ in range(abs(value - count)):
            weight *= RATIO
        weights.append(weight)
    rest = sum(weights)
    for value in range(top):
        if noise.flip(weights[value] / rest):
            return value
        rest -= weights[value]
    return top


def table_count(data: int) -> int:
    """Noise from a small table, where it ends at a distance of two."""
    return data + noise.discrete({-2: 0.1, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.1})
