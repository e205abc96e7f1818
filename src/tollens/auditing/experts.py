"""Experts: what a bet may look at, from coarse to fine, all learned from the past alone.

Each of the `SLOTS` is a gambler with a fixed share of the starting wealth. A slot looks at the
outputs through cells of its own; where the outputs have no use for it (a density of a coin
flip), it joins another slot. Slots that would look at the same cells share one `View`, so that
nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import Cells, frequent_keys, main_shape, quantile_cuts
from tollens.auditing.density import density_cells
from tollens.auditing.projection import project_approx, project_pure
from tollens.auditing.score import Score, fit_score
from tollens.auditing.ville import Factors, certify, worst_approx, worst_pure
from tollens.claim import Promise
from tollens.outputs import Outputs

Array = NDArray[np.float64]
Index = NDArray[np.intp]

QUANTILES = {"2 cells": 2, "3 cells": 3, "4 cells": 4, "8 cells": 8}
STEADY = {f"{name}, steady": k for name, k in QUANTILES.items()}
DENSITIES = {"sharp density": 0.5, "smooth density": 1.0}
ATOMS = {"15 values": 15, "60 values": 60}
SLOTS = (*QUANTILES, *STEADY, *DENSITIES, *ATOMS)
"""The gamblers that share the starting wealth."""

SMOOTHING = 0.5
"""Added to the count of each cell (Krichevsky, Trofimov 1981)."""

LEAST_PULL, MOST_PULL = 1.0, 200.0
"""Pseudo-pairs by which a steady gambler pulls both laws towards their common mean."""


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

    `kernel` smooths neighbouring intervals; `pull` adds that many pairs of the common mean.
    """

    cells: Cells
    kernel: Array | None
    pull: float
    counts_x: Array
    counts_y: Array

    def count(self, x: Index, y: Index) -> None:
        """Add the cells of further pairs to the counts."""
        self.counts_x += np.bincount(x, minlength=self.cells.size)
        self.counts_y += np.bincount(y, minlength=self.cells.size)

    def laws(self) -> tuple[Array, Array]:
        """The estimated laws of both sides on the cells, (size,) each, all positive."""
        common = (self.counts_x + self.counts_y) * (self.pull / (2 * self.counts_x.sum()))
        return self._law(self.counts_x + common), self._law(self.counts_y + common)

    def _law(self, counts: Array) -> Array:
        smooth = counts.copy()
        if self.kernel is not None:
            fine = len(self.kernel)
            smooth[:fine] = self.kernel @ counts[:fine] + SMOOTHING / fine
            smooth[fine:] += SMOOTHING
        else:
            smooth += SMOOTHING
        return np.asarray(smooth / smooth.sum())


@dataclass(frozen=True)
class Experts:
    """The distinct views and, for each slot, which of them it uses."""

    views: tuple[View, ...]
    slots: Index

    def laws(self, chosen: Sequence[int] | None = None) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Estimated laws (views, widest), padded by zeros, and where cells are real.

        `chosen` picks views by number; all by default.
        """
        views = self.views if chosen is None else [self.views[i] for i in chosen]
        widest = max(view.cells.size for view in views)
        p, q = np.zeros((2, len(views), widest))
        real = np.zeros((len(views), widest), dtype=bool)
        for i, view in enumerate(views):
            size = view.cells.size
            p[i, :size], q[i, :size] = view.laws()
            real[i, :size] = True
        return p, q, real


def fit_experts(x: Outputs, y: Outputs, rng: np.random.Generator, *, pull: float) -> Experts:
    """Learn cells from the past pairs, for each slot; `pull` is that of the steady ones."""
    main, shapes = main_shape([x, y])
    in_x, in_y = x.shapes == main, y.shapes == main
    score, values_x, values_y = _one_number(x, y, in_x, in_y, rng)
    pooled = np.concatenate([values_x[in_x], values_y[in_y]])
    none = np.zeros(0, dtype=np.uint64)
    views: list[View] = []
    cache: dict[bytes, int] = {}

    def add(
        cuts: Array, atoms: NDArray[np.uint64], kernel: Array | None = None, pull: float = 0.0
    ) -> int:
        cells = Cells(main, score, cuts, shapes, atoms)
        cell_x, cell_y = cells.index(x, values_x), cells.index(y, values_y)
        style = f"{kernel is not None} {pull}".encode()
        seen = _canonical(np.concatenate([cell_x, cell_y])).tobytes() + style
        if seen not in cache:
            cache[seen] = len(views)
            counts = (
                np.bincount(cell, minlength=cells.size).astype(np.float64)
                for cell in (cell_x, cell_y)
            )
            views.append(View(cells, kernel, pull, *counts))
        return cache[seen]

    slots = [add(quantile_cuts(pooled, k), none) for k in QUANTILES.values()]
    slots += [add(quantile_cuts(pooled, k), none, pull=pull) for k in STEADY.values()]
    steady = slots[len(QUANTILES) :]
    for i, factor in enumerate(DENSITIES.values()):
        found = density_cells(pooled, factor) if len(pooled) else None
        slots.append(slots[1 + i] if found is None else add(found[0], none, found[1]))
    keys = np.concatenate([x.keys, y.keys])
    for i, most in enumerate(ATOMS.values()):
        atoms = frequent_keys(keys, most)
        if len(atoms):
            slots.append(add(quantile_cuts(pooled, 2), atoms, pull=i * pull))
        else:
            slots.append(steady[i])
    return Experts(tuple(views), np.array(slots, dtype=np.intp))


def _one_number(
    x: Outputs,
    y: Outputs,
    in_x: NDArray[np.bool_],
    in_y: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[Score | None, Array, Array]:
    """The number by which outputs of the main shape are cut: their own, or a learned score."""
    values_x, values_y = np.zeros(len(x)), np.zeros(len(y))
    width = _used_width([x.numbers[in_x], y.numbers[in_y]])
    if width >= 2:
        fitted = fit_score(_columns(x, in_x, width), _columns(y, in_y, width), rng)
        if fitted is not None:
            score, values_x[in_x], values_y[in_y] = fitted
            return score, values_x, values_y
    if width >= 1:
        values_x[in_x] = _columns(x, in_x, 1)[:, 0]
        values_y[in_y] = _columns(y, in_y, 1)[:, 0]
    return None, values_x, values_y


def _columns(outputs: Outputs, rows: NDArray[np.bool_], width: int) -> Array:
    """The first `width` numbers of the chosen rows, NaN where there are fewer."""
    found = outputs.numbers[rows, :width]
    missing = width - found.shape[1]
    return np.pad(found, ((0, 0), (0, missing)), constant_values=np.nan) if missing else found


def _used_width(parts: Sequence[Array]) -> int:
    """The number of leading columns that hold a number in some row."""
    used = 0
    for part in parts:
        if part.size:
            columns = np.flatnonzero(~np.all(np.isnan(part), axis=0))
            used = max(used, int(columns[-1]) + 1 if len(columns) else 0)
    return used


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
) -> Factors:
    """Certified log-optimal factors for each law and promise.

    `quick` stops the search for the optimum earlier; the factors are fair all the same.

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
) -> Factors:
    if swapped:
        p, q = q, p
    if delta is None:
        found = project_pure(p, q, epsilon, 20 if quick else 44)
    else:
        found = project_approx(p, q, epsilon, delta, 10 if quick else 24)
    found = Factors(np.where(real, found.a, 0.0), np.where(real, found.b, 0.0))
    worst = worst_pure(found, epsilon) if delta is None else worst_approx(found, epsilon, delta)
    fair = certify(found, worst)
    return Factors(fair.b, fair.a) if swapped else fair
