"""Densities, distribution functions and quadrature: what the truths are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tollens.zoo.law import Array, Law, laplace_cdf

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_PIECES = 80


@dataclass(frozen=True, slots=True)
class Noise:
    """A noise of the kind "laplace", "gauss" or "exponential" with its scale or deviation.

    >>> Noise("exponential", 2).cdf(np.array([-1.0, 0.0])), float(Noise("laplace", 0.5).reach)
    (array([0., 0.]), 20.0)
    """

    kind: str
    scale: float

    @property
    def reach(self) -> float:
        """What it exceeds, on either side, with a probability below 1e-17 only."""
        return self.scale * (12.0 if self.kind == "gauss" else 40.0)

    def density(self, z: Array) -> Array:
        """Its density at each of z."""
        u = z / self.scale
        if self.kind == "gauss":
            return np.asarray(np.exp(-u * u / 2) / (self.scale * np.sqrt(2 * np.pi)))
        if self.kind == "laplace":
            return np.asarray(np.exp(-np.abs(u)) / (2 * self.scale))
        return np.where(u < 0, 0.0, np.exp(-np.abs(u)) / self.scale)

    def cdf(self, z: Array) -> Array:
        """P(noise <= z) at each of z, accurate in the lower tail."""
        if self.kind == "gauss":
            return np.asarray(ndtr(z / self.scale))
        if self.kind == "laplace":
            return laplace_cdf(z, self.scale)
        return np.where(z < 0, 0.0, -np.expm1(-np.abs(z) / self.scale))

    def above(self, z: Array) -> Array:
        """P(noise > z) at each of z, accurate in the upper tail."""
        if self.kind == "exponential":
            return np.where(z < 0, 1.0, np.exp(-np.abs(z) / self.scale))
        return self.cdf(-z)


def integral(f: Callable[[Array], Array], reach: float, breaks: Iterable[float]) -> float:
    """Integral over [-reach, reach] of a function that is smooth between the breaks and 0.

    Gauss-Legendre quadrature on many pieces.

    >>> round(integral(Noise("laplace", 1).density, 40, []), 12)
    1.0
    """
    ends = np.linspace(-reach, reach, _PIECES + 1)
    inner = [at for at in breaks if -reach < at < reach]
    ends = np.unique(np.concatenate([ends, inner]))
    half = np.diff(ends)[:, None] / 2
    at = (ends[1:] + ends[:-1])[:, None] / 2 + half * _NODES
    return float(((half * _WEIGHTS).ravel() * f(at.ravel())).sum())


def least_epsilon(p: Iterable[float], q: Iterable[float], delta: float = 0.0) -> float:
    """Smallest epsilon at delta, both orders, of two laws on the same finitely many outputs.

    >>> round(float(np.exp(least_epsilon([0.7, 0.3], [0.3, 0.7], 0.1))), 12)
    2.0
    """
    both = (np.array(list(p), dtype=np.float64), np.array(list(q), dtype=np.float64))
    return Law(lambda side: both[side], np.asarray).least_epsilon((0, 1), delta)
