"""Which figures a result has: of a verdict, of a series, of a report of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tollens.report.figures.outputs import outputs_svg
from tollens.report.figures.region import region_svg
from tollens.report.figures.series import SeriesPoint, series_svg
from tollens.report.figures.wealth import wealth_svg
from tollens.verdict import Verdict

if TYPE_CHECKING:
    from tollens.monitoring.overview import History

Figures = list[str]


def verdict_figures(verdict: Verdict, *, styled: bool = True) -> Figures:
    """The figures of a verdict: those for which it has what they show."""
    drawn = (draw(verdict, styled=styled) for draw in (region_svg, outputs_svg, wealth_svg))
    return [svg for svg in drawn if svg is not None]


def history_figure(found: History, *, styled: bool = True) -> str | None:
    """The figure of a series; None where no step is known."""
    if not found.rows:
        return None
    state = found.standing.state
    place = state.likely_break
    return series_svg(
        [
            SeriesPoint(row.number, row.version, row.evidence, row.epsilon_lower, row.outcome)
            for row in found.rows
        ],
        threshold=state.threshold,
        title=state.name,
        alarms=[alarm.step for alarm in found.alarms],
        likely=None if place is None else (place.earliest, place.step, place.latest),
        styled=styled,
    )


def notebook_figures(result: object) -> str:
    """The figures of a result side by side, as a notebook shows them below its table.

    >>> notebook_figures("no result")
    ''
    """
    from tollens.monitoring.overview import History
    from tollens.training.report import TrainingReport

    figures: Figures = []
    if isinstance(result, Verdict):
        figures = verdict_figures(result)
    elif isinstance(result, History):
        figures = [svg for svg in (history_figure(result),) if svg is not None]
    elif isinstance(result, TrainingReport):
        from tollens.report.training_figure import training_svg

        figures = [training_svg(result)]
    inner = "".join(figures)
    return f"<div style='display:flex;flex-wrap:wrap;gap:8px'>{inner}</div>" if inner else ""
