"""Stored series read back: which one is in force, how it stands, what its steps were."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tollens.errors import UsageError
from tollens.monitoring.state import AlarmState, HistoryRow, LikelyBreak, MonitorState
from tollens.serial import to_jsonable
from tollens.store import AlarmRecord, SeriesRecord, StepRecord, Store
from tollens.witness import witness_from_json


@dataclass(frozen=True, slots=True)
class Newest:
    """The last step and the last alarm of a series, where it has any."""

    step: StepRecord | None
    alarm: AlarmRecord | None


def newest_of(store: Store, series: SeriesRecord) -> Newest:
    """The last step and the last alarm of a series."""
    alarms = store.alarms(series.id)
    return Newest(last_step(store, series), alarms[-1] if alarms else None)


def in_force(store: Store, same: Sequence[SeriesRecord]) -> SeriesRecord | None:
    """Of several series of one name the one that got the last step; None if there is none."""
    if len(same) < 2:
        return next(iter(same), None)
    return latest(same, {series.id: last_step(store, series) for series in same})


def latest(same: Sequence[SeriesRecord], last: Mapping[int, StepRecord | None]) -> SeriesRecord:
    """The same, where the last steps are known."""

    def moment(series: SeriesRecord) -> datetime:
        step = last.get(series.id)
        return series.opened_at if step is None else step.recorded_at

    return max(same, key=moment)


def named(store: Store, name: str) -> SeriesRecord:
    """The series in force under a name; `UsageError` if there is none, with those there are."""
    found = in_force(store, store.series(name))
    if found is not None:
        return found
    known = sorted({series.name for series in store.series()})
    hint = f"it has {', '.join(known)}" if known else "it has none yet"
    raise UsageError(f"the store has no series named {name!r}; {hint}")


def last_step(store: Store, series: SeriesRecord) -> StepRecord | None:
    """The last step of a series."""
    return next(iter(store.steps(series.id, last=1)), None)


def state_of(
    store: Store, series: SeriesRecord, notes: Sequence[str] = (), now: datetime | None = None
) -> MonitorState:
    """How a series stands; it is stale if nothing came for longer than its owner said."""
    return state_from(store, series, newest_of(store, series), notes, now)


def state_from(
    store: Store,
    series: SeriesRecord,
    known: Newest,
    notes: Sequence[str] = (),
    now: datetime | None = None,
) -> MonitorState:
    """The same, where its last step and alarm are known."""
    last, newest = known.step, known.alarm
    summary: Mapping[str, object] = {} if last is None else last.summary
    moment = series.opened_at if last is None else last.recorded_at
    waited = ((now or datetime.now(UTC)) - moment).total_seconds()
    stale = series.stale_after is not None and waited > series.stale_after
    anew = newest is not None and _begins_anew(store, series, newest, last)
    said = list(notes)
    if stale:
        said.append(
            f"stale: no step for {span(waited)}; expected one every {span(series.stale_after)}"
        )
    said += [str(note) for note in _listed(summary.get("notes")) if str(note) not in said]
    return MonitorState(
        name=series.name,
        method=str(series.settings.get("method")),
        alarm=newest is not None and newest.acknowledged_at is None,
        evidence=-math.inf if last is None or anew else last.log_e_value,
        threshold=_number(
            summary.get("threshold"), -math.log(_number(series.settings["alpha"], 1))
        ),
        epsilon_lower=0.0 if last is None else last.epsilon_lower,
        steps=int(_number(summary.get("scored"), 0)),
        failed=int(_number(summary.get("failed"), 0)),
        version=None if last is None else last.version,
        last_outcome=None if last is None else last.outcome,
        updated_at=None if last is None else last.recorded_at,
        stale=stale,
        raised=None if newest is None else located(newest),
        notes=tuple(said),
    )


def _begins_anew(
    store: Store, series: SeriesRecord, newest: AlarmRecord, last: StepRecord | None
) -> bool:
    """Whether the last alarm is closed, and no step was scored since."""
    closed = newest.acknowledged_at
    if closed is None:
        return False
    if last is not None and last.outcome == "scored" and last.recorded_at > closed:
        return False
    return not store.scored_since(series.id, newest.step, closed)


def unborn(name: str, method: str, alpha: float, notes: Sequence[str]) -> MonitorState:
    """The state of a series without steps."""
    return MonitorState(
        name=name, method=method, alarm=False, evidence=-math.inf, threshold=log_level(alpha),
        epsilon_lower=0.0, steps=0, failed=0, version=None, last_outcome=None, updated_at=None,
        stale=False, raised=None, notes=tuple(notes),
    )  # fmt: skip


def log_level(alpha: object) -> float:
    """log(1/alpha)."""
    return -math.log(_number(alpha, 1.0))


def history_of(
    store: Store, series: SeriesRecord, last: int | None = None, *, after: int = 0
) -> Iterator[HistoryRow]:
    """The steps of a series after a number, oldest first."""
    for step in store.steps(series.id, after=after, last=last):
        yield HistoryRow(
            step.number, step.version, step.run_id, step.outcome, step.pairs, step.recorded_at,
            step.log_e_value, step.epsilon_lower, step.summary,
        )  # fmt: skip


def located(alarm: AlarmRecord) -> AlarmState:
    """A stored alarm as people read it."""
    details = alarm.details
    try:
        place = details["likely_break"]
        if not isinstance(place, Mapping):
            raise TypeError("no place")
        before = place["version_before"]
        found = LikelyBreak(
            int(place["step"]), _text(place["version"]), None if before is None else _text(before),
            int(place["earliest"]), int(place["latest"]),
        )  # fmt: skip
        witness = details["witness"]
        return AlarmState(
            step=alarm.step,
            version=_text(details["version"]),
            raised_at=alarm.raised_at,
            likely_break=found,
            witness=None if witness is None else witness_from_json(to_jsonable(witness)),
            epsilon_lower=_number(details["epsilon_lower"], 0.0),
            acknowledged_at=alarm.acknowledged_at,
            reason=alarm.reason,
            peak=None if details.get("peak") is None else _number(details["peak"], 0.0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"the details of the alarm of step {alarm.step} cannot be read: {error!r}"
        ) from None


def span(seconds: float | None) -> str:
    """A length of time in words.

    >>> span(90), span(7200), span(200000)
    ('2 minutes', '2 hours', '2 days')
    """
    value = 0.0 if seconds is None else seconds
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if value >= size:
            count = round(value / size)
            return f"{count} {unit}" + ("s" if count != 1 else "")
    return f"{value:.0f} seconds"


def _text(value: object) -> str:
    """A stored text; `NaN` and the infinities were read as numbers."""
    return str(to_jsonable(value))


def _number(value: object, otherwise: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    return float(value)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
