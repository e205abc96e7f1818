"""Learned scores: one number for outputs with several dimensions, by which they are cut.

Three kinds of scores are fitted on past runs, labelled by the side they came from, and fixed
before the runs that they order: a linear one (many small differences), the single most telling
number (one large difference, such as the changed cell of a histogram), and boosted trees (several
conditions at once, such as "no answer is yes, and the value is low"). Scores of the past itself
come from other folds than the one scored, so that bets made of them are not flattered by
overfitting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.threads import one_thread
from tollens.bits import LOOKED_AT, NAMES, bits_of, name_of
from tollens.outputs import Outputs

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_TRAINING = 20_000
"""Runs a side that a fit looks at, the most recent ones."""

TREES, LEAVES = 30, 6
"""Trees of a boosted score, and leaves of each."""

MOST_FOR_NEWTON = 400
"""Weights up to which Newton's method is the faster one."""

MOST_FOR_LEAST_SQUARES = 1000
"""Rows up to which least squares are solved where there are fewer rows than weights."""

FEWEST_FOR_TREES, MOST_FOR_TREES = 60, 400_000
"""Runs from which trees can learn anything, and numbers that they are fitted to at most."""

_FOLDS, _QUICK_FOLDS = 5, 2
_CLIP = 8.0


class Score(Protocol):
    """A function from the numbers of outputs, (n, d), to one number each, (n,)."""

    def __call__(self, numbers: Array) -> Array:
        """The score of each row."""

    @property
    def exact(self) -> bool:
        """Whether the bits of the numbers stand before them in a row."""

    def describe(self) -> str:
        """The score in words."""


@dataclass(frozen=True)
class Frame:
    """What makes numbers comparable: the median and the mean distance from it, (d,) each."""

    center: Array
    scale: Array

    def standard(self, numbers: Array) -> Array:
        """Standardised and clipped numbers, (n, d); NaN counts as the median."""
        d = len(self.center)
        if numbers.shape[1] < d:
            missing = d - numbers.shape[1]
            numbers = np.pad(numbers, ((0, 0), (0, missing)), constant_values=np.nan)
        with np.errstate(invalid="ignore"):
            z = (numbers[:, :d] - self.center) / self.scale
        return np.clip(np.nan_to_num(z, nan=0.0, posinf=_CLIP, neginf=-_CLIP), -_CLIP, _CLIP)


def frame_of(numbers: Array) -> Frame:
    """The frame of pooled past numbers, (n, d)."""
    finite = np.where(np.isfinite(numbers), numbers, np.nan)
    finite[:, np.all(np.isnan(finite), axis=0)] = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        center = np.nanmedian(finite, axis=0)
        spread = np.nanmean(np.abs(finite - center), axis=0)
    return Frame(center, np.where(np.isfinite(spread) & (spread > 0), spread, 1.0))


@dataclass(frozen=True)
class LinearScore:
    """Weights (2 d,) of the standardised numbers and of their distances from the median."""

    frame: Frame
    weights: Array
    exact: bool = False

    def __call__(self, numbers: Array) -> Array:
        """The score of each row of numbers, shape (n,)."""
        return np.asarray(_with_distances(self.frame.standard(numbers)) @ self.weights)

    def describe(self) -> str:
        """The largest terms of the score in words."""
        d = len(self.frame.center)
        large = np.abs(self.weights) >= 1e-6 * np.abs(self.weights).max()
        order = [i for i in np.argsort(-np.abs(self.weights), kind="stable").tolist() if large[i]]
        terms = []
        for i in order[:4]:
            weight = self.weights[i] / self.frame.scale[i % d]
            name = f"output[{i % d}]"
            text = name if i < d else f"|{name} - {self.frame.center[i % d]:.4g}|"
            terms.append(f"{weight:+.3g} {text}")
        more = len(order) - len(terms)
        return " ".join(terms) + (f" + {more} smaller terms" if more else "")


@dataclass(frozen=True)
class SingleScore:
    """One of the numbers, standardised, or its distance from the median; `sign` orients it."""

    frame: Frame
    column: int
    distance: bool
    sign: float
    exact: bool = False

    def __call__(self, numbers: Array) -> Array:
        """The score of each row of numbers, shape (n,)."""
        i = self.column
        if numbers.shape[1] <= i:
            return np.zeros(len(numbers))
        one = Frame(self.frame.center[i : i + 1], self.frame.scale[i : i + 1])
        z = one.standard(numbers[:, i : i + 1])[:, 0]
        return np.asarray(self.sign * (np.abs(z) if self.distance else z))

    def describe(self) -> str:
        """The number in words, on its own scale."""
        name = f"output[{self.column}]"
        center, scale = self.frame.center[self.column], self.frame.scale[self.column]
        inner = f"|{name} - {center:.4g}|" if self.distance else f"({name} - {center:.4g})"
        return f"{self.sign / scale:+.3g} {inner}"


