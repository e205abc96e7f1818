"""The outputs of both sides as a picture: bars for x and x', strong in the witness's event."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tollens.report.figures.canvas import Panel, Scale, figure, heading, swatches, text, ticks
from tollens.tally import Side, Tally
from tollens.verdict import Verdict

WIDTH = 360
"""Width of the picture in pixels."""

_TOP, _TALL, _FOOT, _ROW = 64, 216, 46, 44
_MOST_LABELS = 8


def outputs_svg(verdict: Verdict, *, styled: bool = True) -> str | None:
    """The shares of outputs in bins, on x upwards and on x' downwards, and those of labels.

    None where the verdict has no tally of outputs.

    >>> import tollens
    >>> audit = tollens.Audit(tollens.pure(1.0), alpha=0.01)
    >>> audit.update([1] * 60, [0] * 60)
    >>> picture = outputs_svg(audit.verdict())
    >>> picture is None or picture.startswith("<svg")
    True
    """
    tally = verdict.tally
    if tally is None or not (tally.x.total or tally.x_prime.total):
        return None
    body, height = [heading("Outputs", _counted(tally), top=26), _legend(tally)], float(_TOP)
    if tally.edges:
        body.append(_bins(tally, height))
        height += _TALL + _FOOT
    rows = _labels(tally)
    largest = max([share for _, x, y in rows for share in (sum(x), sum(y))], default=0.0)
    for label, x, x_prime in rows:
        body.append(_label_row(label, (x, x_prime), largest or 1.0, height))
        height += _ROW
    return figure(
        body,
        width=WIDTH,
        height=round(height) + 8,
        title="How the outputs on x and on x' are spread",
        description=f"{tally.x.total:,} outputs on x and {tally.x_prime.total:,} on x'.",
        styled=styled,
    )


def _counted(tally: Tally) -> str:
    x, x_prime = tally.x.total, tally.x_prime.total
    return f"of {x:,} runs each" if x == x_prime else f"of {x:,} runs on x, {x_prime:,} on x'"


def _legend(tally: Tally) -> str:
    if not tally.marked:
        return swatches([(("one-weak",), "on x"), (("other-weak",), "on x'")], left=16, height=48)
    entries = [
        (("one", "one-weak"), "on x"),
        (("other", "other-weak"), "on x'"),
    ]
    return swatches(entries, left=16, height=48) + text(
        WIDTH - 16, 48, "strong: in the witness", "soft", anchor="end"
    )


def _bins(tally: Tally, top: float) -> str:
    sides = ((tally.x, "one", 1.0), (tally.x_prime, "other", -1.0))
    shares = [count / max(side.total, 1) for side, _, _ in sides for count in side.bins]
    marks = ticks(0.0, max([*shares, 1e-6]), 2)
    panel = Panel(
        Scale(tally.edges[0], tally.edges[-1], 56, WIDTH - 22),
        Scale(-marks[-1], marks[-1], top + _TALL, top),
    )
    both = sorted({*marks, *(-mark for mark in marks)})
    out = [panel.up_axis((mark, f"{100 * abs(mark):g} %") for mark in both)]
    for side, kind, sign in sides:
        whole = sign / max(side.total, 1)
        bins = list(zip(pairwise(tally.edges), side.inside, side.bins, strict=True))
        out.append(panel.bars(((wide, (0.0, whole * n)) for wide, n, _ in bins), kind))
        rest = ((wide, (whole * n, whole * total)) for wide, n, total in bins)
        out.append(panel.bars(rest, f"{kind}-weak"))
    low, high = tally.edges[0], tally.edges[-1]
    places = [tick for tick in ticks(low, high, 4) if low <= tick <= high]
    out.append(panel.across_axis([(tick, f"{tick:g}") for tick in places], tally.what))
    return "".join(out)


Shares = tuple[float, float]
"""Of the outputs of a side: inside the event of the witness, and outside."""


def _labels(tally: Tally) -> list[tuple[str, Shares, Shares]]:
    """The labels with their shares; the rarest of many are taken together."""

    def shares(side: Side) -> list[Shares]:
        whole = max(side.total, 1)
        pairs = zip(side.label_inside, side.label_outside, strict=True)
        return [(inside / whole, outside / whole) for inside, outside in pairs]

    rows = list(zip(tally.labels, shares(tally.x), shares(tally.x_prime), strict=True))
    if len(rows) <= _MOST_LABELS:
        return rows
    ranked = sorted(rows, key=lambda row: -sum(row[1]) - sum(row[2]))
    kept, rest = ranked[: _MOST_LABELS - 1], ranked[_MOST_LABELS - 1 :]
    return [
        *kept,
        (f"{len(rest):,} others", _added(x for _, x, _ in rest), _added(y for *_, y in rest)),
    ]


def _added(shares: Iterable[Shares]) -> Shares:
    inside, outside = zip(*shares, strict=True)
    return sum(inside), sum(outside)


def _label_row(label: str, sides: tuple[Shares, Shares], largest: float, top: float) -> str:
    """A label, and below it a bar for each side with its share."""
    out = [text(16, top + 12, label, room=WIDTH - 32)]
    for i, (shares, kind) in enumerate(zip(sides, ("one", "other"), strict=True)):
        height = top + 17 + 11 * i
        panel = Panel(Scale(0.0, largest, 16, WIDTH - 70), Scale(0.0, 1.0, height + 9, height))
        inside, whole = shares[0], sum(shares)
        if inside:
            out.append(panel.rectangle((0.0, inside), (0.0, 1.0), kind))
        if whole > inside:
            out.append(panel.rectangle((inside, whole), (0.0, 1.0), f"{kind}-weak"))
        out.append(text(panel.x(whole) + 6, height + 9, f"{100 * whole:.3g} %", "soft"))
    return "".join(out)
