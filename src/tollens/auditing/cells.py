"""Cells: a partition of all possible outputs, learned from past runs and fixed before the next.

A partition gives every output, seen before or not, the number of its cell. The outputs of the
most frequent numeric shape are cut at quantiles of their value or score; every other shape that
was seen has a cell of its own; exact values that were seen often may have one; whatever is left
shares the last cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.score import Score, seen_through
from tollens.outputs import Encoder, Outputs

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_SHAPES = 40
"""Shapes of outputs that get a cell of their own."""


@dataclass(frozen=True)
class Cells:
    """A partition; `index` numbers the cell of each output, `size` counts the cells.

    Order of the cells: intervals between `cuts` for outputs of shape `main`, then the other
    `shapes`, then `atoms` (keys of exact values), then the cell of everything else.
    """

    main: int
    score: Score | None
    cuts: Array
    shapes: NDArray[np.int64]
    atoms: NDArray[np.uint64]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.cuts) + 1 + len(self.shapes) + len(self.atoms) + 1

    def index(self, outputs: Outputs, values: Array | None = None) -> Index:
        """The cell of each output, shape (n,); `values` are their scores where known already."""
        cell = np.full(len(outputs), self.size - 1, dtype=np.intp)
        in_main = outputs.shapes == self.main
        if in_main.all():
            scores = self.values(outputs) if values is None else values
            cell = np.searchsorted(self.cuts, scores, side="left")
        else:
            if in_main.any():
                scores = self.values(outputs[in_main]) if values is None else values[in_main]
                cell[in_main] = np.searchsorted(self.cuts, scores, side="left")
            if len(self.shapes):
                at = np.searchsorted(self.shapes, outputs.shapes)
                at = np.minimum(at, len(self.shapes) - 1)
                known = self.shapes[at] == outputs.shapes
                cell[known] = len(self.cuts) + 1 + at[known]
        if len(self.atoms):
            at = np.minimum(np.searchsorted(self.atoms, outputs.keys), len(self.atoms) - 1)
            known = self.atoms[at] == outputs.keys
            cell[known] = len(self.cuts) + 1 + len(self.shapes) + at[known]
        return cell

    def values(self, outputs: Outputs) -> Array:
        """The number that is cut at `cuts`: the output itself or its learned score."""
        return seen_through(self.score, outputs)

    def describe(self, chosen: NDArray[np.bool_], encoder: Encoder) -> str:
        """The event "the output falls in a chosen cell" in words."""
        texts = []
        intervals = chosen[: len(self.cuts) + 1]
        name = "output" if self.score is None else "score"
        if intervals.all() and self.main >= 0:
            texts.append(shape_text(encoder.shape_name(self.main)))
        elif len(self.cuts):
            texts += _interval_texts(intervals, self.cuts, name)
        rest = chosen[len(self.cuts) + 1 :]
        for i, shape in enumerate(self.shapes.tolist()):
            if rest[i]:
                texts.append(shape_text(encoder.shape_name(shape)))
        for i, key in enumerate(self.atoms.tolist()):
            if rest[len(self.shapes) + i]:
                texts.append(f"output = {encoder.text_of(key) or 'a repeated exact value'}")
        if rest[-1]:
            texts.append("output is none of those seen often before")
        if len(texts) > 6:
            texts = [*texts[:5], f"{len(texts) - 5} more"]
        text = " or ".join(texts) if texts else "never"
        if self.score is not None and intervals.any() and not intervals.all():
            text += f", where score = {self.score.describe()}"
        return text


@dataclass(frozen=True)
class Marked(Cells):
    """Two cells: the outputs outside of an event that was fixed beforehand, and those inside."""

    text: str

    @staticmethod
    def of(text: str) -> Marked:
        """The cells of the event that outputs are marked by, in these words."""
        none = np.zeros(0)
        return Marked(-1, None, none, none.astype(np.int64), none.astype(np.uint64), text)

    def index(self, outputs: Outputs, values: Array | None = None) -> Index:
        """1 for each output in the event."""
        if outputs.marks is None:
            raise AssertionError("outputs are marked where an event was given")
        return outputs.marks.astype(np.intp)

    def describe(self, chosen: NDArray[np.bool_], encoder: Encoder) -> str:
        """The event, or that an output is outside of it."""
        return self.text if chosen[1] else f"not ({self.text})"


@dataclass(frozen=True)
class Seen(Cells):
    """Four cells: outputs whose exact value was seen before on neither side, x, x' or both.

    Where only some values are possible, as on the lattice of a sampler in floating point, those
    of one input may hardly ever occur under the other.
    """

    keys_x: NDArray[np.uint64]
    keys_y: NDArray[np.uint64]

    @staticmethod
    def of(x: NDArray[np.uint64], y: NDArray[np.uint64]) -> Seen:
        """The cells of past keys."""
        none = np.zeros(0)
        parts = none, none.astype(np.int64), none.astype(np.uint64)
        return Seen(-1, None, *parts, np.unique(x), np.unique(y))

    @property
    def size(self) -> int:
        """The number of cells."""
        return 4

    def index(self, outputs: Outputs, values: Array | None = None) -> Index:
        """1 where the value was seen on x, and 2 more where it was seen on x'."""
        in_x, in_y = _among(outputs.keys, self.keys_x), _among(outputs.keys, self.keys_y)
        return np.asarray(in_x + 2 * in_y)

    def left_out(self, x: Outputs, y: Outputs) -> tuple[Index, Index]:
        """The cells of the past outputs themselves, each as if it had not been seen.

        Nor the run of the other side that shared its draws.
        """
        other_x, other_y = (np.zeros(len(side), dtype=np.intp) for side in (x, y))
        if x.draws is not None and y.draws is not None:
            _, at_x, at_y = np.intersect1d(x.draws, y.draws, return_indices=True)
            same = x.keys[at_x] == y.keys[at_y]
            other_x[at_x[same]] = other_y[at_y[same]] = 1
        in_x = _times(x.keys, x.keys) > 1, _times(y.keys, x.keys) > other_y
        in_y = _times(x.keys, y.keys) > other_x, _times(y.keys, y.keys) > 1
        return in_x[0] + 2 * in_y[0], in_x[1] + 2 * in_y[1]

    def describe(self, chosen: NDArray[np.bool_], encoder: Encoder) -> str:
        """The event in words."""
        names = ("on neither", "on x only", "on x' only", "on both")
        picked = [name for name, one in zip(names, chosen.tolist(), strict=True) if one]
        return f"the exact value was seen before {' or '.join(picked) or 'never'}"


