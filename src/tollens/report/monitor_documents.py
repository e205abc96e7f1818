"""The JSON of `tollens monitor history`, `step` and `status`, read back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime

from tollens.errors import UsageError
from tollens.monitoring.overview import History, Standing
from tollens.monitoring.state import SCHEMA, HistoryRow, MonitorState, alarm_from_json
from tollens.monitoring.weights import checked_horizon
from tollens.serial import number_from_json, whole_from_json

Json = Mapping[str, object]


def history_from(data: Json) -> History:
    """The history of a document "tollens/monitor-history/1"; `UsageError` if it is none."""
    try:
        return History(
            standing_from(_object(data["series"])),
            tuple(_row(_object(row)) for row in _list(data["steps"])),
            tuple(alarm_from_json(alarm) for alarm in _list(data["alarms"])),
            tuple(standing_from(_object(row)) for row in _list(data["older"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"not the history of a monitor: {error!r}") from None


def standing_from(data: Json) -> Standing:
    """How a series stands, of a document that `Standing.to_dict` made; `UsageError` if it is none.

    Alarms of other series of the name are told by their steps only, and become a note.
    """
    try:
        others = [whole_from_json(s, "step") for s in _list(data["open_alarms_of_older_series"])]
        notes = list(_list(data["notes"]))
        notes += [
            f"an alarm is open in another series of the name, of its step {s}" for s in others
        ]
        state = MonitorState.from_json(json.dumps({**data, "schema": SCHEMA, "notes": notes}))
        if math.isnan(state.threshold):
            raise ValueError("its threshold is no number")
        return Standing(
            state,
            str(data["claim"]),
            number_from_json(data["alpha"], "alpha"),
            checked_horizon(data["horizon"]),
            whole_from_json(data["pairs"], "pairs"),
            number_from_json(data["delta"], "delta"),
            data["current"] is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"not the state of a monitor: {error!r}") from None


def _row(data: Json) -> HistoryRow:
    return HistoryRow(
        number=whole_from_json(data["number"], "number"),
        version=str(data["version"]),
        run_id=str(data["run_id"]),
        outcome=str(data["outcome"]),
        pairs=whole_from_json(data["pairs"], "pairs"),
        recorded_at=datetime.fromisoformat(str(data["recorded_at"])),
        evidence=number_from_json(data["evidence"], "evidence"),
        epsilon_lower=number_from_json(data["epsilon_lower"], "epsilon_lower"),
        summary=_object(data["summary"]),
    )


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise TypeError("an object is missing")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value
