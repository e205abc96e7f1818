"""Experts: what a bet may look at, from coarse to fine, all learned from the past alone.

Each of the `SLOTS` is a gambler with a fixed share of the starting wealth. A slot looks at the
outputs through cells of its own; where the outputs have no use for it (a density of a coin
flip, a tree for one number), it joins another slot. Slots that would look at the same cells share
one `View`, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import (
    Cells,
    Marked,
    Seen,
    edge_cuts,
    frequent_keys,
    quantile_cuts,
    tail_cuts,
)
from tollens.auditing.density import density_cells
from tollens.auditing.lenses import Lens, Lenses
from tollens.auditing.projection import project_approx, project_pure
from tollens.auditing.smoothing import LAWS, Calibrated, Counted, Kernel, Noise, Smoothing
from tollens.auditing.ville import Factors, certify, worst_approx, worst_pure
from tollens.claim import Promise
from tollens.outputs import Outputs

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Slot(NamedTuple):
    """A gambler: the number that it looks at, how it cuts it, and in which style it learns.

    `lens` is "value" (the output's own number, or the linear score of several), "single" or
    "boosted" (see `lenses`); `cells` is "quantiles", "tails", "density", "values", "calibrated" or
    a family of noise (see `smoothing.LAWS`), of one scale or two; a steady gambler pulls both laws
    towards their common mean; `instead` names the slot that it joins where it has nothing to look
    at.
    """

    name: str
    lens: str
    cells: str
    size: float
    steady: bool = False
    instead: str = ""


TWO_SCALES = 2
"""The `size` of a slot that looks at noise whose scale may differ between the sides."""

TABLE = (
    Slot("2 cells", "value", "quantiles", 2),
    Slot("3 cells", "value", "quantiles", 3),
    Slot("4 cells", "value", "quantiles", 4),
    Slot("8 cells", "value", "quantiles", 8),
    Slot("2 cells, steady", "value", "quantiles", 2, True),
    Slot("3 cells, steady", "value", "quantiles", 3, True),
    Slot("4 cells, steady", "value", "quantiles", 4, True),
    Slot("8 cells, steady", "value", "quantiles", 8, True),
    Slot("tail cells", "value", "tails", 0, True),
    Slot("sharp density", "value", "density", 0.5, instead="3 cells"),
    Slot("smooth density", "value", "density", 1.0, instead="4 cells"),
    Slot("Laplace noise", "value", "Laplace", 1, True, instead="3 cells, steady"),
    Slot("Laplace noise, two scales", "value", "Laplace", TWO_SCALES, instead="3 cells"),
    Slot("normal noise", "value", "normal", 1, True, instead="4 cells, steady"),
    Slot("normal noise, two scales", "value", "normal", TWO_SCALES, instead="4 cells"),
    Slot("15 values", "value", "values", 15, instead="Laplace noise, two scales"),
    Slot("60 values", "value", "values", 60, True, instead="normal noise, two scales"),
    Slot("calibrated score", "value", "calibrated", 0, instead="Laplace noise"),
    Slot("single number", "single", "quantiles", 3, True, instead="Laplace noise, two scales"),
    Slot("density of a single number", "single", "density", 0.5, instead="smooth density"),
    Slot("boosted trees", "boosted", "quantiles", 8, True, instead="normal noise, two scales"),
    Slot("calibrated trees", "boosted", "calibrated", 0, instead="smooth density"),
)
"""All gamblers; they share the starting wealth equally."""

SLOTS = tuple(slot.name for slot in TABLE)
"""The names of the gamblers."""

GIVEN = ("given event", "given event, steady")
"""Two more gamblers, where an event is given beforehand: they look at nothing else."""

GIVEN_SHARE = 1 / 4
"""The share of the starting wealth that those two then have together."""

EXACT_TABLE = (
    Slot("bits", "bits", "quantiles", 4, True, instead="seen before"),
    Slot("calibrated bits", "bits", "calibrated", 0, instead="seen before"),
    Slot("seen before", "value", "seen", 0),
)
"""More gamblers, where bets may look at the bits of numbers."""

EXACT = tuple(slot.name for slot in EXACT_TABLE)
"""Their names."""

EXACT_SHARE = 1 / 4
"""The share of the starting wealth that they then have together."""

SMOOTHING = 0.5
"""Added to the count of each cell (Krichevsky, Trofimov 1981)."""

LEAST_PULL, MOST_PULL = 1.0, 200.0
"""Pseudo-pairs by which a steady gambler pulls both laws towards their common mean."""

FAMILY_PULL = 4.0
"""Pseudo-pairs at most of the others who look at a family of noise: a few runs fit one too well."""


def steady_on_two_values() -> tuple[bool, ...]:
    """Which slots are steady on outputs with two values, where most look at the same two cells.

    >>> sum(steady_on_two_values()), len(SLOTS)
    (9, 22)
    """
    by_name = {slot.name: slot for slot in TABLE}

    def resolved(slot: Slot) -> Slot:
        idle = slot.lens != "value" or slot.cells in ("density", "calibrated", *LAWS)
        return resolved(by_name[slot.instead]) if idle else slot

    return tuple(resolved(slot).steady for slot in TABLE)


def pull_of(total_variation: float) -> float:
    """The pseudo-pairs of a steady gambler against a claim that allows this total variation.

    A claim that allows little can only be refuted by many pairs; a gambler who waits until the
    estimates have settled then loses less to noise. About 1/(4 TV^2) pairs are needed before a
    difference of TV stands out.

    >>> pull_of(0.5), pull_of(0.05)
    (1.0, 100.0)
    """
    wanted = 0.25 / max(total_variation, 1e-9) ** 2
    return float(np.clip(round(wanted, 9), LEAST_PULL, MOST_PULL))


@dataclass
class View:
    """Cells, how their counts are smoothed, and the counts of the past, (size,) each.

    `pull` adds that many pairs of the common mean to the counts.
    """

    cells: Cells
    smoothing: Smoothing
    pull: float
    counts_x: Array
    counts_y: Array

    def count(self, x: Index, y: Index) -> None:
        """Add the cells of further pairs to the counts."""
        self.counts_x += np.bincount(x, minlength=self.cells.size)
        self.counts_y += np.bincount(y, minlength=self.cells.size)

    def laws(self) -> tuple[Array, Array]:
        """The estimated laws of both sides on the cells, (size,) each, all positive."""
        both = self.counts_x / self.counts_x.sum() + self.counts_y / self.counts_y.sum()
        common = both * (self.pull / 2)
        p, q = self.smoothing.smooth(self.counts_x + common, self.counts_y + common)
        return p / p.sum(), q / q.sum()

    @property
    def parameters(self) -> float:
        """About how many numbers are learned from the counts."""
        used = np.count_nonzero(self.counts_x + self.counts_y)
        return self.smoothing.parameters(int(used))


def padded_laws(views: Sequence[View]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Estimated laws (views, widest), padded by zeros, and where cells are real."""
    widest = max(view.cells.size for view in views)
    p, q = np.zeros((2, len(views), widest))
    real = np.zeros((len(views), widest), dtype=bool)
    for i, view in enumerate(views):
        size = view.cells.size
        p[i, :size], q[i, :size] = view.laws()
        real[i, :size] = True
    return p, q, real


@dataclass(frozen=True)
class Experts:
    """The distinct views and, for each slot, which of them it uses."""

    views: tuple[View, ...]
    slots: Index

    def laws(self, chosen: Sequence[int] | None = None) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Estimated laws (views, widest), padded by zeros, and where cells are real.

        `chosen` picks views by number; all by default.
        """
        return padded_laws(self.views if chosen is None else [self.views[i] for i in chosen])

    def index(self, outputs: Outputs) -> list[Index]:
        """The cell of each output in each view; what views share is worked out once."""
        values: dict[int, Array] = {}
        found: dict[int, Index] = {}
        for cells in {id(view.cells): view.cells for view in self.views}.values():
            score = id(cells.score)
            if score not in values:
                values[score] = cells.values(outputs)
            found[id(cells)] = cells.index(outputs, values[score])
        return [found[id(view.cells)] for view in self.views]


class _Cut(NamedTuple):
    """Cells, what falls together in them, and the counts of both sides."""

    cells: Cells
    together: bytes
    counts_x: Array
    counts_y: Array


class _Views:
    """The views on the past pairs that slots ask for, each made once."""

    def __init__(self, x: Outputs, y: Outputs, main: int, shapes: NDArray[np.int64]) -> None:
        self.made: list[View] = []
        self._past, self._main, self._shapes = (x, y), main, shapes
        self._cut: dict[tuple[int, bytes, bytes], _Cut] = {}
        self._numbers: dict[tuple[bytes, str], int] = {}

    def add(
        self, lens: Lens, cuts: Array, atoms: NDArray[np.uint64], how: Smoothing, pull: float
    ) -> int:
        """The number of the view through these cells, smoothed so."""
        cells, together, counts_x, counts_y = self._cells(lens, cuts, atoms)
        seen = together, f"{how.style} {pull}"
        if seen not in self._numbers:
            view = View(cells, how, pull, counts_x.copy(), counts_y.copy())
            self._numbers[seen] = self.append(view)
        return self._numbers[seen]

    def append(self, view: View) -> int:
        """The number of one view more."""
        self.made.append(view)
        return len(self.made) - 1

    def _cells(self, lens: Lens, cuts: Array, atoms: NDArray[np.uint64]) -> _Cut:
        key = id(lens.score), cuts.tobytes(), atoms.tobytes()
        if key not in self._cut:
            cells = Cells(self._main, lens.score, cuts, self._shapes, atoms)
            where = [
                cells.index(side, values)
                for side, values in zip(self._past, (lens.x, lens.y), strict=True)
            ]
            together = _canonical(np.concatenate(where)).tobytes()
            counts = (np.bincount(w, minlength=cells.size).astype(np.float64) for w in where)
            self._cut[key] = _Cut(cells, together, *counts)
        return self._cut[key]


def fit_experts(
    x: Outputs, y: Outputs, seen: Lenses, *, pull: float, given: str | None = None
) -> Experts:
    """Learn cells from the past pairs, for each slot; `pull` is that of the steady ones.

    `given` are the words of an event that was given beforehand, which outputs are marked by; it
    has the slots of `GIVEN`. Where outputs are exact those of `EXACT` come before them.
    """
    table = (*TABLE, *EXACT_TABLE) if x.exact and y.exact else TABLE
    main, shapes, in_x, in_y = seen.main, seen.shapes, seen.in_x, seen.in_y
    keys = np.concatenate([x.keys, y.keys])
    views = _Views(x, y, main, shapes)
    add = views.add
    none = np.zeros(0, dtype=np.uint64)

    def view_of(slot: Slot) -> int | None:
        """The view of a slot; None where it has nothing to look at."""
        lens = seen.lenses.get(slot.lens)
        if lens is None or (slot.cells == "calibrated" and lens.score is None):
            return None
        pooled = np.concatenate([lens.x[in_x], lens.y[in_y]])
        own = pull if slot.steady else 0.0
        if slot.cells == "seen":
            return views.append(_seen_before(x, y))
        if slot.cells == "quantiles":
            return add(lens, quantile_cuts(pooled, int(slot.size)), none, Counted(SMOOTHING), own)
        if slot.cells == "tails":
            edges = edge_cuts(lens.x[in_x], lens.y[in_y])
            cuts = np.union1d(tail_cuts(pooled), edges)
            return add(lens, cuts, none, Counted(SMOOTHING), own)
        if slot.cells == "density":
            found = density_cells(pooled, slot.size) if len(pooled) else None
            if found is None:
                return None
            return add(lens, found[0], none, Kernel(slot.name, found[1], SMOOTHING), own)
        if slot.cells in LAWS:
            cuts = np.union1d(tail_cuts(pooled), quantile_cuts(pooled, 16))
            noise = Noise.of(
                slot.cells, cuts, pooled, SMOOTHING, two_scales=slot.size == TWO_SCALES
            )
            pulled = own if slot.steady else min(pull, FAMILY_PULL)
            return None if noise is None else add(lens, cuts, none, noise, pulled)
        if slot.cells == "calibrated":
            cuts = np.union1d(tail_cuts(pooled), quantile_cuts(pooled, 16))
            return add(lens, cuts, none, Calibrated.of(cuts, pooled, SMOOTHING), own)
        atoms = frequent_keys(keys, int(slot.size))
        return (
            add(lens, quantile_cuts(pooled, 2), atoms, Counted(SMOOTHING), own)
            if len(atoms)
            else None
        )

    found = {slot.name: view_of(slot) for slot in table}
    instead = {slot.name: slot.instead for slot in table}

    def resolved(name: str) -> int:
        view = found[name]
        return resolved(instead[name]) if view is None else view

    slots = [resolved(slot.name) for slot in table]
    for own in () if given is None else (0.0, pull):
        cells = Marked.of(given or "")
        counts = (np.bincount(cells.index(side), minlength=2).astype(np.float64) for side in (x, y))
        slots.append(views.append(View(cells, Counted(SMOOTHING), own, *counts)))
    return Experts(tuple(views.made), np.array(slots, dtype=np.intp))


def _seen_before(x: Outputs, y: Outputs) -> View:
    """The view on which values were seen before, counted as if each run were new."""
    cells = Seen.of(x.keys, y.keys)
    counts = (
        np.bincount(cell, minlength=cells.size).astype(np.float64) for cell in cells.left_out(x, y)
    )
    return View(cells, Counted(SMOOTHING), 0.0, *counts)


def _canonical(cells: Index) -> Index:
    """Cell numbers renamed in the order of their first appearance, to compare partitions."""
    _, first, inverse = np.unique(cells, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


def bets(
    p: Array,
    q: Array,
    real: NDArray[np.bool_],
    promises: Sequence[Promise],
    *,
    quick: bool = False,
    ratio: tuple[int, int] = (1, 1),
) -> Factors:
    """Certified log-optimal factors for each law and promise.

    `quick` stops the search for the optimum earlier; the factors are fair all the same. `ratio`
    says how many runs on x and on x' a round has.

    Shapes: `p`, `q` and `real` are (..., k); the result is (..., promises, k), with factor 0 in
    cells that are not real.
    """
    a = np.zeros((*p.shape[:-1], len(promises), p.shape[-1]))
    b = np.zeros_like(a)
    epsilon = np.array([promise.epsilon for promise in promises])
    delta = np.array([promise.delta for promise in promises])
    order = np.array([promise.order for promise in promises])
    for chosen in (order == 0, order == 1, order == -1):
        if not chosen.any():
            continue
        made = _certified(
            p[..., None, :], q[..., None, :], real[..., None, :], epsilon[chosen],
            None if order[chosen][0] == 0 else delta[chosen], bool(order[chosen][0] == -1), quick,
            ratio,
        )  # fmt: skip
        a[..., chosen, :], b[..., chosen, :] = made
    return Factors(a, b)


def _certified(
    p: Array,
    q: Array,
    real: NDArray[np.bool_],
    epsilon: Array,
    delta: Array | None,
    swapped: bool,
    quick: bool,
    ratio: tuple[int, int],
) -> Factors:
    n, m = ratio
    if swapped:
        p, q, n, m = q, p, m, n
    p, q = n * p, m * q
    if delta is None:
        found = project_pure(p, q, epsilon, 9 if quick else 14)
    else:
        found = project_approx(p, q, epsilon, delta, 10 if quick else 24)
    found = Factors(np.where(real, found.a, 0.0), np.where(real, found.b, 0.0))
    worst = worst_pure(found, epsilon) if delta is None else worst_approx(found, epsilon, delta)
    fair = certify(found, worst, total=n + m)
    fair = Factors(fair.a / n, fair.b / m)
    return Factors(fair.b, fair.a) if swapped else fair
