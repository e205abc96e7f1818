"""What is written beside a step: the details of an alarm, and outputs where they are to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from tollens.errors import UsageError
from tollens.monitoring.detectors import Batch, Detector, Reading, tracks_of
from tollens.monitoring.pack import pack, unpack
from tollens.monitoring.state import LikelyBreak
from tollens.outputs import Encoder, Outputs
from tollens.store import SeriesRecord, StepRecord, Store

LOOKED_BACK = 500
"""Steps among which the time of a break is looked for, at most."""


def recent_steps(store: Store, series: SeriesRecord) -> list[StepRecord]:
    """The scored steps since evidence last began, oldest first; at most `LOOKED_BACK`.

    It begins with the series, and anew when an alarm is acknowledged.
    """
    alarms = store.alarms(series.id)
    anew = alarms[-1].acknowledged_at if alarms else None
    after = alarms[-1].step if alarms else 0
    found = store.steps(series.id, after=after, last=LOOKED_BACK)
    return [
        step
        for step in found
        if step.outcome == "scored" and (anew is None or step.recorded_at > anew)
    ]


def alarm_details(
    past: Sequence[StepRecord],
    detector: Detector,
    reading: Reading,
    step: StepRecord,
    last_good: str | None,
) -> dict[str, object]:
    """What an alarm says: the likely break, the versions on both sides, the witness, the leak.

    `last_good` is the version of the step before the first of `past`, if there was one.
    """
    width = len(tracks_of(reading.trace))
    traces, steps = [reading.trace], [step]
    for earlier in reversed(past):
        trace = unpack(earlier.experts)
        if len(tracks_of(trace)) != width:
            break
        traces.append(trace)
        steps.append(earlier)
    steps.reverse()
    place = detector.locate(traces[::-1])
    before = steps[place.likely - 1].version if place.likely else last_good
    found = LikelyBreak(
        steps[place.likely].number, steps[place.likely].version, before,
        steps[place.earliest].number, steps[place.latest].number,
    )  # fmt: skip
    return {
        "version": step.version,
        "likely_break": asdict(found),
        "witness": None if reading.witness is None else reading.witness.to_json(),
        "epsilon_lower": reading.epsilon_lower,
        "evidence": reading.evidence,
        "peak": reading.peak,
        "threshold": reading.threshold,
    }


def packed(outputs: tuple[Batch, Batch]) -> tuple[bytes, bytes]:
    """Outputs of both sides as bytes: shapes, digests of exact values, numbers, and names."""
    x, y = (_packed(side) for side in outputs)
    return x, y


def _packed(batch: Batch) -> bytes:
    encoder = Encoder()
    encoded = encoder.encode(batch)
    return pack({
        "shapes": encoded.shapes, "keys": encoded.keys, "numbers": encoded.numbers,
        "names": encoder.shape_names,
        "texts": {str(key): text for key, text in encoder.texts.items()},
    })  # fmt: skip


def unpacked(data: bytes) -> tuple[Outputs, Encoder]:
    """Kept outputs of one side, and an encoder that knows their names.

    >>> outputs, encoder = unpacked(packed(([1.5, None], [2.0, 2.0]))[0])
    >>> [encoder.shape_name(shape) for shape in outputs.shapes]
    ['float', 'None']
    """
    tree = unpack(data)
    try:
        encoder = Encoder()
        encoder.restore(
            [str(name) for name in tree["names"]],  # type: ignore[attr-defined]
            {int(key): str(text) for key, text in tree["texts"].items()},  # type: ignore[attr-defined]
        )
        arrays = (tree["shapes"], tree["keys"], tree["numbers"])
        if not all(isinstance(array, np.ndarray) for array in arrays):
            raise TypeError("outputs are no arrays")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"kept outputs cannot be read: {error!r}") from None
    return Outputs(*arrays), encoder  # type: ignore[arg-type]
