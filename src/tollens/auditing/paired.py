"""Linear bets on pairs of runs that share their randomness ("common random numbers").

For any test f with values in [0, 1] that is fixed before the runs, the factor

    1 + l (f(X) - E f(Y) - delta) / (E + delta),       E = e^epsilon,  0 <= l <= 1,        (**)

has expectation at most 1 under (epsilon, delta)-DP *whatever the dependence of X and Y*: it is
linear in f(X) and f(Y), so only their means enter, and it is nonnegative because f(Y) <= 1. A
mechanism that takes its generator can therefore be run on x and x' with the same draws; the
noise cancels, and far fewer pairs are needed than independent runs would.

The tests are events: thresholds on the output (or its learned score), thresholds on its distance
from the median, shapes, and frequent exact values. Half of the stake is spread over all events,
directions and a grid of l; the other half follows the log-optimal portfolio of the past (Cover
1984), a quarter of it at full and a quarter at half strength.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import frequent_keys, shape_text
from tollens.auditing.lenses import Lenses
from tollens.auditing.score import Score, seen_through
from tollens.claim import Promise
from tollens.outputs import Encoder, Outputs

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

LENSES = {"value": (15, 7), "single": (7, 3), "boosted": (7, 0)}
"""How many thresholds on the number of each lens, and on its distance from the median."""

SINGLES = 12
"""How many shapes and exact values there are."""

EVENTS = 2 * sum(cuts + folds for cuts, folds in LENSES.values()) + SINGLES
"""Tests that a bet may use."""

STRENGTHS = np.geomspace(1 / 64, 1.0, 7) * 0.98
"""The grid of l in (**)."""

ITERATIONS = 60
"""Steps of the portfolio's multiplicative update; it starts from the last portfolio."""

MOST_KINDS = 16_384
"""Kinds of past pairs (by the events that they belong to) after which no more are counted."""

MOST_EPSILONS = 4
"""Tangents of a curved claim that linear bets are made against."""

_FLOOR = 0.1
_PSEUDO_PAIR = 1.0
_PARAMETERS = 1.0


@dataclass(frozen=True)
class Direction:
    """One linear inequality: f(X) - E f(Y) - delta, or with the sides swapped."""

    ratio: float
    delta: float
    swapped: bool


def directions(promises: Sequence[Promise]) -> tuple[Direction, ...]:
    """The linear inequalities of the promises, of at most `MOST_EPSILONS` epsilons.

    >>> [d.swapped for d in directions([Promise(1.0, 0.0, 0)])]
    [False, True]
    """
    epsilons = sorted({promise.epsilon for promise in promises})
    picked = np.linspace(0, len(epsilons) - 1, min(MOST_EPSILONS, len(epsilons))).round()
    kept = {epsilons[int(i)] for i in picked}
    found = []
    for promise in promises:
        if promise.epsilon in kept:
            ratio = math.exp(promise.epsilon)
            if promise.order >= 0:
                found.append(Direction(ratio, promise.delta, swapped=False))
            if promise.order <= 0:
                found.append(Direction(ratio, promise.delta, swapped=True))
    return tuple(found)


@dataclass(frozen=True)
class Thresholds:
    """Events of one lens: its number is at most a cut, above it, near its median, or far.

    Cuts that do not exist are NaN: never true.
    """

    score: Score | None
    center: float
    cuts: Array
    folds: Array

    def of(self, outputs: Outputs, values: Array | None = None) -> Bools:
        """Which events each output belongs to, (2 (cuts + folds), n).

        `values` (n,) are the lens's numbers of the outputs where they are known already.
        """
        if values is None:
            values = seen_through(self.score, outputs)
        with np.errstate(invalid="ignore"):
            low = values <= self.cuts[:, None]
            high = values > self.cuts[:, None]
            distance = np.abs(values - self.center)
            near = distance <= self.folds[:, None]
            far = distance > self.folds[:, None]
        return np.concatenate([low, high, near, far])

    def describe(self, event: int) -> str:
        """An event in words."""
        name = "output" if self.score is None else "score"
        tail = "" if self.score is None else f", where score = {self.score.describe()}"
        k, m = len(self.cuts), len(self.folds)
        if event < 2 * k:
            return f"{name} {'<=' if event < k else '>'} {self.cuts[event % k]:.6g}{tail}"
        sign = "<=" if event < 2 * k + m else ">"
        return f"|{name} - {self.center:.6g}| {sign} {self.folds[(event - 2 * k) % m]:.6g}{tail}"


