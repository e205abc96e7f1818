"""What figures are drawn with: scales, a panel with axes, lines, areas, bars and texts.

A figure is one `<svg>` that stands alone: no script, no font, no id, and colours for light and dark
pages and for paper. It may stand many times in one page; the page then holds `STYLE` once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tollens.report.markup import markup

Line = Sequence[tuple[float, float]]
Tick = tuple[float, str]

STYLE = """
.tollens-figure{--ground:#fff;--ink:#1f2328;--soft:#59636e;--grid:#e4e7eb;
--shown:#0969da;--said:#9a5700;--fault:#c4232f;--allowed:#dfeefc;--weak:#a9cdf3;--weaker:#f0c9a0}
@media screen and (prefers-color-scheme:dark){.tollens-figure{--ground:#0d1117;--ink:#e6edf3;
--soft:#9198a1;--grid:#262c36;--shown:#58a6ff;--said:#e3a04f;--fault:#ff7b72;
--allowed:#16293f;--weak:#2b4d75;--weaker:#5f4523}}
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
.tollens-figure .alert{fill:var(--fault)}
.tollens-figure .allowed{fill:var(--allowed);stroke:none}
.tollens-figure .likely{fill:var(--fault);fill-opacity:.14;stroke:none}
.tollens-figure .box{fill:var(--fault);fill-opacity:.16;stroke:var(--fault)}
.tollens-figure circle{fill:var(--fault);stroke:var(--ground);stroke-width:1.5}
.tollens-figure .one{fill:var(--shown)}
.tollens-figure .other{fill:var(--said)}
.tollens-figure .one-weak{fill:var(--weak)}
.tollens-figure .other-weak{fill:var(--weaker)}
"""
"""The style of all figures; `--shown`, `--said` and the others are its colours."""

MOST_POINTS = 300
"""Points of a line that are drawn."""

_LARGEST = sys.float_info.max
_LETTER = 6.6
"""Pixels that a letter takes, about."""

_SPOKEN = 600


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high` as pixels from `start` to `end`.

    What lies outside is drawn at the border.

    >>> Scale(0.0, 10.0, 100.0, 200.0)(5.0), Scale(0.0, 10.0, 100.0, 200.0)(float("inf"))
    (150.0, 200.0)
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a number."""
        inside = min(max(value, self.low), self.high)
        wide = self.high / 2 - self.low / 2  # of halves: no difference of floats overflows
        part = (inside / 2 - self.low / 2) / wide if wide else 0.0
        return self.start + (self.end - self.start) * part


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a figure with two scales; every method returns a piece of SVG.

    `kind` is a class of `STYLE`: "shown", "said", "fault", "allowed" and so on.

    >>> panel = Panel(Scale(0, 1, 50, 350), Scale(0, 1, 250, 50))
    >>> panel.line([(0, 0), (1, 1)], "shown")
    '<polyline class="shown" points="50,250 350,50"/>'
    """

    x: Scale
    y: Scale

    def line(self, points: Line, kind: str) -> str:
        """A line through points, a dash where there is one; what is no number is left out."""
        path = self._path(points)
        if len(points) == 1 and path:
            x, y = self.x(points[0][0]), _px(self.y(points[0][1]))
            path = f"{_px(x - 4)},{y} {_px(x + 4)},{y}"
        return f'<polyline class="{kind}" points="{path}"/>'

    def area(self, points: Line, kind: str) -> str:
        """The polygon with these corners; those on a straight side are left out."""
        return f'<polygon class="{kind}" points="{self._path(_corners(points))}"/>'

    def rectangle(self, x: tuple[float, float], y: tuple[float, float], kind: str) -> str:
        """All between two numbers on either axis; one pixel wide and high at least."""
        left, right = sorted(map(self.x, x))
        top, bottom = sorted(map(self.y, y))
        return (
            f'<rect class="{kind}" x="{_px(left)}" y="{_px(top)}" '
            f'width="{_px(max(right - left, 1.0))}" height="{_px(max(bottom - top, 1.0))}"/>'
        )

    def bars(
        self, boxes: Iterable[tuple[tuple[float, float], tuple[float, float]]], kind: str
    ) -> str:
        """Rectangles between two numbers on either axis, as one shape; those without height not."""
        drawn = []
        for x, y in boxes:
            if y[0] != y[1]:
                left, floor = self.x(x[0]), self.y(y[0])
                wide, high = self.x(x[1]) - left, self.y(y[1]) - floor
                drawn.append(f"M{_px(left)} {_px(floor)}h{_px(wide)}v{_px(high)}h{_px(-wide)}z")
        return f'<path class="{kind}" d="{"".join(drawn)}"/>' if drawn else ""

    def dot(self, x: float, y: float) -> str:
        """A point that stands out."""
        return f'<circle cx="{_px(self.x(x))}" cy="{_px(self.y(y))}" r="5"/>'

    def upright(self, at: float, words: str, kind: str = "fault", *, row: int = 0) -> str:
        """A vertical line with words beside it, on the side that has more room."""
        ceiling, floor = sorted((self.y.start, self.y.end))
        place = self.x(at)
        left = place < (self.x.start + self.x.end) / 2
        anchor, side = ("start", 6) if left else ("end", -6)
        drawn = (
            f'<line class="{kind}" x1="{_px(place)}" x2="{_px(place)}" '
            f'y1="{_px(ceiling)}" y2="{_px(floor)}"/>'
        )
        return drawn + text(place + side, ceiling + 12 + 15 * row, words, kind, anchor=anchor)

    def level(self, at: float, kind: str) -> str:
        """A horizontal line."""
        return self.line([(self.x.low, at), (self.x.high, at)], kind)

    def up_axis(self, ticks: Iterable[Tick], name: str = "") -> str:
        """Lines across the panel with their labels at the left, and a name above them."""
        out = []
        for at, label in ticks:
            kind, place = "axis" if at == 0 else "grid", self.y(at)
            out.append(
                f'<line class="{kind}" x1="{_px(self.x.start)}" x2="{_px(self.x.end)}" '
                f'y1="{_px(place)}" y2="{_px(place)}"/>'
            )
            out.append(text(self.x.start - 8, place + 4, label, "soft", anchor="end"))
        if name:
            out.append(text(16, min(self.y.start, self.y.end) - 10, name, "soft"))
        return "".join(out)

    def across_axis(self, ticks: Iterable[Tick], name: str, *, under: Sequence[str] = ()) -> str:
        """Marks below the panel with their labels, a further row `under` them, and a name."""
        floor, out = max(self.y.start, self.y.end), []
        under = tuple(under)
        for i, (at, label) in enumerate(ticks):
            place = self.x(at)
            out.append(
                f'<line class="axis" x1="{_px(place)}" x2="{_px(place)}" y1="{_px(floor)}" '
                f'y2="{_px(floor + 4)}"/>'
            )
            out.append(text(place, floor + 18, label, "soft", anchor="middle"))
            if i < len(under):
                out.append(text(place, floor + 33, under[i], "soft", anchor="middle"))
        middle = (self.x.start + self.x.end) / 2
        low = floor + (51 if under else 36)
        return "".join([*out, text(middle, low, name, "soft", anchor="middle")])

    def _path(self, points: Line) -> str:
        return " ".join(
            f"{_px(self.x(x))},{_px(self.y(y))}"
            for x, y in points
            if not (math.isnan(x) or math.isnan(y))
        )


def figure(
    body: Iterable[str],
    *,
    width: int,
    height: int,
    title: str,
    description: str = "",
    styled: bool = True,
) -> str:
    """The SVG; `title` and `description` are what a screen reader says.

    Without `styled` it is for a page that holds `STYLE` itself.

    >>> picture = figure([], width=10, height=10, title="a < b", styled=False)
    >>> picture[:4], "<title>a &lt; b</title>" in picture, "<style>" in picture
    ('<svg', True, False)
    """
    more = f"<desc>{markup(description, _SPOKEN)}</desc>" if description else ""
    style = f"<style>{STYLE}</style>" if styled else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tollens-figure" role="img" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{markup(title, _SPOKEN)}</title>{more}{style}"
        f'<rect class="ground" width="{width}" height="{height}"/>{"".join(body)}</svg>\n'
    )


def text(
    x: float, y: float, words: str, kind: str = "", *, anchor: str = "start", room: float = 0.0
) -> str:
    """Words at a place; cut where they need more than `room` pixels, if that is given."""
    most = max(int(room / _LETTER), 4) if room else 200
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    named = f' class="{kind}"' if kind else ""
    return f'<text{named}{where} x="{_px(x)}" y="{_px(y)}">{markup(words, most)}</text>'


def heading(words: str, remark: str, *, top: float, kind: str = "panel") -> str:
    """A title with a remark behind it."""
    return (
        f'<text x="16" y="{_px(top)}"><tspan class="{kind}">{markup(words, 100)}</tspan>'
        f'<tspan class="soft" dx="10">{markup(remark, 120)}</tspan></text>'
    )


def legend(entries: Iterable[tuple[str, str]], *, left: float, height: float) -> str:
    """Pieces of lines, each of a kind, with their names."""
    out = []
    for kind, name in entries:
        out.append(
            f'<line class="key {kind}" x1="{_px(left)}" x2="{_px(left + 24)}" '
            f'y1="{_px(height - 4)}" y2="{_px(height - 4)}"/>'
        )
        out.append(text(left + 31, height, name))
        left += 55 + round(_LETTER * len(name))
    return "".join(out)


def swatches(entries: Iterable[tuple[Sequence[str], str]], *, left: float, height: float) -> str:
    """Squares, each of one or more kinds of areas, with their names."""
    out = []
    for kinds, name in entries:
        for kind in kinds:
            out.append(
                f'<rect class="{kind}" x="{_px(left)}" y="{_px(height - 9)}" width="10" '
                f'height="10"/>'
            )
            left += 12
        out.append(text(left + 4, height, name))
        left += 16 + round(_LETTER * len(name))
    return "".join(out)


def apart(places: Sequence[float], least: float = 14.0) -> list[float]:
    """Rising places of texts, moved where two are closer than `least`.

    >>> apart([10.0, 12.0, 60.0])
    [4.0, 18.0, 60.0]
    """
    moved = list(places)
    for i in range(1, len(moved)):
        close = least - (moved[i] - moved[i - 1])
        if close > 0:
            moved[i - 1] -= close / 2
            moved[i] += close / 2
    return moved


def thinned(points: Line, most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """At most so many points, with the first, the last, the lowest and the highest among them.

    Neighbouring points stand for each other: of each group its first and last, lowest and highest
    stay.

    >>> kept = thinned([(float(i), float(i == 777)) for i in range(100_000)])
    >>> len(kept) <= 300, (777.0, 1.0) in kept, kept[-1]
    (True, True, (99999.0, 0.0))
    """
    if len(points) <= most:
        return list(points)
    groups = max(most // 4, 1)
    kept = []
    for i in range(groups):
        begin, end = i * len(points) // groups, (i + 1) * len(points) // groups
        inner = range(begin, end)
        numbers = [j for j in inner if not math.isnan(points[j][1])] or [begin]
        lowest = min(numbers, key=lambda j: points[j][1])
        highest = max(numbers, key=lambda j: points[j][1])
        kept += [points[j] for j in sorted({begin, lowest, highest, end - 1})]
    return kept


def stairs(points: Line) -> list[tuple[float, float]]:
    """The corners of a line that keeps its value up to the next point.

    >>> stairs([(0, 1), (2, 1), (3, 5)])
    [(0, 1), (3, 1), (3, 5)]
    """
    corners: list[tuple[float, float]] = list(points[:1])
    for x, value in points[1:]:
        corners += [(x, corners[-1][1]), (x, value)]
    kept: list[tuple[float, float]] = []
    for point in corners:
        while len(kept) > 1 and (
            kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]
        ):
            kept.pop()
        kept.append(point)
    return kept


def _corners(points: Line) -> list[tuple[float, float]]:
    """The points at which a line turns, by more than a thousandth of a right angle."""
    kept: list[tuple[float, float]] = []
    for point in points:
        while len(kept) > 1 and _straight(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _straight(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    (ux, uy), (vx, vy) = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
    return abs(ux * vy - uy * vx) <= 1e-3 * math.hypot(ux, uy) * math.hypot(vx, vy)


def ticks(low: float, high: float, about: int, *, whole: bool = False) -> list[float]:
    """Round numbers at equal distances, from at most `low` to at least `high`.

    >>> ticks(0, 300, 6), ticks(0, 1.05, 4), ticks(0, 2, 6, whole=True)
    ([0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0], [0.0, 0.5, 1.0, 1.5], [0.0, 1.0, 2.0])
    """
    low, high = (min(max(value, -_LARGEST), _LARGEST) for value in (low, high))
    rough = max(high / about - low / about, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 2.5, 5.0, 10.0) if power * m >= rough * 0.999)
    if whole:
        step = max(float(math.ceil(step - 1e-9)), 1.0)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = (i * step for i in range(first, max(last, first + 1) + 1))
    return [float(f"{min(max(mark, -_LARGEST), _LARGEST):.12g}") for mark in marks]


def _px(value: float) -> str:
    """A pixel, to a tenth."""
    said = f"{value:.1f}"
    return said[:-2] if said.endswith(".0") else said
