"""Records to rows and back: what the databases cannot hold is refused, all at once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row

from tollens.errors import StoreError
from tollens.serial import data_from_json, parse_json, to_jsonable
from tollens.store.records import AlarmRecord, PointRecord, SeriesRecord, StepRecord

_LONGEST = 255
"""Characters of a name: the keys of an index of PostgreSQL hold 2704 bytes."""

_TAGGED = re.compile(r'\$|NaN|Infinity|"bytes"|"repr"')
"""What JSON holds where some of its values stand for others."""

Values = dict[str, object]


def step_values(step: StepRecord) -> Values:
    """The columns of a step; `StoreError` lists all that cannot be stored."""
    findings = [
        *_bad_name("version", step.version),
        *_bad_name("run_id", step.run_id),
        *_bad_name("fingerprint", step.fingerprint),
        *_bad_moment("recorded_at", step.recorded_at),
        *_bad_bytes("experts", step.experts),
        *_bad_json("summary", step.summary),
        *_bad_number("log_e_value", step.log_e_value),
        *_bad_number("epsilon_lower", step.epsilon_lower),
    ]
    if step.outcome not in ("scored", "failed"):
        findings.append(f'outcome is {step.outcome!r}; it must be "scored" or "failed"')
    if isinstance(step.pairs, bool) or not isinstance(step.pairs, int) or step.pairs < 0:
        findings.append(f"pairs is {step.pairs!r}; it must be a whole number of at least 0")
    elif step.pairs >= 2**63:
        findings.append("pairs is too large")
    refuse(findings)
    return {
        "number": step.number,
        "version": step.version,
        "run_id": step.run_id,
        "outcome": step.outcome,
        "pairs": step.pairs,
        "recorded_at": step.recorded_at.astimezone(UTC),
        "fingerprint": step.fingerprint,
        "log_e_value": _number_out(step.log_e_value),
        "epsilon_lower": _number_out(step.epsilon_lower),
        "summary": json_text(step.summary),
        "experts": step.experts,
    }


def series_values(
    name: str, digest: str, settings: Mapping[str, object], stale_after: float | None
) -> Values:
    """The columns of a series that is opened now."""
    findings = [
        *_bad_name("name", name),
        *_bad_name("digest", digest),
        *_bad_json("settings", settings),
    ]
    if stale_after is not None and (_bad_number("", stale_after) or not stale_after > 0):
        findings.append(f"stale_after is {stale_after!r}; it must be seconds above 0, or None")
    refuse(findings)
    return {
        "name": name,
        "digest": digest,
        "settings": json_text(settings),
        "stale_after": None if stale_after is None else float(stale_after),
        "opened_at": datetime.now(UTC),
    }


def check_extras(
    checkpoint: bytes | None, alarm: Mapping[str, object] | None, raw: tuple[bytes, bytes] | None
) -> None:
    """`StoreError` for what comes with a step and cannot be stored."""
    findings = [] if checkpoint is None else _bad_bytes("checkpoint", checkpoint)
    if alarm is not None:
        findings += _bad_json("alarm", alarm)
    if raw is not None:
        if len(raw) != 2:
            findings.append(f"raw holds {len(raw)} values; it must be the outputs of two sides")
        for side in raw:
            findings += _bad_bytes("a side of raw", side)
    refuse(findings)


def read_step(row: Row[Any] | Values) -> StepRecord:
    """The record of a row of steps."""
    values = _mapping(row)
    return StepRecord(
        number=values["number"],
        version=values["version"],
        run_id=values["run_id"],
        outcome=values["outcome"],
        pairs=values["pairs"],
        recorded_at=_moment(values["recorded_at"]),
        fingerprint=values["fingerprint"],
        log_e_value=_number_in(values["log_e_value"]),
        epsilon_lower=_number_in(values["epsilon_lower"]),
        summary=_json_in(values["summary"], "steps.summary"),
        experts=bytes(values["experts"]),
    )


def read_point(row: Row[Any]) -> PointRecord:
    """The record of a row of `tollens.store.queries.POINT`."""
    return PointRecord(
        row.number, row.version, row.outcome,
        _number_in(row.log_e_value), _number_in(row.epsilon_lower),
    )  # fmt: skip


def read_series(row: Row[Any]) -> SeriesRecord:
    """The record of a row of series."""
    values = _mapping(row)
    return SeriesRecord(
        id=values["id"],
        name=values["name"],
        digest=values["digest"],
        settings=_json_in(values["settings"], "series.settings"),
        stale_after=values["stale_after"],
        opened_at=_moment(values["opened_at"]),
    )


def read_alarm(row: Row[Any]) -> AlarmRecord:
    """The record of a row of alarms."""
    values = _mapping(row)
    acknowledged = values["acknowledged_at"]
    return AlarmRecord(
        id=values["id"],
        step=values["step"],
        raised_at=_moment(values["raised_at"]),
        details=_json_in(values["details"], "alarms.details"),
        acknowledged_at=None if acknowledged is None else _moment(acknowledged),
        reason=values["reason"],
    )


def json_text(value: Mapping[str, object]) -> str:
    """Write JSON; characters outside ASCII as escapes, so that every database takes every text."""
    return json.dumps(to_jsonable(value), allow_nan=False)


def refuse(findings: list[str]) -> None:
    """Raise what was found, if anything."""
    if findings:
        raise StoreError(findings)


def bad_text(name: str, value: object) -> list[str]:
    """What keeps a value from being stored as a text."""
    if not isinstance(value, str):
        return [f"{name} is {value!r}; it must be a text"]
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        return [f"{name} holds a character that a database cannot store"]
    return []


def _bad_name(name: str, value: object) -> list[str]:
    if isinstance(value, str) and len(value) > _LONGEST:
        return [f"{name} has {len(value)} characters; it may have {_LONGEST}"]
    return bad_text(name, value)


def _bad_moment(name: str, value: object) -> list[str]:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        return [f"{name} is {value!r}; it must be a datetime with its time zone"]
    return []


def _bad_bytes(name: str, value: object) -> list[str]:
    return [] if isinstance(value, bytes) else [f"{name} is a {type(value).__name__}, not bytes"]


def _bad_number(name: str, value: object) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return [f"{name} is {value!r}; it must be a number"]
    return []


def _bad_json(name: str, value: object) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{name} is a {type(value).__name__}; it must be a mapping"]
    try:
        json_text(value)
    except (ValueError, RecursionError) as error:
        return [f"{name} cannot be written as JSON ({error})"]
    return []


def _mapping(row: Row[Any] | dict[str, Any]) -> dict[str, Any]:
    return row._asdict() if isinstance(row, Row) else row


def _number_out(value: float) -> float | None:
    return None if math.isnan(value) else float(value) + 0.0


def _number_in(value: float | None) -> float:
    return math.nan if value is None else value


def _moment(value: datetime) -> datetime:
    """SQLite gives back UTC without saying so, PostgreSQL the zone of the connection."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _json_in(text: str, name: str) -> Mapping[str, object]:
    value: object = None
    if _TAGGED.search(text) is None:  # most rows, and several times as fast
        with suppress(ValueError, RecursionError):  # which are said below
            value = json.loads(text)
    if value is None:
        value = data_from_json(parse_json(text, name))
    if not isinstance(value, dict):
        raise StoreError(f"{name} holds no JSON object; the store is damaged")
    return value
