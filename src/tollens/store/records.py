"""What a store holds, as records that cannot be changed. Moments are aware, in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SeriesRecord:
    """One claim watched under one name, with settings that never change; `digest` is theirs.

    `stale_after` (seconds) says when a series without a new step counts as forgotten. Another
    claim or other settings under the same name are another series; the newest is in force.
    """

    id: int
    name: str
    digest: str
    settings: Mapping[str, object]
    stale_after: float | None
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a series: what was seen of one version, and what was shown by then.

    Steps are numbered 1, 2, ... without gaps. `outcome` is "scored" or "failed". `fingerprint`
    is a digest of what was recorded, to recognise a step that is sent again under the same
    `version` and `run_id`. `experts` is opaque to the store, as is the meaning of `summary`.
    """

    number: int
    version: str
    run_id: str
    outcome: str
    pairs: int
    recorded_at: datetime
    fingerprint: str
    log_e_value: float
    epsilon_lower: float
    summary: Mapping[str, object]
    experts: bytes


@dataclass(frozen=True, slots=True)
class PointRecord:
    """What a figure shows of a step: not its sums and traces, which are most of it."""

    number: int
    version: str
    outcome: str
    log_e_value: float
    epsilon_lower: float


@dataclass(frozen=True, slots=True)
class AlarmRecord:
    """An alarm raised by a step; open until somebody acknowledges it with a reason."""

    id: int
    step: int
    raised_at: datetime
    details: Mapping[str, object]
    acknowledged_at: datetime | None
    reason: str | None
