"""Views of stored series for reports: how each stands, and what its steps were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tollens.claim import claim_from_json
from tollens.errors import UsageError
from tollens.labelled import result_html
from tollens.monitoring.series import (
    Newest,
    history_of,
    in_force,
    latest,
    located,
    named,
    newest_of,
    state_from,
)
from tollens.monitoring.state import AlarmState, HistoryRow, MonitorState
from tollens.monitoring.weights import Horizon, checked_horizon
from tollens.store import SeriesRecord, Store

RECENT = 40
"""Steps of which a view keeps the evidence."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A series and how it stands.

    `recent` are its last steps, oldest first. `elsewhere` are alarms of other series of this name
    that nobody acknowledged: other settings do not close an alarm. `id` is its number in the store.
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
    id: int = 0

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
        found = {**self.state.to_dict(), **settings, "open_alarms_of_older_series": others}
        return {"id": self.id, **found}


@dataclass(frozen=True, slots=True)
class History:
    """The steps of a series, all its alarms, and the other series of the same name."""

    standing: Standing
    rows: tuple[HistoryRow, ...]
    alarms: tuple[AlarmState, ...]
    older: tuple[Standing, ...]

    def _repr_html_(self) -> str:
        lines = str(self.standing.state).split("\n")
        rows = [("series", lines[0]), *(("", line) for line in lines[1:])]
        return result_html(self, rows)


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
    elsewhere = [alarm for other in others for alarm in open_alarms(store, other)]
    return _standing(
        store, series, newest_of(store, series), notes=notes, recent=recent, current=current,
        elsewhere=elsewhere,
    )  # fmt: skip


def _standing(
    store: Store,
    series: SeriesRecord,
    known: Newest,
    *,
    notes: Sequence[str] = (),
    recent: int,
    current: bool,
    elsewhere: Sequence[AlarmState] = (),
) -> Standing:
    settings = series.settings
    try:
        claim = str(claim_from_json(settings["claim"]))
        alpha, horizon = float(str(settings["alpha"])), checked_horizon(settings["horizon"])
        pairs, delta = int(str(settings["pairs"])), float(str(settings["delta"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the settings of {series.name} cannot be read: {error!r}") from None
    return Standing(
        state_from(store, series, known, notes), claim, alpha, horizon, pairs, delta, current,
        tuple(history_of(store, series, recent)) if recent else (), tuple(elsewhere), series.id,
    )  # fmt: skip


def open_alarms(store: Store, series: SeriesRecord) -> list[AlarmState]:
    """The alarm of a series that nobody has acknowledged, if there is one."""
    found = store.alarms(series.id)[-1:]
    return [located(alarm) for alarm in found if alarm.acknowledged_at is None]


def standings(store: Store, *, recent: int = RECENT) -> list[Standing]:
    """The series in force of every name, by name; after each the others with an open alarm.

    Without `recent` steps it takes three queries, however many series and steps there are.
    """
    by_name: dict[str, list[SeriesRecord]] = {}
    for series in store.series():
        by_name.setdefault(series.name, []).append(series)
    steps, alarms = store.newest_steps(), store.newest_alarms()
    found = []
    for name in sorted(by_name):
        same = by_name[name]
        force = latest(same, steps)
        alarmed = [
            series
            for series in same
            if series.id in alarms and not alarms[series.id].acknowledged_at
        ]
        others = [series for series in alarmed if series.id != force.id]
        for series in (force, *others):
            current = series.id == force.id
            elsewhere = [located(alarms[other.id]) for other in others] if current else []
            known = Newest(steps.get(series.id), alarms.get(series.id))
            found.append(
                _standing(store, series, known, recent=recent, current=current, elsewhere=elsewhere)
            )
    return found


def history(store: Store, name: str, last: int | None) -> History:
    """The series in force under a name with its steps; only the `last` ones if so asked."""
    series = named(store, name)
    return history_of_series(store, series, tuple(history_of(store, series, last)))


def history_of_series(store: Store, series: SeriesRecord, rows: Sequence[HistoryRow]) -> History:
    """The same of any series, with the steps that are given."""
    others = [other for other in store.series(series.name) if other.id != series.id]
    return History(
        standing(store, series, recent=0),
        tuple(rows),
        tuple(located(alarm) for alarm in store.alarms(series.id)),
        tuple(standing(store, other, recent=0) for other in others),
    )
