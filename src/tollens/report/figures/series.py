"""A series of a monitor as a picture: evidence and certified leak over the steps."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tollens.report.figures.canvas import (
    Line,
    Panel,
    Scale,
    figure,
    heading,
    legend,
    stairs,
    text,
    thinned,
    ticks,
)
from tollens.rounding import down

WIDTH = 720
"""Width of the picture in pixels."""

_LEFT, _RIGHT, _TALL, _FLAT = 56, 72, 190, 110
_MOST_MARKS = 60
_MOST_ALARMS = 12


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """A step of a series: `outcome` is "scored", or else the step has no evidence of its own.

    `evidence` is on the scale of the threshold of the series, `epsilon_lower` what is certified to
    leak at this version.
    """

    number: int
    version: str
    evidence: float
    epsilon_lower: float
    outcome: str = "scored"


def series_svg(
    points: Sequence[SeriesPoint],
    *,
    threshold: float,
    title: str = "",
    alarms: Sequence[int] = (),
    likely: tuple[int, int, int] | None = None,
    styled: bool = True,
) -> str:
    """Evidence over steps beside its threshold, and below it the certified leak.

    `points` are the steps, in order of their numbers; `alarms` the numbers of those that raised an
    alarm, and `likely` the earliest, the likeliest and the latest step of the break. Long series
    are thinned; their extremes stay.

    >>> steps = [SeriesPoint(i, f"v{i}", 0.1 * i, 0.0) for i in range(1, 41)]
    >>> picture = series_svg(steps, threshold=3.0, title="count", alarms=[30], likely=(20, 21, 24))
    >>> picture.count("<polyline"), "alarm at step 30" in picture
    (3, True)
    """
    scored = [point for point in points if point.outcome == "scored"]
    evidence = [(float(p.number), p.evidence) for p in scored if p.evidence > -math.inf]
    leak = [(float(p.number), p.epsilon_lower) for p in scored if not math.isnan(p.epsilon_lower)]
    first, last = (points[0].number, points[-1].number) if points else (1, 1)
    across = Scale(first - 0.5 if first == last else first, max(last, first + 0.5),
                   _LEFT, WIDTH - _RIGHT)  # fmt: skip
    top = 70 if title else 44
    upper = Panel(across, _evidence_scale(evidence, threshold, top))
    lower = Panel(across, _leak_scale(leak, top + _TALL + 56))
    body = [heading(title, _counted(len(scored)), top=26, kind="title")] if title else []
    keys = [("shown", "evidence"), ("said", "alarm above this")]
    keys += [("fault", "could not be scored")] if len(scored) < len(points) else []
    body.append(legend(keys, left=16, height=top - 18))
    if likely is not None:
        body += [_likely(panel, likely) for panel in (upper, lower)]
    body.append(upper.up_axis((t, f"{t:g}") for t in _inside(upper.y, 4)))
    body.append(_failed(upper, points))
    body += [upper.level(threshold, "said"), upper.line(thinned(evidence), "shown")]
    body.append(_end(across.end, upper.y(threshold), f"{threshold:.3g}", "said"))
    for row, step in enumerate(sorted(alarms)[-_MOST_ALARMS:]):
        if first <= step <= last:
            body.append(upper.upright(step, f"alarm at step {step:,}", row=row % 3))
    body.append(heading("Certified leak", "epsilon is at least this", top=top + _TALL + 40))
    body.append(lower.up_axis((t, f"{t:g}") for t in _inside(lower.y, 2)))
    body.append(lower.line(thinned(stairs(leak)), "shown"))
    if leak and leak[-1][1] > 0:
        body.append(_end(across.end, lower.y(leak[-1][1]), down(leak[-1][1], 3), "shown"))
    body.append(_steps(lower, points))
    return figure(
        body,
        width=WIDTH,
        height=top + _TALL + _FLAT + 120,
        title=f"{title or 'Series'}: evidence and certified leak over {_counted(len(scored))}",
        description=_spoken(evidence, leak, threshold, alarms, likely),
        styled=styled,
    )


def _counted(steps: int) -> str:
    return f"{steps:,} step{'' if steps == 1 else 's'}"


def _evidence_scale(evidence: Line, threshold: float, top: float) -> Scale:
    """From the least evidence to the most; what is far below 0 is drawn at the border."""
    values = [value for _, value in evidence if math.isfinite(value)]
    high = 1.15 * max([threshold, *values])
    low = max(min([0.0, *values]), -high)
    high = ticks(low, max(high, 1e-6), 4)[-1]
    return Scale(1.05 * low, high, top + _TALL, top)


def _leak_scale(leak: Line, top: float) -> Scale:
    values = [value for _, value in leak if math.isfinite(value)]
    marks = ticks(0.0, max([1.1 * value for value in values] + [0.1]), 2)
    return Scale(0.0, marks[-1], top + _FLAT, top)


def _inside(scale: Scale, about: int) -> list[float]:
    return [t for t in ticks(scale.low, scale.high, about) if scale.low <= t <= scale.high]


def _end(x: float, y: float, words: str, kind: str) -> str:
    return text(x + 8, y + 4, words, f"end {kind}")


def _likely(panel: Panel, likely: tuple[int, int, int]) -> str:
    """The set of steps at one of which the claim was broken."""
    earliest, _, latest = likely
    return panel.rectangle((earliest - 0.5, latest + 0.5), (panel.y.low, panel.y.high), "likely")


def _failed(panel: Panel, points: Sequence[SeriesPoint]) -> str:
    """A mark on the floor for each step that could not be scored."""
    failed = [point.number for point in points if point.outcome != "scored"]
    kept = failed[:: math.ceil(len(failed) / _MOST_MARKS)] if failed else []
    floor = panel.y.low + 0.06 * (panel.y.high - panel.y.low)
    return "".join(panel.line([(n, panel.y.low), (n, floor)], "fault") for n in kept)


def _steps(panel: Panel, points: Sequence[SeriesPoint]) -> str:
    """Numbers of steps, and the versions at these."""
    if not points:
        return panel.across_axis([], "no step yet")
    first, last = points[0].number, points[-1].number
    marks = [t for t in ticks(first, last, 5, whole=True) if first <= t <= last] or [float(first)]
    numbers = [point.number for point in points]
    versions = [points[max(bisect_right(numbers, t) - 1, 0)].version for t in marks]
    return panel.across_axis(
        [(t, f"{t:,.0f}") for t in marks],
        "step, and its version",
        under=[_short(version) for version in versions],
    )


def _short(version: str) -> str:
    """A version in little room; a digest by its first letters."""
    return version[:12] if re.fullmatch(r"[0-9a-f]{20,64}", version) else version[:14]


def _spoken(
    evidence: Line,
    leak: Line,
    threshold: float,
    alarms: Sequence[int],
    likely: tuple[int, int, int] | None,
) -> str:
    """The picture in words."""
    if not evidence:
        return "No step was scored yet."
    said = [f"The last evidence is {evidence[-1][1]:.2f}; an alarm needs {threshold:.2f}."]
    said.append(f"Alarms: {', '.join(f'{s:,}' for s in alarms[-5:])}." if alarms else "No alarm.")
    if likely is not None:
        said.append(f"The break is likely at step {likely[1]:,} ({likely[0]:,} to {likely[2]:,}).")
    if leak and leak[-1][1] > 0:
        said.append(f"The certified leak is {down(leak[-1][1], 3)} now.")
    return " ".join(said)
