"""Where outputs fell on both sides: made once, after the last bet, for people to look at."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import main_shape, shape_text
from tollens.auditing.score import seen_through
from tollens.auditing.witnesses import Shown
from tollens.outputs import Encoder, Outputs
from tollens.tally import Side, Tally

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

TALLIED = 16_384
"""Outputs of each side that are counted: the first ones."""

_BINS, _LABELS, _COLUMNS, _COMPARED = 40, 16, 64, 2048
_TAIL = 0.002


def tally_of(x: Outputs, y: Outputs, shown: Shown | None, encoder: Encoder) -> Tally:
    """Counts of the outputs of x and of y, split by the event that is shown.

    Outputs of the most frequent shape with numbers are counted by one number: that which the event
    cuts, or else the one in which the sides differ most. If it takes few values, and for all other
    outputs, the values or the shapes are counted.
    """
    main, _ = main_shape([x, y])
    score = None if shown is None else shown.score
    by_value = score is None and _is_listed(x, y, main, encoder)
    column = 0 if score is not None or by_value else _column(x, y, main)
    places, names = [], []
    for outputs in (x, y):
        values = np.full(len(outputs), np.nan)
        in_main = (outputs.shapes == main) & (not by_value)
        if score is not None:
            values[in_main] = seen_through(score, outputs[in_main])
        elif column < outputs.numbers.shape[1]:
            values[in_main] = outputs.numbers[in_main, column]
        finite = in_main & np.isfinite(values)
        places.append(np.where(finite, values, np.nan))
        names.append(_names(outputs, values, in_main & ~finite, encoder))
    pooled = np.concatenate(places)
    edges = _edges(pooled[~np.isnan(pooled)])
    if not len(edges):
        for place, own in zip(places, names, strict=True):
            for i in np.flatnonzero(~np.isnan(place)).tolist():
                own[i] = f"{place[i]:.6g}"
            place[:] = np.nan
    labels = _labels(names)
    sides = [
        _side(outputs, place, own, edges, labels, shown)
        for outputs, place, own in zip((x, y), places, names, strict=True)
    ]
    several = not by_value and max(x.numbers.shape[1], y.numbers.shape[1]) > 1
    plain = f"output[{column}]" if several else "output"
    return Tally("score" if score is not None else plain, tuple(edges.tolist()), labels, *sides)


def _is_listed(x: Outputs, y: Outputs, main: int, encoder: Encoder) -> bool:
    """Whether outputs are shown by their values: texts, and what takes few values."""
    if main >= 0 and encoder.shape_name(main).startswith(("str", "bytes")):
        return True
    return len(np.unique(np.concatenate([x.keys, y.keys]))) <= _LABELS


def _side(
    outputs: Outputs, place: Array, names: list[str], edges: Array, labels: tuple[str, ...],
    shown: Shown | None,
) -> Side:  # fmt: skip
    """The counts of one side."""
    inside = np.zeros(len(outputs), dtype=bool) if shown is None else shown.holds(outputs)
    bins = max(len(edges) - 1, 0)
    on_axis = ~np.isnan(place)
    at = np.clip(np.searchsorted(edges, place[on_axis], side="right") - 1, 0, max(bins - 1, 0))
    numbers = {label: i for i, label in enumerate(labels)}
    named = np.array([numbers.get(name, len(labels) - 1) for name in names], dtype=np.intp)

    def counts(places: NDArray[np.intp], chosen: Bools, size: int) -> tuple[int, ...]:
        return tuple(np.bincount(places[chosen], minlength=size)[:size].tolist()) if size else ()

    return Side(
        counts(at, inside[on_axis], bins),
        counts(at, ~inside[on_axis], bins),
        counts(named, inside & ~on_axis, len(labels)),
        counts(named, ~inside & ~on_axis, len(labels)),
    )


def _names(outputs: Outputs, values: Array, odd: Bools, encoder: Encoder) -> list[str]:
    """The label of each output that has no place on the axis; the others have none."""
    names = [""] * len(outputs)
    for i in np.flatnonzero(odd).tolist():
        names[i] = "NaN" if math.isnan(values[i]) else "∞" if values[i] > 0 else "-∞"
    for i in np.flatnonzero(np.isnan(values) & ~odd).tolist():
        text = encoder.text_of(int(outputs.keys[i]))
        names[i] = text or shape_text(encoder.shape_name(int(outputs.shapes[i])))
    return names


def _labels(names: list[list[str]]) -> tuple[str, ...]:
    """The labels that are shown: the most frequent ones; numbers in their order, then others."""
    counted = Counter(name for own in names for name in own if name)
    kept = [name for name, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]
    last = ["all others"] if len(kept) > _LABELS else []
    return (*sorted(kept[: _LABELS - len(last)], key=_order), *last)


def _order(label: str) -> tuple[bool, float, str]:
    try:
        value = float(label)
    except ValueError:
        value = math.nan
    return (True, 0.0, label) if math.isnan(value) else (False, value, label)


def _column(x: Outputs, y: Outputs, main: int) -> int:
    """The number of the outputs that is counted: the one whose laws lie furthest apart."""
    rows = [part.numbers[part.shapes == main][:_COMPARED, :_COLUMNS] for part in (x, y)]
    width = min(part.shape[1] for part in rows)
    if width <= 1 or not min(map(len, rows)):
        return 0
    return int(np.argmax([_distance(rows[0][:, j], rows[1][:, j]) for j in range(width)]))


def _distance(a: Array, b: Array) -> float:
    """The Kolmogorov distance of two samples; 0 where one is empty."""
    a, b = np.sort(a[np.isfinite(a)]), np.sort(b[np.isfinite(b)])
    if not len(a) or not len(b):
        return 0.0
    both = np.concatenate([a, b])
    gap = np.searchsorted(a, both, "right") / len(a) - np.searchsorted(b, both, "right") / len(b)
    return float(np.abs(gap).max())


def _edges(values: Array) -> Array:
    """About `_BINS` bins of a round width that hold all but the tails; none for few values."""
    if len(np.unique(values)) <= _LABELS:
        return np.zeros(0)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    with np.errstate(over="ignore"):
        width = (high - low) / _BINS
    if not width > 0 or not math.isfinite(width):
        low, high = float(values.min()), float(values.max())
        width = high / _BINS - low / _BINS
    unit = 10.0 ** math.floor(math.log10(width)) if 1e-290 < width < 1e290 else 0.0
    step = next((k * unit for k in (1.0, 2.0, 5.0, 10.0) if k * unit >= width), 0.0)
    if not step or abs(low) / step > 1e12 or abs(high) / step > 1e12:
        return np.zeros(0)
    first, last = math.floor(low / step), math.ceil(high / step)
    edges: Array = np.arange(first, max(last, first + 1) + 1) * step
    rounded = np.array([float(f"{edge:.12g}") for edge in edges.tolist()])
    return rounded if np.all(np.diff(rounded) > 0) else edges
