"""diffprivlib: mechanisms with `randomise(value)`, functions of `diffprivlib.tools`, and models.

A mechanism promises its `epsilon` and `delta` for values that differ by its own `sensitivity`; a
tool promises the `epsilon` of its call, and a model its own, for data that differ in one row. The
library's warnings are shown, once each instead of once a run: a `PrivacyLeakWarning` is news to
whoever audits.
"""

from __future__ import annotations

import functools
import inspect
import random
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tollens.adapters.diffprivlib_models import fitting, is_model
from tollens.claim import Claim, approx, pure
from tollens.errors import ClaimError, UsageError
from tollens.mechanism import Batch, Mechanism, from_callable


def recognises(mechanism: object) -> bool:
    """Whether it is a function of `diffprivlib.tools`, a `partial` of one, or a diffprivlib object.

    >>> recognises(sum)
    False
    """
    return _is_tool(mechanism) or any(
        base.__module__.partition(".")[0] == "diffprivlib" for base in type(mechanism).__mro__
    )


def wrap(mechanism: object) -> Mechanism:
    """Make something to sample of a mechanism, tool or model; the randomness is diffprivlib's own.

    The runs of a tool or model are charged to an accountant of their own without a limit: they are
    not releases, and a budget that ran out in the middle would tell the two sides apart.
    Raises `UsageError` for objects that release nothing of the data of a call.
    """
    if _is_tool(mechanism):
        _check_tool(mechanism)
        own_entropy = _parameters(mechanism)["random_state"].default is None
        release = functools.partial(_release, mechanism)
        return _warning_once(release, _name(mechanism), own_entropy=own_entropy)
    if is_model(mechanism):
        name, own_entropy = _model_name(mechanism), _random_state(mechanism) is None
        return _warning_once(fitting(mechanism, name), name, own_entropy=own_entropy)
    randomise = getattr(mechanism, "randomise", None)
    if randomise is None:
        raise UsageError(
            f"a diffprivlib {type(mechanism).__name__} is not sampled by itself; give a function "
            "of the data that fits or calls it and returns what is released"
        )
    first = next(iter(_parameters(randomise).values()))
    if first.default is not first.empty:
        raise UsageError(
            f"{_name(mechanism)} holds its data (the utilities) itself; give a function of them "
            f"that makes a fresh {type(mechanism).__name__} and calls randomise()"
        )
    own_entropy = isinstance(getattr(mechanism, "_rng", None), random.SystemRandom)
    return _warning_once(randomise, _name(mechanism), own_entropy=own_entropy)


def read_promise(mechanism: object, d_in: object) -> Claim:
    """`epsilon` and `delta` of a mechanism or of a tool's call as a claim.

    Raises `UsageError` for a `d_in` other than 1, of which the library says nothing, and for an
    epsilon that bounds nothing.
    """
    if d_in != 1:
        raise UsageError(
            f"{_name(mechanism)} states its promise for one change of the input, not for "
            f"d_in={d_in!r}; state the claim"
        )
    if _is_tool(mechanism):
        epsilon, delta = _parameters(mechanism)["epsilon"].default, 0.0
    else:
        epsilon, delta = getattr(mechanism, "epsilon", None), getattr(mechanism, "delta", 0.0)
    try:
        return approx(epsilon, delta) if delta else pure(epsilon)
    except ClaimError as error:
        raise UsageError(f"{_name(mechanism)} promises nothing: {error}") from error


def _is_tool(mechanism: object) -> bool:
    function = mechanism.func if isinstance(mechanism, functools.partial) else mechanism
    module = getattr(function, "__module__", None) or ""  # None for a function that `exec` made
    return inspect.isfunction(function) and module.startswith("diffprivlib.tools.")


def _warning_once(
    function: Callable[[object], object], name: str, *, own_entropy: bool
) -> Mechanism:
    """A mechanism; `own_entropy` where no `random_state` was given, see `Mechanism`.

    Without one, diffprivlib draws from the operating system, and here and there from numpy's
    global generator, which every process seeds anew.
    """
    each = from_callable(function, name=name)
    sampler = functools.partial(_sample, each, set())
    return replace(each, sampler=sampler, packages=("diffprivlib",), own_entropy=own_entropy)


def _sample(
    each: Mechanism, shown: set[tuple[type, str]], data: object, n: int, rng: np.random.Generator
) -> Batch:
    with warnings.catch_warnings(record=True) as caught:
        outputs = each.sample(data, n, rng)
    for warning in caught:
        key = (warning.category, str(warning.message))
        if key not in shown:
            shown.add(key)
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return outputs


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _check_tool(tool: Any) -> None:
    data, *others = _parameters(tool).values()
    by_position = isinstance(tool, functools.partial) and tool.args
    unbound = [p.name for p in others if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if unbound or data.default is not data.empty or by_position:
        missing = f" ({', '.join(unbound)} missing)" if unbound else ""
        raise UsageError(
            f"{_name(tool)}: bind every argument but the data by keyword{missing}, as in "
            "functools.partial(diffprivlib.tools.quantile, quant=0.5, bounds=(0, 1))"
        )


def _release(tool: Any, data: object) -> object:
    from diffprivlib import BudgetAccountant  # imported already: the tool comes from it

    return tool(data, accountant=BudgetAccountant())


def _random_state(model: Any) -> object:
    return model.get_params(deep=False).get("random_state")


def _model_name(model: Any) -> str:
    return f"diffprivlib {type(model).__name__}(epsilon={model.epsilon!r})"


def _name(mechanism: Any) -> str:
    if is_model(mechanism):
        return _model_name(mechanism)
    if isinstance(mechanism, functools.partial):
        bound = ", ".join(f"{name}={value!r}" for name, value in mechanism.keywords.items())
        text = f"{mechanism.func.__name__}({bound})"
    elif inspect.isfunction(mechanism):
        text = f"{mechanism.__name__}()"
    else:
        text = repr(mechanism).removeprefix(f"{type(mechanism).__module__}.")
        text = text.replace(", random_state=None", "")
    return textwrap.shorten(f"diffprivlib {text}", 100, placeholder="...")
