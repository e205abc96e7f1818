"""diffprivlib's models: each run fits a fresh one to the rows, and what it learned is released."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tollens.errors import UsageError

_PUBLIC = ("n_samples_", "n_samples_seen_", "n_features_in_", "feature_names_in_", "n_outputs_")
"""What a model keeps of the shape of its data, which diffprivlib takes as public."""


def is_model(mechanism: object) -> bool:
    """Whether a diffprivlib object is fitted to data.

    >>> is_model(3)
    False
    """
    return callable(getattr(mechanism, "fit", None))


def fitting(model: Any, name: str) -> Callable[[object], object]:
    """A function of rows: a fresh model of the same parameters is fitted, and released whole.

    Rows are a list, an array or a data frame; where there is a target, it is the last column. All
    that the model has learned is released, as when it is saved: every public attribute that `fit`
    sets, except the numbers of rows and columns. Runs are charged to an accountant of their own.
    Raises `UsageError` for models that hold trees.
    """
    if hasattr(model, "max_depth"):
        raise UsageError(
            f"{name} learns trees, which have no numbers in a fixed order; give a function of the "
            "rows that fits one and returns what is released, such as its predictions"
        )
    return functools.partial(_fitted, model)


def _fitted(model: Any, data: object) -> dict[str, object]:
    from diffprivlib import BudgetAccountant  # imported already: the model comes from it
    from sklearn.base import ClassifierMixin, RegressorMixin, clone

    fresh = clone(model).set_params(accountant=BudgetAccountant())
    if isinstance(model, ClassifierMixin | RegressorMixin):
        fresh.fit(*_columns(data))
    else:
        fresh.fit(data)
    learned = {key: value for key, value in vars(fresh).items() if _is_learned(key, value)}
    return dict(sorted(learned.items()))


def _columns(data: Any) -> tuple[object, object]:
    """All columns but the last, and the last."""
    rows = data.to_numpy() if hasattr(data, "to_numpy") else data
    if isinstance(rows, np.ndarray):
        return rows[:, :-1].astype(float), rows[:, -1].tolist()
    lists: list[Sequence[object]] = [tuple(row) for row in rows]
    return [row[:-1] for row in lists], [row[-1] for row in lists]


def _is_learned(name: str, value: object) -> bool:
    public = name.endswith("_") and not name.startswith("_")
    return public and name not in _PUBLIC and value is not None
