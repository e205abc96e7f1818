"""A tap on a JAX privatiser: each of its steps is done again with a canary, and read.

The watch is an `optax.GradientTransformation` with the very states of the one it stands around,
so it can take its place anywhere. Called outside of a trace it reads each step at once. Within
`jax.jit` or `jax.lax.scan` the second run of the step becomes a part of the compiled program,
which hands a few numbers to the host by an ordered callback.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from tollens.errors import UsageError
from tollens.training.jax.account import Account, account_finding, account_of
from tollens.training.jax.given import (
    BATCH_SIZE,
    EMPTY,
    check_divisor,
    check_rate,
    check_shapes,
    distance,
    divisor_of,
    halves,
    is_mapped,
    like,
    norm_of,
    number_of,
    rows_of,
    shapes_out,
)
from tollens.training.jax.probe import (
    MISSED,
    MOST_COORDINATES,
    ROUNDED,
    Numbers,
    Promise,
    Trial,
    bound,
    coarse,
    compiled,
    is_transformation,
    numbers,
    tried,
)
from tollens.training.parts.part import Finding, Level
from tollens.training.parts.reading import Reading
from tollens.training.report import TrainingReport
from tollens.training.step_audit import StepAudit
from tollens.training.watching import StopTraining, WatchSettings

_ON_CALLBACK = threading.local()
"""Whether this thread runs a callback of the compiled program, which must not wait for itself."""


class Watch:
    """An audit of a privatiser while it trains; made by `tollens.jax.watch`.

    `init` and `update` are those of the privatiser, each step audited; `transformation` is the
    two as optax wants them, for `optax.chain`. Findings can be asked for at any time: that waits
    until the steps that are under way have been read.
    """

    def __init__(
        self,
        transformation: Any,
        settings: WatchSettings,
        *,
        clipping_norm: float,
        noise_multiplier: float,
        records: int | None,
        rate: float | None,
        accountant: Any,
        per_example: bool,
        divided_by: float | None,
        fresh: bool | None,
        private_size: bool,
        untouched: bool,
    ) -> None:
        if not is_transformation(transformation):
            raise UsageError(
                f"the transformation is a {type(transformation).__name__}; give the privatiser "
                "itself, an optax.GradientTransformation (with init and update)"
            )
        norm = norm_of(clipping_norm)
        check_divisor(divided_by)
        check_rate(records, rate)
        settings.audit(number_of(noise_multiplier), name="")  # refuses wrong settings early
        self._inner = transformation
        self._settings = settings
        promise = Promise(norm, float(noise_multiplier), per_example, 1.0, settings.seed)
        trial = tried(transformation.init, transformation.update, promise)
        self._promise = Promise(
            norm, promise.multiplier, per_example, divisor_of(trial, promise, divided_by),
            settings.seed,
        )  # fmt: skip
        self._fresh = not trial.correlated if fresh is None else fresh
        self._rate = rate
        self._untouched = untouched
        self._account = self._make_account(accountant, rate)
        self._audit = settings.audit(
            promise.multiplier,
            name=("per-example " if per_example else "") + "privatiser with JAX",
            records=records,
            rate=rate,
            account=self._account,
            fresh=self._fresh,
        )
        self._first_words(trial, private_size)
        self._parameters = tuple(inspect.signature(transformation.update).parameters)[:2]
        self._calls = self._turns = 0
        self._open = True
        self._failure: BaseException | None = None
        self._batches: deque[tuple[int | None, Any]] = deque()
        self._told_batches = self._saw_zeros = False
        self._last: np.ndarray[Any, Any] | None = None
        self._coarse: set[str] = set()
        self.init = transformation.init
        self.transformation = like(transformation, self.update)

    def _make_account(self, accountant: Any, rate: float | None) -> Account | None:
        if accountant is None and not self._fresh:
            return None  # correlated noise composes by other rules
        steps: Callable[[], int] = lambda: self._audit.steps  # noqa: E731
        return account_of(accountant, self._promise.multiplier, rate, steps)

    def _first_words(self, trial: Trial, private_size: bool) -> None:
        """What is known before the first step."""
        notes = self._audit.notes
        if trial.gains is None:
            notes["untried"] = (
                "the privatiser could not be tried before training (its gradients have a shape of "
                "their own): its units and the independence of its steps are taken as given"
            )
        if not self._fresh:
            notes["correlated"] = (
                "the noise of different steps is correlated, as by matrix factorisation: that it "
                "is used again is not bet on (only noise that is the same is seen), each step is "
                "tested given those before it, and how they compose is not looked at"
            )
        if not self._promise.per_example:
            notes["clipping"] = (
                "gradients are clipped before they come here, so clipping is not tested in each "
                "step; check_inputs does"
            )
        elif halves(trial):
            level: Level = "fault" if private_size else "warning"
            self._audit.add(
                Finding("batch size", level, 0, BATCH_SIZE, "the size of a batch is private")
            )

    def __enter__(self) -> Watch:
        self._open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        _wait()
        self._open = False
        if self._settings.close is not None:
            self._settings.close()
        failure = None if isinstance(self._failure, StopTraining) else self._failure
        if error is None and failure is not None:
            raise failure
        return isinstance(error, StopTraining)

    def update(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The privatiser's own update, which is read on its way; the same results to the bit."""
        if not self._open:
            return self._inner.update(*args, **kwargs)  # type: ignore[no-any-return]
        tree, state, rest, extra = self._arguments(args, kwargs)
        shapes = self._check_gradients(tree)
        result = self._inner.update(*args, **kwargs)
        out = result[0]
        self._check_result(shapes, out)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((tree, state, out))):
            self._within_trace(tree, state, rest, extra)
        else:
            self._at_once(tree, state, rest, extra, out)
        return result  # type: ignore[no-any-return]

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]]:
        """Gradients, state, what else came by position, and by name."""
        named = dict(kwargs)
        given = list(args[:2])
        given += [named.pop(name) for name in self._parameters[len(given) :]]
        return given[0], given[1], args[2:], named

    def _at_once(
        self, tree: Any, state: Any, rest: tuple[Any, ...], extra: dict[str, Any], out: Any
    ) -> None:
        looked = self._calls % self._settings.every == 0
        self._calls += 1
        read = None
        if looked and rows_of(tree, self._promise) != 0:
            if extra:
                step = bound(self._with(extra), state, tree, rest)
                read = numbers(step, self._promise, *map(jax.tree.leaves, (tree, out)))
            else:
                read = compiled(self._inner.update, self._promise)(tree, state, rest, out)
            read = Numbers(*(np.asarray(value) for value in read))
        self._take(read, rows_of(tree, self._promise))

    def _within_trace(
        self, tree: Any, state: Any, rest: tuple[Any, ...], extra: dict[str, Any]
    ) -> None:
        """Put a second run of the step into the program, behind a barrier.

        What comes of the step itself is not touched: another use of it may change how the compiler
        fuses it, and with that its last bits. So may another use of the gradients.
        """
        if is_mapped():
            raise UsageError(
                "the privatiser is called within pmap or shard_map, where each device would report "
                "each step; audit a run on one device, or shard arrays under jax.jit"
            )
        rows = rows_of(tree, self._promise)
        if self._untouched:
            tree = jax.tree.map(jnp.zeros_like, tree)

        def land(*values: Any) -> None:
            self._land(Numbers(*(np.asarray(value) for value in values)), rows)

        def skip() -> None:
            self._land(None, rows)

        def look(given: Any) -> Numbers:
            tree, state, rest = given
            step = bound(self._with(extra), state, tree, rest)
            leaves = jax.tree.leaves(tree)
            return numbers(step, self._promise, leaves, step(leaves))

        def pass_over(given: Any) -> Numbers:
            like = jax.eval_shape(look, given)
            return Numbers(*(jnp.zeros(leaf.shape, leaf.dtype) for leaf in like))

        try:
            if rows == 0:
                io_callback(skip, None, ordered=True)
                return
            given = jax.lax.optimization_barrier((tree, state, rest))  # type: ignore[no-untyped-call]
            if self._settings.every == 1:
                io_callback(land, None, *look(given), ordered=True)
                return
            turn = io_callback(self._turn, np.zeros((), dtype=np.bool_), ordered=True)
            read = jax.lax.cond(turn, look, pass_over, given)

            def land_in_turn(turn: Any, *values: Any) -> None:
                if bool(np.asarray(turn)):
                    land(*values)
                else:
                    skip()

            io_callback(land_in_turn, None, turn, *read, ordered=True)
        except ValueError as error:
            if "vmap" not in str(error):
                raise
            raise UsageError(
                "the privatiser is called within jax.vmap, where steps have no order; watch one "
                "of the runs, or each in a loop"
            ) from error

    def _with(self, extra: dict[str, Any]) -> Callable[..., Any]:
        update = self._inner.update
        return (lambda *args: update(*args, **extra)) if extra else update

    def _turn(self) -> np.ndarray[Any, Any]:
        """Whether the next step of a compiled program is one of those that are looked at."""
        self._turns += 1
        return np.asarray((self._turns - 1) % self._settings.every == 0)

    def _land(self, read: Numbers | None, rows: int | None) -> None:
        """Score what a compiled program hands over; errors wait, for it cannot raise them."""
        if not self._open:
            return
        _ON_CALLBACK.active = True
        try:
            self._take(read, rows)
        except BaseException as error:  # noqa: BLE001 - raised by `check` or at the end
            if self._failure is None:
                self._failure = error
        finally:
            _ON_CALLBACK.active = False

    def _take(self, read: Numbers | None, rows: int | None) -> None:
        """Score one step."""
        audit, step = self._audit, self._audit.steps + 1
        told_size, told_records = self._batches.popleft() if self._batches else (None, None)
        size = told_size if self._told_batches else self._size(read, rows)
        reading = Reading() if read is None else self._reading(read, step)
        audit.read(replace(reading, batch_size=size, records=told_records))
        if rows == 0:
            audit.add(Finding("batch size", "warning", step, EMPTY, "nothing"))
        self._settings.stop_if_broken(audit)

    def _size(self, read: Numbers | None, rows: int | None) -> int | None:
        """The number of rows; unknown from the first one on that is zero: rows may be padding.

        Where a step is not looked at, nobody knows whether its rows are.
        """
        if read is not None and int(read.zeros):
            self._saw_zeros = True
        unseen = self._untouched or (read is None and rows != 0)
        return None if self._saw_zeros or unseen else rows

    def _reading(self, read: Numbers, step: int) -> Reading:
        """The numbers of a step in the units of `Reading`, and what they show by themselves."""
        finite = bool(read.finite)
        residual = np.asarray(read.residual, dtype=np.float64)
        moved, rounding = float(read.moved), float(read.rounding)
        replayed = not finite or float(read.off) <= MISSED + rounding
        if not replayed:
            self._audit.notes["replay"] = (
                "a step done again with the same state came out differently (the noise depends on "
                "something else, or on the gradients), so what clipping does is not compared"
            )
        if finite and moved > 1.0 and moved <= math.hypot(1.0, rounding) + ROUNDED:
            moved = 1.0
        known = finite and replayed and (self._promise.per_example or moved > 1.0)
        silent = np.flatnonzero(read.silent)
        if finite and len(silent) and residual.any():
            text = f"{len(silent)} of {len(read.silent)} leaves of the gradient got no noise"
            self._audit.add(
                Finding("noise", "fault", step, text, "nothing: noise that is exactly zero")
            )
        if not self._fresh:
            self._same_noise(residual, step)
        return Reading(
            with_canary=float(read.with_canary),
            without_canary=float(read.without_canary),
            sensitivity=moved if known else None,
            residual=residual,
        )

    def _same_noise(self, residual: np.ndarray[Any, Any], step: int) -> None:
        """Correlated noise may be like the last, but not the same in all coordinates."""
        last, self._last = self._last, residual
        if last is None or last.shape != residual.shape or len(residual) < 2:
            return
        size = float(np.abs(residual).max(initial=0.0))
        if size > 0.0 and float(np.abs(residual - last).max()) <= 1e-6 * size:
            text = f"the noise of step {step} is that of the step before"
            self._audit.add(Finding("noise reuse", "fault", step, text, "continuous noise"))

    def _check_gradients(self, tree: Any) -> list[tuple[int, ...]]:
        """Refuse what are no gradients; note noise that is coarse; the shapes that come out."""
        leaves = jax.tree.leaves(tree)
        shapes = shapes_out(leaves, per_example=self._promise.per_example)
        for kind in {str(leaf.dtype) for leaf in leaves if leaf.dtype.itemsize == 2} - self._coarse:
            self._coarse.add(kind)
            self._look_at_coarse(kind)
        return shapes

    def _check_result(self, shapes: list[tuple[int, ...]], out: Any) -> None:
        """Refuse a privatiser that takes gradients of another kind than was said."""
        check_shapes(shapes, out, per_example=self._promise.per_example)
        if sum(math.prod(shape) for shape in shapes) > MOST_COORDINATES:
            self._audit.notes["coordinates"] = (
                f"of the noise, {MOST_COORDINATES:,} coordinates are looked at"
            )

    def _look_at_coarse(self, kind: str) -> None:
        """16 bit generators make few values, none of them far out."""
        found = coarse(self._inner.init, self._inner.update, self._promise, kind)
        if found is not None:
            text = (
                f"in {kind} the noise takes {found.values:,} values, none beyond "
                f"{found.largest:.2f} standard deviations: what lies further out gives a record "
                "away; draw noise in single precision (dtype=jax.numpy.float32)"
            )
            self._audit.add(
                Finding("noise tails", "fault", 0, text, "normal noise would, but for 3e-14")
            )

    def batch(self, size: int | None = None, *, records: Any = None) -> None:
        """Say how many records the next step takes, or which (their positions in the data).

        To be called once before each step, by a program that trains on padded batches or on sums.
        """
        self._told_batches = True
        known = None if records is None else np.asarray(records, dtype=np.intp).ravel()
        if size is not None and (isinstance(size, bool) or int(size) != size or size < 0):
            raise UsageError(f"the size of a batch is {size!r}; it must be a whole number")
        self._batches.append((None if size is None else int(size), known))

    def check(self) -> None:
        """Wait for the steps under way, then raise what could not be raised within them.

        A compiled step cannot raise: with `stop=True` call this after each, so that `StopTraining`
        ends the `with` block.
        """
        _wait()
        if self._failure is not None:
            failure = self._failure
            if not isinstance(failure, StopTraining):
                self._failure = None
            raise failure

    def check_inputs(self, gradient: Callable[..., Any], batch: Any, with_record: Any) -> float:
        """Measure the sensitivity from the *input* on: the clipping outside of the privatiser.

        `gradient(batch)` returns the sum of clipped gradients that the privatiser is given; it is
        called with `batch` and with `with_record`, the same batch and one record more. Returns
        the norm of the change in units of C, at most 1 if all is well; more is kept as a fault.

        The function that `jax_privacy.clipped_grad` made can be given as it is, with tuples of its
        arguments; then the bound that it states is compared with the clipping norm too.
        """
        stated = getattr(gradient, "l2_norm_bound", None)
        first, second = (
            gradient(*data) if stated is not None and isinstance(data, tuple) else gradient(data)
            for data in (batch, with_record)
        )
        if stated is not None and getattr(gradient, "has_aux", False):
            first, second = first[0], second[0]
        value, rounding = distance(first, second, self._promise.norm)
        text = None
        if not value <= math.hypot(1.0, rounding) + ROUNDED:
            text = (
                f"one record more in the batch changes the clipped sum by {value:.5g} C, the "
                "promise is at most 1 C"
            )
        elif stated is not None and float(stated) > self._promise.norm * (1.0 + 1e-6):
            text = (
                f"the clipped sum changes by up to {float(stated):.6g} with a record, by its own "
                f"account; noise is made for {self._promise.norm:.6g}"
            )
        if text is not None:
            steps = self._audit.steps
            self.audit.add(
                Finding("input sensitivity", "fault", steps, text, "the replay is exact")
            )
        return value

    @property
    def audit(self) -> StepAudit:
        """The audit, all steps under way included."""
        _wait()
        found = account_finding(
            self._account, self._promise.multiplier, self._rate, self._audit.steps
        )
        if found is not None:
            self._audit.add(found)
        return self._audit

    @property
    def refuted(self) -> bool:
        """Whether the bets have refuted what the accountant assumes."""
        return self.audit.refuted

    @property
    def broken(self) -> bool:
        """Whether anything is known to be broken: refuted, or a fault found without chance."""
        return self.audit.broken

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not as promised, faults first."""
        return self.audit.findings

    @property
    def mu_lower(self) -> float:
        """A lower bound for the mu of a step; see `StepAudit.mu_lower`."""
        return self.audit.mu_lower

    def report(self) -> TrainingReport:
        """What was promised, shown and not tested so far; `UsageError` before the first step."""
        audit = self.audit
        if not audit.steps:
            raise UsageError("no step was taken yet, so there is nothing to report")
        return audit.report()

    def metrics(self) -> dict[str, float]:
        """Plain floats for loggers of experiments; waits for the steps under way."""
        return self.audit.metrics()


def _wait() -> None:
    """Until the callbacks of all compiled steps have been run; not from within one of them."""
    if not getattr(_ON_CALLBACK, "active", False):
        jax.effects_barrier()  # type: ignore[no-untyped-call]
