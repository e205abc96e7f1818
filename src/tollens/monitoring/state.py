"""What a monitor says: its state after a step, and the history of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from tollens.serial import to_jsonable
from tollens.witness import Witness

Json = dict[str, object]


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


def _moments(value: object) -> object:
    """Datetimes as ISO texts, within dictionaries."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, dict):
        return {key: _moments(item) for key, item in value.items()}
    return value
