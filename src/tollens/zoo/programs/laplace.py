"""Laplace and uniform noise on one number that a record changes by at most 1."""

from __future__ import annotations

from tollens import noise

TOP = 2


def laplace(data: float) -> float:
    """A query with noise of scale 1 (Dwork, McSherry, Nissim, Smith 2006)."""
    return data + noise.laplace(1)


def laplace_half_scale(data: float) -> float:
    """The same with noise of scale 1/2."""
    return data + noise.laplace(0.5)


def laplace_clamped(data: float) -> float:
    """Noise of scale 1, then clamped to the range of the query."""
    return min(max(data + noise.laplace(1), 0), TOP)


def laplace_redrawn(data: float) -> float:
    """Noise of scale 1, drawn again until the answer lies in the range of the query."""
    noisy = data + noise.laplace(1)
    while noisy < 0 or noisy > TOP:
        noisy = data + noise.laplace(1)
    return noisy


def uniform(data: float) -> float:
    """Noise between -5 and 5."""
    return data + noise.uniform(-5, 5)
