"""Rungs: memories of different lengths, from which bets for the next step are made.

A small break shows only in the counts of many steps, and a fresh one is drowned by the steps
before it. So the same cells are counted over several windows at once. A rung of period P counts
between P/2 and P of the last steps: two generations of cells overlap, the younger one learned
from the outputs of a recent step, and it takes over when it has counted P/2 steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import SLOTS, Experts, bets, padded_laws
from tollens.claim import Promise
from tollens.monitoring.exact.data import Histograms, StepData

Array = NDArray[np.float64]

PERIODS = (1, 4, 16, 64)
"""Steps that the rungs remember, at most."""

DISCOUNT = 0.5
"""What a learned number costs a favourite's estimate of its past gain. At 1 (Akaike 1974) it is
unbiased; waiting for that costs more, after a break, than some vain bets before it."""

LOCATED_BY = ("8 cells", "tail cells", "60 values", "single number")
"""The slots whose counts are kept for every step, to tell when a break was."""


@dataclass
class Rung:
    """A window of steps: the experts in use, those that will follow them, and their age.

    `generation` numbers the experts in use; those that follow have the next number.
    """

    period: int
    standing: Experts | None = None
    growing: Experts | None = None
    age: int = 0
    generation: int = 0

    def extend(self, data: StepData, newest: Experts) -> None:
        """Count a further step; `newest` was learned from its outputs and has counted them."""
        if self.period == 1 or self.standing is None:
            self.standing, self.growing, self.age = copied(newest), None, 0
            self.generation += 1
            return
        for experts in (self.standing, self.growing):
            if experts is not None:
                for view, (x, y) in zip(experts.views, data.histograms(experts), strict=True):
                    view.counts_x += x.sum(axis=0)
                    view.counts_y += y.sum(axis=0)
        self.age += 1
        if self.age >= self.period // 2:
            if self.growing is not None:
                self.standing, self.generation = self.growing, self.generation + 1
            self.growing, self.age = copied(newest), 0

    def counts(self, data: StepData) -> dict[int, list[Array]]:
        """The counts of a step in the cells of both generations, by their numbers.

        For each of the few views by which a break is located, (2, cells).
        """
        found = {}
        for number, experts in enumerate((self.standing, self.growing), self.generation):
            if experts is not None:
                every = data.histograms(experts)
                found[number] = [
                    np.stack([every[view].x.sum(axis=0), every[view].y.sum(axis=0)])
                    for view in _readable(experts)
                ]
        return found


def _readable(experts: Experts) -> list[int]:
    """The views by which a break is located: given events, or a few of the learned ones."""
    if len(experts.slots) != len(SLOTS):
        return list(range(len(experts.views) // 2))
    return sorted({int(experts.slots[SLOTS.index(name)]) for name in LOCATED_BY})


def copied(experts: Experts) -> Experts:
    """The same views with counts of their own."""
    views = [
        replace(view, counts_x=view.counts_x.copy(), counts_y=view.counts_y.copy())
        for view in experts.views
    ]
    return Experts(tuple(views), experts.slots)


class Choice(NamedTuple):
    """The view and promise that would have gained most, and that gain for a pair."""

    rate: float
    view: int
    promise: int


@dataclass(frozen=True)
class Bets:
    """The standing bets of experts: log factors (views, promises, widest) for both sides.

    `rates` (views, promises) is what each bet would have gained for a pair of its own past, less
    `DISCOUNT` for each learned number, because it was made from that past.
    """

    experts: Experts
    log_a: Array
    log_b: Array
    rates: Array

    @property
    def choice(self) -> Choice:
        """The most promising bet."""
        view, promise = np.unravel_index(int(np.argmax(self.rates)), self.rates.shape)
        return Choice(float(self.rates[view, promise]), int(view), int(promise))

    def score(self, counts: Sequence[Histograms]) -> Array:
        """Log e-values (sub-batches, views, promises) of the counts of every view."""
        found = []
        for view, (x, y) in enumerate(counts):
            k = x.shape[1]
            found.append(x @ self.log_a[view, :, :k].T + y @ self.log_b[view, :, :k].T)
        return np.stack(found, axis=1)


def make_bets(many: Sequence[Experts], promises: Sequence[Promise]) -> list[Bets]:
    """Certified log-optimal bets of several experts, made in one call."""
    views = [view for experts in many for view in experts.views]
    if not views:
        return []
    made = bets(*padded_laws(views), promises, quick=True)
    with np.errstate(divide="ignore"):
        log_a, log_b = np.log(made.a), np.log(made.b)
    chosen = 2.0 * np.log(len(promises))  # the best of so many looks better than it is
    rates = np.empty((len(views), len(promises)))
    for i, view in enumerate(views):
        size = view.cells.size
        runs_x, runs_y = view.counts_x.sum(), view.counts_y.sum()
        gained = log_a[i, :, :size] @ view.counts_x / runs_x
        gained += log_b[i, :, :size] @ view.counts_y / runs_y
        rates[i] = gained - DISCOUNT * (view.parameters + chosen) / ((runs_x + runs_y) / 2)
    found, at = [], 0
    for experts in many:
        end = at + len(experts.views)
        found.append(Bets(experts, log_a[at:end], log_b[at:end], rates[at:end]))
        at = end
    return found
