"""Product bets on independent pairs: a(X) b(Y), from the projection of the estimated laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import SLOTS, Experts, bets, fit_experts
from tollens.claim import Promise
from tollens.outputs import Outputs

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class ProductBets:
    """The bettors of `SLOTS` against each promise; valid where X and Y are independent.

    `learn`, `count` and `bet` look at past pairs only; `log_returns` scores new ones with what
    stands.
    """

    def __init__(self, promises: Sequence[Promise], *, pull: float) -> None:
        self.promises = tuple(promises)
        self.experts: Experts | None = None
        self.growth = 0.0
        self._pull = pull
        self._log_bets: tuple[Array, Array] | None = None

    @property
    def bettors(self) -> int:
        """The number of bettors."""
        return len(SLOTS) * len(self.promises)

    @property
    def ready(self) -> bool:
        """Whether bets stand."""
        return self._log_bets is not None

    def learn(self, x: Outputs, y: Outputs, rng: np.random.Generator) -> None:
        """Learn cells and their counts from all past pairs."""
        self.experts = fit_experts(x, y, rng, pull=self._pull)

    def cells(self, x: Outputs, y: Outputs) -> tuple[list[Index], list[Index]]:
        """The cells of both sides in each view."""
        views = self._fitted().views
        return [view.cells.index(x) for view in views], [view.cells.index(y) for view in views]

    def count(self, cells_x: list[Index], cells_y: list[Index]) -> None:
        """Add pairs to the counts of the past."""
        for view, cell_x, cell_y in zip(self._fitted().views, cells_x, cells_y, strict=True):
            view.count(cell_x, cell_y)

    def bet(self) -> None:
        """Make the log-optimal bets of the estimated laws.

        `growth` becomes the largest estimated growth of the log wealth for a pair, less what is
        overestimated because the laws were fitted to the same pairs (about a parameter / pair).
        """
        experts = self._fitted()
        p, q, real = experts.laws()
        factors = bets(p, q, real, self.promises)
        with np.errstate(divide="ignore"):
            self._log_bets = (np.log(factors.a), np.log(factors.b))
        log_a, log_b = (np.where(real[:, None, :], log, 0.0) for log in self._log_bets)
        rate = (p[:, None, :] * log_a + q[:, None, :] * log_b).sum(axis=-1).max(axis=-1)
        pairs = max(float(experts.views[0].counts_x.sum()), 1.0)
        sizes = np.array(
            [np.count_nonzero(view.counts_x + view.counts_y) for view in experts.views]
        )
        smooth = np.array([view.kernel is not None for view in experts.views])
        chosen = 2.0 * np.log(len(self.promises))  # the best of so many looks better than it is
        spent = (np.where(smooth, 8.0, np.maximum(sizes - 1.0, 0.0)) + chosen) / pairs
        self.growth = float((rate - spent).max())

    def log_returns(self, cells_x: list[Index], cells_y: list[Index]) -> Array:
        """Log returns of the standing bets, (slots x promises, pairs)."""
        if self._log_bets is None:
            raise AssertionError("bets are made before they are scored")
        log_a, log_b = self._log_bets
        by_view = np.stack(
            [
                log_a[view][:, cell_x] + log_b[view][:, cell_y]
                for view, (cell_x, cell_y) in enumerate(zip(cells_x, cells_y, strict=True))
            ]
        )
        by_slot = by_view[self._fitted().slots]
        return np.asarray(by_slot.reshape(-1, by_slot.shape[-1]))

    def _fitted(self) -> Experts:
        if self.experts is None:
            raise AssertionError("cells are learned before they are used")
        return self.experts
