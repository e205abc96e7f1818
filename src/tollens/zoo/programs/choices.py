"""The exponential mechanism (McSherry, Talwar 2007): choose by scores of sensitivity 1."""

from __future__ import annotations

from tollens import noise

E = 2.71828182  # a little below e
ROOT_E = 1.64872127  # a little below e^(1/2)


def weights_of(scores: list[int], base: float) -> list[float]:
    """base^score for each score, over that of the lowest."""
    lowest = min(scores)
    weights = []
    for score in scores:
        weight = 1.0
        for _ in range(score - lowest):
            weight *= base
        weights.append(weight)
    return weights


def pick(weights: list[float]) -> int:
    """A place in the list, each with probability in proportion to its weight."""
    rest = sum(weights)
    last = len(weights) - 1
    for i, weight in enumerate(weights[:last]):
        if noise.flip(weight / rest):
            return i
        rest -= weight
    return last


def exponential_choice(data: list[int]) -> int:
    """Choose i with probability in proportion to e^(score_i / 2)."""
    return pick(weights_of(data, ROOT_E))


def exponential_choice_whole_score(data: list[int]) -> int:
    """The same without the 1/2."""
    return pick(weights_of(data, E))
