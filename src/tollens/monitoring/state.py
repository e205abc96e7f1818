"""What a monitor says: its state after a step, and the history of steps."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from tollens.errors import UsageError
from tollens.serial import number_from_json, parse_json, to_jsonable, whole_from_json
from tollens.witness import Witness, witness_from_json

Json = dict[str, object]

SCHEMA = "tollens/monitor/1"


@dataclass(frozen=True, slots=True)
class LikelyBreak:
    """Where the break seems to be: a step, the versions on both sides, and a set of steps.

    The set reaches from `earliest` to `latest` (see `locate`); `version_before` is None where the
    series began with the break.
    """

    step: int
    version: str
    version_before: str | None
    earliest: int
    latest: int

    def __str__(self) -> str:
        between = (
            f"between {self.version_before} and {self.version}"
            if self.version_before is not None
            else f"at the first version, {self.version}"
        )
        return f"step {self.step}, {between} (steps {self.earliest} to {self.latest})"


@dataclass(frozen=True, slots=True)
class AlarmState:
    """An alarm: when it was raised, what was known then, and whether somebody acknowledged it.

    `peak` is the largest evidence within the step that raised it; after the step it may be less.
    """

    step: int
    version: str
    raised_at: datetime
    likely_break: LikelyBreak
    witness: Witness | None
    epsilon_lower: float
    acknowledged_at: datetime | None = None
    reason: str | None = None
    peak: float | None = None

    def to_dict(self) -> Json:
        """Plain JSON data."""
        found = asdict(self)
        found["witness"] = None if self.witness is None else self.witness.to_json()
        jsonable = to_jsonable(_moments(found))
        assert isinstance(jsonable, dict)  # noqa: S101 - of a dictionary
        return jsonable


@dataclass(frozen=True, slots=True)
class MonitorState:
    """A series after its last step.

    `alarm` is latched: true from the step that raised it until it is acknowledged. `evidence` is
    compared with `threshold`: for the exact method the natural log of the average evidence with
    log(1/alpha), for the Brownian one its statistic with the quantile. `epsilon_lower` is what
    leaks now, certified for the exact method. `steps` counts those that were scored, `failed`
    those that could not be.
    """

    name: str
    method: str
    alarm: bool
    evidence: float
    threshold: float
    epsilon_lower: float
    steps: int
    failed: int
    version: str | None
    last_outcome: str | None
    updated_at: datetime | None
    stale: bool
    raised: AlarmState | None
    notes: tuple[str, ...] = ()

    @property
    def log_e_value(self) -> float:
        """The natural log of the evidence; NaN for the Brownian method, which has none."""
        return self.evidence if self.method == "exact" else math.nan

    @property
    def likely_break(self) -> LikelyBreak | None:
        """Where the break seems to be, while an alarm is open."""
        return self.raised.likely_break if self.alarm and self.raised is not None else None

    @property
    def word(self) -> str:
        """The state in a word: ALARM, failing, stale, new, watching or quiet."""
        if self.alarm:
            return "ALARM"
        if self.last_outcome == "failed":
            return "failing"
        if self.stale:
            return "stale"
        if not self.steps:
            return "new"
        return "watching" if self.evidence > self.threshold / 3 else "quiet"

    def to_dict(self) -> Json:
        """Plain JSON data."""
        found = asdict(self)
        found["log_e_value"] = self.log_e_value
        found["word"] = self.word
        found["likely_break"] = None if self.likely_break is None else asdict(self.likely_break)
        if self.raised is not None and self.raised.witness is not None:
            found["raised"]["witness"] = self.raised.witness.to_json()
        jsonable = to_jsonable(_moments(found))
        assert isinstance(jsonable, dict)  # noqa: S101 - of a dictionary
        return jsonable

    def to_json(self) -> str:
        """One JSON document of schema "tollens/monitor/1"."""
        content = {"schema": SCHEMA, **self.to_dict()}
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> MonitorState:
        """The state of a document made by `to_json`; `UsageError` if it is none."""
        data = parse_json(text, "state of a monitor")
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise UsageError(f'not the state of a monitor: the "schema" must be "{SCHEMA}"')
        try:
            return MonitorState(
                name=str(data["name"]),
                method=str(data["method"]),
                alarm=data["alarm"] is True,
                evidence=number_from_json(data["evidence"], "evidence"),
                threshold=number_from_json(data["threshold"], "threshold"),
                epsilon_lower=number_from_json(data["epsilon_lower"], "epsilon_lower"),
                steps=whole_from_json(data["steps"], "steps"),
                failed=whole_from_json(data["failed"], "failed"),
                version=_text(data["version"]),
                last_outcome=_text(data["last_outcome"]),
                updated_at=_moment(data["updated_at"]),
                stale=data["stale"] is True,
                raised=None if data["raised"] is None else alarm_from_json(data["raised"]),
                notes=tuple(str(note) for note in data["notes"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"not the state of a monitor: {error!r}") from None

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        lines = [
            f"{self.word}  {self.name}: {self.steps} steps, evidence {self.evidence:.2f} of "
            f"{self.threshold:.2f}"
        ]
        if self.alarm and self.raised is not None:
            lines.append(f"likely break: {self.raised.likely_break}")
            if self.raised.witness is not None:
                lines.append(f"witness: {self.raised.witness.describe()}")
        if self.epsilon_lower > 0:
            lines.append(f"leak: epsilon is at least {self.epsilon_lower:.4g}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One step: its version, whether it could be scored, the evidence and leak after it."""

    number: int
    version: str
    run_id: str
    outcome: str
    pairs: int
    recorded_at: datetime
    evidence: float
    epsilon_lower: float
    summary: Mapping[str, object]

    def to_dict(self) -> Json:
        """Plain JSON data."""
        jsonable = to_jsonable(_moments(asdict(self)))
        assert isinstance(jsonable, dict)  # noqa: S101 - of a dictionary
        return jsonable


def alarm_from_json(value: object) -> AlarmState:
    """The alarm of `AlarmState.to_dict`; what fits not raises one of Python's own errors."""
    if not isinstance(value, dict):
        raise TypeError("the alarm is no object")
    place, raised_at = value["likely_break"], _moment(value["raised_at"])
    if raised_at is None:
        raise TypeError("the alarm has no time")
    return AlarmState(
        step=whole_from_json(value["step"], "step"),
        version=str(value["version"]),
        raised_at=raised_at,
        likely_break=LikelyBreak(
            whole_from_json(place["step"], "step"),
            str(place["version"]),
            _text(place["version_before"]),
            whole_from_json(place["earliest"], "earliest"),
            whole_from_json(place["latest"], "latest"),
        ),
        witness=None if value["witness"] is None else witness_from_json(value["witness"]),
        epsilon_lower=number_from_json(value["epsilon_lower"], "epsilon_lower"),
        acknowledged_at=_moment(value["acknowledged_at"]),
        reason=_text(value["reason"]),
        peak=None if value["peak"] is None else number_from_json(value["peak"], "peak"),
    )


def _moments(value: object) -> object:
    """Datetimes as ISO texts, within dictionaries."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _moments(item) for key, item in value.items()}
    return value


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _moment(value: object) -> datetime | None:
    return None if value is None else datetime.fromisoformat(str(value))
