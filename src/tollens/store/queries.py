"""Queries over many series or many steps whose cost does not grow with what they leave out."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Select, case, cast, func, select, tuple_
from sqlalchemy.sql.elements import ColumnElement

from tollens.store.tables import ALARMS, SERIES, STEPS

POINT = (
    STEPS.c.number, STEPS.c.version, STEPS.c.outcome, STEPS.c.log_e_value, STEPS.c.epsilon_lower,
)  # fmt: skip
"""The columns of a `PointRecord`."""


def newest_steps() -> Select[Any]:
    """The last step of every series: one look into the primary key for each."""
    inner = STEPS.alias()
    newest = select(func.max(inner.c.number)).where(inner.c.series_id == SERIES.c.id)
    last = select(SERIES.c.id, newest.scalar_subquery())
    return select(STEPS).where(tuple_(STEPS.c.series_id, STEPS.c.number).in_(last))


def newest_alarms() -> Select[Any]:
    """The last alarm of every series that had one."""
    newest = select(func.max(ALARMS.c.id)).group_by(ALARMS.c.series_id)
    return select(ALARMS).where(ALARMS.c.id.in_(newest))


def scored_since(series_id: int, number: int, moment: datetime) -> Select[Any]:
    """A scored step after a number that was recorded after a moment."""
    later = [STEPS.c.series_id == series_id, STEPS.c.number > number]
    scored = [STEPS.c.outcome == "scored", STEPS.c.recorded_at > moment]
    return select(STEPS.c.number).where(*later, *scored).limit(1)


def all_points(series_id: int) -> Select[Any]:
    """All steps of a series as points."""
    return select(*POINT).where(STEPS.c.series_id == series_id).order_by(STEPS.c.number)


def thinned(series_id: int, steps: int, stretches: int) -> Select[Any]:
    """The numbers of the steps that matter to a figure, for each of so many equal stretches.

    They are its first step, those with the least and the most evidence and leak, and its first
    failed one.
    """
    stretch = cast(STEPS.c.number - 1, BigInteger) * stretches // steps
    mine = (
        select(*POINT, stretch.label("stretch")).where(STEPS.c.series_id == series_id).cte("mine")
    )
    scored = mine.c.outcome == "scored"
    evidence = case((scored, mine.c.log_e_value))
    leak = case((scored, mine.c.epsilon_lower))
    ends = (
        select(
            mine.c.stretch,
            func.min(mine.c.number).label("first"),
            func.min(case((mine.c.outcome == "failed", mine.c.number))).label("failed"),
            *_bounds(evidence, "evidence"),
            *_bounds(leak, "leak"),
        )
        .group_by(mine.c.stretch)
        .cte("ends")
    )

    def at(value: ColumnElement[Any], bound: str) -> ColumnElement[Any]:
        return func.min(case((value == ends.c[bound], mine.c.number)))

    return (
        select(
            ends.c.first, ends.c.failed,
            at(evidence, "evidence_low"), at(evidence, "evidence_high"),
            at(leak, "leak_low"), at(leak, "leak_high"),
        )
        .select_from(mine.join(ends, mine.c.stretch == ends.c.stretch))
        .group_by(ends.c.stretch, ends.c.first, ends.c.failed)
    )  # fmt: skip


def _bounds(value: ColumnElement[Any], name: str) -> tuple[ColumnElement[Any], ...]:
    return func.min(value).label(f"{name}_low"), func.max(value).label(f"{name}_high")


def points_at(series_id: int, numbers: Collection[int]) -> Select[Any]:
    """These steps of a series as points."""
    return all_points(series_id).where(STEPS.c.number.in_(numbers))
