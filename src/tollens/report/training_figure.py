"""A report of training as a picture: what was said and what was shown, over the steps.

The SVG stands alone: no script, no font, no library, and colours for light and for dark pages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tollens.report.figures import canvas
from tollens.report.figures.canvas import Line, Panel, Scale
from tollens.report.markup import markup
from tollens.rounding import down
from tollens.training.report import TrainingReport

WIDTH, PANEL = 720, 250
"""Width of the picture and height of each of its panels, in pixels."""

_LEFT, _RIGHT, _TOP, _HEAD, _FOOT = 56, 72, 44, 44, 46


@dataclass(frozen=True)
class _Curve:
    """A line with its name in the legend; `said` lines are promises, the others were shown."""

    name: str
    points: Line
    said: bool

    @property
    def kind(self) -> str:
        return "said" if self.said else "shown"


def training_svg(report: TrainingReport, *, styled: bool = True) -> str:
    """An SVG document: the lower bound for a step and, with an accountant, what it means for a run.

    Without `styled` it is for a page that holds `STYLE` of the canvas itself.

    >>> from tollens.training.step_audit import StepAudit
    >>> audit = StepAudit(1.0, alpha=0.05)
    >>> for _ in range(60):
    ...     audit.update(with_canary=2.0, without_canary=-2.0)
    >>> picture = training_svg(audit.report())
    >>> picture[:4], "every mu below is refuted" in picture
    ('<svg', True)
    """
    last = max(report.steps, 1)
    promised = 1.0 / report.noise_multiplier
    shown = [(float(point.step), point.mu_lower) for point in report.curve]
    bound = canvas.stairs([(0.0, 0.0), *shown]) if shown else []
    panels = [
        (
            "One step: mu",
            f"the bound holds at all steps at once, with error probability {report.alpha:g}",
            [
                _Curve("promised", [(0.0, promised), (float(last), promised)], said=True),
                _Curve("every mu below is refuted", bound, said=False),
            ],
        )
    ]
    run = report.run
    if run is not None and run.points:
        said = [(float(step), value) for step, value, _ in run.points]
        leaked = [(float(step), value) for step, _, value in run.points]
        panels.append((
            f"The run: epsilon at delta = {report.delta:g}",
            "a comparison, no certificate",
            [
                _Curve(f"promised, by {run.compared_by}", said, said=True),
                _Curve(
                    "if every step is normal and leaks what was shown of one", leaked, said=False
                ),
            ],
        ))  # fmt: skip
    body = [_head(report)]
    for i, (title, remark, curves) in enumerate(panels):
        top = _TOP + i * PANEL
        body.append(canvas.heading(title, remark, top=top + 14))
        body.append(_panel(curves, last, top, report))
    return canvas.figure(
        body,
        width=WIDTH,
        height=_TOP + PANEL * len(panels),
        title=_spoken(report),
        styled=styled,
    )


def _spoken(report: TrainingReport) -> str:
    """The picture in words."""
    text = (
        f"{report.name}, {report.steps:,} steps: a step is mu-GDP for no mu below "
        f"{down(report.mu_lower, 3)}, promised is {1.0 / report.noise_multiplier:.3g}"
    )
    fault = _first_fault(report)
    return text if fault is None else f"{text}; {fault[1]} is broken from step {fault[0]}"


def _first_fault(report: TrainingReport) -> tuple[int, str] | None:
    """The step and the part of the first fault."""
    found = [
        (finding.step, finding.part) for finding in report.findings if finding.level == "fault"
    ]
    return min(found, key=lambda fault: fault[0]) if found else None


def _head(report: TrainingReport) -> str:
    style = ' class="alert"' if report.refuted else ""
    return (
        f'<text class="title" x="16" y="26">{markup(report.name, 60)}, {report.steps:,} steps: '
        f"<tspan{style}>{report.outcome.name}</tspan></text>"
    )


def _panel(curves: list[_Curve], last: int, top: int, report: TrainingReport) -> str:
    values = [v for curve in curves for _, v in curve.points if math.isfinite(v)]
    marks = canvas.ticks(0.0, 1.12 * max([*values, 1e-3]), 4)
    panel = Panel(
        Scale(0.0, last, _LEFT, WIDTH - _RIGHT),
        Scale(0.0, marks[-1], top + PANEL - _FOOT, top + _HEAD),
    )
    steps = [tick for tick in canvas.ticks(0, last, 6, whole=True) if tick <= last]
    out = [
        panel.up_axis((tick, f"{tick:g}") for tick in marks),
        panel.across_axis([(tick, f"{tick:,g}") for tick in steps], "step"),
    ]
    fault = _first_fault(report)
    if fault is not None:
        step, part = fault
        words = f"step {step}" if step else "before the first step"
        out.append(panel.upright(step, f"{words}: {part}"))
    out += [panel.line(curve.points, curve.kind) for curve in curves]
    out.append(_ends(curves, panel))
    out.append(
        canvas.legend([(curve.kind, curve.name) for curve in curves], left=16, height=top + 32)
    )
    return "".join(out)


def _ends(curves: list[_Curve], panel: Panel) -> str:
    """The last value of each line beside it; two that are close are moved apart."""
    ends = [
        (curve, *curve.points[-1])
        for curve in curves
        if curve.points and not math.isnan(curve.points[-1][1])
    ]
    ends.sort(key=lambda end: panel.y(end[2]))
    places = canvas.apart([panel.y(value) for _, _, value in ends])
    return "".join(
        canvas.text(
            panel.x(step) + 8,
            place + 4,
            f"{value:.4g}" if curve.said else down(value, 3),
            f"end {curve.kind}",
        )
        for (curve, step, value), place in zip(ends, places, strict=True)
    )
