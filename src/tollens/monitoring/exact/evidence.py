"""The exact monitor: bets against the claim at every step, and a prior on when it broke.

A step is n pairs of runs of one version, scored in sub-batches. Each *strategy* gives an e-value
E_t for a sub-batch, from bets that were fixed before it. With a prior weight w_t on a break at
step t, added before the step is scored, its evidence is

    R <- R + w_t   at the start of a step,      R <- R E   for each sub-batch,

which is R = sum_j w_j prod_{s >= j} E_s, a mixture over the times of the break. An average of R
over strategies is, as long as every version keeps the claim, a nonnegative process whose mean is
at most the sum of the weights so far. If those sum to 1, P(it ever reaches 1/alpha) <= alpha
(Ville 1939), whatever else the versions do, and for every n. With weights of 1 it is the
e-detector of Shin, Ramdas and Rinaldo (2024).

Strategies are the slots of the audit on every rung (`rungs`) and on this step's own past, the
*favourite* of each, and an *overall* favourite among those. A favourite bets like the one that
would have gained most on its own past, and not at all where none would have gained: as long as
nothing is wrong it keeps the weights of all steps so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import Experts
from tollens.claim import Promise
from tollens.monitoring.exact.data import Histograms, StepData
from tollens.monitoring.exact.leak import GridBets, dropped
from tollens.monitoring.exact.rungs import PERIODS, Bets, Rung, make_bets

Array = NDArray[np.float64]

LEARN_AT = (1, 3, 8, 20, 48)
"""Sub-batches of a step after which its own runs are learned from."""

LEAK_AT = (0, 3, 20)
"""Sub-batches at which the bets on the size of the leak are made."""

RECENT = 1
"""The rung of the last few steps, whose counts say what leaks now."""

OVERALL, FAVOURITES = 0.5, 0.25
"""Shares of the overall favourite and of the favourites of all rungs; the slots have the rest."""


@dataclass
class ExactState:
    """What is kept between steps: the rungs and the log evidence of every strategy.

    `slots` is (rungs + 1, slots, promises), `favourites` (rungs + 1,); the last row is that of
    the strategies that learn within a step. `leak` (grid promises,) is the log evidence against
    larger and smaller epsilons (see `leak`).
    """

    rungs: list[Rung]
    slots: Array
    favourites: Array
    overall: float
    leak: Array

    @property
    def log_value(self) -> float:
        """The log of the average evidence over strategies."""
        rows = len(self.favourites)
        many = math.log((1 - OVERALL - FAVOURITES) / self.slots.size)
        few = math.log(FAVOURITES / rows)
        logs = np.concatenate([
            self.slots.ravel() + many, self.favourites + few, [self.overall + math.log(OVERALL)],
        ])  # fmt: skip
        top = logs.max()
        return float(top + np.log(np.exp(logs - top).sum())) if np.isfinite(top) else -math.inf


def begin(slots: int, promises: int, leak: int) -> ExactState:
    """The state before the first step, for so many slots, promises, and promises of the grid."""
    rows = len(PERIODS) + 1
    return ExactState(
        [Rung(period) for period in PERIODS],
        np.full((rows, slots, promises), -np.inf),
        np.full(rows, -np.inf),
        -math.inf,
        np.full(leak, -np.inf),
    )


def forget(state: ExactState) -> None:
    """Drop all evidence and keep what was learned, after an alarm was acknowledged.

    The evidence that comes later is less than it would have been: the level holds.
    """
    state.slots[:], state.favourites[:], state.overall = -np.inf, -np.inf, -math.inf
    state.leak[:] = -np.inf


class Scored(NamedTuple):
    """What a step showed.

    `path` (batches,) is the log evidence after each sub-batch, `tracks` (rungs + 1,) the log
    e-value of the step for the most promising bet of each rung, made whether it promised a gain
    or not: from these the time of a break is told. `bets` are all that stood, by row, and
    `recent` those that the last few steps suggest; `counts` are those of the longest rung
    (see `Rung.counts`).
    """

    path: Array
    tracks: Array
    bets: dict[int, Bets]
    recent: Bets
    counts: dict[int, list[Array]]


def advance(
    state: ExactState,
    data: StepData,
    promises: Sequence[Promise],
    grid: Sequence[Promise],
    log_weight: float,
    rng: np.random.Generator,
) -> Scored:
    """Score a step and learn from it; changes `state`.

    The order is what makes it valid: bets of the rungs stand before the step, and those that
    learn within it before the sub-batches that they score.
    """
    state.slots = np.logaddexp(state.slots, log_weight)
    state.favourites = np.logaddexp(state.favourites, log_weight)
    state.overall = float(np.logaddexp(state.overall, log_weight))
    state.leak = np.logaddexp(state.leak, log_weight)
    own = len(state.rungs)
    rows = [row for row, rung in enumerate(state.rungs) if rung.standing is not None]
    made = make_bets([rung.standing for rung in state.rungs if rung.standing is not None], promises)
    standing = dict(zip(rows, made, strict=True))
    counts = {row: data.histograms(bets.experts) for row, bets in standing.items()}
    path: list[float] = []
    tracks = np.zeros(own + 1)
    against: GridBets | None = None
    for first, end in _pieces(data.batches):
        if first:
            standing[own] = make_bets([data.learn(first, rng)], promises)[0]
            counts[own] = data.histograms(standing[own].experts)
        gains = {row: bets.score(_part(counts[row], first, end)) for row, bets in standing.items()}
        best = max(standing, key=lambda row: standing[row].choice.rate) if standing else None
        for batch in range(end - first):
            for row, bets in standing.items():
                gain, (rate, view, promise) = gains[row][batch], bets.choice
                state.slots[row] += gain[bets.experts.slots]
                tracks[row] += gain[view, promise]
                if rate > 0:
                    state.favourites[row] += gain[view, promise]
                    state.overall += gain[view, promise] if row == best else 0.0
            path.append(state.log_value)
        if best is not None and (against is None or first in LEAK_AT):
            at = best, standing[best].choice.view
            against = GridBets(standing[at[0]].experts.views[at[1]], grid)
            seen = counts[at[0]][at[1]]
        if against is not None:
            state.leak += against.score(Histograms(seen.x[first:end], seen.y[first:end]))
    newest = data.learn(data.batches, rng)
    for rung in state.rungs:
        rung.extend(data, newest)
    recent = make_bets([_standing(state.rungs[RECENT])], promises)[0]
    state.leak = dropped(state.leak, recent.experts.views[recent.choice.view], grid)
    return Scored(np.array(path), tracks, standing, recent, state.rungs[-1].counts(data))


def _standing(rung: Rung) -> Experts:
    if rung.standing is None:
        raise AssertionError("a rung has counted at least one step")
    return rung.standing


def _part(counts: Sequence[Histograms], first: int, end: int) -> list[Histograms]:
    """The histograms of some sub-batches."""
    return [Histograms(x[first:end], y[first:end]) for x, y in counts]


def _pieces(batches: int) -> Iterator[tuple[int, int]]:
    """First and end of the runs of sub-batches between which is learned.

    >>> list(_pieces(15))
    [(0, 1), (1, 3), (3, 8), (8, 15)]
    """
    edges = [0, *(batch for batch in LEARN_AT if batch < batches), batches]
    yield from pairwise(edges)
