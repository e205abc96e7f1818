"""Promises declared beside the code, so that `tollens check` finds and tests them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from tollens.claim import Claim, parse_claim
from tollens.errors import UsageError
from tollens.mechanism import Batched

T = TypeVar("T")

_ATTRIBUTE = "__tollens_promise__"


@dataclass(frozen=True, slots=True)
class Declared:
    """A promise on a mechanism: the claim (None asks the object) and the neighbours."""

    claim: Claim | None
    neighbours: object


def promise(claim: Claim | str | None = None, *, neighbours: object) -> Callable[[T], T]:
    """Declare what a mechanism promises; the mechanism itself is returned unchanged.

    >>> @promise("epsilon=1", neighbours=([1, 1], [1]))
    ... def noisy_count(rows, rng):
    ...     return len(rows) + rng.laplace()
    >>> str(declared(noisy_count).claim)
    'epsilon=1'
    """
    made = parse_claim(claim) if isinstance(claim, str) else claim
    if made is not None and not isinstance(made, Claim):
        raise UsageError(
            f"promise: the claim is a {type(claim).__name__}; give a claim or a text such as "
            '"epsilon=1"'
        )

    def declare(mechanism: T) -> T:
        try:
            object.__setattr__(mechanism, _ATTRIBUTE, Declared(made, neighbours))
        except (AttributeError, TypeError):
            raise UsageError(
                f"promise: a {type(mechanism).__name__} cannot carry a promise; wrap it in a "
                "function"
            ) from None
        return mechanism

    return declare


def declared(mechanism: object) -> Declared | None:
    """The promise declared on an object, if any."""
    found = inspect.getattr_static(mechanism, _ATTRIBUTE, None)
    if found is None and isinstance(mechanism, Batched):
        found = inspect.getattr_static(mechanism.function, _ATTRIBUTE, None)
    return found if isinstance(found, Declared) else None


def declared_in(module: ModuleType) -> dict[str, object]:
    """All mechanisms of a module's top level that carry a promise, by name."""
    return {name: value for name, value in vars(module).items() if declared(value) is not None}
