"""Lenses: the numbers through which outputs are looked at, learned from past pairs.

Outputs of the main shape that hold one number are looked at as they are. Outputs of several
numbers get learned scores: "value" is then the linear one, "single" and "boosted" are the others
of `tollens.auditing.score`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import main_shape
from tollens.auditing.score import Fitted, Score, fit_bits, fit_scores, rows_of
from tollens.outputs import Outputs

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Lens(NamedTuple):
    """A number for each past run, and the score that it comes from (None: the output itself)."""

    score: Score | None
    x: Array
    y: Array


@dataclass(frozen=True)
class Lenses:
    """The main shape, the other frequent shapes, and the lenses for outputs of the main shape.

    `in_x` and `in_y` (n,) say which past runs are of the main shape; the others have number 0.
    """

    main: int
    shapes: NDArray[np.int64]
    in_x: Bools
    in_y: Bools
    lenses: dict[str, Lens]


def fit_lenses(x: Outputs, y: Outputs, rng: np.random.Generator, *, quick: bool = False) -> Lenses:
    """Learn lenses from past pairs; `quick` does without the dearest of them."""
    main, shapes = main_shape([x, y])
    in_x, in_y = x.shapes == main, y.shapes == main
    width = _used_width([x.numbers[in_x], y.numbers[in_y]])
    draws = None if x.draws is None or y.draws is None else (x.draws[in_x], y.draws[in_y])
    values_x, values_y = np.zeros(len(x)), np.zeros(len(y))
    if width >= 1:
        values_x[in_x] = _columns(x, in_x, 1)[:, 0]
        values_y[in_y] = _columns(y, in_y, 1)[:, 0]
    lenses = {"value": Lens(None, values_x, values_y)}
    if width >= 2:
        rows = _columns(x, in_x, width), _columns(y, in_y, width)
        fitted = fit_scores(*rows, rng, quick=quick, draws=draws)
        for kind, name in (("linear", "value"), ("single", "single"), ("boosted", "boosted")):
            if kind in fitted:
                lenses[name] = _lens(fitted[kind], in_x, in_y)
    if x.exact and width >= 1:
        rows_x, rows_y = rows_of(x[in_x], exact=True), rows_of(y[in_y], exact=True)
        bits = fit_bits(rows_x, rows_y, rng, draws=draws)
        if bits is not None:
            lenses["bits"] = _lens(bits, in_x, in_y)
    return Lenses(main, shapes, in_x, in_y, lenses)


def _lens(fitted: Fitted, in_x: Bools, in_y: Bools) -> Lens:
    """The lens of a score that was fitted to the runs of the main shape."""
    scores_x, scores_y = np.zeros(len(in_x)), np.zeros(len(in_y))
    scores_x[in_x], scores_y[in_y] = fitted.x, fitted.y
    return Lens(fitted.score, scores_x, scores_y)


def _columns(outputs: Outputs, rows: Bools, width: int) -> Array:
    """The first `width` numbers of the chosen rows, NaN where there are fewer."""
    found = outputs.numbers[rows, :width]
    missing = width - found.shape[1]
    return np.pad(found, ((0, 0), (0, missing)), constant_values=np.nan) if missing else found


def _used_width(parts: Sequence[Array]) -> int:
    """The number of leading columns that hold a number in some row."""
    used = 0
    for part in parts:
        if part.size:
            filled = np.flatnonzero(~np.all(np.isnan(part), axis=0))
            used = max(used, int(filled[-1]) + 1 if len(filled) else 0)
    return used
