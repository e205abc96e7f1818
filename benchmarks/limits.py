"""The physical limit: how few pairs any level-alpha sequential test can need on average.

No such test can need fewer than about log(1/alpha) / KL* pairs of independent runs, where KL* is
the smallest KL(P || P') + KL(Q || Q') over pairs (P', Q') that keep the promise (Wald 1945). KL*
is computed by the projection on a fine grid of the exact masses, so it is a lower bound of the
true one by less than the grid is coarse.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.projection import project_pure
from tollens.auditing.ville import certify, worst_pure


def laplace_masses(center: float, scale: float, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exact masses of Laplace(center, scale) between the edges, and in both tails."""
    z = (edges - center) / scale
    below = np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def laplace_limit(claimed: float, true: float, *, alpha: float, cells: int = 2000) -> float:
    """The limit for a count with sensitivity 1 and Laplace noise of scale 1 / true."""
    edges = np.linspace(0.0, 1.0, cells)  # the loss is constant outside [0, 1]
    p = laplace_masses(1.0, 1.0 / true, edges)
    q = laplace_masses(0.0, 1.0 / true, edges)
    factors = project_pure(p, q, np.array(claimed))
    fair = certify(factors, worst_pure(factors, np.array(claimed)))
    divergence = float(p @ np.log(fair.a) + q @ np.log(fair.b))
    return math.log(1 / alpha) / divergence
