"""What is kept of an audit: plain values, which reports carry from process to process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from tollens.verdict import Verdict


class Record(TypedDict):
    """An audit in plain values."""

    outcome: str
    reason: str
    mechanism: str
    claim: str
    epsilon_lower: float
    delta: float
    pairs: int
    alpha: float
    log_e_value: float
    threshold: float
    curve: list[list[float]]
    detectable_excess: float | None
    seed: int | None
    seconds: float


OUTCOMES = (
    "outcome", "claim", "epsilon_lower", "delta", "pairs", "alpha", "log_e_value", "seed", "audits",
)  # fmt: skip
"""The properties of a test in JUnit's XML; those of one audit, and how many there were."""


def record_of(verdict: Verdict) -> Record:
    """The record of a verdict."""
    curve = getattr(verdict.evidence, "curve", ())
    return {
        "outcome": verdict.outcome.name,
        "reason": verdict.reason.value,
        "mechanism": verdict.mechanism,
        "claim": str(verdict.claim),
        "epsilon_lower": float(verdict.epsilon_lower),
        "delta": float(verdict.delta),
        "pairs": int(verdict.pairs),
        "alpha": float(verdict.alpha),
        "log_e_value": float(verdict.log_e_value),
        "threshold": float(getattr(verdict.evidence, "threshold", 0.0)),
        "curve": [[int(pairs), float(log_wealth)] for pairs, log_wealth in curve],
        "detectable_excess": _optional(verdict.detectable_excess),
        "seed": None if verdict.seed is None else int(verdict.seed),
        "seconds": float(verdict.seconds),
    }


def _optional(value: float | None) -> float | None:
    return None if value is None else float(value)


def severest(records: Sequence[Record]) -> Record:
    """The one that a test stands for: the last refuted, else undecided, else the nearest to it."""
    for name in ("REFUTED", "UNDECIDED"):
        found = [one for one in records if one["outcome"] == name]
        if found:
            return found[-1]
    return max(records, key=lambda one: one["log_e_value"])


def properties(records: Sequence[Record]) -> list[tuple[str, object]]:
    """The properties of a test in JUnit's XML: those of its severest audit.

    >>> one = {"outcome": "UNREFUTED", "claim": "epsilon=1", "epsilon_lower": 0.0, "delta": 0.0,
    ...     "pairs": 5000, "alpha": 1e-6, "log_e_value": -0.5, "seed": 7}
    >>> properties([one, {**one, "log_e_value": 2.0}])[-3:]
    [('log_e_value', 2.0), ('seed', 7), ('audits', 2)]
    """
    one = severest(records)
    own = [(name, value) for name, value in one.items() if name in OUTCOMES]
    return [*sorted(own, key=lambda entry: OUTCOMES.index(entry[0])), ("audits", len(records))]
