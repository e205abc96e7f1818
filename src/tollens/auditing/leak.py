"""How much leaks: a lower bound for epsilon that is valid at every time.

The same bets are made against a fixed sequence of nested claims, (e, delta)-DP for e on a grid.
The bound is the largest e such that it and all before it in the sequence were rejected: since the
claims are nested, the first true one of the sequence has to be rejected for the bound to be too
large, which happens with probability at most alpha. It never decreases.

Against a block of claims at once, the bets against its largest epsilon serve; see `SHORTCUT`.

A claim with a delta of its own stands in the sequence itself: once it is refuted, the sequence
goes on above it at the claim's level. Below the claim (and for claims without a delta) the
sequence starts near 0 and spends `share` of alpha, which the test of the claim leaves to it.

The wealth against the grid is a function of the counts of cells over time, which are all that is
kept; it is worked out when the bound is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import TABLE, Experts, bets
from tollens.auditing.paired import EVENTS, STRENGTHS
from tollens.auditing.smoothing import LAWS
from tollens.claim import Claim, Promise

Array = NDArray[np.float64]
Index = NDArray[np.intp]

GRID = np.geomspace(0.01, 16.0, 320)
"""The values of epsilon that a bound may take (and the claim's own)."""

REBET = 1.3
"""Bets against the grid are made anew when the number of pairs has grown by this factor."""

SHORTCUT = 1 / 64
"""The part of the error of the bound that pays for rejecting claims by the block."""

_BLOCK = 24

_COARSE = tuple(i for i, slot in enumerate(TABLE) if slot.cells not in ("density", *LAWS))
"""The slots that bet against the grid: many cells cost much there, and add little."""


@dataclass
class _Segment:
    """Pairs during which one set of bets against the grid stands.

    `past` holds the counts that the bets were made from, (views, widest) for each side.
    """

    p: Array
    q: Array
    real: NDArray[np.bool_]
    slots: Index
    views: tuple[int, ...]
    past: tuple[Array, Array]
    parameters: Array
    ratio: tuple[int, int]
    counts_x: Array
    counts_y: Array
    joint: Array


class LeakBound:
    """Collects counts while an audit runs; `lower` turns them into the bound."""

    def __init__(self, claim: Claim, *, alpha: float, share: float, delta: float) -> None:
        self.claim = claim
        self.delta = delta
        self._level_below = -math.log(alpha * share)
        self._level_above = -math.log(alpha * (1 - share))
        self._segments: list[_Segment] = []
        self._next = 0.0
        self._best = 0.0
        self._cached: tuple[int, bool, float] | None = None

    def open(
        self, experts: Experts, pairs: int, *, new_cells: bool, ratio: tuple[int, int] = (1, 1)
    ) -> None:
        """Fix the bets for the coming rounds of runs, if it is time to."""
        same = bool(self._segments) and self._segments[-1].ratio == ratio
        if pairs < self._next and not new_cells and same:
            return
        self._next = pairs * REBET
        chosen_slots = [*_COARSE, *range(len(TABLE), len(experts.slots))]
        used = [int(experts.slots[slot]) for slot in chosen_slots]
        views = tuple(sorted(set(used)))
        p, q, real = experts.laws(views)
        past = np.zeros((2, *p.shape))
        for row, view in enumerate(views):
            chosen = experts.views[view]
            past[0, row, : chosen.cells.size] = chosen.counts_x
            past[1, row, : chosen.cells.size] = chosen.counts_y
        parameters = np.array([experts.views[view].parameters for view in views])
        slots = np.array([views.index(view) for view in used], dtype=np.intp)
        self._segments.append(
            _Segment(
                p, q, real, slots, views, (past[0], past[1]), parameters, ratio,
                np.zeros(p.shape), np.zeros(q.shape), np.zeros((4, EVENTS)),
            )
        )  # fmt: skip

    def count(self, cells_x: list[Index], cells_y: list[Index]) -> None:
        """Add runs, given by their cells in every view of the experts."""
        segment = self._segments[-1]
        widest = segment.p.shape[1]
        for row, view in enumerate(segment.views):
            segment.counts_x[row] += np.bincount(cells_x[view], minlength=widest)
            segment.counts_y[row] += np.bincount(cells_y[view], minlength=widest)

    def count_coupled(self, joint: NDArray[np.bool_]) -> None:
        """Add coupled pairs, given by the events of both sides, (2 EVENTS, n)."""
        x, y = joint[:EVENTS], joint[EVENTS:]
        outcomes = (x & y, x & ~y, ~x & y, ~x & ~y)
        self._segments[-1].joint += np.stack([outcome.sum(axis=1) for outcome in outcomes])

    def lower(self, *, pairs: int, refuted: bool) -> float:
        """The certified lower bound for epsilon at `delta`; 0 where nothing was shown.

        Each look counts wealth inside a segment too; what one look has shown, the next ones keep.
        """
        if self._cached is None or self._cached[:2] != (pairs, refuted):
            self._best = max(self._best, self._compute(refuted))
            self._cached = (pairs, refuted, self._best)
        return self._cached[2]

    def _compute(self, refuted: bool) -> float:
        own_delta = self.claim.leak_delta
        own = self.claim.promises()[0].epsilon if own_delta == self.delta else None
        if own is not None and refuted:
            above = GRID[own * (1 + 1e-9) < GRID]
            return self._climb(own, above, self._level_above)
        grid = GRID if own is None else GRID[own > GRID]
        return self._climb(0.0, grid, self._level_below)

    def _climb(self, start: float, grid: Array, level: float) -> float:
        """The last epsilon of the grid before the first that was not rejected.

        A block of the grid is rejected if its largest epsilon is, with `SHORTCUT` of the error;
        where that fails, its claims are tried one by one with the rest. The first true claim lies
        in one block, so that the errors of these two ways add up to that of `level`.
        """
        if not len(grid):
            return start
        blocks = [grid[first : first + _BLOCK] for first in range(0, len(grid), _BLOCK)]
        ends = np.array([block[-1] for block in blocks])
        at_once = self._peak(ends) >= level - math.log(SHORTCUT)
        bound = start
        for block, whole in zip(blocks, at_once, strict=True):
            if not whole:
                rejected = self._peak(block) >= level - math.log1p(-SHORTCUT)
                if not rejected.all():
                    fails = int(np.argmin(rejected))
                    return float(block[fails - 1]) if fails else bound
            bound = float(block[-1])
        return bound

    def _peak(self, grid: Array) -> Array:
        """The largest log wealth ever reached against each epsilon of the grid."""
        orders = _orders(self.delta, self.claim.ordered)
        promises = [Promise(e, self.delta, order) for e in grid.tolist() for order in orders]
        slots = len(self._segments[0].slots) if self._segments else len(_COARSE)
        log = np.zeros((slots + 1, len(promises)))
        table = self._linear_table(grid)
        linear = np.zeros((*table.shape[:-1], EVENTS))
        peak = np.full(len(grid), -np.inf)
        for segment in self._segments:
            if segment.counts_x.any():
                log += _product_gain(segment, promises)
            if segment.joint.any():
                linear += table @ segment.joint
            product = log.reshape(len(log), len(grid), len(orders)).transpose(1, 0, 2)
            many, favourite = _log_mean(product[:, :-1]), _log_mean(product[:, -1:])
            wealth = np.logaddexp(many, favourite) - math.log(2.0)
            peak = np.maximum(peak, wealth + _log_mean(linear))
        return peak

    def _linear_table(self, grid: Array) -> Array:
        """Log returns of linear bets on the four outcomes of an event.

        Shape (epsilons, directions, strengths, 4); the outcomes are those of `count_coupled`.
        """
        ratio = np.exp(grid)[:, None]
        top = ratio + self.delta
        gains = (
            np.array([[1.0], [1.0], [0.0], [0.0]])
            - np.array([[1.0], [0.0], [1.0], [0.0]]) * (np.exp(grid)[None, :])
        )
        forward = (gains.T - self.delta) / top
        backward = forward[:, [0, 2, 1, 3]]
        sides = [forward] if self.claim.ordered else [forward, backward]
        payoffs = np.stack(sides, axis=1)[:, :, None, :]
        return np.asarray(np.log1p(STRENGTHS[:, None] * payoffs), dtype=np.float64)


def _product_gain(segment: _Segment, promises: list[Promise]) -> Array:
    """What the product bettors earned in a segment, (slots + 1, promises), as logs.

    The last one is the favourite (see `product`), for each promise.
    """
    made = bets(segment.p, segment.q, segment.real, promises, quick=True, ratio=segment.ratio)
    with np.errstate(divide="ignore"):
        log_a = np.where(segment.real[:, None, :], np.log(made.a), 0.0)
        log_b = np.where(segment.real[:, None, :], np.log(made.b), 0.0)
    earned = np.einsum("vpk,vk->vp", log_a, segment.counts_x)
    earned += np.einsum("vpk,vk->vp", log_b, segment.counts_y)
    (n, m), (past_x, past_y) = segment.ratio, segment.past
    runs_x, runs_y = past_x.sum(axis=1)[:, None], past_y.sum(axis=1)[:, None]
    rounds = (runs_x + runs_y) / (n + m)
    before = n * rounds / runs_x * np.einsum("vpk,vk->vp", log_a, past_x)
    before += m * rounds / runs_y * np.einsum("vpk,vk->vp", log_b, past_y)
    before -= segment.parameters[:, None]
    best = before.argmax(axis=0)
    promise = np.arange(len(promises))
    favourite = np.where(before[best, promise] > 0, earned[best, promise], 0.0)
    return np.concatenate([earned[segment.slots], favourite[None]])


def _log_mean(log: Array) -> Array:
    """The log of the average of exp(log) over all axes but the first."""
    flat = log.reshape(len(log), -1)
    top = flat.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(flat - top).mean(axis=1)))


def _orders(delta: float, ordered: bool) -> tuple[int, ...]:
    if ordered:
        return (1,)
    return (0,) if delta == 0 else (1, -1)
