"""From counts of cells to estimated laws: four ways to smooth, each positive everywhere.

The estimates only steer a bet; `ville.certify` makes any of them fair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tollens.auditing.density import FINE, smoothing_matrix

Array = NDArray[np.float64]

Estimate = Callable[[Array, Array], Array]
"""From values (k,) or (2, k) and the counts (2, k) of both sides to a number for each, (2,)."""

_STEPS = 8
_RIDGE = 1.0
_LEAST_DISTINCT = 5


class Smoothing(Protocol):
    """A way to smooth the counts (size,) of both sides, whose last cells may be no intervals."""

    @property
    def style(self) -> str:
        """What tells it from others."""

    def smooth(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Positive weights (size,) of both sides."""

    def parameters(self, used: int) -> float:
        """About how many numbers are learned where `used` cells have counts."""


@dataclass(frozen=True)
class Counted:
    """The counts themselves, with a little added to each cell."""

    extra: float
    style: str = "counted"

    def smooth(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Positive weights of both sides."""
        return x + self.extra, y + self.extra

    def parameters(self, used: int) -> float:
        """One less than there are cells."""
        return max(used - 1.0, 0.0)


@dataclass(frozen=True)
class Kernel:
    """Neighbouring intervals share their counts (see `density`), with this cell resolution."""

    style: str
    resolution: float
    extra: float
    intervals: int = FINE

    @cached_property
    def matrix(self) -> Array:
        """How counts are shared, (intervals, intervals); its columns sum to 1."""
        return smoothing_matrix(self.resolution, self.intervals)

    def smooth(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Positive weights of both sides."""
        return self._one(x), self._one(y)

    def _one(self, counts: Array) -> Array:
        fine = len(self.matrix)
        smooth = counts + self.extra
        smooth[:fine] = self.matrix @ counts[:fine] + self.extra / fine
        return smooth

    def parameters(self, used: int) -> float:
        """As many as a density has bumps, roughly."""
        return 8.0


@dataclass(frozen=True)
class Calibrated:
    """The log odds of the sides are a + b s in an interval with score s (Platt 1999).

    Both sides together say how much falls into an interval, and two numbers a and b how it is
    shared. Rare intervals far out, of which each side alone has too few counts, are so judged by
    all of them. `levels` (intervals,) are the scores.
    """

    levels: Array
    extra: float
    style: str = "calibrated"

    @staticmethod
    def of(cuts: Array, values: Array, extra: float) -> Calibrated:
        """Levels are the means of the past values (n,) between the cuts, standardised."""
        cell = np.searchsorted(cuts, values, side="left")
        counts = np.bincount(cell, minlength=len(cuts) + 1)
        means = np.bincount(cell, values, minlength=len(cuts) + 1) / np.maximum(counts, 1)
        center, spread = values.mean(), values.std()
        return Calibrated((means - center) / (spread if spread > 0 else 1.0), extra)

    def smooth(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Positive weights of both sides."""
        k = len(self.levels)
        a, b = self._fit(x[:k], y[:k])
        odds = np.clip(a + b * self.levels, -30.0, 30.0)
        both = x[:k] + y[:k] + 2 * self.extra
        smooth_x, smooth_y = x + self.extra, y + self.extra
        share = 1.0 / (1.0 + np.exp(-odds))
        smooth_x[:k], smooth_y[:k] = both * share, both * (1.0 - share)
        return smooth_x, smooth_y

    def _fit(self, x: Array, y: Array) -> tuple[float, float]:
        """Newton's method for the logistic regression of the sides on the levels."""
        design = np.stack([np.ones_like(self.levels), self.levels])
        both = x + y
        theta = np.zeros(2)
        for _ in range(_STEPS):
            share = 1.0 / (1.0 + np.exp(-np.clip(theta @ design, -30.0, 30.0)))
            gradient = design @ (x - both * share) - _RIDGE * theta
            hessian = (design * (both * share * (1 - share))) @ design.T + _RIDGE * np.eye(2)
            theta = theta + np.clip(np.linalg.solve(hessian, gradient), -2.0, 2.0)
        return float(theta[0]), float(theta[1])

    def parameters(self, used: int) -> float:
        """The two of the line."""
        return 2.0


@dataclass(frozen=True)
class Noise:
    """Both sides are noise of one family, each around a place of its own.

    Few numbers are then learned from all the counts. `ends` (intervals - 1,) lie between the
    intervals, and `levels` (intervals,) are the mean outputs in them. The scale is that of both
    sides together, or, with `two_scales`, each side has its own.
    """

    family: str
    two_scales: bool
    ends: Array
    levels: Array
    extra: float

    @property
    def style(self) -> str:
        """What tells it from others."""
        return f"{self.family} {self.two_scales}"

    @staticmethod
    def of(
        family: str, cuts: Array, values: Array, extra: float, *, two_scales: bool
    ) -> Noise | None:
        """For intervals between `cuts`, of past finite values (n,); `family` is as in `LAWS`.

        None where the values are too few, or too large to be squared.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(values.max() - values.min()) if len(values) else 0.0
        distinct = np.unique(values)
        if len(distinct) < _LEAST_DISTINCT or not 1e-100 < spread < 1e100:
            return None
        above = np.searchsorted(distinct, cuts, side="right")
        ends = (cuts + distinct[np.minimum(above, len(distinct) - 1)]) / 2
        cell = np.searchsorted(cuts, values, side="left")
        counts = np.bincount(cell, minlength=len(cuts) + 1)
        sums = np.bincount(cell, values, minlength=len(cuts) + 1)
        return Noise(family, two_scales, ends, sums / np.maximum(counts, 1), extra)

    def smooth(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Positive weights of both sides."""
        place, scale, law = LAWS[self.family]
        k = len(self.levels)
        smooth = np.stack([x, y]) + self.extra
        counts = np.stack([x[:k], y[:k]])
        runs = counts.sum(axis=1)
        if not runs.all():
            return smooth[0], smooth[1]
        places = place(self.levels, counts)[:, None]
        scales = scale(self.levels - places, counts)[:, None]
        if not self.two_scales:
            scales[:] = runs @ scales / runs.sum()
        if scales.all():
            below = np.zeros((2, k + 1))
            below[:, 1:-1], below[:, -1] = law((self.ends - places) / scales), 1.0
            masses = below[:, 1:] - below[:, :-1]
            smooth[:, :k] = runs[:, None] * masses + self.extra / k
        return smooth[0], smooth[1]

    def parameters(self, used: int) -> float:
        """Two places, and the scales."""
        return 4.0 if self.two_scales else 3.0


def _mean(values: Array, counts: Array) -> Array:
    return np.asarray(counts @ values / counts.sum(axis=1))


def _median(values: Array, counts: Array) -> Array:
    ends = np.cumsum(counts, axis=1)
    middles = ends - counts / 2
    found = [np.interp(end[-1] / 2, at, values) for end, at in zip(ends, middles, strict=True)]
    return np.array(found)


def _deviation(distances: Array, counts: Array) -> Array:
    squares = (distances**2 * counts).sum(axis=1)
    return np.asarray(np.sqrt(squares / counts.sum(axis=1)))


def _distance(distances: Array, counts: Array) -> Array:
    return np.asarray((np.abs(distances) * counts).sum(axis=1) / counts.sum(axis=1))


def _laplace(places: Array) -> Array:
    half = 0.5 * np.exp(-np.abs(places))
    return np.where(places < 0, half, 1.0 - half)


LAWS: dict[str, tuple[Estimate, Estimate, Callable[[Array], Array]]] = {
    "Laplace": (_median, _distance, _laplace),
    "normal": (_mean, _deviation, ndtr),
}
"""For each family: estimates of its place, of its scale from distances to it, and its law."""
