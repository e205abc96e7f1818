"""Experts, rungs and states as plain trees for `pack`, and back.

Only cells, scores and counts are kept, never outputs; the exact values that have a cell of their
own appear as digests and short texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.cells import Cells
from tollens.auditing.experts import Experts, View
from tollens.auditing.score import Frame, LinearScore, Score, SingleScore
from tollens.auditing.smoothing import LAWS, Calibrated, Counted, Kernel, Noise, Smoothing
from tollens.errors import UsageError
from tollens.monitoring.exact.evidence import ExactState
from tollens.monitoring.exact.rungs import PERIODS, Rung

Array = NDArray[np.float64]
Tree = dict[str, object]
Scalar = TypeVar("Scalar", bound=np.generic)


def state_tree(state: ExactState) -> Tree:
    """The state as dictionaries, lists and arrays."""
    return {
        "slots": state.slots,
        "favourites": state.favourites,
        "overall": state.overall,
        "leak": state.leak,
        "rungs": [
            {
                "period": rung.period,
                "age": rung.age,
                "generation": rung.generation,
                "standing": _experts_tree(rung.standing),
                "growing": _experts_tree(rung.growing),
            }
            for rung in state.rungs
        ],
    }


def state_from(tree: Mapping[str, object], shape: tuple[int, ...], leak: int) -> ExactState:
    """The state of `state_tree`; `UsageError` where it does not fit or cannot be read.

    `shape` and `leak` are the shapes of `slots` and the length of `leak` that are expected.
    """
    try:
        rungs = [
            Rung(
                int(rung["period"]),
                _experts_from(rung["standing"]),
                _experts_from(rung["growing"]),
                int(rung["age"]),
                int(rung["generation"]),
            )
            for rung in tree["rungs"]  # type: ignore[attr-defined]
        ]
        state = ExactState(
            rungs,
            _array(tree["slots"], np.float64).copy(),
            _array(tree["favourites"], np.float64).copy(),
            float(tree["overall"]),  # type: ignore[arg-type]
            _array(tree["leak"], np.float64).copy(),
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"a stored state cannot be read: {error!r}") from None
    logs = (state.slots, state.favourites, state.leak, np.array(state.overall))
    if any(np.isnan(log).any() or np.isposinf(log).any() for log in logs):
        raise UsageError("a stored state cannot be read: its evidence is no number")
    fits = state.slots.shape == shape and state.favourites.shape == (shape[0],)
    fits &= state.leak.shape == (leak,) and tuple(rung.period for rung in rungs) == PERIODS
    fits &= all(
        experts is None or experts.slots.shape == (shape[1],)
        for rung in rungs
        for experts in (rung.standing, rung.growing)
    )
    if not fits:
        raise UsageError(
            "a stored state was made by another version of tollens and cannot be continued; start "
            "a new series (another name) or use the version that wrote it"
        )
    return state


def _experts_tree(experts: Experts | None) -> Tree | None:
    if experts is None:
        return None
    scores: list[Score] = []
    views = []
    for view in experts.views:
        score = view.cells.score
        number = None
        if score is not None:
            known = [i for i, other in enumerate(scores) if other is score]
            number = known[0] if known else len(scores)
            if not known:
                scores.append(score)
        views.append({
            "main": view.cells.main, "score": number, "cuts": view.cells.cuts,
            "shapes": view.cells.shapes, "atoms": view.cells.atoms,
            "smoothing": _smoothing_tree(view.smoothing), "pull": view.pull,
            "x": view.counts_x, "y": view.counts_y,
        })  # fmt: skip
    return {"slots": experts.slots, "scores": [_score_tree(s) for s in scores], "views": views}


def _experts_from(tree: object) -> Experts | None:
    if tree is None:
        return None
    if not isinstance(tree, dict):
        raise TypeError("experts are no object")
    scores = [_score_from(score) for score in tree["scores"]]
    views = []
    for view in tree["views"]:
        number = view["score"]
        cells = Cells(
            int(view["main"]), None if number is None else scores[int(number)],
            _array(view["cuts"], np.float64), _array(view["shapes"], np.int64),
            _array(view["atoms"], np.uint64),
        )  # fmt: skip
        if any(part.ndim != 1 for part in (cells.cuts, cells.shapes, cells.atoms)):
            raise ValueError("cells are no lists")
        counts = [_array(view[side], np.float64).copy() for side in ("x", "y")]
        if any(count.shape != (cells.size,) for count in counts):
            raise ValueError("counts do not fit their cells")
        if not all(np.all(count >= 0) and 0 < count.sum() < np.inf for count in counts):
            raise ValueError("counts are no counts")
        smoothing = _smoothing_from(view["smoothing"])
        if isinstance(smoothing, Kernel) and not 1 <= smoothing.intervals <= cells.size:
            raise ValueError("a density does not fit its cells")
        intervals = len(cells.cuts) + 1
        if isinstance(smoothing, Calibrated | Noise) and smoothing.levels.shape != (intervals,):
            raise ValueError("levels do not fit their cells")
        if isinstance(smoothing, Noise) and smoothing.ends.shape != (intervals - 1,):
            raise ValueError("ends do not fit their cells")
        views.append(View(cells, smoothing, float(view["pull"]), counts[0], counts[1]))
    slots = _array(tree["slots"], np.int64).astype(np.intp)
    if not slots.size or not 0 <= slots.min() <= slots.max() < len(views):
        raise ValueError("slots refer to views that are not there")
    return Experts(tuple(views), slots)


def _array(value: object, kind: type[Scalar]) -> NDArray[Scalar]:
    if not isinstance(value, np.ndarray) or value.dtype != kind:
        raise TypeError(f"expected an array of {kind.__name__}")
    return value


def _smoothing_tree(smoothing: Smoothing) -> Tree:
    if isinstance(smoothing, Counted):
        return {"kind": "counted", "extra": smoothing.extra}
    if isinstance(smoothing, Kernel):
        return {
            "kind": "kernel", "style": smoothing.style, "resolution": smoothing.resolution,
            "extra": smoothing.extra, "intervals": smoothing.intervals,
        }  # fmt: skip
    if isinstance(smoothing, Calibrated):
        return {"kind": "calibrated", "levels": smoothing.levels, "extra": smoothing.extra}
    if isinstance(smoothing, Noise):
        return {
            "kind": smoothing.family, "two_scales": smoothing.two_scales, "ends": smoothing.ends,
            "levels": smoothing.levels, "extra": smoothing.extra,
        }  # fmt: skip
    raise TypeError(f"a smoothing of type {type(smoothing).__name__} cannot be kept")


def _smoothing_from(tree: Mapping[str, object]) -> Smoothing:
    extra = float(tree["extra"])  # type: ignore[arg-type]
    if tree["kind"] == "counted":
        return Counted(extra)
    if tree["kind"] == "kernel":
        intervals = int(tree["intervals"])  # type: ignore[call-overload]
        return Kernel(str(tree["style"]), float(tree["resolution"]), extra, intervals)  # type: ignore[arg-type]
    if tree["kind"] == "calibrated":
        return Calibrated(_array(tree["levels"], np.float64), extra)
    if tree["kind"] in LAWS:
        ends, levels = (_array(tree[name], np.float64) for name in ("ends", "levels"))
        return Noise(str(tree["kind"]), tree["two_scales"] is True, ends, levels, extra)
    raise ValueError(f"unknown smoothing {tree['kind']!r}")


def _score_tree(score: Score) -> Tree:
    if isinstance(score, LinearScore):
        own: Tree = {"kind": "linear", "weights": score.weights}
    elif isinstance(score, SingleScore):
        own = {
            "kind": "single", "column": score.column, "distance": score.distance,
            "sign": score.sign,
        }  # fmt: skip
    else:
        raise TypeError(f"a score of type {type(score).__name__} cannot be kept")
    return {**own, "center": score.frame.center, "scale": score.frame.scale}


def _score_from(tree: Mapping[str, object]) -> Score:
    frame = Frame(_array(tree["center"], np.float64), _array(tree["scale"], np.float64))
    if frame.center.ndim != 1 or frame.scale.shape != frame.center.shape:
        raise ValueError("a frame is no pair of lists")
    if tree["kind"] == "linear":
        weights = _array(tree["weights"], np.float64)
        if weights.shape != (2 * len(frame.center),):
            raise ValueError("weights do not fit their frame")
        return LinearScore(frame, weights)
    if tree["kind"] == "single":
        column = int(tree["column"])  # type: ignore[call-overload]
        if not 0 <= column < len(frame.center):
            raise ValueError("a score looks at a number that is not there")
        return SingleScore(frame, column, bool(tree["distance"]), float(tree["sign"]))  # type: ignore[arg-type]
    raise ValueError(f"unknown score {tree['kind']!r}")
