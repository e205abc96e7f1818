"""How much leaks now: a lower bound for epsilon from the evidence of the steps up to this one.

The bets of the overall favourite's view are made again against (e, delta)-DP for every e of a
grid, with the same prior on the time of the break as the claim's own. What is certified is that
not every version so far keeps e; to be a word on the present, the evidence against an e is
dropped (which can only lower it) as soon as the last steps no longer point beyond that e.

The claims of the grid are nested and asked in a fixed order, so no correction is needed: for a
claim with a delta of its own first the claim itself, with what alpha it has, then those above;
below the claim, and for claims without a delta, from 0 upwards with `share` of alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import View, bets
from tollens.claim import Claim, Promise
from tollens.monitoring.exact.data import Histograms

Array = NDArray[np.float64]

GRID = np.geomspace(0.02, 16.0, 96)
"""The values of epsilon that a bound may take (and the claim's own)."""

SHARE = 1 / 50
"""The part of alpha that pays for the bound; the claim has the rest."""


def grid_promises(delta: float, *, ordered: bool) -> tuple[Promise, ...]:
    """The promises (e, delta) for e on the grid, in one order or in both, e slowest.

    >>> len(grid_promises(0.0, ordered=False)), len(grid_promises(1e-5, ordered=False))
    (96, 192)
    """
    orders = (1,) if ordered else (0,) if delta == 0 else (1, -1)
    return tuple(Promise(e, delta, order) for e in GRID.tolist() for order in orders)


def broken(view: View, promises: Sequence[Promise]) -> NDArray[np.bool_]:
    """Which promises (promises,) the estimated laws of a view break: sum (p - e^eps q)+ > delta."""
    p, q = view.laws()
    ratio = np.exp([promise.epsilon for promise in promises])[:, None]
    delta = np.array([promise.delta for promise in promises])
    order = np.array([promise.order for promise in promises])
    forward = np.maximum(p - ratio * q, 0.0).sum(axis=1) > delta
    backward = np.maximum(q - ratio * p, 0.0).sum(axis=1) > delta
    return np.asarray((forward & (order >= 0)) | (backward & (order <= 0)))


class GridBets:
    """Bets of one view against the promises of the grid that its laws break."""

    def __init__(self, view: View, promises: Sequence[Promise]) -> None:
        """Made from the counts of the view so far."""
        self._size = len(promises)
        self._chosen = np.flatnonzero(broken(view, promises))
        self.log_a, self.log_b = np.zeros((2, 0, view.cells.size))
        if not len(self._chosen):
            return
        p, q = view.laws()
        real = np.ones((1, len(p)), dtype=bool)
        made = bets(
            p[None], q[None], real, [promises[i] for i in self._chosen.tolist()], quick=True
        )
        self.log_a, self.log_b = np.log(made.a[0]), np.log(made.b[0])
        runs_x, runs_y = view.counts_x.sum(), view.counts_y.sum()
        gained = self.log_a @ view.counts_x / runs_x + self.log_b @ view.counts_y / runs_y
        worth = gained > view.parameters / ((runs_x + runs_y) / 2)
        self._chosen = self._chosen[worth]
        self.log_a, self.log_b = self.log_a[worth], self.log_b[worth]

    def score(self, counts: Histograms) -> Array:
        """Log e-values (promises,) of all these sub-batches; 0 where nothing promised a gain."""
        found = np.zeros(self._size)
        found[self._chosen] = self.log_a @ counts.x.sum(axis=0) + self.log_b @ counts.y.sum(axis=0)
        return found


def dropped(evidence: Array, view: View, promises: Sequence[Promise]) -> Array:
    """Log evidence (promises,) without that against an e that the counts of `view` do not break."""
    return np.where(broken(view, promises), evidence, -np.inf)


def lower_bound(
    evidence: Array, claim: Claim, delta: float, *, alpha: float, refuted: bool
) -> float:
    """The certified bound: the last e of the sequence before the first that was not rejected.

    `evidence` is (promises,), as logs; orders are averaged.
    """
    by_epsilon = evidence.reshape(len(GRID), -1)
    top = np.maximum(by_epsilon.max(axis=1), -1e300)
    with np.errstate(divide="ignore"):
        log = top + np.log(np.exp(by_epsilon - top[:, None]).mean(axis=1))
    own = claim.promises()[0].epsilon if claim.leak_delta == delta else None
    if own is not None and refuted:
        above = own * (1 + 1e-9) < GRID
        return _climb(own, GRID[above], log[above] >= -math.log(alpha * (1 - SHARE)))
    below = np.full(len(GRID), True) if own is None else own > GRID
    return _climb(0.0, GRID[below], log[below] >= -math.log(alpha * SHARE))


def _climb(start: float, grid: Array, rejected: NDArray[np.bool_]) -> float:
    count = len(grid) if rejected.all() else int(np.argmin(rejected))
    return float(grid[count - 1]) if count else start
