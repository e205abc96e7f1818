"""Series of `tollens monitor` for people: a step, the table of all, the history of one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tollens.monitoring.overview import RECENT, History, Standing
from tollens.monitoring.state import AlarmState, HistoryRow, MonitorState
from tollens.monitoring.weights import ARL
from tollens.report.leaks import leak_text
from tollens.report.sparkline import MISSING, bar, sparkline
from tollens.report.text import labelled, unbroken
from tollens.rounding import down

STYLES = {
    "ALARM": "bold red",
    "failing": "bold magenta",
    "stale": "bold yellow",
    "watching": "yellow",
    "quiet": "bold green",
    "new": "dim",
}
"""The colour of each state, the same everywhere."""

_BAR = 12
_LEAST_SPARK = 10
_FOLDED = 20


def standing_text(row: Standing, *, width: int = 100) -> Text:
    """How a series stands after a step, as labelled lines."""
    lines = standing_lines(row)
    if row.recent:
        so_far = spark(row.recent, row.state.threshold, min(RECENT, width - 12))
        lines.insert(3, ("so far", so_far))
    if row.alarm:
        label, words = lines[-1]
        lines[-1] = (label, unbroken(words))
    return labelled(lines, STYLES[row.state.word], width=width)


def standing_lines(row: Standing) -> list[tuple[str, str]]:
    """How a series stands, as (label, text) pairs; its state is the first label."""
    state = row.state
    at = "no step yet" if state.version is None else f"version {short(state.version)}"
    lines = [(state.word, f"{state.name} at {at}" if state.version else f"{state.name}, {at}")]
    lines.append(("claim", row.claim))
    lines.append(("evidence", evidence_words(state)))
    if state.alarm and state.raised is not None:
        lines += alarm_lines(state.raised)
    if state.steps:
        lines.append(("leak", _leak_words(row)))
    steps = f"{state.steps:,} scored, {row.pairs:,} pairs of runs each"
    lines.append(("steps", steps + (f"; {state.failed:,} failed" if state.failed else "")))
    lines.append(("error", error_words(row)))
    lines += [("note", note) for note in state.notes]
    for alarm in row.elsewhere:
        lines.append((
            "note",
            f"{'another' if state.alarm else 'an'} alarm is open, of version "
            f"{short(alarm.version)} in another series of {state.name}; other settings do not "
            "close it",
        ))  # fmt: skip
    if row.alarm:
        words = f"tollens monitor acknowledge {quoted(state.name)} --reason TEXT"
        lines.append(("close", words))
    return lines


def acknowledged_text(
    name: str, alarm: AlarmState, left: Sequence[AlarmState] = (), *, width: int = 100
) -> Text:
    """An alarm that was closed, as labelled lines; `left` are those of the name that are open."""
    lines = [("closed", f"the alarm of {name}, raised {when(alarm.raised_at)} UTC")]
    lines.append(("version", short(alarm.version)))
    lines += alarm_lines(alarm)
    if alarm.epsilon_lower > 0:
        lines.append(("leak", f"epsilon >= {down(alarm.epsilon_lower)} at that step"))
    lines.append(("reason", " ".join((alarm.reason or "").split())))
    lines.append(("now", "evidence starts anew with the next step"))
    for other in left:
        lines.append((
            "note",
            f"another alarm of {name} is open still, of version {short(other.version)} in another "
            "series; acknowledge it too",
        ))  # fmt: skip
    return labelled(lines, "bold", width=width)


def status_table(
    rows: Sequence[Standing], *, width: int = 120, now: datetime | None = None
) -> RenderableType:
    """One line a series; narrow screens see fewer columns."""
    if not rows:
        return Text("The store has no series yet: the first step of a monitor makes one.", "yellow")
    moment = now or datetime.now(UTC)
    columns = [
        _Column("name", [Text(_name(row)) for row in rows]),
        _Column("state", [Text(row.state.word, STYLES[row.state.word]) for row in rows]),
        _Column("steps", [Text(f"{row.state.steps:,}") for row in rows], "right", leaves=3),
        _Column("evidence", [Text(_share_words(row.state)) for row in rows], "right"),
        _Column("leak", [Text(leak_text(row.state.epsilon_lower)) for row in rows], "right"),
        _Column("version", [Text(short(row.state.version or "-")) for row in rows], leaves=4),
        _Column("age", [Text(_age(row.state, moment)) for row in rows], "right", leaves=2),
    ]
    if any(row.state.failed for row in rows):
        failed = [Text(f"{row.state.failed:,}") for row in rows]
        columns.insert(3, _Column("failed", failed, "right"))
    columns[0].folds = _needed(columns) + 3 + _LEAST_SPARK > width
    _make_room(columns, width, _LEAST_SPARK)
    if _needed(columns) > width:
        columns = [column for column in columns if column.title != "failed"]
    free = width - _needed(columns) - 3
    if free >= _LEAST_SPARK:
        wide = min(free, RECENT)
        title = f"last {RECENT} steps" if wide >= 14 else f"last {RECENT}"
        sparks = [spark(row.recent, row.state.threshold, wide) for row in rows]
        shown = [Text(line, STYLES[row.state.word]) for line, row in zip(sparks, rows, strict=True)]
        columns.append(_Column(title, shown))
    return _table(columns)


def several_open(rows: Sequence[Standing]) -> list[RenderableType]:
    """Names with more than one open alarm: each is closed by itself."""
    return [
        Text(
            f"{row.state.name}: {1 + len(row.elsewhere)} alarms are open, in series with other "
            "settings; acknowledge each",
            "yellow",
        )
        for row in rows
        if row.state.alarm and row.elsewhere
    ]


def history_parts(found: History, *, width: int = 120) -> list[RenderableType]:
    """The history of a series: how it stands, its steps, other series of the name."""
    parts: list[RenderableType] = [standing_text(found.standing, width=min(width, 100))]
    if found.rows:
        parts += [Text(), _steps_table(found, width)]
    hidden = found.standing.state.steps + found.standing.state.failed - len(found.rows)
    if hidden > 0:
        steps = "step is" if hidden == 1 else "steps are"
        parts.append(Text(f"{hidden:,} earlier {steps} not shown; --last K shows more", "dim"))
    if found.older:
        parts += [Text(), Text("other series of this name", "bold")]
        parts += [Text(_older_words(row), "dim") for row in found.older]
    return parts


def evidence_words(state: MonitorState) -> str:
    """Evidence beside the threshold of an alarm, in words.

    >>> from tollens.monitoring.series import unborn
    >>> evidence_words(unborn("count", "exact", 0.05, ()))
    'none yet; an alarm needs 3.00'
    """
    if math.isinf(state.evidence) and state.evidence < 0:
        return f"none yet; an alarm needs {state.threshold:.2f}"
    scale = "natural log" if state.method == "exact" else "statistic of the Brownian monitor"
    return f"{state.evidence:.2f}, an alarm needs {state.threshold:.2f} ({scale})"


def error_words(row: Standing) -> str:
    """What the alpha of a series means."""
    alpha = f"{row.alpha:g}"
    if row.horizon == ARL:
        apart = f"{1 / row.alpha:.4g}"
        return f"false alarms of a correct mechanism are on average at least {apart} steps apart"
    about = "at most" if row.state.method == "exact" else "about"
    until = "ever raises an alarm"
    if row.horizon is not None:
        until = f"raises an alarm within {row.horizon:,} steps"
    return f"a correct mechanism {until} with probability {about} {alpha}"


def spark(rows: Sequence[HistoryRow], threshold: float, width: int) -> str:
    """The evidence of steps as a line of characters."""
    return sparkline([_share(row, threshold) for row in rows], width)


def short(version: str) -> str:
    """A version for tables: long hashes are cut to 12 digits.

    >>> short("7cc9f28b8f7c3f1a7cc9f28b8f7c3f1a7cc9f28b"), short("v1.2")
    ('7cc9f28b8f7c', 'v1.2')
    """
    return version[:12] if re.fullmatch(r"[0-9a-f]{20,64}", version) else version


def when(moment: datetime) -> str:
    """A moment in UTC, to the minute."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def quoted(text: str) -> str:
    """A word as a shell reads it."""
    import shlex

    return shlex.quote(text)


