"""Neighbours: the pair of inputs on which a claim is tested."""

from __future__ import annotations

from dataclasses import dataclass

from tollens.errors import UsageError
from tollens.mechanism import refuse_iterator


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs that the caller vouches are neighbours under the claim's relation."""

    x: object
    x_prime: object
    relation: str = "explicit"


def as_pair(neighbours: object) -> Pair:
    """The pair that `neighbours` names: a tuple `(x, x_prime)`, taken on the caller's word.

    >>> as_pair(([1, 1], [1])).x_prime
    [1]
    >>> as_pair([1, 1])
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: neighbours is a list; give one pair as a tuple (x, x_prime)
    """
    if isinstance(neighbours, Pair):
        pair = neighbours
    elif isinstance(neighbours, tuple) and len(neighbours) == 2:
        pair = Pair(*neighbours)
    elif isinstance(neighbours, tuple):
        raise UsageError(
            f"neighbours is a tuple of {len(neighbours)}; give one pair as a tuple (x, x_prime)"
        )
    else:
        raise UsageError(
            f"neighbours is a {type(neighbours).__name__}; give one pair as a tuple (x, x_prime)"
        )
    refuse_iterator(pair.x, "x")
    refuse_iterator(pair.x_prime, "x_prime")
    return pair
