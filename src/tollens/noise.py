"""Noise primitives: programs written with them run, can be seeded and coupled, and can be read.

A mechanism that draws all its randomness here is an ordinary function of its data. When tollens
runs it, the draws come from the stream of that run, so runs repeat from a seed and can share their
draws; called by anybody else it draws fresh randomness. Its text has an exact meaning: a draw is
from the ideal distribution over the reals, and parameters may be integers, fractions or floats.

>>> from tollens import noise
>>> def noisy_count(rows):
...     return len(rows) + noise.laplace(1)
>>> with drawing(np.random.default_rng(7)):
...     first = noisy_count([1, 1])
>>> with drawing(np.random.default_rng(7)):
...     first == noisy_count([1, 1])
True
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import TypeVar

import numpy as np

from tollens.errors import UsageError

__all__ = [
    "discrete", "drawing", "exponential", "flip", "gauss", "geometric", "laplace", "uniform",
]  # fmt: skip

Real = int | float | Fraction
V = TypeVar("V")

_STREAM: ContextVar[np.random.Generator | None] = ContextVar("tollens.noise", default=None)
_FOLLOWED = 50


@contextmanager
def drawing(rng: np.random.Generator) -> Iterator[None]:
    """Take all draws within the block, in this thread or task, from a generator."""
    token = _STREAM.set(rng)
    try:
        yield
    finally:
        _STREAM.reset(token)


def laplace(scale: Real) -> float:
    """A draw from the Laplace distribution around 0: density exp(-abs(z)/scale)/(2 scale)."""
    return float(_stream().laplace(0.0, _positive("laplace", "scale", scale)))


def gauss(sigma: Real) -> float:
    """A draw from the normal distribution around 0 with standard deviation sigma."""
    return float(_stream().normal(0.0, _positive("gauss", "sigma", sigma)))


def exponential(scale: Real) -> float:
    """A draw from the exponential distribution: density exp(-z/scale)/scale for z >= 0."""
    return float(_stream().exponential(_positive("exponential", "scale", scale)))


def uniform(a: Real, b: Real) -> float:
    """A draw from the uniform distribution on [a, b]."""
    low, high = float(a), float(b)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"noise.uniform: [{a}, {b}] is no interval; a must be less than b")
    return float(_stream().uniform(low, high))


def geometric(p: Real) -> int:
    """The number of failures before the first success, 0, 1, ...; p is the chance of success.

    >>> with drawing(np.random.default_rng(0)):
    ...     min(geometric(0.5) for _ in range(20))
    0
    """
    chance = _probability("geometric", p)
    if chance == 0:
        raise UsageError("noise.geometric: p is 0, so it would never end; p must lie in (0, 1]")
    return int(_stream().geometric(chance)) - 1


def flip(p: Real) -> bool:
    """True with probability p."""
    return bool(_stream().random() < _probability("flip", p))


def discrete(masses: Mapping[V, Real]) -> V:
    """One of the keys, each with its probability; they must sum to 1 (within 1e-9).

    >>> with drawing(np.random.default_rng(0)):
    ...     discrete({"yes": 1, "no": 0})
    'yes'
    """
    values, chances = list(masses), [float(mass) for mass in masses.values()]
    if not values or min(chances) < 0 or abs(math.fsum(chances) - 1) > 1e-9:
        raise UsageError(
            f"noise.discrete: the masses sum to {math.fsum(chances):g}; they must be at least 0 "
            "and sum to 1"
        )
    at = np.searchsorted(np.cumsum(chances), _stream().random(), side="right")
    return values[min(int(at), len(values) - 1)]


def draws_here(function: object) -> bool:
    """Whether the text of a function, or of those that it calls in its file, draws from here.

    >>> draws_here(lambda data: data + laplace(1)), draws_here(lambda data: data + 1)
    (True, False)
    """
    waiting: list[object] = [function]
    seen: set[types.FunctionType] = set()
    while waiting and len(seen) < _FOLLOWED:
        current = waiting.pop()
        if not isinstance(current, types.FunctionType) or current in seen:
            continue
        seen.add(current)
        names = set(_names(current.__code__))
        for name in names:
            value = current.__globals__.get(name)
            if isinstance(value, types.ModuleType):
                whole = value.__name__ == __name__.rpartition(".")[0] and "noise" in names
                if value.__name__ == __name__ or whole:
                    return True
            elif isinstance(value, types.FunctionType):
                if value.__module__ == __name__ and value.__name__ in __all__:
                    return True
                if value.__module__ == current.__module__:
                    waiting.append(value)
    return False


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _stream() -> np.random.Generator:
    stream = _STREAM.get()
    return np.random.default_rng() if stream is None else stream


def _positive(primitive: str, name: str, value: Real) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise UsageError(f"noise.{primitive}: {name} is {value}; it must be a positive number")
    return number


def _probability(primitive: str, p: Real) -> float:
    number = float(p)
    if not 0 <= number <= 1:
        raise UsageError(f"noise.{primitive}: p is {p}; it must lie in [0, 1]")
    return number