def alarm_lines(alarm: AlarmState) -> list[tuple[str, str]]:
    """Where an alarm says the break is, and what showed it, as (label, text) pairs."""
    place = alarm.likely_break
    lines = [("broke", f"likely at step {place.step}, {_between(alarm)}")]
    if place.earliest != place.latest:
        lines.append(("", f"or at another of the steps {place.earliest} to {place.latest}"))
    reached = "" if alarm.peak is None else f", where evidence reached {alarm.peak:.2f}"
    lines.append(("noticed", f"at step {alarm.step}, version {short(alarm.version)}{reached}"))
    if alarm.witness is not None:
        lines.append(("witness", alarm.witness.describe()))
    return lines


def _between(alarm: AlarmState) -> str:
    place = alarm.likely_break
    if place.version_before is None:
        return f"the first version seen, {short(place.version)}"
    return f"between version {short(place.version_before)} and {short(place.version)}"


def _leak_words(row: Standing) -> str:
    leak = row.state.epsilon_lower
    if row.state.method != "exact":
        return "none is certified by the Brownian method"
    if leak <= 0:
        return f"no lower bound for the epsilon of now (at delta = {row.delta:g})"
    how = f"certified with error probability {row.alpha:g}"
    return f"epsilon >= {down(leak)} at delta = {row.delta:g} now, {how}"


