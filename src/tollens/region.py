"""Convex regions of the unit square: what a claim allows for the two means of a test.

For a test f with values in [0, 1] write p = E f(A(x)) and q = E f(A(x')). A claim allows a convex
set R of pairs (p, q), symmetric under (p, q) -> (1-p, 1-q). Its upper boundary p = h(q) is a
concave nondecreasing curve; here it is piecewise linear and never below the true one, so that a
pair outside it is outside the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRID = np.unique(
    np.concatenate(
        [
            np.geomspace(1e-12, 0.05, 120),
            np.linspace(0.05, 0.95, 91),
            1 - np.geomspace(1e-12, 0.05, 120),
            [0.0, 1.0],
        ]
    )
)
"""Where curves given as functions are tabulated: dense near 0 and 1."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The upper boundary h of a region, as the vertices (q_i, p_i) of a concave curve on [0, 1].

    >>> pure_ln3 = Boundary((0.0, 0.25, 1.0), (0.0, 0.75, 1.0))
    >>> pure_ln3.hockey_stick(3.0), pure_ln3.hockey_stick(1.0)
    (0.0, 0.5)
    """

    q: tuple[float, ...]
    p: tuple[float, ...]

    def hockey_stick(self, ratio: float) -> float:
        """The largest p - ratio q on the curve; with ratio = e^epsilon this is delta(epsilon)."""
        return float(np.max(np.asarray(self.p) - ratio * np.asarray(self.q)))

    def height(self, q: float) -> float:
        """h(q), the largest p that the region allows beside q."""
        return float(np.interp(q, self.q, self.p))

    def heights(self, q: Array) -> Array:
        """h at each of an array of q."""
        return np.interp(q, self.q, self.p)

    def mirrored(self) -> Boundary:
        """The same promise with the roles of x and x' swapped: (q, p) -> (1 - p, 1 - q)."""
        return Boundary(
            tuple(1.0 - p for p in reversed(self.p)), tuple(1.0 - q for q in reversed(self.q))
        )


def lines(epsilons: Array, deltas: Array, *, ordered: bool) -> Boundary:
    """The region under all lines p <= e^eps_k q + delta_k, and their mirror images unless ordered.

    >>> lines(np.array([0.0]), np.array([0.25]), ordered=False).q
    (0.0, 0.75, 1.0)
    """
    slopes, offsets = np.exp(epsilons), np.asarray(deltas, dtype=np.float64)
    if not ordered:
        # 1 - q <= e^eps (1 - p) + delta  is  p <= q e^-eps + 1 - e^-eps (1 - delta)
        slopes, offsets = (
            np.concatenate([slopes, 1 / slopes]),
            np.concatenate([offsets, 1 - (1 - offsets) / slopes]),
        )
    slopes, offsets = np.append(slopes, 0.0), np.append(offsets, 1.0)
    return _lower_envelope(slopes, offsets)


def _lower_envelope(slopes: Array, offsets: Array) -> Boundary:
    """Vertices on [0, 1] of the least of the lines (their pointwise minimum is concave)."""
    q, p = 0.0, float(np.min(offsets))
    vertices = [(q, p)]
    while q < 1.0:
        values = slopes * q + offsets
        tied = values <= values.min() + 1e-14
        slope = slopes[tied].min()
        level = float(values[tied].min())
        lower = slopes < slope - 1e-15
        gaps = np.full(slopes.shape, np.inf)
        gaps[lower] = (values[lower] - level) / (slope - slopes[lower])
        step = float(gaps.min())
        if q + step >= 1.0 or not np.isfinite(step):
            vertices.append((1.0, min(1.0, level + slope * (1.0 - q))))
            break
        q += step
        if step > 0:
            vertices.append((q, min(1.0, float(np.min(slopes * q + offsets)))))
        else:  # the same point again: move on by the next smaller slope
            offsets, slopes = offsets[lower], slopes[lower]
    return Boundary(tuple(v[0] for v in vertices), tuple(v[1] for v in vertices))


def outer(curve: Callable[[Array], Array]) -> Boundary:
    """A piecewise-linear curve that is nowhere below the concave `curve` on [0, 1].

    Between two grid points a concave function lies below the secants of the neighbouring
    intervals, prolonged; the least of those secants is the table.

    >>> b = outer(np.sqrt)
    >>> all(b.height(q) >= q**0.5 for q in (0.003, 0.2, 0.77))
    True
    """
    q = GRID
    p = np.clip(np.asarray(curve(q), dtype=np.float64), 0.0, 1.0) + 1e-13
    widths = np.diff(q)
    slopes = np.diff(p) / widths
    rounding = 4e-16 / widths + 1e-12 * np.abs(slopes)  # of a slope; each is erred to the safe side
    steep, flat = slopes + rounding, np.maximum(slopes - rounding, 0.0)
    out_q, out_p = [float(q[0])], [float(p[0])]
    for i in range(len(q) - 1):
        right = float(flat[i + 1]) if i + 1 < len(flat) else 0.0
        if i == 0:
            out_p[-1] = max(out_p[-1], float(p[1] - right * (q[1] - q[0])))
        elif steep[i - 1] - right > 1e-12:
            # p[i] + left (s - q[i]) meets p[i+1] - right (q[i+1] - s)
            left = float(steep[i - 1])
            s = (p[i + 1] - right * q[i + 1] - p[i] + left * q[i]) / (left - right)
            if q[i] < s < q[i + 1]:
                out_q.append(float(s))
                out_p.append(float(p[i] + left * (s - q[i])))
        out_q.append(float(q[i + 1]))
        out_p.append(float(p[i + 1]))
    return Boundary(tuple(out_q), tuple(min(1.0, v) for v in out_p))
