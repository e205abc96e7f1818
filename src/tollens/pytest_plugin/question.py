"""What a test asks: its arguments, then what its marker and its mechanism say."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from tollens.auditing.api import audit
from tollens.claim import Claim
from tollens.errors import UsageError, collect
from tollens.keys import key_of
from tollens.mechanism import Batched
from tollens.promises import declared
from tollens.pytest_plugin.marked import defaults
from tollens.pytest_plugin.options import Choices
from tollens.pytest_plugin.places import target_of
from tollens.refutation.api import refute
from tollens.targets import load_target

UNDECIDED = ("fail", "skip", "pass")
"""What may become of a test whose audit tested nothing."""

_OWN = {"mechanism", "claim", "neighbours", "undecided"}
_OURS = {"alpha"}
"""The argument of `tollens.audit` that a test cannot give: the ledger does."""


@dataclass(frozen=True, slots=True)
class Question:
    """A mechanism and a claim, on which inputs, with which settings."""

    mechanism: object
    claim: Claim | str | None
    neighbours: object
    undecided: str
    settings: Mapping[str, Any]
    target: str | None


def audit_question(
    item: pytest.Item,
    choices: Choices,
    mechanism: object,
    claim: Claim | str | None,
    neighbours: object,
    undecided: str | None,
    settings: Mapping[str, Any],
) -> Question:
    """The question of `dp.audit`; `UsageError` names all that is wrong with it."""
    given = {"claim": claim, "neighbours": neighbours, "undecided": undecided, **settings}
    known = set(inspect.signature(audit).parameters) - _OURS
    asked = _asked("dp.audit", item, mechanism, given, known)
    session = {**choices.audit, "budget": choices.budget, "seed": choices.seed}
    usual = {name: value for name, value in session.items() if name in known}
    return _question(asked, usual)


def refute_question(
    item: pytest.Item,
    mechanism: object,
    claim: Claim | str | None,
    neighbours: object,
    undecided: str | None,
    settings: Mapping[str, Any],
) -> Question:
    """The question of `dp.refute`; `UsageError` names all that is wrong with it."""
    given = {"claim": claim, "neighbours": neighbours, "undecided": undecided, **settings}
    known = set(inspect.signature(refute).parameters)
    asked = _asked("dp.refute", item, mechanism, given, known)
    kept = {name: asked[name] for name in asked if name in {*known, *_OWN, "target"}}
    return _question(kept, {})


def _asked(
    call: str,
    item: pytest.Item,
    mechanism: object,
    given: Mapping[str, Any],
    known: Collection[str],
) -> dict[str, Any]:
    """Arguments, markers and the mechanism's own promise, the first of them that says something."""
    findings = _unknown(call, given, known)
    marked = collect(findings, lambda: defaults(item)) or {}
    of_audits = set(inspect.signature(audit).parameters) - _OURS
    findings += _unknown("@pytest.mark.dp", marked, of_audits)
    loaded = collect(
        findings, lambda: load_target(mechanism) if isinstance(mechanism, str) else mechanism
    )
    asked = {**marked, **{name: value for name, value in given.items() if value is not None}}
    own = declared(loaded)
    if asked.get("neighbours") is None and own is not None:
        asked["neighbours"] = own.neighbours
    if asked.get("neighbours") is None and loaded is not None:
        findings.append(
            f"{call}: there are no neighbours; give neighbours=(x, x_prime) or a relation such as "
            "tollens.add_remove([1, 0]), here, in @pytest.mark.dp(...) or in @tollens.promise(...)"
        )
    if asked.setdefault("undecided", "fail") not in UNDECIDED:
        findings.append(
            f"{call}: undecided is {asked['undecided']!r}; it must be one of {', '.join(UNDECIDED)}"
        )
    if findings:
        raise UsageError(findings)
    text = mechanism if isinstance(mechanism, str) else asked.get("target")
    return {**asked, "mechanism": loaded, "target": text or target_of(loaded, item)}


def _question(asked: dict[str, Any], usual: Mapping[str, Any]) -> Question:
    rest = {name: value for name, value in asked.items() if name not in _OWN | {"target"}}
    return Question(
        asked["mechanism"],
        asked.get("claim"),
        asked["neighbours"],
        asked["undecided"],
        {**usual, **rest},
        asked.get("target"),
    )


def _unknown(call: str, given: Mapping[str, Any], known: Collection[str]) -> list[str]:
    findings = []
    for name in given:
        if name == "alpha":
            findings.append(
                f"{call}: alpha cannot be given for one test; --dp-alpha is that of the whole "
                "session and is shared out among its tests"
            )
        elif name not in {*known, *_OWN} - {"mechanism"}:
            near = difflib.get_close_matches(name, {*known, *_OWN} - {"mechanism"}, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
            findings.append(f"{call}: there is no argument {name}; {hint}")
    return findings


def question_key(asked: Question) -> Hashable | None:
    """Something that is equal for equal questions; None where that cannot be told."""
    parts = {"claim": str(asked.claim), **asked.settings}
    key = (
        _key(asked.mechanism),
        _key(asked.neighbours),
        tuple((name, _key(parts[name])) for name in sorted(parts)),
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _key(value: object) -> Hashable:
    """Equal for functions of one text with equal values, and for equal data."""
    if isinstance(value, Batched):
        return ("batched", _key(value.function))
    if isinstance(value, functools.partial):
        words = tuple((name, _key(word)) for name, word in sorted(value.keywords.items()))
        return ("partial", _key(value.func), tuple(map(_key, value.args)), words)
    if isinstance(value, FunctionType):
        held = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        usual = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return ("function", value.__code__, *map(_key, held), "defaults", *map(_key, usual))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(_key, value))
    if hasattr(value, "to_numpy") and hasattr(value, "shape"):
        return ("frame", str(getattr(value, "columns", "")), key_of(np.asarray(value.to_numpy())))
    return key_of(value)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - it raises where there is nothing
    except ValueError:
        return False
    return True
