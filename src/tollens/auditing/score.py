"""One learned score for outputs with several dimensions: the log-odds of a fitted classifier.

The classifier is fitted on past runs, labelled by the side they came from, and fixed before the
runs that its score orders. Scores of the past itself come from other folds than the one scored,
so that bets made of them are not flattered by overfitting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_TRAINING = 20_000
"""Runs a side that a fit looks at, the most recent ones."""

_FOLDS = 5
_CLIP = 8.0


@dataclass(frozen=True)
class Score:
    """A linear score of standardised numbers and of their distances from the median.

    `weights` is (2 d,): the first d for the numbers, the others for the distances.
    """

    center: Array
    scale: Array
    weights: Array

    def __call__(self, numbers: Array) -> Array:
        """The score of each row of numbers, shape (n,)."""
        return np.asarray(features(numbers, self.center, self.scale) @ self.weights)

    def describe(self) -> str:
        """The largest terms of the score in words."""
        d = len(self.center)
        terms = []
        order = np.argsort(-np.abs(self.weights), kind="stable")
        for i in order[:4].tolist():
            weight = self.weights[i] / self.scale[i % d]
            if abs(self.weights[i]) < 1e-6 * np.abs(self.weights).max():
                continue
            name = f"output[{i % d}]"
            text = name if i < d else f"|{name} - {self.center[i % d]:.4g}|"
            terms.append(f"{weight:+.3g} {text}")
        more = max(
            0,
            int(np.count_nonzero(np.abs(self.weights) > 1e-6 * np.abs(self.weights).max()))
            - len(terms),
        )
        return " ".join(terms) + (f" + {more} smaller terms" if more else "")


def features(numbers: Array, center: Array, scale: Array) -> Array:
    """Standardised numbers and their distances from the median, (n, 2 d); NaN counts as 0."""
    d = len(center)
    if numbers.shape[1] < d:
        numbers = np.pad(numbers, ((0, 0), (0, d - numbers.shape[1])), constant_values=np.nan)
    with np.errstate(invalid="ignore"):
        z = (numbers[:, :d] - center) / scale
    z = np.clip(np.nan_to_num(z, nan=0.0, posinf=_CLIP, neginf=-_CLIP), -_CLIP, _CLIP)
    return np.concatenate([z, np.abs(z)], axis=1)


def fit_score(
    x: Array, x_prime: Array, rng: np.random.Generator
) -> tuple[Score, Array, Array] | None:
    """Fit a score to tell rows of `x` (n, d) from rows of `x_prime` (m, d).

    Returns the score and the out-of-fold scores of both sides, (n,) and (m,); None where the two
    are too few to fit or do not vary.
    """
    n, m = len(x), len(x_prime)
    kept_x, kept_y = x[-MAX_TRAINING:], x_prime[-MAX_TRAINING:]
    if min(n, m) < 2:
        return None
    pooled = np.concatenate([kept_x, kept_y])
    finite = np.where(np.isfinite(pooled), pooled, np.nan)
    varies = ~np.all(np.isnan(finite), axis=0)
    finite[:, ~varies] = 0.0
    center = np.nanmedian(finite, axis=0)
    spread = np.nanmean(np.abs(finite - center), axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    labels = np.concatenate([np.ones(len(kept_x)), np.zeros(len(kept_y))])
    design = features(pooled, center, scale)
    fold = rng.permuted(np.arange(len(labels)) % min(_FOLDS, len(labels)))
    out_of_fold = np.zeros(len(labels))
    for k in range(fold.max() + 1):
        held = fold == k
        weights = _logistic(design[~held], labels[~held])
        if weights is None:
            return None
        out_of_fold[held] = design[held] @ weights
    weights = _logistic(design, labels)
    if weights is None or not np.any(weights):
        return None
    score = Score(center, scale, weights)
    first_x, first_y = score(x[: n - len(kept_x)]), score(x_prime[: m - len(kept_y)])
    return (
        score,
        np.concatenate([first_x, out_of_fold[: len(kept_x)]]),
        np.concatenate([first_y, out_of_fold[len(kept_x) :]]),
    )


def _logistic(design: Array, labels: Array) -> Array | None:
    """Weights of a ridge-penalised logistic regression; the intercept only shifts the score."""
    from sklearn.linear_model import LogisticRegression

    if labels.min() == labels.max():
        return None
    model = LogisticRegression(C=1.0, max_iter=100, tol=1e-3)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that has not converged is still a score
        model.fit(design, labels)
    return np.asarray(model.coef_[0], dtype=np.float64)
