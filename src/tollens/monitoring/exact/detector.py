"""The exact method as a detector: learned cells, or given events."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple

import numpy as np

from tollens.auditing.experts import SLOTS, View, pull_of
from tollens.auditing.witnesses import event_of
from tollens.claim import Promise
from tollens.errors import UsageError
from tollens.monitoring.detectors import (
    Array,
    Location,
    Reading,
    Runs,
    Trace,
    check_counts,
    idle_note,
    tracks_of,
)
from tollens.monitoring.exact import evidence
from tollens.monitoring.exact.data import StepData, StepEvents, StepRuns
from tollens.monitoring.exact.evidence import Scored
from tollens.monitoring.exact.frozen import state_from, state_tree
from tollens.monitoring.exact.leak import SHARE, grid_promises, lower_bound
from tollens.monitoring.exact.locate import locate, locate_counts
from tollens.monitoring.exact.rungs import PERIODS
from tollens.monitoring.pack import pack
from tollens.monitoring.plan import Plan, names
from tollens.monitoring.weights import log_weight
from tollens.outputs import Encoder, Outputs
from tollens.witness import Witness


class ExactDetector:
    """The exact method; see `exact`."""

    def __init__(self, plan: Plan, tree: Mapping[str, object] | None) -> None:
        self._plan = plan
        self._promises = plan.claim.promises()
        self._grid = grid_promises(plan.delta, ordered=plan.claim.ordered)
        self._pull = pull_of(plan.claim.support(1.0, 1.0))
        self._encoder = Encoder()
        slots = 2 * len(plan.events) if plan.events else len(SLOTS)
        shape = (len(PERIODS) + 1, slots, len(self._promises))
        if tree is None:
            self._steps = 0
            self._state = evidence.begin(slots, len(self._promises), len(self._grid))
        else:
            self._steps = int(tree["steps"])  # type: ignore[call-overload]
            self._encoder.restore(
                [str(name) for name in tree["shapes"]],  # type: ignore[attr-defined]
                {int(key): str(text) for key, text in tree["texts"].items()},  # type: ignore[attr-defined]
            )
            self._state = state_from(tree, shape, len(self._grid))

    def take(self, runs: Runs, *, latched: bool, seed: int) -> Reading:
        """Score a step; see `evidence.advance`."""
        self._steps += 1
        data, summary = self._data(runs)
        plan = self._plan
        weight = log_weight(self._steps, plan.horizon)
        rng = np.random.default_rng(seed)
        scored = evidence.advance(self._state, data, self._promises, self._grid, weight, rng)
        threshold = -math.log(plan.alpha * (1 - SHARE))
        peak = float(scored.path.max())
        refuted = latched or peak >= threshold
        lower = lower_bound(
            self._state.leak, plan.claim, plan.delta, alpha=plan.alpha, refuted=refuted
        )
        cells = {str(number): views for number, views in scored.counts.items()}
        trace: Trace = {"tracks": scored.tracks, "cells": cells}
        witness = self._witness(scored)
        if witness is not None:
            summary["witness"] = witness.to_json()
        notes = self._idle(runs)
        if isinstance(plan.horizon, int) and self._steps > plan.horizon:
            notes.append(
                f"the horizon of {plan.horizon} steps is used up: steps from now on "
                "get no weight of their own, so that a new break may be found late or not at all; "
                "open a series with a longer horizon or none"
            )
        return Reading(
            float(scored.path[-1]), peak, threshold, lower, trace, witness, summary,
            tuple(notes),
        )  # fmt: skip

    def locate(self, traces: Sequence[Trace]) -> Location:
        """Where the break is: from counts where they tell enough of it, else from evidence."""
        alpha = self._plan.alpha
        tracks = np.stack([tracks_of(trace) for trace in traces])
        gained = float(np.cumsum(tracks[::-1], axis=0).max())
        found = [
            (first, locate_counts(x, y, self._promises, alpha=alpha))
            for first, x, y in _counted(traces)
        ]
        if found:
            first, best = max(found, key=lambda pair: pair[1].worth)
            if best.worth >= gained / 2:
                return Location(*(first + place for place in astuple(best.location)))
        return locate(tracks, alpha=alpha)

    def restart(self) -> None:
        """Forget the evidence and keep what was learned."""
        evidence.forget(self._state)

    def kept(self) -> bytes:
        """Cells, counts and evidence."""
        shapes, texts = self._names()
        tree = {"steps": self._steps, "shapes": shapes, "texts": texts, **state_tree(self._state)}
        return pack(tree)

    def _data(self, runs: Runs) -> tuple[StepData, dict[str, object]]:
        events = self._plan.events
        if runs.counts is not None:
            if not events:
                raise UsageError(
                    "this series has no events, so counts say nothing to it; open it with "
                    'events=["name", ...]'
                )
            check_counts(runs.counts, runs.n, names(events))
            counted = [runs.counts[event.name] for event in events]
            hits_x, hits_y = (
                np.array([[both[side] for both in counted]], float) for side in (0, 1)
            )
            kept = {name: list(count) for name, count in runs.counts.items()}
            sizes = np.array([float(runs.n)])
            return StepEvents(hits_x, hits_y, sizes, self._pull), {"counts": kept}
        if runs.outputs is None:
            raise AssertionError("a step has outputs or counts")
        x, y = runs.outputs
        if events:
            in_x, in_y = (
                np.stack([event.of(list(side)) for event in events], 1) for side in (x, y)
            )
            kept = {
                event.name: [int(in_x[:, i].sum()), int(in_y[:, i].sum())]
                for i, event in enumerate(events)
            }
            return StepEvents.of(in_x, in_y, self._pull), {"counts": kept}
        encoded: tuple[Outputs, Outputs] = self._encoder.encode(x), self._encoder.encode(y)
        return StepRuns(*encoded, self._pull), {}

    def _idle(self, runs: Runs) -> list[str]:
        """Notes on given events that never come, or always."""
        standing = self._state.rungs[-1].standing
        if not self._plan.events or standing is None:
            return []
        sample = None if runs.outputs is None else next(iter(runs.outputs[0]), None)
        found = []
        for view in standing.views[: len(self._plan.events)]:
            inside = float(view.counts_x[0] + view.counts_y[0])
            total = float(view.counts_x.sum() + view.counts_y.sum())
            name = self._plan.events[view.cells.main].name
            found.append(idle_note(name, inside, total, sample))
        return [note for note in found if note is not None]

    def _witness(self, scored: Scored) -> Witness | None:
        """The event behind the richest strategies whose cells a person can read.

        Of views that the last steps suggest where possible, so that it is of the version now.
        """
        for bets in (scored.recent, *(scored.bets[row] for row in sorted(scored.bets))):
            order = np.argsort(-bets.rates.max(axis=1), kind="stable")
            for view in order.tolist():
                rate = bets.rates[view].max()
                if rate <= 0:
                    break
                chosen = bets.experts.views[view]
                promise = self._promises[int(bets.rates[view].argmax())]
                if self._plan.events:
                    return self._given(chosen, promise)
                if chosen.smoothing.style == "counted":
                    found = event_of(chosen, promise, self._encoder)
                    if found is not None:
                        return found.witness
        return None

    def _given(self, view: View, promise: Promise) -> Witness | None:
        """The given event of a view, or its complement, whichever breaks the promise."""
        on_x = float(view.counts_x[0] / view.counts_x.sum())
        on_y = float(view.counts_y[0] / view.counts_y.sum())
        name, factor = self._plan.events[view.cells.main].name, math.exp(promise.epsilon)
        if max(on_x - factor * on_y, on_y - factor * on_x) <= promise.delta:
            name, on_x, on_y = f"not ({name})", 1 - on_x, 1 - on_y
        side = "x" if on_x > on_y else "x_prime"
        return Witness(name, side, on_x, on_y, promise.epsilon, promise.delta)

    def _names(self) -> tuple[list[str], dict[str, str]]:
        """Names of shapes and texts of exact values that the kept cells refer to."""
        every = [
            experts
            for rung in self._state.rungs
            for experts in (rung.standing, rung.growing)
            if experts is not None
        ]
        cells = [view.cells for experts in every for view in experts.views]
        used = {shape for cell in cells for shape in (cell.main, *cell.shapes.tolist())}
        shapes = [self._encoder.shape_name(s) for s in used if self._encoder.knows(np.array([s]))]
        texts = {}
        for key in sorted({key for cell in cells for key in cell.atoms.tolist()}):
            text = self._encoder.text_of(key)
            if text is not None:
                texts[str(key)] = text
        return sorted(shapes), texts


def _counted(traces: Sequence[Trace]) -> Iterator[tuple[int, Array, Array]]:
    """Counts (steps, cells) of both sides in every view that lasts to the last step.

    Each with the place of the first step that has them.
    """
    cells = [cells if isinstance(cells := trace.get("cells"), dict) else {} for trace in traces]
    for number, views in cells[-1].items():
        first = len(cells)
        while first and number in cells[first - 1]:
            first -= 1
        for view in range(len(views)):
            counts = np.stack([each[number][view] for each in cells[first:]])
            yield first, counts[:, 0], counts[:, 1]
