"""Runs whose running time is part of the output, made on both sides in turn.

A machine is not equally fast at all times, so the runs of x and of x' alternate: each pair of runs
is made together, in an order that is drawn anew. A run then finds the same machine on either side,
as far as its data do not change the machine; the two runs of a pair are not independent, and only
bets that allow for that may look at them.
"""

from __future__ import annotations

import math
import time

import numpy as np

from tollens.errors import UsageError
from tollens.mechanism import Mechanism, one_by_one
from tollens.neighbours import Pair
from tollens.streams import EvidenceStream, Side
from tollens.worker import Batch, Watch, data_of

_ORDER = 2**31
"""The chunk whose generator draws the orders; no chunk of runs has a number so high."""

_FAIR = 0.5


class ClockedRuns:
    """Runs in this process, one by one; an output is (output, log2 of its nanoseconds)."""

    def __init__(self, mechanism: Mechanism, stream: EvidenceStream) -> None:
        self._mechanism = one_by_one(mechanism) if mechanism.vectorised else mechanism
        self._stream = stream
        self._watch = Watch(mechanism.name)

    def sample(self, pair: Pair, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """Not to be had: runs are made in pairs."""
        raise UsageError("running times are compared within pairs of runs; use `both`")

    def both(self, pair: Pair, block: int, n: int, *, coupled: bool) -> tuple[Batch, Batch]:
        """n pairs of runs, each in an order of its own; both of a pair have the same draws."""
        self._watch.start(pair)
        order = self._stream.generator(Side.X, block, _ORDER).random(n) < _FAIR
        draws = {side: self._stream.shared(block, n) for side in Side}
        outputs: dict[Side, list[object]] = {side: [] for side in Side}
        for swapped in order.tolist():
            for side in reversed(Side) if swapped else Side:
                rng = next(draws[side])
                outputs[side].append(self._run(data_of(pair, side), rng))
        for side in Side:
            self._watch.look(pair, side)
        return outputs[Side.X], outputs[Side.X_PRIME]

    def _run(self, data: object, rng: np.random.Generator) -> tuple[object, float]:
        started = time.perf_counter_ns()
        output = self._mechanism.sample(data, 1, rng)[0]
        return output, math.log2(time.perf_counter_ns() - started + 1)
