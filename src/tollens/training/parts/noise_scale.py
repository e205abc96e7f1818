"""Is the noise as large as promised: a bet on the squared norm of the noise of each step.

In units of the claimed standard deviation the noise of a step is N(0, r^2 I) in n coordinates,
and the canary changes the sum by s times the clipping norm. The step is at most `mu = 1/sigma`
(Gaussian differential privacy) where r >= s. With S the squared norm of the noise divided by s,
the likelihood ratio of the ratio k < 1 to the ratio 1 of r and s,

    k^-n exp(-(k^-2 - 1) S / 2),

has expectation `(k^2 + (1 - k^2) (r/s)^2)^(-n/2)`, at most 1 where r >= s, whatever r and s are
in each step. Its products over steps, for each k of a grid and each first step, are mixed with
fixed weights: a nonnegative supermartingale, so it ever reaches 1/alpha with probability at most
alpha if all steps keep the promise (Ville 1939; the method of mixtures is Robbins 1970).

Two sums, of S and of n, bound the ratio itself, at all steps at once: the mixture of the products
from the first step on tests the ratio x at `S / x^2`, and the bound is the last x that passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tollens.training.parts.part import Finding
from tollens.training.parts.reading import Reading
from tollens.training.parts.starts import LateStarts

Array = NDArray[np.float64]

ALTERNATIVES: Array = np.asarray(1.0 - 0.98 * 0.74 ** np.arange(17), dtype=np.float64)
"""The ratios k that are bet on: from .02 to .992, finer near 1."""

LOG_SHARES = np.log(ALTERNATIVES / ALTERNATIVES.sum())
"""Proportional to k: noise that is far too small is found at once all the same."""

ROUNDED = 1e-4
"""A sensitivity this close to 1 is 1: it was computed in single precision."""

FROM_EXCESS = 1.02
"""Noise is called too large if the lower bound of the ratio is more than this."""


class NoiseScale:
    """Evidence that noise is too small for the sensitivity; two numbers and one bet a grid point.

    Passed over are steps without a residual, with one that is not finite, and steps that the
    canary does not change. The sensitivity is 1 where a step does not tell it.

    >>> scale = NoiseScale()
    >>> scale.update(Reading(residual=0.5 * np.random.default_rng(0).normal(size=650)))
    >>> round(scale.log_e_value)
    198
    >>> scale.words()
    'the noise is at most 0.55 of what was promised (standard deviation / sensitivity)'
    """

    name = "noise scale"
    assumes = "normal noise of equal spread in all coordinates"

    def __init__(self, alpha: float = 0.05) -> None:
        """`alpha` is the error probability of the bounds in words and of the warning."""
        self.alpha = alpha
        self.steps = 0
        self.numbers = 0
        self.squares = 0.0
        self.largest_sensitivity = 1.0
        self.noiseless_at: int | None = None
        self._bets = LateStarts(LOG_SHARES)

    @property
    def log_e_value(self) -> float:
        """The log of the evidence that the noise is too small; inf after a step without noise."""
        return self._bets.log_value if self.noiseless_at is None else math.inf

    def update(self, reading: Reading) -> None:
        """Bet on the squared norm of the residual."""
        self.steps += 1
        if reading.residual is None:
            return
        sensitivity = 1.0 if reading.sensitivity is None else float(reading.sensitivity)
        if abs(sensitivity - 1.0) <= ROUNDED:
            sensitivity = 1.0
        if not 0.0 < sensitivity < math.inf:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            residual = np.asarray(reading.residual, dtype=np.float64).ravel()
            square = float(np.einsum("i,i", residual, residual)) / sensitivity / sensitivity
        n = len(residual)
        if not n or not math.isfinite(square):
            return
        self.largest_sensitivity = max(self.largest_sensitivity, sensitivity)
        if square == 0.0 and self.noiseless_at is None:
            self.noiseless_at = self.steps
        self.numbers += n
        self.squares += square
        self._bets.pay(log_ratios(ALTERNATIVES, n, square))

    def ratio_upper(self, alpha: float) -> float:
        """A bound of r/s from above, right at all steps at once with probability 1 - alpha.

        If the ratio changes from step to step, it bounds the smallest one.

        >>> NoiseScale().ratio_upper(0.05)
        inf
        """
        return self._bound(ALTERNATIVES, alpha, otherwise=math.inf)

    def ratio_lower(self, alpha: float) -> float:
        """A bound of r/s from below, right at all steps at once with probability 1 - alpha.

        By the same bets on ratios 1/k, whose likelihood ratios have expectation at most 1 where
        r <= s. If the ratio changes from step to step, it bounds the largest one.
        """
        return self._bound(1.0 / ALTERNATIVES, alpha, otherwise=0.0)

    def warning(self) -> Finding | None:
        """Too much noise: it costs accuracy and breaks no promise."""
        lower = self.ratio_lower(self.alpha)
        if lower <= FROM_EXCESS:
            return None
        text = (
            f"the noise is at least {_rounded(lower, math.floor)} times what was promised: "
            "accuracy is lost, privacy is not"
        )
        return Finding(self.name, "warning", self.steps, text, self.assumes)

    def words(self) -> str:
        """How small the noise is at most, after the sensitivity where that is too large."""
        text = self._noise()
        if self.largest_sensitivity > 1.0:
            return f"the canary changed the sum by {self.largest_sensitivity:.4g} C; {text}"
        return text

    def _noise(self) -> str:
        if self.noiseless_at is not None:
            return f"there is no noise at all in step {self.noiseless_at}"
        unit = "(standard deviation / sensitivity)"
        upper = self.ratio_upper(self.alpha)
        if upper < 1.0:
            bound = _rounded(upper, math.ceil)
            return f"the noise is at most {bound} of what was promised {unit}"
        if self.log_e_value < -math.log(self.alpha):
            return "the noise is not shown to be smaller than promised"
        k = ALTERNATIVES[int(np.argmax(self._bets.log_wealth))]
        return f"the noise became too small: now it is about {k:.2g} of what was promised {unit}"

    def _bound(self, alternatives: Array, alpha: float, otherwise: float) -> float:
        """The ratio x at which the mixture of the products at `S / x^2` is 1/alpha."""
        if not self.numbers:
            return otherwise
        if self.squares == 0.0:
            return 0.0

        def excess(log_square: float) -> float:
            terms = LOG_SHARES + log_ratios(alternatives, self.numbers, math.exp(log_square))
            return float(np.logaddexp.reduce(terms)) + math.log(alpha)

        sign = -1.0 if alternatives[0] < 1.0 else 1.0
        root = _root(lambda z: sign * excess(z), math.log(self.numbers))
        return otherwise if root is None else math.exp((math.log(self.squares) - root) / 2.0)


def log_ratios(k: Array, n: int, square: float) -> Array:
    """The log likelihood ratios of standard deviations k to 1 at n numbers with this square sum.

    >>> log_ratios(np.array([0.5]), 2, 1.0).round(6).tolist()        # log 4 - 3/2
    [-0.113706]
    """
    return np.asarray(-n * np.log(k) - (k**-2.0 - 1.0) * (square / 2.0))


def _root(increasing: Callable[[float], float], start: float) -> float | None:
    """A root found by bisection within 40 of the start; None if there is none.

    >>> round(_root(lambda z: z - 2.5, 0.0), 6), _root(lambda z: -1.0, 0.0)
    (2.5, None)
    """
    low, high = start - 40.0, start + 40.0
    if increasing(low) > 0.0 or increasing(high) < 0.0:
        return None
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if increasing(middle) > 0.0 else (middle, high)
    return (low + high) / 2.0


def _rounded(value: float, towards: Callable[[float], int]) -> str:
    """A number with two digits after the point, or more if it is small, rounded in a direction.

    >>> _rounded(0.5123, math.ceil), _rounded(0.00123, math.ceil), _rounded(0.99601, math.ceil)
    ('0.52', '0.0013', '0.997')
    """
    digits = 2 if value >= 0.1 else 1 - math.floor(math.log10(max(value, 1e-300)))
    if value < 1.0 and towards(value * 100.0) == 100:
        digits = 3
    return f"{towards(value * 10.0**digits) / 10.0**digits:.{digits}f}"
