"""What every claim is: a convex region, asked by its support, bet against by its promises."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from tollens.errors import ClaimError
from tollens.quantity import Number, delta_quantity, epsilon_quantity

Json = dict[str, object]

_LARGEST = 700.0

TANGENTS = 12
"""How many (epsilon, delta) promises stand for a curved claim in a bet."""


class Promise(NamedTuple):
    """One (epsilon, delta) inequality that a claim implies, the unit that a bet is made against.

    `order` is +1 for P(S) <= e^eps Q(S) + delta with P = A(x), -1 for the roles swapped, and 0
    for both orders at once, which is used where delta is 0.
    """

    epsilon: float
    delta: float
    order: int


class Claim(ABC):
    """A promise about a neighbouring pair; made by `pure`, `approx`, `gaussian` and the others.

    >>> import tollens
    >>> claim = tollens.approx("ln 3", 0.1)
    >>> round(claim.support(1, 3), 6), round(claim.support(1, 1), 3)
    (0.1, 0.55)
    """

    kind: ClassVar[str]
    ordered: bool

    @abstractmethod
    def _hockey_stick(self, ratio: float) -> float:
        """The largest p - ratio q that the claim allows, for any ratio >= 0."""

    @abstractmethod
    def _parameters(self) -> Json:
        """What the JSON form adds to the kind."""

    @abstractmethod
    def _formula(self) -> str:
        """A short text such as `epsilon=1`, in the form that `parse_claim` reads where it can."""

    @abstractmethod
    def promises(self) -> tuple[Promise, ...]:
        """The (epsilon, delta) inequalities through which runs test this claim."""

    def support(self, a: float, b: float) -> float:
        """max { a p - b q : (p, q) in the region } for any real direction (a, b).

        >>> import tollens
        >>> round(tollens.pure("ln 3").support(1, 1), 6)     # the largest total variation
        0.5
        """
        if not (math.isfinite(a) and math.isfinite(b)):
            raise ClaimError(f"the direction ({a}, {b}) is not finite")
        if a >= 0 >= b:
            return a - b
        if a <= 0 <= b:
            return 0.0
        ratio = min(b / a, 1e300)
        if a > 0:
            return a * self._hockey_stick(ratio)
        # the region is symmetric under (p, q) -> (1 - p, 1 - q)
        return a - b - a * self._hockey_stick(ratio)

    def delta(self, epsilon: Number) -> float:
        """The profile: the least delta with which the claim implies (epsilon, delta)-DP.

        >>> import tollens
        >>> round(tollens.gaussian(1).delta(1), 4)
        0.1269
        """
        return max(0.0, self._hockey_stick(math.exp(epsilon_quantity(epsilon).value)))

    def epsilon(self, delta: Number) -> float:
        """The least epsilon with which the claim implies (epsilon, delta)-DP; inf if none does.

        >>> import tollens
        >>> round(tollens.gaussian(1).epsilon(1e-5), 3)
        4.377
        """
        target = delta_quantity(delta).value
        if self.delta(0) <= target:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > target:
            if high >= _LARGEST:
                return math.inf
            low, high = high, min(2 * high, _LARGEST)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > target else (low, middle)
        return high

    @property
    def leak_delta(self) -> float | None:
        """The claim's own delta, at which a certified leak is stated; None if it has none."""
        return None

    @abstractmethod
    def words(self) -> str:
        """The promise in one sentence for a reader who is no expert."""

    def to_json(self) -> Json:
        """A plain dictionary; `claim_from_json` turns it back into an equal claim."""
        return {"kind": self.kind, **self._parameters(), "ordered": self.ordered}

    def __str__(self) -> str:
        return self._formula() + (", ordered" if self.ordered else "")


def sides(epsilon: float, delta: float, ordered: bool) -> tuple[Promise, ...]:
    """The promises of one (epsilon, delta) inequality: one order, both, or both at once."""
    if ordered:
        return (Promise(epsilon, delta, 1),)
    if delta == 0:
        return (Promise(epsilon, 0.0, 0),)
    return (Promise(epsilon, delta, 1), Promise(epsilon, delta, -1))


def tangents(claim: Claim) -> tuple[Promise, ...]:
    """(epsilon_k, delta(epsilon_k)) from 0 to where delta is a thousandth of delta(0).

    Where it falls below a thousandth late or never, epsilon stops at 30. A claim of perfect
    privacy (delta(0) = 0) is the pure claim with epsilon = 0.
    """
    start = claim.delta(0)
    if start <= 1e-12:
        return sides(0.0, max(start, 0.0), claim.ordered)
    last = min(claim.epsilon(start * 1e-3), 30.0)
    found: list[Promise] = []
    for epsilon in (last * np.linspace(0.0, 1.0, TANGENTS) ** 2.0).tolist():
        found.extend(sides(epsilon, min(1.0, claim.delta(epsilon) + 1e-13), claim.ordered))
    return tuple(found)
