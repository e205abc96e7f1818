"""What a step brings: outputs that are looked at through learned cells, or counts of events.

Two forms of one protocol. `Outputs` are cut into sub-batches and cells are learned from them;
counts of given events have no order, so a step of counts is one sub-batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import Cells
from tollens.auditing.experts import SMOOTHING, Experts, View, fit_experts
from tollens.auditing.lenses import fit_lenses
from tollens.auditing.smoothing import Counted
from tollens.outputs import Outputs

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SUB_BATCH = 50
"""Pairs of runs that are scored together."""

FEWEST = 4
"""Sub-batches at least into which a step is cut, if it has so many pairs."""


class Histograms(NamedTuple):
    """Counts of cells, (sub-batches, cells) for each side."""

    x: Array
    y: Array


class StepData(Protocol):
    """The runs of one step, in sub-batches that are numbered from 0."""

    @property
    def pairs(self) -> int:
        """The number of pairs of runs."""

    @property
    def batches(self) -> int:
        """The number of sub-batches."""

    def histograms(self, experts: Experts) -> list[Histograms]:
        """The counts of every view's cells in every sub-batch."""

    def learn(self, batches: int, rng: np.random.Generator) -> Experts:
        """Views with their counts, learned from the first sub-batches."""


@dataclass(frozen=True)
class StepRuns:
    """Outputs on x and on x'; `pull` is that of the steady views (see `experts.pull_of`).

    Both have the same length.
    """

    x: Outputs
    y: Outputs
    pull: float
    _counted: dict[int, tuple[Experts, list[Histograms]]] = field(default_factory=dict, repr=False)

    @property
    def pairs(self) -> int:
        """The number of pairs of runs."""
        return len(self.x)

    @property
    def size(self) -> int:
        """The pairs of a sub-batch."""
        return batch_size(self.pairs)

    @property
    def batches(self) -> int:
        """The number of sub-batches; the last one may be shorter."""
        return -(-self.pairs // self.size)

    def histograms(self, experts: Experts) -> list[Histograms]:
        """The counts of every view's cells in every sub-batch; worked out once for each experts."""
        known = self._counted.get(id(experts))
        if known is None:
            known = self._counted[id(experts)] = (experts, self._count(experts))
        return known[1]

    def _count(self, experts: Experts) -> list[Histograms]:
        batches = self.batches
        batch = np.arange(self.pairs) // self.size
        found = []
        cells = zip(experts.views, experts.index(self.x), experts.index(self.y), strict=True)
        for view, cell_x, cell_y in cells:
            k = view.cells.size
            x, y = (
                np.bincount(batch * k + cell, minlength=batches * k)
                .reshape(batches, k)
                .astype(np.float64)
                for cell in (cell_x, cell_y)
            )
            found.append(Histograms(x, y))
        return found

    def learn(self, batches: int, rng: np.random.Generator) -> Experts:
        """Cells, densities and scores of the audit, of the first sub-batches."""
        end = batches * self.size
        x, y = self.x[:end], self.y[:end]
        return fit_experts(x, y, fit_lenses(x, y, rng, quick=True), pull=self.pull)


@dataclass(frozen=True)
class StepEvents:
    """How many runs of each sub-batch fell into each given event.

    `x` and `y` are (batches, events), `sizes` (batches,) the pairs of each sub-batch. Counts that
    were made elsewhere have no order: they are one sub-batch.
    """

    x: Array
    y: Array
    sizes: Array
    pull: float

    @staticmethod
    def of(x: Bools, y: Bools, pull: float) -> StepEvents:
        """Of which runs fell into which event, (pairs, events) for each side."""
        starts = np.arange(0, len(x), batch_size(len(x)))
        hits_x, hits_y = (np.add.reduceat(side.astype(float), starts, axis=0) for side in (x, y))
        sizes = np.diff(np.append(starts, len(x))).astype(np.float64)
        return StepEvents(hits_x, hits_y, sizes, pull)

    @property
    def pairs(self) -> int:
        """The number of pairs of runs."""
        return int(self.sizes.sum())

    @property
    def batches(self) -> int:
        """The number of sub-batches."""
        return len(self.sizes)

    def histograms(self, experts: Experts) -> list[Histograms]:
        """The counts in and outside each event."""
        return [self._histograms(view.cells.main, self.batches) for view in experts.views]

    def learn(self, batches: int, rng: np.random.Generator) -> Experts:
        """A plain and a steady view of every event."""
        views = []
        for own in (0.0, self.pull):
            for event in range(self.x.shape[1]):
                x, y = self._histograms(event, batches)
                cells = event_cells(event)
                views.append(View(cells, Counted(SMOOTHING), own, x.sum(axis=0), y.sum(axis=0)))
        return Experts(tuple(views), np.arange(len(views), dtype=np.intp))

    def _histograms(self, event: int, batches: int) -> Histograms:
        sides = (side[:batches, event] for side in (self.x, self.y))
        return Histograms(
            *(np.stack([inside, self.sizes[:batches] - inside], 1) for inside in sides)
        )


def event_cells(event: int) -> Cells:
    """The two cells of a given event: in it and outside; `main` is its number."""
    none = np.zeros(0)
    return Cells(event, None, none, none.astype(np.int64), none.astype(np.uint64))


def batch_size(pairs: int) -> int:
    """The pairs of a sub-batch of a step.

    >>> batch_size(750), batch_size(100)
    (50, 25)
    """
    return max(1, min(SUB_BATCH, pairs // FEWEST))
