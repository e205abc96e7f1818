"""What the pages of a series show, read from the store."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from tollens.claim import claim_from_json
from tollens.errors import UsageError
from tollens.monitoring.overview import History, history_of_series, standings
from tollens.monitoring.recording import acknowledge
from tollens.monitoring.series import history_of, located
from tollens.monitoring.state import AlarmState, HistoryRow
from tollens.report.figures.series import SeriesPoint, series_svg
from tollens.server.listing import Listing, Query, listing
from tollens.store import SeriesRecord, Store
from tollens.store.rows import bad_text

STEPS_PER_PAGE = 50
MOST_STEPS = 1000
"""Steps that one answer holds."""

LONGEST_REASON = 2000


class MissingError(UsageError):
    """There is no such series."""


@dataclass(frozen=True, slots=True)
class SeriesView:
    """A series, how it stands, and some of its steps, the newest first."""

    series: SeriesRecord
    history: History
    promised: str
    pair: tuple[str, str] | None
    before: int | None

    @property
    def steps(self) -> tuple[HistoryRow, ...]:
        """The steps shown, the newest first."""
        return tuple(reversed(self.history.rows))

    @property
    def newest(self) -> int:
        """The number of the newest step shown; 0 where there is none."""
        return self.history.rows[-1].number if self.history.rows else 0

    @property
    def earlier(self) -> int | None:
        """Steps below this number are not shown; None where there are none."""
        first = self.history.rows[0].number if self.history.rows else 1
        return first if first > 1 else None


def list_view(store: Store, query: Query) -> Listing:
    """A page of the list of promises."""
    return listing(standings(store, recent=0), query)


def series_of(store: Store, number: int) -> SeriesRecord:
    """The series of a number; `MissingError` if there is none."""
    found = next((series for series in store.series() if series.id == number), None)
    if found is None:
        raise MissingError(f"the store has no series {number}")
    return found


def series_view(store: Store, number: int, before: int | None = None) -> SeriesView:
    """A series with its newest steps, or with those before a number."""
    series = series_of(store, number)
    if before is None:
        rows = list(history_of(store, series, STEPS_PER_PAGE))
    else:
        start = max(0, before - 1 - STEPS_PER_PAGE)
        rows = steps_after(store, series, start, min(STEPS_PER_PAGE, max(0, before - 1)))
    claim = claim_from_json(series.settings["claim"])
    return SeriesView(
        series, history_of_series(store, series, rows), claim.words(), _pair(series), before
    )


def steps_after(store: Store, series: SeriesRecord, after: int, most: int) -> list[HistoryRow]:
    """At most so many steps after a number, oldest first."""
    return list(islice(history_of(store, series, after=after), most))


def figure(store: Store, number: int) -> str:
    """The figure of a series as SVG: evidence and leak over its steps."""
    series = series_of(store, number)
    alarms = [located(alarm) for alarm in store.alarms(series.id)]
    view = history_of_series(store, series, ())
    state = view.standing.state
    place = state.likely_break
    points = [
        SeriesPoint(p.number, p.version, p.log_e_value, p.epsilon_lower, p.outcome)
        for p in store.points(series.id)
    ]
    return series_svg(
        points,
        threshold=state.threshold,
        alarms=[alarm.step for alarm in alarms],
        likely=None if place is None else (place.earliest, place.step, place.latest),
    )


def close_alarm(store: Store, number: int, step: int | None, reason: str) -> AlarmState:
    """Acknowledge the open alarm of a series, if it is the one that was seen.

    `step` is the step that raised it; None takes whichever is open.
    """
    findings = bad_text("the reason", reason)
    if not reason.strip():
        findings.append("the reason is empty; say why the alarm is closed")
    if len(reason) > LONGEST_REASON:
        findings.append(f"the reason has {len(reason)} letters; it may have {LONGEST_REASON}")
    if findings:
        raise UsageError(findings)
    return acknowledge(store, series_of(store, number), reason.strip(), step)


def _pair(series: SeriesRecord) -> tuple[str, str] | None:
    """The two inputs as texts, where the series knows them."""
    pair = series.settings.get("neighbours")
    if not isinstance(pair, dict):
        return None
    return _brief(pair.get("x")), _brief(pair.get("x_prime"))


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"
