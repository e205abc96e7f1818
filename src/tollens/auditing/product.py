"""Product bets on independent pairs: a(X) b(Y), from the projection of the estimated laws.

The stake is shared by the slots of `experts`. Where outputs have several numbers, and so many
kinds of bets see different things, half of it belongs to the *favourite*, who bets like the one of
them that would have gained most on the past, less what it would only seem to have gained because
it learned from that past (Akaike 1974), and not at all where none would have gained. A mixture of
many pays the logarithm of their number; the favourite need not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import Marked
from tollens.auditing.experts import (
    EXACT,
    EXACT_SHARE,
    GIVEN,
    GIVEN_SHARE,
    SLOTS,
    Experts,
    bets,
    fit_experts,
)
from tollens.auditing.lenses import Lenses
from tollens.claim import Promise
from tollens.outputs import Outputs

Array = NDArray[np.float64]
Index = NDArray[np.intp]


Ratio = tuple[int, int]

RATIOS: tuple[Ratio, ...] = ((1, 3), (3, 1), (1, 7), (7, 1))
"""Runs on x and on x' in a round, besides one of each."""

WORTH = 1.1
"""How many times the growth of a pair must be that of equal numbers before they are given up."""

FAVOURITE = 0.5
"""The favourite's share of what the bets of `SLOTS` start with, for outputs of several numbers."""


