"""What a caller gave a watch of a privatiser: checked, and compared with what a trial showed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tollens.errors import UsageError
from tollens.training.jax.probe import Promise, Trial, epsilon_of

BATCH_SIZE = (
    "what comes out is divided by the size of the batch: one record more scales signal and noise "
    "alike, and where batches are random samples their size is private; divide by a public number, "
    "such as the expected size"
)

EMPTY = "an empty batch reached the privatiser; where it divides by the size, no noise is released"


def is_real(kind: Any) -> bool:
    """Whether a dtype is one of real numbers."""
    return bool(jnp.issubdtype(kind, jnp.floating))


def distance(first: Any, second: Any, norm: float) -> tuple[float, float]:
    """The norm of the difference of two trees and what of it may be rounding, in units of C."""
    one, two = jax.tree.leaves(first), jax.tree.leaves(second)
    if not one or [jnp.shape(leaf) for leaf in one] != [jnp.shape(leaf) for leaf in two]:
        raise UsageError("gradient must return sums of one shape for both batches")
    square = rounding = 0.0
    for a, b in zip(one, two, strict=True):
        wide = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        square += float(((wide[0] - wide[1]) ** 2).sum())
        kind = jnp.asarray(a).dtype
        eps = epsilon_of(kind) if is_real(kind) else 0.0
        rounding += (8.0 * eps) ** 2 * float((wide[0] ** 2 + wide[1] ** 2).sum())
    return math.sqrt(square) / norm, math.sqrt(rounding) / norm


def norm_of(value: Any) -> float:
    """A clipping norm; `UsageError` for anything but a positive number."""
    number = number_of(value)
    if not 0.0 < number < math.inf:
        raise UsageError(
            f"clipping_norm is {value!r}; it must be a positive number: the most by which one "
            "record changes the sum that noise is added to"
        )
    return number


def number_of(value: Any) -> float:
    """A number, also one that is an array; nan for anything else."""
    if isinstance(value, bool | str):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def check_divisor(value: Any) -> None:
    """Refuse a divisor that is no positive number."""
    if value is not None and not 0.0 < number_of(value) < math.inf:
        raise UsageError(f"divided_by is {value!r}; it must be a positive number")


def check_rate(records: Any, rate: Any) -> None:
    """Refuse a sampling that cannot be."""
    if records is not None and rate is None:
        raise UsageError("records and rate say together how batches are sampled; give both")
    if rate is not None and not 0.0 < number_of(rate) <= 1.0:
        raise UsageError(f"rate is {rate!r}; it must be more than 0 and at most 1")


def _near(value: float, wanted: float) -> bool:
    return abs(value - wanted) <= 0.01 * wanted


def halves(trial: Trial) -> bool:
    """Whether a batch twice as large halves what comes out."""
    return trial.gains is not None and _near(trial.gains[0], 2.0 * trial.gains[1])


def divisor_of(trial: Trial, promise: Promise, given: float | None) -> float | None:
    """What comes out is divided by this; None for the batch's size. As tried, unless given."""
    if given is not None:
        return float(given)
    if trial.gains is None:
        return None if promise.per_example else 1.0
    four, eight = trial.gains
    if _near(four, 1.0) and _near(eight, 1.0):
        return 1.0
    if promise.per_example and _near(four, 0.25) and _near(eight, 0.125):
        return None
    raise UsageError(
        f"a small gradient comes out multiplied by {four:.4g}"
        + (f" (by {eight:.4g} in a batch of 8, not 4)" if promise.per_example else "")
        + ": give the privatiser alone, without learning rates or optimisers, which belong behind "
        "it (optax.chain(watch.transformation, ...)); if it divides by a number, say divided_by"
    )


def shapes_out(leaves: list[Any], *, per_example: bool) -> list[tuple[int, ...]]:
    """The shapes of what a privatiser makes of gradients; `UsageError` for what are none."""
    if not leaves:
        raise UsageError("the gradient has no leaves: there is nothing to add noise to")
    wrong = [leaf for leaf in leaves if not is_real(getattr(leaf, "dtype", object))]
    if wrong:
        kind = getattr(wrong[0], "dtype", type(wrong[0]).__name__)
        raise UsageError(f"gradients must be arrays of real numbers; one is {kind}")
    if not per_example:
        return [leaf.shape for leaf in leaves]
    sizes = {leaf.shape[0] if leaf.ndim else None for leaf in leaves}
    if len(sizes) != 1 or None in sizes:
        raise UsageError(
            "with per_example=True each leaf has one row for each record of the batch, but "
            f"the numbers of rows are {', '.join(sorted(map(str, sizes)))}"
        )
    return [leaf.shape[1:] for leaf in leaves]


def check_shapes(shapes: list[tuple[int, ...]], out: Any, *, per_example: bool) -> None:
    """Refuse a privatiser that takes gradients of another kind than was said."""
    made = [leaf.shape for leaf in jax.tree.leaves(out)]
    if made == shapes:
        return
    advice = "if it takes a gradient for each record, say per_example=True"
    if per_example:
        advice = "if gradients are clipped and summed before, leave per_example=True out"
    raise UsageError(
        f"the privatiser makes leaves of shape {made[:3]} where they should be "
        f"{shapes[:3]}; {advice}"
    )


def like(transformation: Any, update: Callable[..., Any]) -> Any:
    """A transformation of the same kind with another update."""
    kind = optax.GradientTransformation
    if isinstance(transformation, optax.GradientTransformationExtraArgs):
        kind = optax.GradientTransformationExtraArgs
    return kind(transformation.init, update)


def is_mapped() -> bool:
    """Whether this is within pmap or shard_map; older JAX does not tell."""
    mesh = getattr(jax.sharding, "get_abstract_mesh", lambda: None)()
    return bool(getattr(mesh, "manual_axes", ()))


def rows_of(tree: Any, promise: Promise) -> int | None:
    """The number of rows of per-example gradients; None for sums."""
    return int(jax.tree.leaves(tree)[0].shape[0]) if promise.per_example else None