@dataclass(frozen=True)
class Events:
    """The tests of a bet; `of` evaluates them."""

    main: int
    thresholds: tuple[Thresholds, ...]
    shapes: NDArray[np.int64]
    atoms: NDArray[np.uint64]

    def of(self, outputs: Outputs, values: Sequence[Array | None] = ()) -> Bools:
        """Which events each output belongs to, (EVENTS, n); `values` as in `Thresholds.of`."""
        known = values or [None] * len(self.thresholds)
        in_main = outputs.shapes == self.main
        singles = np.zeros((SINGLES, len(outputs)), dtype=bool)
        for i, shape in enumerate(self.shapes.tolist()):
            singles[i] = outputs.shapes == shape
        for i, key in enumerate(self.atoms, start=len(self.shapes)):
            singles[i] = outputs.keys == key
        return np.concatenate(
            [part.of(outputs, v) & in_main for part, v in zip(self.thresholds, known, strict=True)]
            + [singles]
        )

    def score_of(self, event: int) -> Score | None:
        """The score that an event cuts; None where it is about the output itself."""
        for part in self.thresholds:
            size = 2 * (len(part.cuts) + len(part.folds))
            if event < size:
                return part.score
            event -= size
        return None

    def describe(self, event: int, encoder: Encoder) -> str:
        """An event in words."""
        for part in self.thresholds:
            size = 2 * (len(part.cuts) + len(part.folds))
            if event < size:
                return part.describe(event)
            event -= size
        if event < len(self.shapes):
            return shape_text(encoder.shape_name(int(self.shapes[event])))
        known = encoder.text_of(int(self.atoms[event - len(self.shapes)]))
        return f"output = {known or 'a repeated exact value'}"


