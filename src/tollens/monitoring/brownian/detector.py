"""The published method as a detector of given events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tollens.errors import UsageError
from tollens.monitoring.brownian import statistic
from tollens.monitoring.brownian.small_counts import warnings
from tollens.monitoring.detectors import (
    Location,
    Reading,
    Runs,
    Trace,
    check_counts,
    idle_note,
    tracks_of,
)
from tollens.monitoring.pack import pack
from tollens.monitoring.plan import Plan, names
from tollens.witness import Witness

SUSPICIOUS = 4.0
"""Standard errors from which a note says that the claim seems broken in another direction."""


class BrownianDetector:
    """The published method; see `statistic`."""

    def __init__(
        self,
        plan: Plan,
        tree: Mapping[str, object] | None,
        *,
        refuse: bool = True,
        cache: Path | None = None,
    ) -> None:
        """`refuse` holds alarms back where counts are too small for the level to hold."""
        self._refuse = refuse
        if not isinstance(plan.horizon, int):
            raise AssertionError("a plan of this method has a horizon")
        self._plan, self._events = plan, names(plan.events)
        self._promises = plan.claim.promises()
        self._state = (
            statistic.begin(self._events, plan.horizon, plan.beta)
            if tree is None
            else _brownian_from(tree, self._events)
        )
        self._threshold = statistic.threshold(
            plan.alpha, len(self._events), beta=plan.beta, horizon=plan.horizon, cache=cache
        )

    def take(self, runs: Runs, *, latched: bool, seed: int) -> Reading:
        """Score a step; see `statistic.take`."""
        counts = runs.counts
        if counts is None:
            if runs.outputs is None:
                raise AssertionError("a step has outputs or counts")
            x, y = (list(side) for side in runs.outputs)
            counts = {
                event.name: (int(event.of(x).sum()), int(event.of(y).sum()))
                for event in self._plan.events
            }
        check_counts(counts, runs.n, self._events)
        self._state, reading = statistic.take(self._state, counts, runs.n, self._promises)
        best = int(np.argmax(reading.statistics))
        found = warnings(self._state, self._threshold, self._promises)
        small = {finding.event for finding in found if finding.refuse and self._refuse}
        exceeding = [
            event
            for event in reading.exceeding(self._threshold)
            if self._events[event] not in small
        ]
        found_now = reading.statistics[best]
        upper = self._threshold.upper
        peak = found_now if exceeding else min(found_now, float(np.nextafter(upper, -math.inf)))
        name = self._events[best]
        on_x, on_y = (count / runs.n for count in counts[name])
        promise = reading.promises[best]
        witness = Witness(name, "x", on_x, on_y, promise.epsilon, promise.delta)
        summary: dict[str, object] = {
            "counts": {event: list(count) for event, count in counts.items()},
            "statistics": dict(zip(self._events, reading.statistics, strict=True)),
            "ratios": dict(zip(self._events, reading.ratios, strict=True)),
            "witness": witness.to_json(),
        }
        trace: Trace = {"tracks": np.array(reading.ratios)}
        sample = None if runs.outputs is None else next(iter(runs.outputs[0]), None)
        notes = [
            *(finding.text for finding in found),
            *self._notes(sample, {self._events[event] for event in exceeding}),
        ]
        return Reading(found_now, float(peak), upper, 0.0, trace, witness, summary, tuple(notes))

    def _notes(self, sample: object, alarmed: set[str]) -> list[str]:
        """What is odd about the events: they never come, or the claim is broken the other way."""
        state, notes = self._state, []
        for event, promise, x, y in zip(
            state.events, statistic.choose(state, self._promises), state.hits, state.hits_prime,
            strict=True,
        ):  # fmt: skip
            idle = idle_note(event, x + y, 2 * state.runs, sample)
            if idle is not None:
                notes.append(idle)
                continue
            n, epsilon, delta = state.runs, promise.epsilon, promise.delta
            other = {
                f"event {event!r} with x and x' exchanged": (y, x),
                f"the event 'not ({event})'": (n - x, n - y),
                f"the event 'not ({event})' with x and x' exchanged": (n - y, n - x),
            }
            seen = {
                what: float(statistic.ratios([a], [b], n, epsilon, delta)[0])
                for what, (a, b) in other.items()
            }
            what = max(seen, key=lambda key: seen[key])
            looked = event in alarmed or self._plan.claim.ordered
            if seen[what] > SUSPICIOUS and not looked:
                notes.append(
                    f"event {event!r} is only tested for being too likely on x; {what} seems to "
                    f"break the claim ({seen[what]:.1f} standard errors): watch that, or use "
                    'method "exact", which tests all of them'
                )
        return notes

    def locate(self, traces: Sequence[Trace]) -> Location:
        """The window with the largest statistic, and all starts of windows above the threshold."""
        tracks = np.stack([tracks_of(trace) for trace in traces])
        sums = np.concatenate([np.zeros((1, tracks.shape[1])), np.cumsum(tracks, axis=0)])
        lengths = np.arange(len(tracks), 0, -1.0)[:, None]
        scale = float(self._plan.horizon or 1) ** (self._plan.beta - 0.5)
        windows = ((sums[-1] - sums[:-1]) * lengths**-self._plan.beta * scale).max(axis=1)
        above = np.flatnonzero(windows > self._threshold.upper)
        likely = int(np.argmax(windows))
        if not len(above):
            return Location(likely, likely, likely)
        return Location(likely, int(above[0]), int(above[-1]))

    def restart(self) -> None:
        """No window begins before the acknowledged alarm: sums start anew at their last value."""
        self._state = statistic.restarted(self._state)

    def kept(self) -> bytes:
        """Sums and counts."""
        return pack({"brownian": self._state.to_json()})


def _brownian_from(tree: Mapping[str, object], events: Sequence[str]) -> statistic.BrownianState:
    state = statistic.BrownianState.from_json(tree["brownian"])
    if list(state.events) != list(events):
        raise UsageError("a stored state is of other events")
    return state
