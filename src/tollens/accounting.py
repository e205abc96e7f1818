"""The privacy profile of an accountant's object, without a dependency on any accountant."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from tollens.errors import ClaimError


def delta_function(dp_event_or_pld: object) -> Callable[[float], float]:
    """epsilon -> delta of a privacy loss distribution or of a `dp_accounting` event.

    Raises `ClaimError` for anything else, and where `dp_accounting` is needed but missing.

    >>> delta_function("text")
    Traceback (most recent call last):
    ...
    tollens.errors.ClaimError: accountant: a str is neither a privacy loss distribution (with \
get_delta_for_epsilon) nor a dp_accounting.DpEvent
    """
    direct = getattr(dp_event_or_pld, "get_delta_for_epsilon", None)
    if direct is None:
        direct = getattr(_compose(dp_event_or_pld), "get_delta", None)
    if not callable(direct):
        raise ClaimError("accountant: the object's profile cannot be called")

    def delta(epsilon: float) -> float:
        return float(direct(epsilon))

    return delta


def _compose(event: object) -> object:
    if not any(base.__name__ == "DpEvent" for base in type(event).__mro__):
        raise ClaimError(
            f"accountant: a {type(event).__name__} is neither a privacy loss distribution (with "
            "get_delta_for_epsilon) nor a dp_accounting.DpEvent"
        )
    try:
        pld = importlib.import_module("dp_accounting.pld")
    except ImportError:
        raise ClaimError("accountant: install dp-accounting to compose a DpEvent") from None
    composed: object = pld.PLDAccountant().compose(event)
    return composed