def _among(keys: NDArray[np.uint64], known: NDArray[np.uint64]) -> Index:
    if not len(known):
        return np.zeros(len(keys), dtype=np.intp)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.asarray(known[at] == keys, dtype=np.intp)


def _times(keys: NDArray[np.uint64], known: NDArray[np.uint64]) -> Index:
    """How often each key is among those known."""
    found, counts = np.unique(known, return_counts=True)
    if not len(found):
        return np.zeros(len(keys), dtype=np.intp)
    at = np.minimum(np.searchsorted(found, keys), len(found) - 1)
    return np.where(found[at] == keys, counts[at], 0)


def _interval_texts(chosen: NDArray[np.bool_], cuts: Array, name: str) -> list[str]:
    """Chosen neighbouring intervals, merged: `output <= 0.5`, `0.5 < output <= 2`."""
    texts = []
    start = None
    for i in range(len(cuts) + 2):
        inside = i <= len(cuts) and bool(chosen[i])
        if inside and start is None:
            start = i
        elif not inside and start is not None:
            low = f"{cuts[start - 1]:.6g} < " if start > 0 else ""
            high = f" <= {cuts[i - 1]:.6g}" if i <= len(cuts) else ""
            if low and not high:
                texts.append(f"{name} > {cuts[start - 1]:.6g}")
            else:
                texts.append(f"{low}{name}{high}")
            start = None
    return texts


