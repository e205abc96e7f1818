"""Probabilities of answers that share one noisy threshold, or one race of noisy counts.

Given the noise of the threshold the answers are independent, so that each probability is an
integral over one number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tollens.zoo.law import Array
from tollens.zoo.programs.suite.noises import Noise, integral

Queries = Sequence[float]
Answers = tuple[bool, ...]

_GAPS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def all_answers(n: int, cutoff: int) -> Iterator[Answers]:
    """Every answer to n queries that ends with the positive number `cutoff`.

    >>> list(all_answers(2, 1))
    [(False, False), (False, True), (True,)]
    """
    ended = set()
    for bits in itertools.product((False, True), repeat=n):
        places = [i for i, bit in enumerate(bits) if bit]
        ended.add(bits[: places[cutoff - 1] + 1] if len(places) >= cutoff else bits)
    yield from sorted(ended)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Queries with noise `query` against `level` with noise `threshold`.

    >>> rule = Comparison(level=0, threshold=Noise("laplace", 2), query=Noise("laplace", 4))
    >>> round(rule.probability([0], (True,)), 12)
    0.5
    """

    level: float
    threshold: Noise
    query: Noise

    def probability(self, queries: Queries, answers: Answers) -> float:
        """That the first queries lie above (True) or below the threshold."""
        gaps = [query - self.level for query in queries]

        def integrand(r: Array) -> Array:
            value = self.threshold.density(r)
            for gap, above in zip(gaps, answers, strict=False):
                value = value * (self.query.above(r - gap) if above else self.query.cdf(r - gap))
            return value

        return integral(integrand, self.threshold.reach, gaps)

    def gap_density(self, queries: Queries, k: int, g: float) -> float:
        """That k queries lie below, times the density of the distance g of the next one."""
        gaps = [query - self.level for query in queries[: k + 1]]

        def integrand(r: Array) -> Array:
            value = self.threshold.density(r) * self.query.density(g + r - gaps[k])
            for gap in gaps[:k]:
                value = value * self.query.cdf(r - gap)
            return value

        return integral(integrand, self.threshold.reach, [*gaps, gaps[k] - g])

    def largest_loss(self, x: Queries, x_prime: Queries, cutoff: int) -> float:
        """The largest loss of an answer vector, both orders."""
        return max(
            abs(math.log(self.probability(x, answers) / self.probability(x_prime, answers)))
            for answers in all_answers(len(x), cutoff)
        )

    def largest_gap_loss(self, x: Queries, x_prime: Queries) -> float:
        """The same where the first positive answer is its distance to the threshold."""
        below = (False,) * len(x)
        losses = [self.probability(x, below) / self.probability(x_prime, below)]
        for k, g in itertools.product(range(len(x)), _GAPS):
            losses.append(self.gap_density(x, k, g) / self.gap_density(x_prime, k, g))
        return max(abs(math.log(loss)) for loss in losses)

    def largest_fresh_loss(self, x: Queries, x_prime: Queries, scale: float) -> float:
        """The same where it is the query with fresh Laplace noise of a scale."""
        below = (False,) * len(x)
        losses = [abs(math.log(self.probability(x, below) / self.probability(x_prime, below)))]
        for k in range(len(x)):
            answers = (*below[:k], True)
            loss = math.log(self.probability(x, answers) / self.probability(x_prime, answers))
            losses.append(abs(loss) + abs(x[k] - x_prime[k]) / scale)
        return max(losses)


def fresh_probability(queries: Queries, answers: Answers, rule: Comparison) -> float:
    """Probability of answers where each positive one brings a new threshold.

    >>> rule = Comparison(level=0, threshold=Noise("laplace", 2), query=Noise("laplace", 4))
    >>> round(fresh_probability([0, 0], (True, False), rule), 12)
    0.25
    """
    probability, start = 1.0, 0
    for i, above in enumerate(answers):
        if above or i == len(answers) - 1:
            probability *= rule.probability(queries[start : i + 1], answers[start : i + 1])
            start = i + 1
    return probability


def winner_probability(counts: Queries, i: int, noise: Noise) -> float:
    """That count i is the largest after noise.

    >>> round(winner_probability([0, 0], 0, Noise("exponential", 2)), 12)
    0.5
    """

    def integrand(v: Array) -> Array:
        value = noise.density(v - counts[i])
        for j, count in enumerate(counts):
            if j != i:
                value = value * noise.cdf(v - count)
        return value

    reach = noise.reach + float(np.abs(counts).max())
    return integral(integrand, reach, counts)


def largest_winner_loss(x: Queries, x_prime: Queries, noise: Noise) -> float:
    """The largest loss of a winner, both orders."""
    return max(
        abs(math.log(winner_probability(x, i, noise) / winner_probability(x_prime, i, noise)))
        for i in range(len(x))
    )