class ProductBets:
    """The bettors of `slots` against each promise, and the favourite.

    Valid where X and Y are independent.

    `learn`, `count` and `bet` look at past pairs only; `log_returns` scores new ones with what
    stands.
    """

    def __init__(
        self,
        promises: Sequence[Promise],
        *,
        pull: float,
        unequal: bool = False,
        given: str | None = None,
        exact: bool = False,
    ) -> None:
        """`unequal` allows rounds of unequal numbers of runs, where they gain more.

        `given` are the words of an event that was given beforehand; `exact` says that bets may
        look at the bits of numbers.
        """
        self.promises = tuple(promises)
        extra = [(EXACT, EXACT_SHARE)] if exact else []
        extra += [] if given is None else [(GIVEN, GIVEN_SHARE)]
        self._extra = tuple(extra)
        self.slots = (*SLOTS, *(name for names, _ in extra for name in names))
        self._given = given
        self.ratio: Ratio = (1, 1)
        self._unequal = unequal
        self.experts: Experts | None = None
        self.growth = 0.0
        self._pull = pull
        self._log_bets: tuple[Array, Array] | None = None
        self._favourite: tuple[int, int] | None = None
        self._several = False

    @property
    def log_weights(self) -> Array:
        """The starting shares of the bettors, (slots x promises + 1,), as logs.

        Those of `SLOTS` have equal shares. They depend on what was learned last, and are read
        before the first bet.
        """
        favourite = FAVOURITE * self.learned_share if self._several else 0.0
        main = self.learned_share - favourite
        parts = [(SLOTS, main), *self._extra]
        shares = np.concatenate([np.full(len(names), part / len(names)) for names, part in parts])
        by_promise = np.repeat(shares / len(self.promises), len(self.promises))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.append(by_promise, favourite)))

    @property
    def learned_share(self) -> float:
        """The starting share of `SLOTS`, with the favourite's."""
        return 1.0 - sum(share for _, share in self._extra)

    @property
    def ready(self) -> bool:
        """Whether bets stand."""
        return self._log_bets is not None

    def learn(self, x: Outputs, y: Outputs, seen: Lenses) -> None:
        """Learn cells and their counts from all past pairs."""
        self.experts = fit_experts(x, y, seen, pull=self._pull, given=self._given)
        self._several = len(seen.lenses.keys() - {"bits"}) > 1

    def cells(self, x: Outputs, y: Outputs) -> tuple[list[Index], list[Index]]:
        """The cells of both sides in each view."""
        experts = self._fitted()
        return experts.index(x), experts.index(y)

    def count(self, cells_x: list[Index], cells_y: list[Index]) -> None:
        """Add pairs to the counts of the past."""
        for view, cell_x, cell_y in zip(self._fitted().views, cells_x, cells_y, strict=True):
            view.count(cell_x, cell_y)

    def bet(self) -> None:
        """Make the log-optimal bets of the estimated laws, and choose the favourite.

        `growth` becomes the largest estimated growth of the log wealth for a pair: that of the
        past, less the number of learned parameters for each pair of it.
        """
        self.ratio = (1, 1)
        best = self._bet_at_ratio()
        if self._unequal and best is not None and not self._is_given(best[0]):
            self.ratio = self._better_ratio(*best)
            if self.ratio != (1, 1):
                self._bet_at_ratio()

    def _better_ratio(self, view: int, promise: int) -> Ratio:
        """The ratio of runs with which one view would have gained most for its runs.

        More runs go to the side whose law matters more: where an event is rare on x', say, and
        the claim allows a factor of 50, its frequency there has to be known better.
        """
        laws, chosen = self._fitted().laws([view]), self._fitted().views[view]
        cells = chosen.cells.size
        growth = {(1, 1): self.growth * WORTH}
        lost = chosen.parameters / (0.5 * (chosen.counts_x.sum() + chosen.counts_y.sum()))
        for ratio in RATIOS:
            made = bets(*laws, [self.promises[promise]], ratio=ratio)
            n, m = ratio
            with np.errstate(divide="ignore"):
                gained = (
                    n * (np.log(made.a[0, 0, :cells]) @ chosen.counts_x) / chosen.counts_x.sum()
                )
                gained += (
                    m * (np.log(made.b[0, 0, :cells]) @ chosen.counts_y) / chosen.counts_y.sum()
                )
            growth[ratio] = float(gained) / pairs_a_round(ratio) - lost
        return max(growth, key=lambda ratio: growth[ratio])

    def _bet_at_ratio(self) -> tuple[int, int] | None:
        """Make the bets for rounds of `ratio`; the favourite's view and promise."""
        experts, (n, m) = self._fitted(), self.ratio
        factors = bets(*experts.laws(), self.promises, ratio=self.ratio)
        with np.errstate(divide="ignore"):
            self._log_bets = (np.log(factors.a), np.log(factors.b))
        runs_x, runs_y = (
            max(float(counts.sum()), 1.0)
            for counts in (experts.views[0].counts_x, experts.views[0].counts_y)
        )
        pairs, rounds = (runs_x + runs_y) / 2, pairs_a_round(self.ratio)
        chosen = 2.0 * np.log(len(self.promises))  # the best of so many looks better than it is
        rates = np.empty((len(experts.views), len(self.promises)))
        for i, view in enumerate(experts.views):
            log_a, log_b = (log[i, :, : view.cells.size] for log in self._log_bets)
            gained = n * (log_a @ view.counts_x) / runs_x + m * (log_b @ view.counts_y) / runs_y
            rates[i] = gained / rounds - (view.parameters + chosen) / pairs
            if self._is_given(i):  # a wrong guess has no say in what is run next
                rates[i][rates[i] <= 0] = -np.inf
        best = np.unravel_index(int(np.argmax(rates)), rates.shape)
        self.growth = float(rates[best])
        self._favourite = (int(best[0]), int(best[1])) if self.growth > 0 else None
        return self._favourite

    def log_returns(self, cells_x: list[Index], cells_y: list[Index]) -> Array:
        """Log returns of the standing bets, (slots x promises + 1, rounds)."""
        if self._log_bets is None:
            raise AssertionError("bets are made before they are scored")
        log_a, log_b = self._log_bets
        by_view = np.stack(
            [
                _by_round(log_a[view][:, cell_x], self.ratio[0])
                + _by_round(log_b[view][:, cell_y], self.ratio[1])
                for view, (cell_x, cell_y) in enumerate(zip(cells_x, cells_y, strict=True))
            ]
        )
        by_slot = by_view[self._fitted().slots]
        favourite = np.zeros((1, by_slot.shape[-1]))
        if self._favourite is not None:
            view, promise = self._favourite
            favourite[0] = by_view[view, promise]
        return np.concatenate([by_slot.reshape(-1, by_slot.shape[-1]), favourite])

    def _is_given(self, view: int) -> bool:
        """Whether a view looks at the event that was given beforehand."""
        return isinstance(self._fitted().views[view].cells, Marked)

    def _fitted(self) -> Experts:
        if self.experts is None:
            raise AssertionError("cells are learned before they are used")
        return self.experts


def pairs_a_round(ratio: Ratio) -> int:
    """As how many pairs of runs a round counts.

    >>> pairs_a_round((1, 3))
    2
    """
    return sum(ratio) // 2


def _by_round(log: Array, runs: int) -> Array:
    """Log returns (promises, rounds x runs), summed over the runs of each round."""
    return log if runs == 1 else np.asarray(log.reshape(len(log), -1, runs).sum(axis=2))
