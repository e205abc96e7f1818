"""Laplace and Gaussian noise on one number."""

from __future__ import annotations

from tollens import noise


def laplace_half_scale(data: float) -> float:
    """A query of sensitivity 1 with noise of scale 1/2."""
    return data + noise.laplace(0.5)


def gauss_unit(data: float) -> float:
    """A query of sensitivity 1 with normal noise of standard deviation 1."""
    return data + noise.gauss(1)