def _name(row: Standing) -> str:
    return row.state.name if row.current else f"{row.state.name} (other)"


def _share_words(state: MonitorState) -> str:
    value = "-" if math.isinf(state.evidence) else f"{state.evidence:.2f}"
    return f"{value} / {state.threshold:.2f}"


def _age(state: MonitorState, now: datetime) -> str:
    if state.updated_at is None:
        return "-"
    seconds = max((now - state.updated_at).total_seconds(), 0.0)
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or (unit == "min" and seconds >= size):
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _share(row: HistoryRow, threshold: float) -> float | None:
    return row.evidence / threshold if row.outcome == "scored" else None


def _steps_table(found: History, width: int) -> Table:
    threshold = found.standing.state.threshold
    marks = _marks(found.alarms)
    columns = [
        _Column("step", [Text(f"{row.number:,}") for row in found.rows], "right"),
        _Column("version", [Text(_version(row)) for row in found.rows]),
        _Column("evidence", [_evidence(row) for row in found.rows], "right"),
        _Column("", [_bar(row, threshold) for row in found.rows], leaves=2),
        _Column("leak", [_leak(row) for row in found.rows], "right"),
        _Column("recorded, UTC", [Text(when(row.recorded_at)) for row in found.rows], leaves=1),
    ]
    remarks = [_remark(row, marks.get(row.number, [])) for row in found.rows]
    longest = max(remark.cell_len for remark in remarks)
    _make_room(columns, width, min(longest, 24) if longest else -3)
    if longest:
        columns.append(_Column("remark", remarks, folds=True))
    return _table(columns)


def _version(row: HistoryRow) -> str:
    return short(row.version) + ("" if row.run_id == "1" else f" ({row.run_id})")


def _evidence(row: HistoryRow) -> Text:
    if row.outcome != "scored" or math.isinf(row.evidence):
        return Text(MISSING, "dim")
    return Text(f"{row.evidence:.2f}")


def _bar(row: HistoryRow, threshold: float) -> Text:
    share = _share(row, threshold)
    if share is None:
        return Text(MISSING * _BAR, "dim")
    return Text(bar(share, _BAR), "red" if share >= 1 else "yellow" if share > 1 / 3 else "green")


def _leak(row: HistoryRow) -> Text:
    return Text(leak_text(row.epsilon_lower) if row.outcome == "scored" else MISSING)


def _marks(alarms: Sequence[AlarmState]) -> dict[int, list[Text]]:
    """What stands beside the steps at which something broke, was noticed or was closed."""
    marks: dict[int, list[Text]] = {}
    for alarm in alarms:
        marks.setdefault(alarm.likely_break.step, []).append(Text("likely break", "bold red"))
        closed = alarm.acknowledged_at is not None
        words = f"alarm, closed: {' '.join((alarm.reason or '').split())}" if closed else "ALARM"
        style = "red" if closed else STYLES["ALARM"]
        marks.setdefault(alarm.step, []).append(Text(words, style))
    return marks


def _remark(row: HistoryRow, marks: Sequence[Text]) -> Text:
    shown = list(marks)
    if row.outcome == "failed":
        error = " ".join(str(row.summary.get("error", "")).split())
        shown.insert(0, Text(f"failed: {error}", STYLES["failing"]))
    return Text("; ").join(shown)


def _older_words(row: Standing) -> str:
    state = row.state
    until = "" if state.updated_at is None else f", last step {when(state.updated_at)}"
    said = f"{row.claim}, alpha {row.alpha:g}, {row.pairs:,} pairs, method {state.method}"
    return f"  {said}: {state.steps:,} steps{until}, {state.word}"


@dataclass
class _Column:
    """A column; those with the least `leaves` above 0 leave first where there is no room."""

    title: str
    cells: list[Text]
    justify: str = "left"
    leaves: int = 0
    folds: bool = False

    @property
    def width(self) -> int:
        longest = max([len(self.title), *(cell.cell_len for cell in self.cells)])
        return min(longest, _FOLDED) if self.folds else longest


def _make_room(columns: list[_Column], width: int, wanted: int) -> None:
    """Take columns away until another of width `wanted` fits, or none may leave."""
    while width - _needed(columns) - 3 < wanted and any(column.leaves for column in columns):
        columns.remove(min((c for c in columns if c.leaves), key=lambda c: c.leaves))


def _needed(columns: Sequence[_Column]) -> int:
    return 1 + sum(3 + column.width for column in columns)


def _table(columns: Sequence[_Column]) -> Table:
    table = Table()
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.justify == "right" else "left",
            no_wrap=not column.folds,
            overflow="fold" if column.folds else "ellipsis",
            width=column.width if column is columns[0] else None,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table
