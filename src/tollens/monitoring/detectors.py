"""What a method of monitoring is: it takes the runs of a step and says what they showed.

A detector is made from a plan and the bytes that it kept after the last step, and is done with
once its new bytes are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tollens.errors import UsageError
from tollens.witness import Witness

Array = NDArray[np.float64]
Batch = Sequence[object] | NDArray[np.generic]
Counts = Mapping[str, tuple[int, int]]
SHOWN = 60
"""Characters of an output in a note."""

Trace = Mapping[str, object]
"""What a detector keeps of a step, as `pack` takes it; "tracks" is an array (k,)."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a break is: places among the steps that were looked at, counted from 0."""

    likely: int
    earliest: int
    latest: int


@dataclass(frozen=True)
class Runs:
    """The runs of a step: outputs of both sides, or counts of events, for n pairs."""

    n: int
    outputs: tuple[Batch, Batch] | None = None
    counts: Counts | None = None


@dataclass(frozen=True)
class Reading:
    """What a step showed.

    `evidence` is what it came to after the step and `peak` the largest within it; an alarm is a
    peak of at least `threshold`. `trace` is what is needed to tell the time of a break.
    """

    evidence: float
    peak: float
    threshold: float
    epsilon_lower: float
    trace: Trace
    witness: Witness | None
    summary: Mapping[str, object]
    notes: tuple[str, ...] = ()

    @property
    def alarm(self) -> bool:
        """Whether the step raises an alarm."""
        return self.peak >= self.threshold


class Detector(Protocol):
    """A method of monitoring a plan."""

    def take(self, runs: Runs, *, latched: bool, seed: int) -> Reading:
        """Score a step; `latched` where an alarm is open already."""

    def locate(self, traces: Sequence[Trace]) -> Location:
        """Where the break is, of the traces of the last steps."""

    def restart(self) -> None:
        """Forget the evidence, after an alarm was acknowledged."""

    def kept(self) -> bytes:
        """What the next step needs."""


def check_counts(counts: Counts, n: int, events: Sequence[str]) -> None:
    """`UsageError` with every fault of counts that were made elsewhere."""
    findings = []
    if not isinstance(counts, Mapping):
        raise UsageError(f'counts is a {type(counts).__name__}; give {{"event": (on x, on x\')}}')
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise UsageError(f"n is {n!r}; it must be a whole number of at least 1")
    for event in events:
        if event not in counts:
            findings.append(f"no counts for the event {event!r}")
    for event, both in counts.items():
        if event not in events:
            findings.append(f"{event!r} is no event of this series; it has {', '.join(events)}")
            continue
        if not isinstance(both, Sequence) or len(both) != 2:
            findings.append(f"event {event!r}: give two counts, of runs on x and on x'")
            continue
        for side, count in zip(("x", "x'"), both, strict=True):
            if isinstance(count, bool) or not isinstance(count, int | np.integer):
                findings.append(f"event {event!r}: the count on {side} is {count!r}, not whole")
            elif not 0 <= count <= n:
                findings.append(
                    f"event {event!r}: the count on {side} is {count}; it must lie between 0 and "
                    f"n = {n}"
                )
    if findings:
        raise UsageError(findings)


def tracks_of(trace: Trace) -> Array:
    """The tracks of a trace, (k,)."""
    tracks = trace.get("tracks")
    if not isinstance(tracks, np.ndarray):
        raise UsageError("a stored step has no tracks")
    return tracks


def idle_note(event: str, inside: float, runs: float, sample: object = None) -> str | None:
    """A note on an event that none, or all, of the runs on both inputs were in so far.

    >>> idle_note("output < 0", 0, 1500)
    "event 'output < 0': none of 1,500 runs so far is in it, so nothing is tested"
    """
    if 0 < inside < runs:
        return None
    shown = repr(sample)
    text = shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."
    such = "" if sample is None else f"; outputs are such as {text}"
    which = "none" if inside == 0 else "every one"
    return (
        f"event {event!r}: {which} of {runs:,.0f} runs so far is in it, so nothing is tested{such}"
    )
