"""Views of stored series for reports: how each stands, and what its steps were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tollens.claim import claim_from_json
from tollens.errors import UsageError
from tollens.monitoring.series import all_in_force, history_of, in_force, located, named, state_of
from tollens.monitoring.state import AlarmState, HistoryRow, MonitorState
from tollens.monitoring.weights import Horizon, checked_horizon
from tollens.store import SeriesRecord, Store

RECENT = 40
"""Steps of which a view keeps the evidence."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A series and how it stands.

    `recent` are its last steps, oldest first. `elsewhere` are alarms of other series of this name
    that nobody acknowledged: other settings do not close an alarm.
    """

    state: MonitorState
    claim: str
    alpha: float
    horizon: Horizon
    pairs: int
    delta: float
    current: bool
    recent: tuple[HistoryRow, ...] = ()
    elsewhere: tuple[AlarmState, ...] = ()

    @property
    def alarm(self) -> bool:
        """Whether any alarm of this name is open."""
        return self.state.alarm or bool(self.elsewhere)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        settings = {
            "claim": self.claim, "alpha": self.alpha, "horizon": self.horizon,
            "pairs": self.pairs, "delta": self.delta, "current": self.current,
        }  # fmt: skip
        others = [alarm.step for alarm in self.elsewhere]
        return {**self.state.to_dict(), **settings, "open_alarms_of_older_series": others}


@dataclass(frozen=True, slots=True)
class History:
    """The steps of a series, all its alarms, and the other series of the same name."""

    standing: Standing
    rows: tuple[HistoryRow, ...]
    alarms: tuple[AlarmState, ...]
    older: tuple[Standing, ...]


def standing(
    store: Store,
    series: SeriesRecord,
    *,
    notes: Sequence[str] = (),
    recent: int = RECENT,
) -> Standing:
    """How a series stands, with the open alarms of the others of its name."""
    same = store.series(series.name)
    force = in_force(store, same)
    current = force is not None and force.id == series.id
    others = [other for other in same if other.id != series.id] if current else []
    settings = series.settings
    try:
        claim = str(claim_from_json(settings["claim"]))
        alpha, horizon = float(str(settings["alpha"])), checked_horizon(settings["horizon"])
        pairs, delta = int(str(settings["pairs"])), float(str(settings["delta"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the settings of {series.name} cannot be read: {error!r}") from None
    return Standing(
        state_of(store, series, notes), claim, alpha, horizon, pairs, delta, current,
        tuple(history_of(store, series, recent)) if recent else (),
        tuple(alarm for other in others for alarm in open_alarms(store, other)),
    )  # fmt: skip


def open_alarms(store: Store, series: SeriesRecord) -> list[AlarmState]:
    """The alarm of a series that nobody has acknowledged, if there is one."""
    found = store.alarms(series.id)[-1:]
    return [located(alarm) for alarm in found if alarm.acknowledged_at is None]


def standings(store: Store) -> list[Standing]:
    """The series in force of every name, by name; after each the others with an open alarm."""
    found = []
    for series in all_in_force(store):
        found.append(standing(store, series))
        for other in store.series(series.name):
            if other.id != series.id and open_alarms(store, other):
                found.append(standing(store, other))
    return found


def history(store: Store, name: str, last: int | None) -> History:
    """The series in force under a name with its steps; only the `last` ones if so asked."""
    series = named(store, name)
    older = [other for other in store.series(name) if other.id != series.id]
    return History(
        standing(store, series, recent=0),
        tuple(history_of(store, series, last)),
        tuple(located(alarm) for alarm in store.alarms(series.id)),
        tuple(standing(store, other, recent=0) for other in older),
    )
