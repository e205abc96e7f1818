"""The privacy profile of an accountant's object, without a dependency on any accountant."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from tollens.errors import ClaimError

NEIGHBOURS = {
    "ADD_OR_REMOVE_ONE": "one of which has one record more than the other",
    "REPLACE_ONE": "that differ in the value of one record",
    "REPLACE_SPECIAL": "one of which has a special value, such as zero, in place of one record",
}
"""The neighbouring relations of `dp_accounting`, as they end "for inputs ..."."""


class Stated(NamedTuple):
    """epsilon -> delta as the library computes it, and for which neighbours ("" if not said)."""

    delta: Callable[[float], float]
    neighbours: str


def stated(accounted: object) -> Stated:
    """What a privacy loss distribution, a `dp_accounting` event or one of its accountants states.

    An event is composed by a `PLDAccountant`, for neighbours that add or remove one record.
    Raises `ClaimError` for anything else, for an event that this accountant cannot compose, for
    an accountant without events, for an estimate from below, and where `dp_accounting` is needed
    but missing.

    >>> stated("text")
    Traceback (most recent call last):
    ...
    tollens.errors.ClaimError: accountant: a str is none of these: a privacy loss distribution \
(with get_delta_for_epsilon), a dp_accounting event, a dp_accounting accountant that has composed \
events
    """
    found: Any = accounted
    if isinstance(accounted, type):
        raise ClaimError(f"accountant: {accounted.__name__} is a class; give an object of it")
    if _is_of(accounted, "DpEvent"):
        found = _compose(accounted)
    elif _is_of(accounted, "PrivacyAccountant"):
        if _is_of(getattr(found, "ledger", None), "NoOpDpEvent"):
            raise ClaimError(
                f"accountant: the {type(found).__name__} has composed no event yet; call "
                ".compose(event) on it first"
            )
    elif not callable(getattr(found, "get_delta_for_epsilon", None)):
        raise ClaimError(
            f"accountant: a {type(accounted).__name__} is none of these: a privacy loss "
            "distribution (with get_delta_for_epsilon), a dp_accounting event, a dp_accounting "
            "accountant that has composed events"
        )
    _refuse_estimates_from_below(found)
    method = getattr(found, "get_delta_for_epsilon", None) or found.get_delta

    def delta(epsilon: float) -> float:
        return float(method(epsilon))

    try:
        delta(0.0)
    except NotImplementedError:
        raise ClaimError(
            f"accountant: a {type(found).__name__} computes no delta; give the event itself"
        ) from None
    relation = getattr(getattr(found, "neighboring_relation", None), "name", "")
    return Stated(delta, NEIGHBOURS.get(relation, ""))


def _is_of(value: object, name: str) -> bool:
    return any(base.__name__ == name for base in type(value).__mro__)


def _compose(event: object) -> object:
    try:
        pld = importlib.import_module("dp_accounting.pld")
    except ImportError:
        raise ClaimError("accountant: install dp-accounting to compose a DpEvent") from None
    try:
        composed: object = pld.PLDAccountant().compose(event)
    except Exception as error:
        if type(error).__name__ != "UnsupportedEventError":
            raise
        raise ClaimError(
            "accountant: dp_accounting.pld.PLDAccountant() cannot compose this event: "
            f"{' '.join(str(error).split())} Compose it in an accountant that can (an "
            "RdpAccountant, or one with another neighboring_relation), and give that accountant"
        ) from error
    return composed


def _refuse_estimates_from_below(accounted: object) -> None:
    """An optimistic loss distribution bounds delta from below: the truth may exceed it."""
    distribution = getattr(accounted, "_pld", accounted)
    for name in ("_pmf_remove", "_pmf_add"):
        if getattr(getattr(distribution, name, None), "_pessimistic_estimate", True) is False:
            raise ClaimError(
                "accountant: this privacy loss distribution is an estimate from below, which a "
                "correct mechanism may exceed; make it with pessimistic_estimate=True"
            )