@dataclass(frozen=True)
class BoostedScore:
    """The log odds of gradient-boosted trees on standardised numbers; `about` sums them up."""

    frame: Frame
    model: HistGradientBoostingClassifier
    about: str
    exact: bool = False

    def __call__(self, numbers: Array) -> Array:
        """The score of each row of numbers, shape (n,)."""
        if not len(numbers):
            return np.zeros(0)
        with one_thread():
            return np.asarray(self.model.decision_function(self.frame.standard(numbers)))

    def describe(self) -> str:
        """Where the score is largest and least, roughly."""
        return self.about


@dataclass(frozen=True)
class Fitted:
    """A score with the scores of the past runs that it was fitted to, each from other folds."""

    score: Score
    x: Array
    y: Array


Draws = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Numbers of the draws of randomness of the rows of x and of x'."""

Fit = Callable[[Frame, Array, Array], Score | None]
"""From a frame, standardised rows (n, d) and labels (n,) to a score."""


def fit_scores(
    x: Array,
    y: Array,
    rng: np.random.Generator,
    *,
    quick: bool = False,
    kinds: Mapping[str, Fit] | None = None,
    draws: Draws | None = None,
) -> dict[str, Fitted]:
    """Fit each kind of score to tell rows of `x` (n, d) from rows of `y` (m, d).

    Keys are those of `kinds` (by default `KINDS`); a kind is missing where it cannot be fitted.
    `quick` leaves out the boosted trees and halves the past instead of cutting it into five folds.
    `draws` numbers the draws of randomness of both sides: rows that share theirs share a fold, for
    one of them would give the other away.
    """
    kept_x, kept_y = x[-MAX_TRAINING:], y[-MAX_TRAINING:]
    if min(len(x), len(y)) < 2:
        return {}
    pooled = np.concatenate([kept_x, kept_y])
    frame = frame_of(pooled)
    rows = frame.standard(pooled)
    labels = np.concatenate([np.ones(len(kept_x)), np.zeros(len(kept_y))])
    folds = _QUICK_FOLDS if quick else _FOLDS
    fold = _folds(len(kept_x), len(kept_y), draws, folds, rng)
    found = {}
    for name, fit in (KINDS if kinds is None else kinds).items():
        if quick and name == "boosted":
            continue
        fitted = _cross_fitted(fit, frame, rows, labels, fold, (x, y), len(kept_x))
        if fitted is not None:
            found[name] = fitted
    return found