def shape_text(shape: str) -> str:
    """The event "the output has this shape" in words."""
    if shape in ("NaN", "None"):
        return f"output is {shape}"
    if shape.startswith("raised "):
        return f"the run raises {shape.removeprefix('raised ')}"
    return f"output is of type {shape}"


def tail_cuts(values: Array) -> Array:
    """Cuts at the quantiles 1/2, 1/4, 1/8, ... from below and from above, while 4 values are left.

    >>> tail_cuts(np.arange(64.0)).tolist()
    [3.0, 7.0, 15.0, 31.0, 47.0, 55.0, 59.0]
    """
    n = len(values)
    depth = max(int(np.log2(max(n, 1) / 4)), 0)
    shares = 0.5 ** np.arange(1, depth + 1)
    return cuts_at(values, np.unique(np.concatenate([shares, 1 - shares])))


def edge_cuts(x: Array, y: Array) -> Array:
    """Cuts between the ends of both sides' values: beyond them only one side was ever seen.

    >>> edge_cuts(np.array([0.0, 1.0, 2.0]), np.array([1.5, 2.0, 5.0])).tolist()
    [1.0, 2.0]
    """
    if not len(x) or not len(y):
        return np.zeros(0)
    low, high = max(x.min(), y.min()), min(x.max(), y.max())
    pooled = np.concatenate([x, y])
    below = pooled[pooled < low]
    beyond = np.any(pooled > high)
    found = [*([below.max()] if len(below) else []), *([high] if beyond else [])]
    return np.unique(np.array(found, dtype=np.float64))


def quantile_cuts(values: Array, k: int) -> Array:
    """At most k - 1 cuts that split values as evenly as ties allow; cell i is (cut_i-1, cut_i].

    >>> quantile_cuts(np.array([0.0, 0.0, 0.0, 1.0]), 2).tolist()
    [0.0]
    >>> quantile_cuts(np.arange(8.0), 4).tolist()
    [1.0, 3.0, 5.0]
    """
    return cuts_at(values, np.arange(1, k) / k)


def cuts_at(values: Array, shares: Array) -> Array:
    """Values with about these shares of all at or below them, as near as ties allow."""
    if len(values) == 0:
        return np.zeros(0)
    ordered = np.sort(values)
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], False))
    if len(ends) == 0:
        return np.zeros(0)
    below = ends + 1.0
    wanted = len(ordered) * shares
    right = np.minimum(np.searchsorted(below, wanted), len(below) - 1)
    left = np.maximum(right - 1, 0)
    nearer = np.where(np.abs(below[left] - wanted) < np.abs(below[right] - wanted), left, right)
    return np.asarray(np.unique(ordered[ends[nearer]]))


def frequent_keys(keys: NDArray[np.uint64], most: int) -> NDArray[np.uint64]:
    """The most frequent keys that occur at least twice, sorted; at most `most` of them.

    >>> frequent_keys(np.array([7, 7, 9, 3, 3, 3], dtype=np.uint64), 1).tolist()
    [3]
    """
    found, counts = np.unique(keys, return_counts=True)
    repeated = counts >= 2
    found, counts = found[repeated], counts[repeated]
    if len(found) > most:
        found = found[np.argsort(-counts, kind="stable")[:most]]
    return np.sort(found)


def main_shape(outputs: Sequence[Outputs]) -> tuple[int, NDArray[np.int64]]:
    """The most frequent shape that has numbers (-1 if none has), and the other frequent shapes."""
    shapes = np.concatenate([part.shapes for part in outputs])
    found, counts = np.unique(shapes, return_counts=True)
    by_count = found[np.argsort(-counts, kind="stable")]
    numeric = [s for s in by_count.tolist() if _has_numbers(outputs, s)]
    main = numeric[0] if numeric else -1
    others = by_count[by_count != main][:MAX_SHAPES]
    return main, np.sort(others).astype(np.int64)


def _has_numbers(outputs: Sequence[Outputs], shape: int) -> bool:
    for part in outputs:
        first = np.flatnonzero(part.shapes == shape)[:1]
        if len(first):
            return bool(np.any(~np.isnan(part.numbers[first[0]])))
    return False
