"""Tallies: how often outputs of either side fell where, for people to look at.

A tally is a picture of runs, no evidence: nothing is certified by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from tollens.errors import UsageError
from tollens.serial import number_from_json, whole_from_json

Json = dict[str, object]

MOST = 1000
"""Bins and labels of a tally at most: it is a picture."""

Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """Counts of the outputs on one input, by whether they were in the event of the witness.

    `inside` and `outside` have one count for each bin, `label_inside` and `label_outside` one for
    each label.
    """

    inside: Counts = ()
    outside: Counts = ()
    label_inside: Counts = ()
    label_outside: Counts = ()

    @property
    def bins(self) -> Counts:
        """The outputs in each bin."""
        return tuple(a + b for a, b in zip(self.inside, self.outside, strict=True))

    @property
    def labels(self) -> Counts:
        """The outputs of each label."""
        return tuple(a + b for a, b in zip(self.label_inside, self.label_outside, strict=True))

    @property
    def total(self) -> int:
        """All outputs."""
        return sum(self.bins) + sum(self.labels)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of outputs of both sides over bins of a number, and over labels of all others.

    `what` names the number: "output", "number 3 of the output", or "score" for a learned function
    of the output. Bin i reaches from `edges[i]` to `edges[i + 1]`; the first and the last one hold
    what lies beyond, too. `labels` are values or kinds of outputs that have no place on the axis.

    >>> side = Side((1, 0), (2, 3), (4,), (0,))
    >>> tally = Tally("output", (0.0, 1.0, 2.0), ("raised ValueError",), side, side)
    >>> side.bins, side.total, Tally.from_json(tally.to_json()) == tally
    ((3, 3), 10, True)
    """

    what: str
    edges: tuple[float, ...]
    labels: tuple[str, ...]
    x: Side
    x_prime: Side

    def __post_init__(self) -> None:
        bins, labels = max(len(self.edges) - 1, 0), len(self.labels)
        findings = []
        if max(bins, labels) > MOST:
            findings.append(f"it may have {MOST:,} bins and {MOST:,} labels at most")
        rising = all(low < high for low, high in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) == 1 or not rising or not all(map(math.isfinite, self.edges)):
            findings.append("edges must be none, or two or more finite numbers that rise")
        for name, side in (("x", self.x), ("x_prime", self.x_prime)):
            for field in fields(side):
                counts = getattr(side, field.name)
                wanted = labels if field.name.startswith("label") else bins
                if len(counts) != wanted or any(count < 0 for count in counts):
                    findings.append(f"{name}.{field.name} must hold {wanted} counts")
        if findings:
            raise UsageError([f"tally: {finding}" for finding in findings])

    @property
    def marked(self) -> bool:
        """Whether an event was shown: some output lies inside of it."""
        return any(any(side.inside + side.label_inside) for side in (self.x, self.x_prime))

    def to_json(self) -> Json:
        """A plain dictionary."""
        sides = {
            name: {field.name: list(getattr(side, field.name)) for field in fields(side)}
            for name, side in (("x", self.x), ("x_prime", self.x_prime))
        }
        edges, labels = list(self.edges), list(self.labels)
        return {"what": self.what, "edges": edges, "labels": labels, **sides}

    @staticmethod
    def from_json(data: object) -> Tally:
        """The tally of `to_json`; `UsageError` if it is none."""
        if not isinstance(data, dict):
            raise UsageError("a tally is a JSON object")
        try:
            return Tally(
                what=str(data["what"]),
                edges=tuple(number_from_json(edge, "edges") for edge in data["edges"]),
                labels=tuple(str(label) for label in data["labels"]),
                x=_side(data["x"]),
                x_prime=_side(data["x_prime"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"not a tally: {error!r}") from None


def _side(data: dict[str, list[object]]) -> Side:
    return Side(
        *(
            tuple(whole_from_json(count, field.name) for count in data[field.name])
            for field in fields(Side)
        )
    )
