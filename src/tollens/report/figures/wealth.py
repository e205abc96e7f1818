"""The wealth of the gambler of an audit as a picture: a log scale, and the line that refutes."""

from __future__ import annotations

import math

from tollens.evidence import Wealth
from tollens.report.figures.canvas import (
    Panel,
    Scale,
    figure,
    heading,
    legend,
    text,
    thinned,
    ticks,
)
from tollens.verdict import Verdict

WIDTH, HEIGHT = 360, 330
"""Size of the picture in pixels."""

_MOST_POINTS = 120
_UPPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COUNTED = {"scores": "pairs of scores", "one-run": "canaries"}


def wealth_svg(verdict: Verdict, *, styled: bool = True) -> str | None:
    """Wealth over pairs of runs, on a log scale, with the line at which the claim is refuted.

    None where the verdict rests on no bets.

    >>> import tollens
    >>> audit = tollens.Audit(tollens.pure(1.0), alpha=0.01)
    >>> audit.update([1] * 60, [0] * 60)
    >>> "refuted at pair" in wealth_svg(audit.verdict())
    True
    """
    evidence = verdict.evidence
    if not isinstance(evidence, Wealth) or not evidence.curve:
        return None
    curve = [(float(pairs), log / math.log(10.0)) for pairs, log in evidence.curve]
    values = [value for _, value in curve if math.isfinite(value)]
    line, last = evidence.threshold / math.log(10.0), curve[-1][0]
    marks = ticks(min([0.0, *values]), max([1.08 * line, 1.0, *values]), 6, whole=True)
    panel = Panel(Scale(0.0, max(last, 1.0), 56, WIDTH - 22), Scale(marks[0], marks[-1], 276, 64))
    steps = [tick for tick in ticks(0.0, max(last, 1.0), 4, whole=True) if tick <= last]
    counted = _COUNTED.get(evidence.method, "pairs of runs")
    body = [
        heading("Wealth", "of a gambler who bets against the claim", top=26),
        legend([("shown", "wealth"), ("said", "refuted above this")], left=16, height=48),
        panel.up_axis((mark, _power(mark)) for mark in marks),
        panel.across_axis([(tick, f"{tick:,g}") for tick in steps], counted),
        panel.level(line, "said"),
        panel.line(thinned(curve, _MOST_POINTS), "shown"),
    ]
    if evidence.crossed_at is not None:
        body.append(_crossing(panel, evidence.crossed_at))
    return figure(
        body,
        width=WIDTH,
        height=HEIGHT,
        title=f"Wealth over {counted}",
        description=f"{evidence.words(verdict.pairs)}.",
        styled=styled,
    )


def _crossing(panel: Panel, at: int) -> str:
    """A line from the place where the wealth reached the threshold, and its words at the floor."""
    place = panel.x(at)
    left = place < (panel.x.start + panel.x.end) / 2
    words = text(
        place + (6 if left else -6),
        panel.y.start - 8,
        f"refuted at pair {at:,}",
        "fault",
        anchor="start" if left else "end",
    )
    return panel.line([(at, panel.y.low), (at, panel.y.high)], "fault") + words


def _power(exponent: float) -> str:
    """A power of ten.

    >>> _power(-3.0), _power(0.0)
    ('10⁻³', '1')
    """
    return f"10{f'{exponent:.0f}'.translate(_UPPER)}" if exponent else "1"
