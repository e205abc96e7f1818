"""How a step gets into the store: scored within one turn, with the state that the last one left."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tollens.errors import UsageError
from tollens.monitoring.archive import alarm_details, packed, recent_steps
from tollens.monitoring.detectors import Runs
from tollens.monitoring.methods import make_detector
from tollens.monitoring.options import Options
from tollens.monitoring.pack import pack
from tollens.monitoring.plan import Plan, plan_from_settings
from tollens.monitoring.sampling import step_seed
from tollens.monitoring.series import located
from tollens.monitoring.state import AlarmState
from tollens.store import SeriesRecord, StepRecord, Store, Turn

FIRST_RUN = "1"
"""The `run_id` of a step that was given none."""

LOOKED_AT = 50
"""Steps among which the last scored one before an acknowledged alarm is looked for."""

LONGEST = 245
"""Characters of a version and of a `run_id`; the store has room for ten more, for a second try."""


def record_step(
    store: Store,
    series: SeriesRecord,
    plan: Plan,
    options: Options,
    *,
    version: str,
    run_id: str,
    runs: Runs,
    extra: Mapping[str, object],
) -> str | None:
    """Score the runs of a step and write it, with the alarm that it may raise: all, or nothing.

    A note where this run of this version is there already: it counts once. `UsageError` where it
    is there with other numbers.
    """
    fingerprint = _fingerprint(runs)
    with store.turn(series.id) as turn:
        known = last_try(turn, version, run_id)
        if known is not None and known.outcome == "scored":
            if runs.counts is not None and known.fingerprint != fingerprint:
                raise UsageError(
                    f"version {version}, run {run_id} of {series.name} was given with other "
                    "numbers before; give another run_id if these are further runs"
                )
            return f"version {version}, run {run_id} was recorded; it counts once"
        detector = make_detector(plan, turn.checkpoint, small_counts=options.small_counts)
        latched = turn.alarm is not None
        steering = step_seed(0, version, run_id, turn.number)
        reading = detector.take(runs, latched=latched, seed=steering)
        step = StepRecord(
            number=turn.number,
            version=version,
            run_id=run_id if known is None else _free(turn, version, run_id),
            outcome="scored",
            pairs=runs.n,
            recorded_at=datetime.now(UTC),
            fingerprint=fingerprint,
            log_e_value=reading.evidence,
            epsilon_lower=reading.epsilon_lower,
            summary={
                **_carried(turn.last, scored=1, pairs=runs.n), "threshold": reading.threshold,
                "notes": list(reading.notes), **reading.summary, **extra,
            },
            experts=pack(dict(reading.trace)),
        )  # fmt: skip
        alarm = None
        if reading.alarm and not latched:
            past = recent_steps(store, series)
            alarm = alarm_details(
                past, detector, reading, step, _before(store, series, past, turn.number)
            )
        raw = None
        if options.keep_outputs and runs.outputs is not None:
            raw = packed(runs.outputs)
        turn.record(step, checkpoint=detector.kept(), alarm=alarm, raw=raw)
    return None


def _before(
    store: Store, series: SeriesRecord, past: Sequence[StepRecord], number: int
) -> str | None:
    """The version of the last scored step before those, or before this one if there are none."""
    first = past[0].number if past else number
    earlier = store.steps(series.id, after=max(0, first - 1 - LOOKED_AT))
    found = [step.version for step in earlier if step.number < first and step.outcome == "scored"]
    return found[-1] if found else None


def record_failure(
    store: Store, series: SeriesRecord, version: str, run_id: str, message: str
) -> None:
    """Add a failed step: a version that could not be loaded or run. Evidence stays as it was."""
    with store.turn(series.id) as turn:
        known, last = last_try(turn, version, run_id), turn.last
        if known is not None and known.outcome != "failed":
            return
        step = StepRecord(
            number=turn.number,
            version=version,
            run_id=run_id if known is None else _free(turn, version, run_id),
            outcome="failed",
            pairs=0,
            recorded_at=datetime.now(UTC),
            fingerprint="",
            log_e_value=-math.inf if last is None else last.log_e_value,
            epsilon_lower=0.0 if last is None else last.epsilon_lower,
            summary={**_carried(last, failed=1), "error": message},
            experts=b"",
        )
        turn.record(step, checkpoint=None)


def acknowledge(
    store: Store, series: SeriesRecord, reason: str, step: int | None = None
) -> AlarmState:
    """Close the open alarm of a series; evidence starts anew from the next step.

    With `step` only the alarm that this step raised: `OutOfDateError` where another is open.
    """
    plan = plan_from_settings(dict(series.settings))
    with store.turn(series.id) as turn:
        kept = None
        if turn.checkpoint is not None:
            detector = make_detector(plan, turn.checkpoint)
            detector.restart()
            kept = detector.kept()
        return located(turn.acknowledge(reason, checkpoint=kept, step=step))


def refuse_long(version: object, run_id: object) -> None:
    """`UsageError`, before anything is run, for texts that the store could not keep."""
    findings = [
        f"{what} has {len(text)} characters; it may have {LONGEST}"
        for what, text in (("version", version), ("run_id", run_id))
        if isinstance(text, str) and len(text) > LONGEST
    ]
    if findings:
        raise UsageError(findings)


def last_try(turn: Turn, version: str, run_id: str) -> StepRecord | None:
    """The last try of this run of a version: a run that failed is tried again (see `_free`)."""
    found, again = turn.find(version, run_id), 2
    while found is not None and found.outcome == "failed":
        later = turn.find(version, f"{run_id}~{again}")
        if later is None:
            break
        found, again = later, again + 1
    return found


def _carried(
    last: StepRecord | None, *, scored: int = 0, failed: int = 0, pairs: int = 0
) -> dict[str, object]:
    """The counts of steps and the threshold, carried on from the last step."""
    before = {} if last is None else last.summary
    found: dict[str, object] = {
        "scored": _count(before.get("scored")) + scored,
        "failed": _count(before.get("failed")) + failed,
        "pairs_so_far": _count(before.get("pairs_so_far")) + pairs,
    }
    if "threshold" in before:
        found["threshold"] = before["threshold"]
    return found


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _free(turn: Turn, version: str, run_id: str) -> str:
    """A run_id that is free, for a run that is tried again after it failed."""
    again = 2
    while turn.find(version, f"{run_id}~{again}") is not None:
        again += 1
    return f"{run_id}~{again}"


def _fingerprint(runs: Runs) -> str:
    """A digest of the counts; of runs only that they are runs, as they are never drawn twice."""
    content: object = "runs"
    if runs.counts is not None:
        content = [runs.n, sorted((event, list(both)) for event, both in runs.counts.items())]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=12).hexdigest()
