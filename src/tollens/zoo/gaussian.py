"""Gaussian noise on a count, at its exact privacy profile.

A count of sensitivity 1 plus N(0, sigma^2) has the profile of mu-GDP with mu = 1/sigma,
`delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`, attained on a half line
(Balle, Wang 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tollens.claim import Claim, approx, gaussian
from tollens.divergence import gaussian_hockey_stick
from tollens.mechanism import batched
from tollens.zoo.entry import LEAK_DELTA, Entry
from tollens.zoo.law import Array, Law, interval_cells, noise_masses, normal_cdfs

_PAIR = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0))
_BISECTIONS = 100


def analytic_scale(epsilon: float, delta: float) -> float:
    """Smallest sigma with which a sum of sensitivity 1 plus N(0, sigma^2) is (eps, delta)-DP.

    The root of the exact profile, by bisection (Balle, Wang 2018).

    >>> round(analytic_scale(0.5, 0.01), 4)
    3.1469
    """
    low, high = 1e-3, 1e4
    for _ in range(_BISECTIONS):
        middle = (low * high) ** 0.5
        enough = gaussian_hockey_stick(1 / middle, np.exp(epsilon)) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def gaussian_count(
    data: Sequence[int], n: int, rng: np.random.Generator, *, sigma: float, divisor: float = 1.0
) -> Array:
    """Divide the number of ones by `divisor` and add N(0, sigma^2).

    >>> gaussian_count((1, 0), 2, np.random.default_rng(0), sigma=1.0).shape
    (2,)
    """
    return sum(data) / divisor + rng.normal(0.0, sigma, n)


def gaussian_masses(
    data: Sequence[int], *, sigma: float, divisor: float, edges: tuple[float, ...]
) -> Array:
    """Exact masses of intervals of the noisy count.

    >>> gaussian_masses((0,), sigma=1.0, divisor=1.0, edges=(0.0,))
    array([0.5, 0.5])
    """
    return noise_masses(partial(normal_cdfs, sigma=sigma), sum(data) / divisor, edges)


def gaussian_law(sigma: float, divisor: float, epsilon: float) -> Law:
    """Intervals of the noisy count whose edges include the worst events at `epsilon`.

    With counts 0 and 1 the loss is at least epsilon on
    `y <= 1/(2 divisor) - epsilon sigma^2 divisor`, and, in the other order, on the mirror image.

    >>> law = gaussian_law(1.0, 1.0, 1.0)
    >>> abs(law.hockey_stick(((0,), (1,)), 1.0) - gaussian(1).delta(1)) < 1e-12
    True
    """
    middle, worst = 0.5 / divisor, epsilon * sigma**2 * divisor
    grid = middle + sigma * np.linspace(-4, 4, 65)
    edges = tuple(np.unique([*grid, middle - worst, middle + worst]).tolist())
    return Law(
        partial(gaussian_masses, sigma=sigma, divisor=divisor, edges=edges),
        partial(interval_cells, edges=edges),
    )


def gaussian_entry(
    name: str,
    title: str,
    claim: Claim,
    sigma: float,
    *,
    holds: bool,
    source: str,
    divisor: float = 1.0,
    budget: int = 20_000,
) -> Entry:
    """Make an entry whose truth is the exact profile of the Gaussian mechanism.

    >>> gaussian_entry("g", "", approx(1, 0.1), 1.0, holds=False, source="").neighbours[1]
    (1, 0, 0, 0, 0)
    """
    delta = LEAK_DELTA if claim.leak_delta is None else claim.leak_delta
    epsilon = gaussian(1 / (sigma * divisor)).epsilon(delta)
    return Entry(
        name=name,
        title=title,
        claim=claim,
        neighbours=_PAIR,
        mechanism=batched(partial(gaussian_count, sigma=sigma, divisor=divisor)),
        holds=holds,
        truth="the exact profile of the Gaussian mechanism, attained on a half line",
        source=source,
        law=gaussian_law(sigma, divisor, epsilon),
        closed_form=epsilon,
        budget=budget,
    )


ENTRIES = (
    gaussian_entry(
        "gaussian-tight",
        "Gaussian count, exactly at its claim",
        approx(0.5, 0.01),
        analytic_scale(0.5, 0.01),
        holds=True,
        source="Balle, Wang 2018",
    ),
    gaussian_entry(
        "gaussian-mu-tight",
        "Gaussian count, exactly 1-GDP",
        gaussian(1),
        1.0,
        holds=True,
        source="Dong, Roth, Su 2022",
    ),
    gaussian_entry(
        "gaussian-half-noise",
        "Gaussian count with half the noise",
        approx(0.5, 0.01),
        analytic_scale(0.5, 0.01) / 2,
        holds=False,
        source="a slip: the sensitivity taken as 1/2",
        budget=10_000,
    ),
    gaussian_entry(
        "gaussian-mu-small-noise",
        "Gaussian count, noise 20 % too small for 1-GDP",
        gaussian(1),
        0.8,
        holds=False,
        source="a fault that no single (epsilon, 1e-5) promise shows with few runs",
    ),
)
"""Gaussian counts."""
