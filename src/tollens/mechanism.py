"""Mechanisms: something to sample, whatever it is made of.

A `Mechanism` draws n outputs for one input. `from_callable` makes one of a function of `(data)`
or `(data, rng)`, `batched` marks a function of `(data, n, rng)`. Objects of supported libraries
are recognised by `tollens.adapters`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import GeneratorType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tollens.claim import Claim
from tollens.errors import MechanismError, TollensError, UsageError
from tollens.noise import drawing, draws_here
from tollens.outputs import Raised

Batch = Sequence[object] | NDArray[np.generic]


class TimeIsUp(BaseException):
    """Raised inside a run whose time limit is over; not for the mechanism to catch."""


class Sampler(Protocol):
    """Draws n outputs of a mechanism on `data`; a run that raises is an output `Raised`."""

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> Batch:
        """n outputs, in the order of the runs."""


@dataclass(frozen=True)
class Mechanism:
    """Something to sample.

    `takes_rng` is False where the mechanism draws its own randomness (its runs cannot be
    repeated from a seed); `promise` is the claim that the object itself makes, if it makes one;
    `packages` are those whose versions a verdict should name. `own_entropy` vouches for a
    mechanism without `rng` that it draws from the operating system, so that copies of it in
    several processes do not repeat each other. `target` is the text that names it, if it was
    given as one: other processes load it by that. `installed` tells versions of what it runs
    with elsewhere, and `limit` makes a sampler of it that keeps a time limit (seconds a run) by
    itself.
    """

    name: str
    sampler: Sampler
    takes_rng: bool
    promise: Claim | None = None
    vectorised: bool = False
    packages: tuple[str, ...] = ()
    own_entropy: bool = False
    target: str | None = None
    installed: Callable[[], Mapping[str, str]] | None = None
    limit: Callable[[float], Sampler] | None = None

    def sample(self, data: object, n: int, rng: np.random.Generator) -> Batch:
        """Draw n outputs; `MechanismError` where the result is no batch of n."""
        outputs = self.sampler(data, n, rng)
        try:
            count = len(outputs)
        except TypeError:
            count = -1
        if count != n:
            got = f"{count} outputs" if count >= 0 else f"a {type(outputs).__name__}"
            raise MechanismError(
                f"{self.name}: asked for n={n} outputs, got {got}; a batched mechanism of "
                "(data, n, rng) must return n outputs along the first axis"
            )
        return outputs


@dataclass(frozen=True)
class Batched:
    """A function of `(data, n, rng)` that returns n outputs in one call; made by `batched`."""

    function: Callable[[object, int, np.random.Generator], Batch]

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> Batch:
        """n outputs of the wrapped function."""
        return self.function(data, n, rng)


def batched(function: Callable[..., Batch]) -> Batched:
    """Declare that `function(data, n, rng)` returns n independent outputs at once.

    >>> @batched
    ... def noisy_count(rows, n, rng):
    ...     return len(rows) + rng.laplace(size=n)
    >>> noisy_count([1, 2], 3, np.random.default_rng(0)).shape
    (3,)
    """
    if not callable(function):
        raise UsageError(f"batched wraps a function of (data, n, rng), not {function!r}")
    return Batched(function)


def from_callable(function: object, *, name: str | None = None) -> Mechanism:
    """The mechanism of a `Batched` or of a callable of `(data)` or `(data, rng)`.

    A callable gets a generator if it has a parameter named `rng`, or a second one without a
    default. One that draws from `tollens.noise` needs none: its draws come from our stream. The
    output of one that yields is the tuple of all that it yields.

    >>> from_callable(lambda data, rng: data + rng.normal()).takes_rng
    True
    >>> from_callable(lambda data, digits=3: round(data, digits)).takes_rng
    False
    """
    if isinstance(function, Mechanism):
        return function
    if isinstance(function, Batched):
        return Mechanism(
            name or _name_of(function.function),
            functools.partial(_sample_batched, function),
            takes_rng=True,
            vectorised=True,
        )
    if not callable(function):
        raise UsageError(
            f"the mechanism is {_describe(function)}; give a function of (data) or (data, rng), "
            "one wrapped by tollens.batched, an object of a supported library, or a text such as "
            '"path/file.py::name"'
        )
    label = name or _name_of(function)
    style = _rng_style(function, label)
    ours = style != "none" or draws_here(function)
    return Mechanism(label, functools.partial(_sample_each, function, style), ours)


def _rng_style(function: Callable[..., object], label: str) -> str:
    """How a callable takes its generator: `none`, `second` argument or keyword `rng`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "none"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    required = [p for p in positional if p.default is p.empty]
    if not positional and not variadic:
        raise UsageError(f"{label} takes no argument; a mechanism is a function of (data[, rng])")
    if len(required) > 2:
        names = ", ".join(p.name for p in required)
        raise UsageError(
            f"{label} needs {len(required)} arguments ({names}); a mechanism is a function of "
            "(data) or (data, rng): bind the others with functools.partial, and wrap a function "
            "of (data, n, rng) by tollens.batched"
        )
    if len(positional) >= 2 and (positional[1].name == "rng" or len(required) == 2):
        return "second"
    if any(p.name == "rng" and p.kind is not p.VAR_KEYWORD for p in parameters):
        return "keyword"
    return "none"