def fit_events(x: Outputs, y: Outputs, seen: Lenses) -> Events:
    """Learn events from past pairs."""
    thresholds = []
    for name, (cuts, folds) in LENSES.items():
        lens = seen.lenses.get(name)
        pooled = np.zeros(0)
        if lens is not None:
            pooled = np.concatenate([lens.x[seen.in_x], lens.y[seen.in_y]])
            pooled = pooled[np.isfinite(pooled)]
        score = None if lens is None else lens.score
        center = float(np.median(pooled)) if len(pooled) else 0.0
        distances = np.abs(pooled - center)
        made = Thresholds(score, center, _levels(pooled, cuts), _levels(distances, folds))
        thresholds.append(made)
    shapes = seen.shapes[: SINGLES // 2]
    atoms = frequent_keys(np.concatenate([x.keys, y.keys]), SINGLES - len(shapes))
    return Events(seen.main, tuple(thresholds), shapes, atoms)


def _levels(values: Array, k: int) -> Array:
    """k quantiles that are values themselves; NaN where there are no values."""
    if not len(values):
        return np.full(k, np.nan)
    wanted = np.arange(1, k + 1) / (k + 1)
    levels: Array = np.quantile(values, wanted, method="lower")
    return levels


class LinearBets:
    """The bettors of (**): a grid of fixed strengths, and the portfolio of the past.

    `learn` and `bet` look at past pairs only; `log_returns` scores new ones with what stands.
    """

    def __init__(self, promises: Sequence[Promise]) -> None:
        self.directions = directions(promises)
        self.events: Events | None = None
        self.assets = EVENTS * len(self.directions)
        self._portfolio: Array | None = None
        self._columns = np.zeros((2 * EVENTS, 0), dtype=bool)
        self._counts = np.zeros(0)
        self.growth = 0.0

    @property
    def log_weights(self) -> Array:
        """The starting shares of the bettors, (bettors,), as logs.

        Events of learned scores have one only where past outputs held several numbers. Read
        before the first bet.
        """
        used = np.full(EVENTS, True)
        if self.events is None or all(part.score is None for part in self.events.thresholds):
            first = 2 * sum(LENSES["value"])
            used[first : EVENTS - SINGLES] = False
        shared = np.tile(np.repeat(used, len(STRENGTHS)), len(self.directions)).astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.concatenate([0.5 * shared / shared.sum(), [0.25, 0.25]])))

    @property
    def ready(self) -> bool:
        """Whether bets stand."""
        return self._portfolio is not None

    def learn(self, x: Outputs, y: Outputs, coupled: tuple[Bools, Bools], seen: Lenses) -> None:
        """Learn events from all past pairs, and their counts from the coupled ones.

        Past outputs are looked at through scores of other folds, which were not fitted to them.
        """
        self.events = fit_events(x, y, seen)
        self._columns = np.zeros((2 * EVENTS, 0), dtype=bool)
        self._counts = np.zeros(0)
        lenses = [seen.lenses.get(name) for name in LENSES]
        in_x, in_y = coupled
        of_x = [None if lens is None else lens.x[in_x] for lens in lenses]
        of_y = [None if lens is None else lens.y[in_y] for lens in lenses]
        events = self.events
        self.count(np.concatenate([events.of(x[in_x], of_x), events.of(y[in_y], of_y)]))

    def frequencies(self, event: int) -> tuple[float, float]:
        """How often an event was seen on both sides of the coupled pairs."""
        seen = max(float(self._counts.sum()), 1.0)
        p = float(self._counts @ self._columns[event]) / seen
        return p, float(self._counts @ self._columns[EVENTS + event]) / seen

    def joint(self, x: Outputs, y: Outputs) -> Bools:
        """The events of both sides of each pair, (2 EVENTS, n)."""
        if self.events is None:
            raise AssertionError("events are learned before they are used")
        return np.concatenate([self.events.of(x), self.events.of(y)])

    def count(self, joint: Bools) -> None:
        """Add coupled pairs to the past, as long as there are few kinds of them."""
        if len(self._counts) >= MOST_KINDS:
            return
        columns = np.concatenate([self._columns, joint], axis=1)
        counts = np.concatenate([self._counts, np.ones(joint.shape[1])])
        packed = np.ascontiguousarray(np.packbits(columns, axis=0).T)
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)  # fmt: skip
        self._columns = columns[:, first]
        self._counts = np.bincount(inverse.ravel(), weights=counts, minlength=len(first)).astype(
            np.float64
        )

    def payoffs(self, joint: Bools) -> Array:
        """(f(X) - E f(Y) - delta) / (E + delta) for every direction and event, (assets, n)."""
        x, y = joint[:EVENTS].astype(np.float64), joint[EVENTS:].astype(np.float64)
        parts = []
        for direction in self.directions:
            f, g = (y, x) if direction.swapped else (x, y)
            top = direction.ratio + direction.delta
            parts.append((f - direction.ratio * g - direction.delta) / top)
        return np.concatenate(parts)

    def bet(self) -> None:
        """Make the portfolio of the past: cash and all assets at full strength.

        Each past pair counts once, and the mirrored pairs count as `_PSEUDO_PAIR` in all, so
        that nothing is staked on what was never seen to fail. `growth` becomes the estimated
        growth of the log wealth for a pair, less what fitting to the same pairs adds to it.
        """
        if self.events is None:
            return
        half = EVENTS
        mirrored = np.concatenate([self._columns[half:], self._columns[:half]])
        seen = max(float(self._counts.sum()), 1.0)
        returns = 1.0 + self.payoffs(np.concatenate([self._columns, mirrored], axis=1))
        returns = np.concatenate([np.ones((1, returns.shape[1])), returns])
        weights = np.concatenate([self._counts, self._counts * (_PSEUDO_PAIR / seen)])
        uniform = np.full(len(returns), 1.0 / len(returns))
        start = uniform if self._portfolio is None else self._portfolio
        w = (1 - _FLOOR) * start + _FLOOR * uniform
        total = max(float(weights.sum()), 1e-300)
        for _ in range(ITERATIONS):
            w = w * (returns @ (weights / (w @ returns))) / total
        self._portfolio = np.asarray(w / w.sum())
        rate = float(weights @ np.log(self._portfolio @ returns)) / total
        self.growth = rate - _PARAMETERS / seen

    def log_returns(self, joint: Bools) -> Array:
        """Log returns of the standing bets, (bettors, n)."""
        if self._portfolio is None:
            raise AssertionError("bets are made before they are scored")
        payoffs = self.payoffs(joint)
        grid = np.log1p(STRENGTHS[:, None] * payoffs[:, None, :]).reshape(-1, joint.shape[1])
        plain = self._portfolio[0] + self._portfolio[1:] @ (1.0 + payoffs)
        portfolio = np.log(np.stack([plain, 0.5 + 0.5 * plain]))
        return np.concatenate([grid, portfolio])
