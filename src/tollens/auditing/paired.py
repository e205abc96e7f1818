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

from tollens.auditing.cells import frequent_keys, main_shape, shape_text
from tollens.auditing.score import Score, fit_score
from tollens.claim import Promise
from tollens.outputs import Encoder, Outputs

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

CUTS, FOLDS, SINGLES = 15, 7, 12
"""How many thresholds, thresholds on the distance from the median, and single values there are."""

EVENTS = 2 * CUTS + 2 * FOLDS + SINGLES
"""Tests that a bet may use."""

STRENGTHS = np.geomspace(1 / 64, 1.0, 7) * 0.98
"""The grid of l in (**)."""

ITERATIONS = 60
"""Steps of the portfolio's multiplicative update; it starts from the last portfolio."""

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
class Events:
    """The tests of a bet; `of` evaluates them. Cuts that do not exist are NaN: never true."""

    main: int
    score: Score | None
    center: float
    cuts: Array
    folds: Array
    shapes: NDArray[np.int64]
    atoms: NDArray[np.uint64]

    def of(self, outputs: Outputs) -> Bools:
        """Which events each output belongs to, (EVENTS, n)."""
        in_main = outputs.shapes == self.main
        values = self._values(outputs)
        with np.errstate(invalid="ignore"):
            low = values <= self.cuts[:, None]
            high = values > self.cuts[:, None]
            distance = np.abs(values - self.center)
            near = distance <= self.folds[:, None]
            far = distance > self.folds[:, None]
        singles = np.zeros((SINGLES, len(outputs)), dtype=bool)
        for i, shape in enumerate(self.shapes.tolist()):
            singles[i] = outputs.shapes == shape
        for i, key in enumerate(self.atoms, start=len(self.shapes)):
            singles[i] = outputs.keys == key
        return np.concatenate([part & in_main for part in (low, high, near, far)] + [singles])

    def _values(self, outputs: Outputs) -> Array:
        if self.score is not None:
            return self.score(outputs.numbers)
        if outputs.numbers.shape[1] == 0:
            return np.zeros(len(outputs))
        return np.asarray(outputs.numbers[:, 0])

    def describe(self, event: int, encoder: Encoder) -> str:
        """An event in words."""
        name = "output" if self.score is None else "score"
        tail = "" if self.score is None else f", where score = {self.score.describe()}"
        cut, fold = event % CUTS, (event - 2 * CUTS) % FOLDS
        if event < CUTS:
            return f"{name} <= {self.cuts[cut]:.6g}{tail}"
        if event < 2 * CUTS:
            return f"{name} > {self.cuts[cut]:.6g}{tail}"
        if event < 2 * CUTS + 2 * FOLDS:
            sign = "<=" if event < 2 * CUTS + FOLDS else ">"
            return f"|{name} - {self.center:.6g}| {sign} {self.folds[fold]:.6g}{tail}"
        single = event - 2 * CUTS - 2 * FOLDS
        if single < len(self.shapes):
            return shape_text(encoder.shape_name(int(self.shapes[single])))
        known = encoder.text_of(int(self.atoms[single - len(self.shapes)]))
        return f"output = {known or 'a repeated exact value'}"


def fit_events(x: Outputs, y: Outputs, rng: np.random.Generator) -> Events:
    """Learn events from past pairs."""
    main, shapes = main_shape([x, y])
    in_x, in_y = x.shapes == main, y.shapes == main
    blank = Events(
        main, None, 0.0, np.full(CUTS, np.nan), np.full(FOLDS, np.nan), shapes[:0],
        np.zeros(0, dtype=np.uint64),
    )  # fmt: skip
    numbers_x, numbers_y = x.numbers[in_x], y.numbers[in_y]
    width = min(numbers_x.shape[1], numbers_y.shape[1])
    score = None
    if width >= 2 and not np.all(np.isnan(numbers_x[:, 1:width])):
        fitted = fit_score(numbers_x[:, :width], numbers_y[:, :width], rng)
        score = None if fitted is None else fitted[0]
    helper = Events(main, score, 0.0, blank.cuts, blank.folds, blank.shapes, blank.atoms)
    pooled = np.concatenate([helper._values(x)[in_x], helper._values(y)[in_y]])
    pooled = pooled[np.isfinite(pooled)]
    center, cuts, folds = 0.0, blank.cuts, blank.folds
    if len(pooled):
        center = float(np.median(pooled))
        cuts = _levels(pooled, CUTS)
        folds = _levels(np.abs(pooled - center), FOLDS)
    shapes = shapes[: SINGLES // 2]
    atoms = frequent_keys(np.concatenate([x.keys, y.keys]), SINGLES - len(shapes))
    return Events(main, score, center, cuts, folds, shapes, atoms)


def _levels(values: Array, k: int) -> Array:
    """k quantiles that are values themselves."""
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
        """The starting shares of the bettors, (bettors,), as logs."""
        grid = np.full(self.assets * len(STRENGTHS), 0.5 / (self.assets * len(STRENGTHS)))
        shares: Array = np.concatenate([grid, [0.25, 0.25]])
        return np.log(shares)

    @property
    def ready(self) -> bool:
        """Whether bets stand."""
        return self._portfolio is not None

    def learn(self, x: Outputs, y: Outputs, coupled: Bools, rng: np.random.Generator) -> None:
        """Learn events from all past pairs, and their counts from the coupled ones."""
        self.events = fit_events(x, y, rng)
        self._columns = np.zeros((2 * EVENTS, 0), dtype=bool)
        self._counts = np.zeros(0)
        self.count(self.joint(x[coupled], y[coupled]))

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
        """Add coupled pairs to the past."""
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