def _sample_each(
    function: Callable[..., object], style: str, data: object, n: int, rng: np.random.Generator
) -> Batch:
    with drawing(rng):
        return _outputs(function, style, data, n, rng)


def _outputs(
    function: Callable[..., object], style: str, data: object, n: int, rng: np.random.Generator
) -> list[object]:
    outputs: list[object] = []
    for _ in range(n):
        try:
            if style == "second":
                output = function(data, rng)
            elif style == "keyword":
                output = function(data, rng=rng)
            else:
                output = function(data)
            # the output of a mechanism that yields is all that it yields
            outputs.append(tuple(output) if isinstance(output, GeneratorType) else output)
        except (KeyboardInterrupt, TimeIsUp):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a run raises is its output
            outputs.append(raised(error))
    return outputs


class BatchFailed(TollensError):  # noqa: N818 - a turn of events, not an error of anyone
    """A batched mechanism raised, was too slow or crashed: it says nothing about single runs.

    To draw the batch again would select batches that did not fail, and that is no fair sample.
    """


def _sample_batched(function: Batched, data: object, n: int, rng: np.random.Generator) -> Batch:
    try:
        with drawing(rng):
            return function(data, n, rng)
    except (KeyboardInterrupt, TimeIsUp):
        raise
    except BaseException as error:
        raise BatchFailed(f"a batch of {n} runs raised {type(error).__name__}: {error}") from error


def one_by_one(mechanism: Mechanism) -> Mechanism:
    """A batched mechanism with batches of one run, each of which may raise by itself.

    >>> @batched
    ... def mechanism(data, n, rng):
    ...     raise ValueError("no data")
    >>> single = one_by_one(from_callable(mechanism))
    >>> single.sample(None, 2, np.random.default_rng(0))
    [Raised(type='ValueError', message='no data'), Raised(type='ValueError', message='no data')]
    """

    def sample(data: object, n: int, rng: np.random.Generator) -> Batch:
        outputs: list[object] = []
        for _ in range(n):
            try:
                outputs.append(mechanism.sample(data, 1, rng)[0])
            except BatchFailed as error:
                outputs.append(raised(error.__cause__ or error))
        return outputs

    def limit(seconds: float) -> Sampler:
        return one_by_one(limited(mechanism, seconds)[0]).sampler

    own = None if mechanism.limit is None else limit
    return replace(mechanism, sampler=sample, vectorised=False, limit=own)


def limited(mechanism: Mechanism, seconds: float | None) -> tuple[Mechanism, float | None]:
    """A mechanism that keeps a time limit for each run itself, and None; else it, and the limit.

    >>> limited(from_callable(len), 2.0)[1]
    2.0
    """
    if seconds is None or mechanism.limit is None:
        return mechanism, seconds
    return replace(mechanism, sampler=mechanism.limit(seconds), limit=None), None


def raised(error: BaseException) -> Raised:
    """The output of a run that ended in this exception."""
    try:
        message = str(error)[:300]
    except Exception:  # noqa: BLE001 - an exception of the caller's misbehaves
        message = ""
    return Raised(type(error).__name__, message)


def fingerprint(data: object, _depth: int = 0) -> object:
    """A comparable copy of plain data, by which a mechanism that changes its input is found.

    Lists, tuples, sets, dictionaries, arrays and data frames are looked into; anything else
    counts as unchanged.

    >>> rows = [1, [2, 3]]
    >>> before = fingerprint(rows); rows[1].append(4); before == fingerprint(rows)
    False
    """
    if _depth > 8:
        return None
    if data is None or isinstance(data, bool | int | float | complex | str | bytes):
        return repr(data)
    if isinstance(data, bytearray):
        return bytes(data)
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            return fingerprint(data.tolist(), _depth + 1)
        return (data.shape, str(data.dtype), data.tobytes())
    if isinstance(data, Mapping):
        return ("mapping", [(repr(k), fingerprint(v, _depth + 1)) for k, v in data.items()])
    if isinstance(data, list | tuple):
        return (type(data).__name__, [fingerprint(item, _depth + 1) for item in data])
    if isinstance(data, set | frozenset):
        return ("set", sorted(map(repr, data)))
    if hasattr(data, "to_numpy") and hasattr(data, "shape"):
        columns = [str(name) for name in getattr(data, "columns", ())]
        return (columns, fingerprint(np.asarray(data.to_numpy()), _depth + 1))
    return None


def changes_input(name: str) -> str:
    """The message about a mechanism that mutates or consumes its data."""
    return (
        f"{name} changes its input: after some runs the data differ from before; every run must "
        "see the same data, so let the mechanism work on a copy"
    )


def refuse_iterator(data: object, which: str) -> None:
    """`UsageError` where data can be read only once: every run needs all of it.

    >>> refuse_iterator(iter([1]), "x")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: x is a list_iterator, which the first run would use up; \
give data that can be read again, such as a list
    """
    if isinstance(data, Iterator):
        raise UsageError(
            f"{which} is a {type(data).__name__}, which the first run would use up; give data "
            "that can be read again, such as a list"
        )


def _name_of(function: object) -> str:
    if isinstance(function, functools.partial):
        return _name_of(function.func)
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return str(name).replace("<locals>.", "")


def _describe(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
