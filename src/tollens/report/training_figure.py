"""A report of training as a picture: what was said and what was shown, over the steps.

The SVG stands alone: no script, no font, no library, and colours for light and for dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from tollens.rounding import down
from tollens.training.report import TrainingReport

Line = Sequence[tuple[float, float]]
_Scale = Callable[[float], float]

WIDTH, PANEL = 720, 250
"""Width of the picture and height of each of its panels, in pixels."""

_LEFT, _RIGHT, _TOP, _HEAD, _FOOT = 56, 72, 44, 44, 46

_STYLE = """
.tollens-figure{--ground:#fff;--ink:#1f2328;--soft:#59636e;--grid:#e4e7eb;
--shown:#0969da;--said:#9a5700;--fault:#c4232f}
@media (prefers-color-scheme:dark){.tollens-figure{--ground:#0d1117;--ink:#e6edf3;--soft:#9198a1;
--grid:#262c36;--shown:#58a6ff;--said:#e3a04f;--fault:#ff7b72}}
.tollens-figure text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink)}
.tollens-figure .title{font-size:15px;font-weight:600}
.tollens-figure .panel{font-size:13px;font-weight:600}
.tollens-figure .soft{fill:var(--soft)}
.tollens-figure .end{font-weight:600}
.tollens-figure .ground{fill:var(--ground)}
.tollens-figure .grid{stroke:var(--grid)}
.tollens-figure .axis{stroke:var(--soft)}
.tollens-figure polyline,.tollens-figure .key{fill:none;stroke-width:2;stroke-linejoin:round}
.tollens-figure .shown{stroke:var(--shown)}
.tollens-figure .said{stroke:var(--said);stroke-dasharray:6 4}
.tollens-figure .fault{stroke:var(--fault);stroke-width:1.5;stroke-dasharray:2 3}
.tollens-figure text.fault{fill:var(--fault);stroke:none}
.tollens-figure text.shown{fill:var(--shown);stroke:none}
.tollens-figure text.said{fill:var(--said);stroke:none}
"""


@dataclass(frozen=True)
class _Curve:
    """A line with its name in the legend; `said` lines are promises, the others were shown."""

    name: str
    points: Line
    said: bool
    stairs: bool = False


def training_svg(report: TrainingReport) -> str:
    """An SVG document: the lower bound for a step and, with an accountant, what it means for a run.

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
    panels = [
        (
            "One step: mu",
            f"the bound holds at all steps at once, with error probability {report.alpha:g}",
            [
                _Curve("promised", [(0.0, promised), (float(last), promised)], said=True),
                _Curve("every mu below is refuted", shown, said=False, stairs=True),
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
    height = _TOP + PANEL * len(panels)
    body = [_head(report)]
    for i, (title, remark, curves) in enumerate(panels):
        top = _TOP + i * PANEL
        body.append(
            f'<text x="16" y="{top + 14}"><tspan class="panel">{escape(title)}</tspan>'
            f'<tspan class="soft" dx="10">{escape(remark)}</tspan></text>'
        )
        body.append(_panel(curves, last, top, report))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tollens-figure" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<title>{escape(_spoken(report))}</title><style>{_STYLE}</style>"
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>{"".join(body)}</svg>\n'
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
    style = ' style="fill:var(--fault)"' if report.refuted else ""
    return (
        f'<text class="title" x="16" y="26">{escape(report.name)}, {report.steps:,} steps: '
        f"<tspan{style}>{report.outcome.name}</tspan></text>"
    )


def _panel(curves: list[_Curve], last: int, top: int, report: TrainingReport) -> str:
    floor, ceiling = top + PANEL - _FOOT, top + _HEAD
    values = [v for curve in curves for _, v in curve.points if math.isfinite(v)]
    ticks = _ticks(1.12 * max([*values, 1e-3]), 4)
    most = ticks[-1]

    def x(step: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * step / last

    def y(value: float) -> float:
        return floor - (floor - ceiling) * min(value, most) / most

    out = []
    for tick in ticks:
        kind = "axis" if tick == 0 else "grid"
        out.append(
            f'<line class="{kind}" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(tick):.1f}" '
            f'y2="{y(tick):.1f}"/><text class="soft" text-anchor="end" x="{_LEFT - 8}" '
            f'y="{y(tick) + 4:.1f}">{tick:g}</text>'
        )
    for tick in _ticks(last, 6):
        if tick <= last:
            out.append(
                f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{floor}" '
                f'y2="{floor + 4}"/><text class="soft" text-anchor="middle" x="{x(tick):.1f}" '
                f'y="{floor + 18}">{tick:,g}</text>'
            )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    out.append(f'<text class="soft" text-anchor="middle" x="{middle}" y="{floor + 36}">step</text>')
    out.append(_fault_line(report, x, ceiling, floor))
    out += [_drawn(curve, x, y) for curve in curves]
    out.append(_ends(curves, x, y))
    out.append(_legend(curves, top + 32))
    return "".join(out)


def _fault_line(report: TrainingReport, x: _Scale, ceiling: int, floor: int) -> str:
    fault = _first_fault(report)
    if fault is None:
        return ""
    step, part = fault
    at = x(step)
    anchor, side = ("start", 6) if at < WIDTH / 2 else ("end", -6)
    return (
        f'<line class="fault" x1="{at:.1f}" x2="{at:.1f}" y1="{ceiling}" y2="{floor}"/>'
        f'<text class="fault" text-anchor="{anchor}" x="{at + side:.1f}" y="{ceiling + 12}">'
        f"{escape(f'step {step}' if step else 'before the first step')}: {escape(part)}</text>"
    )


def _drawn(curve: _Curve, x: _Scale, y: _Scale) -> str:
    points = list(curve.points)
    if curve.stairs and points:
        corners = [(0.0, 0.0)]
        for step, value in points:
            corners += [(step, corners[-1][1]), (step, value)]
        points = _thinned(corners)
    kind = "said" if curve.said else "shown"
    drawn = " ".join(f"{x(step):.1f},{y(v):.1f}" for step, v in points if not math.isnan(v))
    return f'<polyline class="{kind}" points="{drawn}"/>'


def _ends(curves: list[_Curve], x: _Scale, y: _Scale) -> str:
    """The last value of each line beside it; two that are close are moved apart."""
    ends = [
        (curve, *curve.points[-1], y(curve.points[-1][1]))
        for curve in curves
        if curve.points and not math.isnan(curve.points[-1][1])
    ]
    ends.sort(key=lambda end: end[3])
    places = [end[3] for end in ends]
    for i in range(1, len(places)):
        close = 14 - (places[i] - places[i - 1])
        if close > 0:
            places[i - 1] -= close / 2
            places[i] += close / 2
    return "".join(
        f'<text class="end {"said" if curve.said else "shown"}" x="{x(step) + 8:.1f}" '
        f'y="{place + 4:.1f}">{f"{value:.4g}" if curve.said else escape(down(value, 3))}</text>'
        for (curve, step, value, _), place in zip(ends, places, strict=True)
    )


def _legend(curves: list[_Curve], height: int) -> str:
    out, left = [], 16
    for curve in curves:
        kind = "said" if curve.said else "shown"
        out.append(
            f'<line class="key {kind}" x1="{left}" x2="{left + 24}" y1="{height - 4}" '
            f'y2="{height - 4}"/><text x="{left + 31}" y="{height}">{escape(curve.name)}</text>'
        )
        left += 55 + round(6.6 * len(curve.name))
    return "".join(out)


def _thinned(points: Line) -> list[tuple[float, float]]:
    """The corners of stairs: points in the middle of a straight piece are left out."""
    kept: list[tuple[float, float]] = []
    for point in points:
        while len(kept) > 1 and (
            kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]
        ):
            kept.pop()
        kept.append(point)
    return kept


def _ticks(most: float, about: int) -> list[float]:
    """Round numbers from 0 to the first one that is at least `most`.

    >>> _ticks(300, 6), _ticks(1.05, 4)
    ([0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0], [0.0, 0.5, 1.0, 1.5])
    """
    rough = most / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 2.5, 5.0, 10.0) if power * m >= rough * 0.999)
    count = math.ceil(most / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(count + 1)]
