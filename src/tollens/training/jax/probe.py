"""What is read of one step of a JAX privatiser: a canary's world, and the noise, as pure functions.

A privatiser is a pure function of gradients and a state that holds its key, so that a step can be
done again with the same noise, in the same compiled program. Two kinds are told apart:

* of sums: gradients are clipped and added up before, it adds noise. The canary's world is the sum
  and C u, u being a direction of norm 1; the noise is what comes out less what went in.
* per example: it clips, adds up, adds noise and perhaps divides. In the canary's world the first
  record has a gradient of norm 10 C or more along u, in the other one a zero in its place: batches
  are of the same size in both, so what is divided by it does not tell them apart. The noise is
  what comes out where all gradients are zero; projections are on the direction in which the canary
  moved the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

CANARY_NORM, NORM_A_LEAF = 10.0, 2.0
"""Least norm of the canary's gradient, and of each leaf of it, in units of the clipping norm.

Unclipped it stands out, and it is long enough for clipping leaf by leaf.
"""

MOST_COORDINATES = 2**17
"""Coordinates of the noise that are looked at; of larger models an even choice."""

TRIED = 16384
"""Coordinates of the gradient with which a privatiser is tried before training."""

TRIED_STEPS = 6

CORRELATED = 0.05
"""Noise of two tried steps that is correlated by more is not independent (6 standard errors)."""

SAME = 0.999
"""Noise that is correlated by more is the same noise: a fault, and no matrix factorisation."""

MISSED = 1e-3
"""A second run of a step that is further off than this, in units of C, had noise of its own."""

ROUNDED = 1e-4
"""A change that exceeds the clipping norm by less is put down to single precision."""


@dataclass(frozen=True)
class Promise:
    """What is said of a privatiser, and how its canary is made.

    `divided_by` is what comes out per unit of the sum, as a divisor; None for the batch's size.
    """

    norm: float
    multiplier: float
    per_example: bool
    divided_by: float | None
    seed: int

    def divisor(self, rows: int) -> float:
        """The divisor of a batch of so many rows."""
        return float(rows) if self.divided_by is None else self.divided_by


class Numbers(NamedTuple):
    """What one step tells, as arrays; distances and projections are in units of C.

    `moved` is how far the canary moves the sum, `off` how far a second run of the step is from
    the first (0 if it is a function of its state), `rounding` what of both may be rounding.
    `silent` says of each leaf whether it got no noise, `zeros` is the number of zero rows.
    `residual` is in claimed standard deviations.
    """

    with_canary: Any
    without_canary: Any
    moved: Any
    off: Any
    rounding: Any
    finite: Any
    zeros: Any
    silent: Any
    residual: Any


Step = Callable[[list[Any]], list[Any]]
"""The step as a function of the leaves of gradients, its state bound."""


def numbers(step: Step, promise: Promise, leaves: list[Any], outs: list[Any]) -> Numbers:
    """Read a step that made `outs` of `leaves`; traceable.

    >>> promise = Promise(2.0, 1.0, per_example=False, divided_by=1.0, seed=0)
    >>> read = numbers(lambda given: [given[0] + 3.0], promise, [jnp.zeros(4)], [jnp.full(4, 3.0)])
    >>> read.residual.tolist(), round(float(read.with_canary - read.without_canary), 5)
    ([1.5, 1.5, 1.5, 1.5], 1.0)
    """
    rows = leaves[0].shape[0] if promise.per_example else 0
    scale = promise.divisor(rows)
    tell = _of_rows if promise.per_example else _of_sums
    return tell(step, promise, leaves, outs, scale)


def _of_sums(
    step: Step, promise: Promise, leaves: list[Any], outs: list[Any], scale: float
) -> Numbers:
    unit = direction([leaf.shape for leaf in leaves], promise.seed)
    canary = _moved(leaves, unit, promise.norm)
    before, after = _wide(leaves), _scaled(outs, scale)
    replayed = _scaled(step(canary), scale)
    noise, moved = _less(after, before), _less(replayed, after)
    off = _norm(_less(moved, _less(_wide(canary), before)))
    rounding = _rounding([*leaves, *outs], [*before, *after])
    return _told(promise, noise, _less(replayed, before), unit, moved, off, rounding, after)


def _of_rows(
    step: Step, promise: Promise, leaves: list[Any], outs: list[Any], scale: float
) -> Numbers:
    unit = direction([leaf.shape[1:] for leaf in leaves], promise.seed)

    def first_row(norm: float) -> list[Any]:
        rows = [(norm * row).astype(leaf.dtype) for row, leaf in zip(unit, leaves, strict=True)]
        return [leaf.at[0].set(row) for leaf, row in zip(leaves, rows, strict=True)]

    after = _scaled(outs, scale)
    again = _scaled(step(leaves), scale)
    absent = _scaled(step(first_row(0.0)), scale)
    length = max(CANARY_NORM, NORM_A_LEAF * math.sqrt(len(leaves)))
    present = _scaled(step(first_row(length * promise.norm)), scale)
    noise = _scaled(step([jnp.zeros_like(leaf) for leaf in leaves]), scale)
    moved = _less(present, absent)
    off, rounding = _norm(_less(again, after)), _rounding(outs, after)
    change = _norm(moved)
    usable = (off <= MISSED * promise.norm + rounding) & (change > 0.0)
    along = [
        jnp.where(usable, m / jnp.maximum(change, 1e-30), u)
        for m, u in zip(moved, unit, strict=True)
    ]
    present_noise = [n + m for n, m in zip(noise, moved, strict=True)]
    read = _told(promise, noise, present_noise, along, moved, off, rounding, after)
    zero = jnp.stack([(leaf == 0).reshape(leaf.shape[0], -1).all(axis=1) for leaf in leaves])
    record = _norm(_less(after, absent)) / promise.norm
    return read._replace(moved=jnp.maximum(read.moved, record), zeros=zero.all(axis=0).sum())


def _told(
    promise: Promise,
    noise: list[Any],
    canary: list[Any],
    unit: list[Any],
    moved: list[Any],
    off: Any,
    rounding: Any,
    after: list[Any],
) -> Numbers:
    norm, spread = promise.norm, promise.norm * promise.multiplier
    total = sum(part.size for part in noise)
    stride = math.ceil(total / MOST_COORDINATES)
    return Numbers(
        with_canary=_dot(canary, unit) / norm,
        without_canary=_dot(noise, unit) / norm,
        moved=_norm(moved) / norm,
        off=off / norm,
        rounding=rounding / norm,
        finite=jnp.stack([jnp.isfinite(part).all() for part in after]).all(),
        zeros=jnp.zeros((), dtype=jnp.int32),
        silent=jnp.stack([~part.any() if part.size else jnp.array(False) for part in noise]),
        residual=jnp.concatenate([part.ravel()[::stride] for part in noise]) / spread,
    )


def direction(shapes: Sequence[tuple[int, ...]], seed: int) -> list[Any]:
    """Signs by a hash of each coordinate's number, scaled: of norm 1, as much of it in every leaf.

    They are computed where they are used, so a large model has no second copy of itself.
    """
    sizes = [math.prod(shape) for shape in shapes]
    used = max(1, sum(size > 0 for size in sizes))
    salts = np.random.default_rng(seed).integers(0, 2**32, size=len(shapes), dtype=np.uint32)
    return [
        _signs(shape, salt) / math.sqrt(max(size, 1) * used)
        for shape, size, salt in zip(shapes, sizes, salts, strict=True)
    ]


def _signs(shape: tuple[int, ...], salt: np.uint32) -> Any:
    """The finaliser of MurmurHash3 (Appleby, in the public domain), its highest bit as a sign."""
    mixed = jax.lax.iota(jnp.uint32, math.prod(shape)) ^ salt
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ (mixed >> shift)) * jnp.uint32(factor)
    mixed = mixed ^ (mixed >> 16)
    return (1.0 - 2.0 * (mixed >> 31).astype(jnp.float32)).reshape(shape)


def _moved(leaves: list[Any], unit: list[Any], norm: float) -> list[Any]:
    """Sums and the canary in their own type, moved by no more than `norm` for all rounding.

    Where rounding made the step too long (16 bits), what was rounded away from zero stays put.
    """
    sums = [(x + norm * u).astype(x.dtype) for x, u in zip(leaves, unit, strict=True)]
    steps = _less(_wide(sums), _wide(leaves))
    longer = _norm(steps) > norm * (1.0 + ROUNDED)
    rounded_up = [jnp.abs(d) > norm * jnp.abs(u) for d, u in zip(steps, unit, strict=True)]
    return [
        jnp.where(longer & up, x, moved)
        for x, moved, up in zip(leaves, sums, rounded_up, strict=True)
    ]


def _wide(leaves: Sequence[Any]) -> list[Any]:
    """In single precision or better."""
    return [x if x.dtype == jnp.float64 else x.astype(jnp.float32) for x in leaves]


def _scaled(leaves: Sequence[Any], scale: float) -> list[Any]:
    return [x * scale for x in _wide(leaves)]


def _less(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [a - b for a, b in zip(first, second, strict=True)]


def _dot(first: Sequence[Any], second: Sequence[Any]) -> Any:
    return sum((a * b).sum() for a, b in zip(first, second, strict=True))


def _norm(leaves: Sequence[Any]) -> Any:
    return jnp.sqrt(_dot(leaves, leaves))


def _rounding(kinds: Sequence[Any], values: Sequence[Any]) -> Any:
    """What rounding to the types of `kinds` may make of values of this size, as a norm."""
    squares = [
        (8.0 * epsilon_of(kind.dtype)) ** 2 * (value * value).sum()
        for kind, value in zip(kinds, values, strict=True)
    ]
    return jnp.sqrt(sum(squares))


def epsilon_of(dtype: Any) -> float:
    """The distance from 1 to the next number of a type."""
    return float(jnp.finfo(dtype).eps)  # type: ignore[no-untyped-call]


class Trial(NamedTuple):
    """What a privatiser does with gradients of zeros: see `tried`.

    `gains` is what a small gradient along u is multiplied by, for batches of 4 and of 8 rows
    (twice the same for sums); None if it could not be tried.
    """

    gains: tuple[float, float] | None = None
    correlated: bool = False


@lru_cache(maxsize=64)
def tried(init: Callable[..., Any], update: Callable[..., Any], promise: Promise) -> Trial:
    """Try a privatiser on one leaf of 16,384 zeros, with states of its own.

    >>> import optax
    >>> promise = Promise(1.0, 1.0, per_example=False, divided_by=1.0, seed=0)
    >>> tried(*optax.scale(0.5), promise)
    Trial(gains=(0.5, 0.5), correlated=False)
    """
    unit = direction([(TRIED,)], promise.seed)[0]
    params = {"tried": jnp.zeros(TRIED)}

    def given(rows: int, norm: Any) -> dict[str, Any]:
        if not promise.per_example:
            return {"tried": norm * unit}
        return {"tried": jnp.zeros((rows, TRIED)).at[0].set(norm * unit)}

    small = promise.norm / 2.0

    def runs(rows: int, steps: int) -> tuple[Any, Any]:
        """The gain of a small gradient in the first step, and what steps make of zeros."""
        start = init(params)

        def one(state: Any, asked: Any) -> tuple[Any, Any]:
            norm, again = asked
            state = jax.tree.map(partial(jnp.where, again), start, state)
            out, state = update(given(rows, norm), state, params)
            return state, out["tried"]

        asked = jnp.zeros(steps + 1).at[-1].set(small), jnp.arange(steps + 1) == steps
        _, outs = jax.lax.scan(one, start, asked)
        return jnp.vdot(outs[-1] - outs[0], unit) / small, outs[:-1]

    def run() -> tuple[Any, Any, Any]:
        four, noise = runs(4, TRIED_STEPS)
        return four, runs(8, 1)[0] if promise.per_example else four, noise

    try:
        with jax.ensure_compile_time_eval():
            four, eight, noise = jax.device_get(jax.jit(run)())
    except Exception:  # noqa: BLE001 - it is made for parameters of another shape
        return Trial()
    gains = (float(four), float(eight))
    return Trial(gains if np.isfinite(gains).all() else None, _is_correlated(np.asarray(noise)))


def _is_correlated(noise: np.ndarray[Any, Any]) -> bool:
    """Whether noise of some steps is correlated, but not the same."""
    wide = noise.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    if not np.isfinite(lengths).all() or not lengths.all():
        return False
    cosines = np.abs(np.einsum("in,jn->ij", wide, wide) / np.outer(lengths, lengths))
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    return bool(((pairs > CORRELATED) & (pairs < SAME)).any())


class Coarse(NamedTuple):
    """Noise of 16 bits: the number of its values, and how far out it goes, in deviations."""

    values: int
    largest: float


@lru_cache(maxsize=64)
def coarse(
    init: Callable[..., Any], update: Callable[..., Any], promise: Promise, dtype: str
) -> Coarse | None:
    """How far noise reaches where gradients are of a 16 bit type; None if as far as it should.

    Of so many normal numbers the largest is below 3.6 with probability 2e-13.
    """
    params = {"tried": jnp.zeros(TRIED, dtype=dtype)}
    zeros = jnp.zeros((4, TRIED) if promise.per_example else TRIED, dtype=dtype)

    def run() -> Any:
        def one(state: Any, _: Any) -> tuple[Any, Any]:
            out, state = update({"tried": zeros}, state, params)
            return state, out["tried"].astype(jnp.float32)

        return jax.lax.scan(one, init(params), None, length=TRIED_STEPS)[1]

    try:
        with jax.ensure_compile_time_eval():
            noise = np.asarray(jax.jit(run)(), dtype=np.float64).ravel()
    except Exception:  # noqa: BLE001 - it is made for parameters of another shape
        return None
    spread = float(noise.std())
    if not math.isfinite(spread) or spread == 0.0:
        return None
    largest = float(np.abs(noise).max()) / spread
    return Coarse(len(np.unique(noise)), largest) if largest < 3.6 else None


def bound(update: Callable[..., Any], state: Any, tree: Any, rest: tuple[Any, ...]) -> Step:
    """The step as a function of leaves."""
    structure = jax.tree.structure(tree)

    def step(leaves: list[Any]) -> list[Any]:
        out = update(jax.tree.unflatten(structure, leaves), state, *rest)[0]
        return list(jax.tree.leaves(out))

    return step


@lru_cache(maxsize=64)
def compiled(update: Callable[..., Any], promise: Promise) -> Callable[..., Numbers]:
    """`numbers` of a step outside of `jax.jit`, compiled once for each shape."""

    @jax.jit
    def read(tree: Any, state: Any, rest: tuple[Any, ...], out: Any) -> Numbers:
        step = bound(update, state, tree, rest)
        return numbers(step, promise, jax.tree.leaves(tree), jax.tree.leaves(out))

    return read


def is_transformation(value: object) -> bool:
    """Whether it has optax's `init` and `update`."""
    if isinstance(value, optax.GradientTransformation):
        return True
    parts = (getattr(value, "init", None), getattr(value, "update", None))
    return not isinstance(value, type) and all(callable(part) for part in parts)
