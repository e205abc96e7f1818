"""Objects of privacy libraries as mechanisms, with the promise that the object itself makes.

`adapt` recognises an object by the module that its type comes from, so no library is imported
that the caller has not imported already. Each adapter is a module with three functions:
`recognises` (is it of this library?), `wrap` (something to sample) and `read_promise`.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from typing import Protocol

from tollens.adapters import diffprivlib, opendp, pydp, smartnoise, tumult
from tollens.claim import Claim
from tollens.errors import UsageError
from tollens.mechanism import Mechanism, from_callable


class Adapter(Protocol):
    """What a module of this package offers; none of it imports the library."""

    def recognises(self, mechanism: object) -> bool:
        """Whether the object belongs to the library, even if it cannot be sampled."""

    def wrap(self, mechanism: object) -> Mechanism:
        """Make a mechanism of it, without its promise; `UsageError` where it cannot be sampled."""

    def read_promise(self, mechanism: object, d_in: object) -> Claim:
        """Read what it promises at input distance `d_in`; `UsageError` where it does not say."""


_ADAPTERS: tuple[Adapter, ...] = (opendp, diffprivlib, pydp, smartnoise, tumult)

_METHODS = (
    *("__call__", "invoke", "randomise"),  # OpenDP, diffprivlib
    *("quick_result", "add_noise", "should_keep"),  # PyDP
)


def adapt(mechanism: object, *, d_in: object = 1) -> Mechanism:
    """Make a mechanism of a library's object, or of a callable as `from_callable` reads it.

    `promise` is what the object promises for neighbours at distance `d_in` in its own metric; it
    is None where the object promises nothing that can be read, and `promised` tells why.
    Raises `UsageError` for objects that cannot be sampled, such as an OpenDP transformation.

    >>> adapt(lambda data, rng: data + rng.normal()).promise is None
    True
    >>> adapt("a text")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: the mechanism is 'a text'; give a function of (data) or \
(data, rng), one wrapped by tollens.batched, an object of a supported library, or a text such as \
"path/file.py::name"
    """
    found = _find(mechanism)
    if found is None:
        return from_callable(mechanism)
    adapter, target = found
    wrapped = adapter.wrap(target)
    try:
        return replace(wrapped, promise=adapter.read_promise(target, d_in))
    except UsageError:
        return wrapped


def promised(mechanism: object, *, d_in: object = 1) -> Claim:
    """Read the promise that an object makes; `UsageError` says why there is none.

    >>> promised(lambda data: data)
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: <lambda> makes no promise of its own; state the claim, such \
as "epsilon=1"
    """
    found = _find(mechanism)
    if found is not None:
        adapter, target = found
        return adapter.read_promise(target, d_in)
    own = from_callable(mechanism)
    if own.promise is None:
        raise UsageError(
            f'{own.name} makes no promise of its own; state the claim, such as "epsilon=1"'
        )
    return own.promise


def _find(mechanism: object) -> tuple[Adapter, object] | None:
    """Find the adapter of an object, of its sampling method, or of an empty `partial` of these."""
    target = mechanism
    while isinstance(target, functools.partial) and not (target.args or target.keywords):
        target = target.func
    if inspect.ismethod(target) and target.__name__ in _METHODS:
        target = target.__self__
    for adapter in _ADAPTERS:
        if adapter.recognises(target):
            return adapter, target
    return None
