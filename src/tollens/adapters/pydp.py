"""PyDP: algorithms, noise mechanisms, partition selection and the mechanisms of `pydp.ml`.

An algorithm is run by `quick_result(data)`, which starts from no data and a full budget each time;
a noise mechanism by `add_noise(value)`, a selection by `should_keep(users)`. Each promises its
`epsilon` and `delta`. What that covers is what its sensitivity says: all rows of one person, at
most `linf_sensitivity` of them, or values that differ by `sensitivity`.
"""

from __future__ import annotations

import functools
import os
import textwrap
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tollens.claim import Claim, approx, pure
from tollens.errors import ClaimError, UsageError
from tollens.mechanism import Batch, Mechanism, from_callable

_BINDINGS = ("_algorithms", "_distributions", "_mechanisms", "_partition_selection")
"""Modules that classes of PyDP's compiled part name as theirs, instead of `pydp`."""

_RUNS = ("quick_result", "add_noise", "should_keep", "randomise")
"""The methods that make one release of the data of a call; an object has one of them."""

_SHOWN = (
    *("epsilon", "delta", "percentile", "sensitivity", "l2_sensitivity", "l0_sensitivity"),
    *("linf_sensitivity", "max_partitions_contributed", "pre_threshold", "dtype"),
)

_BUFFERED = 1 << 15
"""Draws after which PyDP has surely asked for new random bytes (its buffer holds 8192)."""

_STATES_NONE = "states no epsilon; state the claim, for example tollens.gaussian(1)"


def recognises(mechanism: object) -> bool:
    """Whether an object's type comes from PyDP.

    >>> recognises(3)
    False
    """
    modules = [base.__module__.partition(".")[0] for base in type(mechanism).__mro__]
    return "pydp" in modules or (modules[0] in _BINDINGS and "pybind11_builtins" in modules)


def _draws_nothing_of_its_own(mechanism: object) -> bool:
    """Whether the object's class is PyDP's; one derived from it may add other randomness."""
    return type(mechanism).__module__.partition(".")[0] in ("pydp", *_BINDINGS)


def wrap(mechanism: object) -> Mechanism:
    """Make a mechanism of an object that releases something of the data of a call.

    PyDP draws its own randomness and buffers it, and a forked process starts with a copy of the
    buffer; there, the copy is thrown away first. A process that is started anew has none. Rows that
    were added to an algorithm beforehand are dropped by its first run.
    Raises `UsageError` for what holds its data, or makes no release by itself.
    """
    run = next((name for name in _RUNS if callable(getattr(mechanism, name, None))), None)
    if run is None:
        raise UsageError(
            f"a PyDP {type(mechanism).__name__} is not sampled by itself; give a function of the "
            "data that makes a fresh one, feeds it and returns what is released"
        )
    function = functools.partial(_release, mechanism, run)
    each = from_callable(function, name=_name(mechanism))
    sampler = functools.partial(_sample, each, [os.getpid()])
    return replace(
        each,
        sampler=sampler,
        packages=("python-dp",),
        own_entropy=_draws_nothing_of_its_own(mechanism),
    )


def read_promise(mechanism: object, d_in: object) -> Claim:
    """`epsilon` and `delta` of the object as a claim.

    Raises `UsageError` for a `d_in` other than 1, of which the library says nothing, and for
    objects without an epsilon, such as Gaussian noise made from its standard deviation.
    """
    if d_in != 1:
        raise UsageError(
            f"{_name(mechanism)} states its promise for one change of the input, as large as its "
            f"sensitivity, not for d_in={d_in!r}; state the claim"
        )
    epsilon, delta = _parameter(mechanism, "epsilon"), _parameter(mechanism, "delta") or 0.0
    if not epsilon and not delta:
        raise UsageError(f"{_name(mechanism)} {_STATES_NONE}")
    try:
        return approx(epsilon, delta) if delta else pure(epsilon)
    except ClaimError as error:
        raise UsageError(f"{_name(mechanism)} promises nothing: {error}") from error


def _release(mechanism: object, run: str, data: object) -> object:
    return cast(object, getattr(mechanism, run)(data))


def _sample(
    each: Mechanism, process: list[int], data: object, n: int, rng: np.random.Generator
) -> Batch:
    if process[0] != os.getpid():
        process[0] = os.getpid()
        from pydp.util import UniformDouble  # imported already: the mechanism comes from PyDP

        for _ in range(_BUFFERED):
            UniformDouble()
    return each.sample(data, n, rng)


def _parameter(mechanism: object, name: str) -> Any:
    """A parameter by its name; the mechanisms of `pydp.ml` keep theirs behind an underscore."""
    return getattr(mechanism, name, getattr(mechanism, f"_{name}", None))


def _name(mechanism: object) -> str:
    values = {name: _parameter(mechanism, name) for name in _SHOWN}
    shown = {
        name: value
        for name, value in values.items()
        if value not in (None, "Not set")
        and not (name == "delta" and not value)
        and not (name.startswith("l") and value == 1)
    }
    text = ", ".join(f"{name}={value}" for name, value in shown.items())
    return textwrap.shorten(f"PyDP {type(mechanism).__name__}({text})", 100, placeholder="...")
