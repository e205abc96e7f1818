"""Density estimates on fine cells, for bets that coarse cells cannot express.

The counts of neighbouring cells are smoothed by a Gaussian kernel on a scale that is linear near
the median and logarithmic in the tails, with the bandwidth of Silverman's rule (1986) times a
factor that errs on the generous side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FINE = 64
"""Cells of a density estimate."""


def smoothing_matrix(resolution: float, cells: int = FINE) -> Array:
    """The matrix (cells, cells) by which cells share their counts; its columns sum to 1.

    `resolution` is the width of a cell in bandwidths.

    >>> smoothing_matrix(1.0).sum(axis=0).round(9).min().item()
    1.0
    """
    place = np.arange(cells)
    kernel = np.exp(-0.5 * (resolution * (place[:, None] - place[None, :])) ** 2)
    return np.asarray(kernel / kernel.sum(axis=0, keepdims=True))


def density_cells(values: Array, factor: float) -> tuple[Array, float] | None:
    """Cuts (FINE - 1,) and the width of a cell in bandwidths, for `smoothing_matrix`.

    None where the values do not spread enough for a density (fewer than 12 distinct ones, or
    mostly ties). `factor` scales the bandwidth.
    """
    distinct = len(np.unique(values))
    if distinct < 12 or distinct < len(values) / 2:
        return None
    finite = values[np.isfinite(values)]
    center = np.median(finite)
    low, high = np.quantile(finite, [0.25, 0.75])
    unit = max((high - low) / 1.349, 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        warped = np.arcsinh((finite - center) / unit)
    if not np.all(np.isfinite(warped)):
        return None
    edge_low, edge_high = warped.min(), warped.max()
    margin = 0.05 * (edge_high - edge_low)
    edges = np.linspace(edge_low - margin, edge_high + margin, FINE - 1)
    with np.errstate(over="ignore"):
        cuts = center + unit * np.sinh(edges)
    if not np.all(np.isfinite(cuts)) or np.any(np.diff(cuts) <= 0):
        return None
    step = edges[1] - edges[0]
    bandwidth = factor * max(warped.std(), 1e-12) * (len(finite) / 2) ** -0.2
    return cuts, float(step / bandwidth)