def _folds(
    n: int, m: int, draws: Draws | None, folds: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """The fold of each row, x before x', (n + m,)."""
    if draws is None:
        return rng.permuted(np.arange(n + m) % min(folds, n + m))
    both = np.concatenate([draws[0][len(draws[0]) - n :], draws[1][len(draws[1]) - m :]])
    known, place = np.unique(both, return_inverse=True)
    return np.asarray(rng.permuted(np.arange(len(known)) % min(folds, len(known)))[place])


def rows_of(outputs: Outputs, *, exact: bool) -> Array:
    """What a score looks at, (n, d): the numbers, or their bits and then the numbers."""
    if not exact:
        return outputs.numbers
    width = outputs.numbers.shape[1]
    missing = max(0, LOOKED_AT - width)
    padded = np.pad(outputs.numbers, ((0, 0), (0, missing)), constant_values=np.nan)
    return np.concatenate([bits_of(padded), outputs.numbers], axis=1)


def seen_through(score: Score | None, outputs: Outputs) -> Array:
    """The number of each output (n,): its score, or its first number where there is no score."""
    if score is not None:
        return score(rows_of(outputs, exact=score.exact))
    if outputs.numbers.shape[1] == 0:
        return np.zeros(len(outputs))
    return np.ascontiguousarray(outputs.numbers[:, 0])


def fit_bits(
    x: Array, y: Array, rng: np.random.Generator, *, draws: Draws | None = None
) -> Fitted | None:
    """Boosted trees that tell rows of `rows_of` with the bits apart; None where none can be."""

    def fit(frame: Frame, rows: Array, labels: Array) -> Score | None:
        made = fit_boosted(frame, rows, labels, name=_bits_or_number)
        return None if made is None else replace(made, exact=True)

    return fit_scores(x, y, rng, kinds={"bits": fit}, draws=draws).get("bits")


def _bits_or_number(column: int) -> str:
    bits = LOOKED_AT * len(NAMES)
    return name_of(column) if column < bits else f"output[{column - bits}]"


def _cross_fitted(
    fit: Fit,
    frame: Frame,
    rows: Array,
    labels: Array,
    fold: NDArray[np.intp],
    whole: tuple[Array, Array],
    kept: int,
) -> Fitted | None:
    x, y = whole
    numbers = np.concatenate([x[len(x) - kept :], y[len(y) - (len(labels) - kept) :]])
    score = fit(frame, rows, labels)
    if score is None:
        return None
    out_of_fold = np.zeros(len(labels))
    for k in range(int(fold.max()) + 1):
        held = fold == k
        part = fit(frame, rows[~held], labels[~held])
        if part is not None:
            out_of_fold[held] = part(numbers[held])
    earlier_x, earlier_y = x[: len(x) - kept], y[: len(y) - (len(labels) - kept)]
    return Fitted(
        score,
        np.concatenate([score(earlier_x), out_of_fold[:kept]]),
        np.concatenate([score(earlier_y), out_of_fold[kept:]]),
    )


def _with_distances(z: Array) -> Array:
    return np.concatenate([z, np.abs(z)], axis=1)


def fit_linear(frame: Frame, rows: Array, labels: Array) -> LinearScore | None:
    """Ridge-penalised logistic regression; the intercept only shifts the score.

    Where there are fewer rows than weights, ridge-penalised least squares on the labels, which
    orders rows alike and has a closed form.
    """
    if labels.min() == labels.max():
        return None
    design = _with_distances(rows)
    few = len(rows) < design.shape[1] and len(rows) <= MOST_FOR_LEAST_SQUARES
    weights = _least_squares(design, labels) if few else _logistic(design, labels)
    return LinearScore(frame, weights) if np.any(weights) else None


def _least_squares(design: Array, labels: Array) -> Array:
    """Weights of least squares with the penalty of `_logistic` at equal odds: 4 |w|^2."""
    centred, target = design - design.mean(axis=0), labels - labels.mean()
    gram = centred @ centred.T + 4.0 * np.eye(len(centred))
    return np.asarray(centred.T @ np.linalg.solve(gram, target))


def _logistic(design: Array, labels: Array) -> Array:
    import warnings

    from sklearn.linear_model import LogisticRegression

    wide = design.shape[1] > min(len(design), MOST_FOR_NEWTON)
    solver = "lbfgs" if wide else "newton-cholesky"
    model = LogisticRegression(C=1.0, solver=solver, max_iter=50, tol=1e-3)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")  # a fit that has not converged is still a score
        model.fit(design, labels)
    return np.asarray(model.coef_[0], dtype=np.float64)


def fit_single(frame: Frame, rows: Array, labels: Array) -> SingleScore | None:
    """The number, or distance of a number, whose means on both sides lie farthest apart.

    Measured in standard errors (Welch's statistic).
    """
    in_x = labels > 0
    if in_x.all() or not in_x.any():
        return None
    design = _with_distances(rows)
    x, y = design[in_x], design[~in_x]
    gap = x.mean(axis=0) - y.mean(axis=0)
    error = np.sqrt(x.var(axis=0) / len(x) + y.var(axis=0) / len(y)) + 1e-9
    best = int(np.argmax(np.abs(gap) / error))
    if gap[best] == 0:
        return None
    d = rows.shape[1]
    return SingleScore(frame, best % d, best >= d, float(np.sign(gap[best])))


def fit_boosted(
    frame: Frame, rows: Array, labels: Array, *, name: Callable[[int], str] = "output[{}]".format
) -> BoostedScore | None:
    """A few small trees, each fitted to what those before it left over (Friedman 2001).

    `name` says what a column is.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    every = -(-rows.size // MOST_FOR_TREES)
    rows, labels = rows[::every], labels[::every]
    if len(labels) < FEWEST_FOR_TREES or labels.min() == labels.max():
        return None
    model = HistGradientBoostingClassifier(
        max_iter=TREES, max_leaf_nodes=LEAVES, min_samples_leaf=4, learning_rate=0.2,
        early_stopping=False, random_state=0,
    )  # fmt: skip
    with one_thread():
        model.fit(rows, labels)
        odds = model.decision_function(rows)
    return BoostedScore(frame, model, _summary(frame, rows, odds, name))


def _summary(frame: Frame, rows: Array, odds: Array, name: Callable[[int], str]) -> str:
    """The ends of a score in words: the conditions of a small tree fitted to it."""
    from sklearn.tree import DecisionTreeRegressor

    every = -(-len(rows) // 2000)
    surrogate = DecisionTreeRegressor(max_leaf_nodes=5, random_state=0)
    tree = surrogate.fit(rows[::every], odds[::every]).tree_
    leaves: list[tuple[float, str]] = []

    def walk(node: int, conditions: list[str]) -> None:
        feature = int(tree.feature[node])
        if feature < 0:
            leaves.append((float(tree.value[node].ravel()[0]), " and ".join(conditions)))
            return
        cut = frame.center[feature] + frame.scale[feature] * float(tree.threshold[node])
        walk(int(tree.children_left[node]), [*conditions, f"{name(feature)} <= {cut:.4g}"])
        walk(int(tree.children_right[node]), [*conditions, f"{name(feature)} > {cut:.4g}"])

    walk(0, [])
    if len(leaves) < 2:
        return "log odds of boosted trees"
    low, high = min(leaves), max(leaves)
    return f"log odds of boosted trees, high where {high[1]} and low where {low[1]}"


KINDS: dict[str, Fit] = {"linear": fit_linear, "single": fit_single, "boosted": fit_boosted}
"""The kinds of scores."""
