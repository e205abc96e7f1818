"""Is the noise fresh in every step: a bet on the angles between the noise of different steps.

If the noise of a step is independent of the past and spherical (normal, of whatever scale), then
its cosine rho with any fixed vector of n numbers is distributed exactly as

    (1 + rho)/2 ~ Beta((n - 1)/2, (n - 1)/2),

and so it is given the past for the noise of an earlier step. For a correlation c the cosine is
about c with variance (1 - c^2)^2 / n; the bet is the density of `Beta(a, b)` with this mean and
variance against the exact one, so its expectation is 1 for any n. The scale and the sign of
noise that is used again do not matter.

Three martingales are mixed, so that none is lost on the others' account:

* products of the bets on successive steps, for each c and each first step (`LateStarts`): noise
  that is shared in part in all steps;
* sums `sum_t w_t e_t + 1 - sum_t w_t` of such bets, with w_t = 1/(t (t + 1)): what one step has
  shown is never lost again;
* the same sum of the average bet on the cosines with up to 1024 earlier steps, of a fixed choice
  of 64 coordinates: the generator is set anew in each epoch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from tollens.training.parts.reading import Reading
from tollens.training.parts.starts import LateStarts, log_sum

Array = NDArray[np.float64]

FEWEST = 2
"""Numbers in a step from which on there is a bet; the cosine of single numbers is a sign only."""

MOST = 2048
"""Coordinates that are compared at most, evenly spread: more would show nothing sooner."""

COORDINATES = 64
"""Coordinates that are remembered of a step."""

STEPS = 1024
"""Steps that are remembered."""

NEARLY = 0.7
"""Remembered steps at smaller cosines (in absolute value) pay nothing, which is quick."""

CORRELATIONS = np.concatenate([[0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9], 1.0 - 0.1 ** np.arange(2, 11)])
"""The correlations that are bet on, and those with the other sign."""

BETS = np.concatenate([CORRELATIONS, -CORRELATIONS])
LOG_SHARES = np.full(len(BETS), -math.log(len(BETS)))

TELLING = math.log(20.0)
"""Two steps are named if a bet on them won this much; otherwise the mean correlation is."""

_ROUNDING = 1e-9
"""Times n, of 1 - c: for nearer correlations, errors of floating point would count."""

_NO_NEARER = 1e-12
"""Times n, of (1 - |rho|)/2: nearer cosines count as this near."""


class Cosine:
    """Bets on the cosine of a new vector of n numbers with a given one, against chance.

    >>> bets = Cosine(650)
    >>> bets.log_mixture(np.array([0.0, 0.3, 1.0])).round(1).tolist()
    [-3.5, 27.2, 5564.9]
    """

    def __init__(self, n: int) -> None:
        nearest = max(1.0 - _ROUNDING * n, CORRELATIONS[0])
        c = np.clip(BETS, -nearest, nearest)
        null = (n - 1) / 2.0
        total = n / (1.0 - c * c) - 1.0
        a, b = total * (1.0 + c) / 2.0, total * (1.0 - c) / 2.0
        self._least = min(_NO_NEARER * n, 0.01)
        self._powers = np.stack([a - null, b - null], axis=1)
        self._constants = betaln(null, null) - betaln(a, b)

    def log_returns(self, cosines: Array) -> Array:
        """The log density ratios, shape (bets, cosines)."""
        up = np.clip((1.0 + cosines) / 2.0, self._least, 1.0 - self._least)
        logs = np.stack([np.log(up), np.log1p(-up)])
        return np.asarray(self._constants[:, None] + self._powers @ logs)

    def log_mixture(self, cosines: Array) -> Array:
        """The logs of the averages over all bets, shape (cosines,)."""
        returns = LOG_SHARES[:, None] + self.log_returns(cosines)
        return np.asarray(np.logaddexp.reduce(returns, axis=0))


class Savings:
    """The martingale `sum_t w_t e_t + 1 - sum_t w_t`, w_t = 1/(t (t + 1)): winnings are kept.

    >>> savings = Savings()
    >>> for log_return in (0.0, math.log(13.0), -math.inf):
    ...     won = savings.pay(log_return)
    >>> round(math.exp(savings.log_value), 9)          # 1/2 + 13/6 + 0 + 1/4
    2.916666667
    """

    def __init__(self) -> None:
        self._bets = 0
        self._won = -math.inf

    @property
    def log_value(self) -> float:
        """The log of what was won and of what is not yet at stake."""
        return log_sum(self._won, -math.log(self._bets + 1))

    def pay(self, log_return: float) -> float:
        """Take the log of the return of one bet; the log of what it won, its stake included."""
        self._bets += 1
        won = log_return - math.log(self._bets * (self._bets + 1))
        self._won = log_sum(self._won, won)
        return won


class Memory:
    """The directions of the last steps, in a fixed choice of their coordinates.

    >>> memory = Memory(3)
    >>> for step, vector in enumerate(np.eye(3)):
    ...     memory.add(memory.sketch(vector), step)
    >>> memory.cosines(memory.sketch(np.array([0.0, -2.0, 0.0]))).tolist()
    [0.0, -1.0, 0.0]
    """

    def __init__(self, n: int) -> None:
        self._chosen = np.linspace(0, n - 1, min(n, COORDINATES)).round().astype(np.intp)
        self.numbers = len(self._chosen)
        self.steps = np.zeros(STEPS, dtype=np.int64)
        self._added = 0
        self._ring = np.zeros((STEPS, self.numbers))

    def add(self, direction: Array | None, step: int) -> None:
        """Remember the sketch of a step in the place of the oldest; nothing if it was zero."""
        if direction is not None:
            self._ring[self._added % STEPS] = direction
            self.steps[self._added % STEPS] = step
            self._added += 1

    def sketch(self, vector: Array) -> Array | None:
        """The direction of what is kept of a vector; None if that is zero."""
        return _direction(vector[self._chosen])

    def cosines(self, direction: Array | None) -> Array:
        """The cosines of a sketch with all that are remembered, in the order of `steps`."""
        if direction is None:
            return np.zeros(0)
        kept = self._ring[: min(self._added, STEPS)]
        return np.asarray(np.einsum("ij,j->i", kept, direction))


class Found(NamedTuple):
    """Two steps whose noise is alike, and the log of what the bet on them won."""

    log_won: float = -math.inf
    step: int = 0
    earlier: int = 0
    cosine: float = 0.0


class NoiseReuse:
    """Evidence that noise was used again, wholly or in part.

    Passed over are steps without a residual, or with one that is zero, not finite or a single
    number. Residuals of different lengths are not compared.

    >>> reuse, noise = NoiseReuse(), np.random.default_rng(0).normal(size=650)
    >>> for scale in (1.0, -2.0):
    ...     reuse.update(Reading(residual=scale * noise))
    >>> round(reuse.log_e_value)
    5564
    >>> reuse.words()
    'the noise of step 2 is that of step 1 (correlation -1.00)'
    """

    name = "noise reuse"
    assumes = "normal noise of equal spread in all coordinates"

    def __init__(self) -> None:
        self.steps = 0
        self._product = LateStarts(LOG_SHARES)
        self._single, self._remembered = Savings(), Savings()
        self._found = Found()
        self._last: Array | None = None
        self._last_sketch: Array | None = None
        self._last_step = 0

    @property
    def log_e_value(self) -> float:
        """The log of the evidence: the three martingales weigh 1/2, 1/4 and 1/4."""
        return log_sum(
            math.log(0.5) + self._product.log_value,
            math.log(0.25) + self._single.log_value,
            math.log(0.25) + self._remembered.log_value,
        )

    def update(self, reading: Reading) -> None:
        """Compare the residual with the last one and with those that are remembered."""
        self.steps += 1
        if reading.residual is None:
            return
        residual = np.asarray(reading.residual).ravel()
        residual = residual[:: 1 + len(residual) // MOST].astype(np.float64)
        direction = _direction(residual) if len(residual) >= FEWEST else None
        if direction is None:
            return
        if self._last is None or len(self._last) != len(direction):
            self._cosine, self._memory = Cosine(len(direction)), Memory(len(direction))
            self._sketched = Cosine(self._memory.numbers)
            sketch = self._memory.sketch(direction)
        else:
            self._with_last(float(np.einsum("i,i", self._last, direction)))
            sketch = self._memory.sketch(direction)
            self._with_memory(sketch)
            self._memory.add(self._last_sketch, self._last_step)
        self._last, self._last_sketch, self._last_step = direction, sketch, self.steps

    def words(self) -> str:
        """Which steps share their noise, or how much of it successive steps share."""
        found = self._found
        if found.log_won > TELLING:
            if abs(found.cosine) > 0.99:
                same = f"the noise of step {found.step} is that of step {found.earlier}"
                return f"{same} (correlation {found.cosine:.2f})"
            return (
                f"the noise of step {found.step} is correlated with that of step {found.earlier} "
                f"({found.cosine:.2f})"
            )
        if self._product.log_value > 0.0:
            c = BETS[int(np.argmax(self._product.log_wealth))]
            return f"the noise of successive steps is correlated (about {c:.2f})"
        return "no noise is shown to be used again"

    def _with_last(self, cosine: float) -> None:
        returns = self._cosine.log_returns(np.array([cosine]))[:, 0]
        self._product.pay(returns)
        won = self._single.pay(float(np.logaddexp.reduce(LOG_SHARES + returns)))
        self._keep(Found(won, self.steps, self._last_step, cosine))

    def _with_memory(self, sketch: Array | None) -> None:
        """The average bet on all that are remembered, of which only the near ones pay."""
        cosines = self._memory.cosines(sketch)
        if not len(cosines):
            return
        near = np.flatnonzero(np.abs(cosines) > NEARLY)
        if not len(near):
            self._remembered.pay(-math.inf)
            return
        logs = self._sketched.log_mixture(cosines[near])
        won = self._remembered.pay(float(np.logaddexp.reduce(logs)) - math.log(len(cosines)))
        best = near[int(np.argmax(logs))]
        earlier = int(self._memory.steps[best])
        self._keep(Found(won, self.steps, earlier, float(cosines[best])))

    def _keep(self, found: Found) -> None:
        """Words are about the bet that won most."""
        if found.log_won > self._found.log_won:
            self._found = found


def _direction(vector: Array) -> Array | None:
    """The vector divided by its norm; None if it is zero or not finite.

    >>> _direction(np.array([3e200, 4e200])).round(9).tolist(), _direction(np.zeros(2))
    ([0.6, 0.8], None)
    """
    largest = float(np.max(np.abs(vector)))
    if not 0.0 < largest < math.inf:
        return None
    scaled = vector / largest
    return np.asarray(scaled / math.sqrt(float(np.einsum("i,i", scaled, scaled))))
