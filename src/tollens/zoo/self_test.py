"""The self-test: an audit must refute what is broken and spare what is correct.

The audit comes as an argument, so that the zoo depends on the language of claims and mechanisms
only.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tollens.claim import Claim
from tollens.mechanism import Batched
from tollens.zoo.entry import Entry

_ROUNDING = 1e-9


class OutcomeLike(Protocol):
    """An outcome: its name is REFUTED, UNREFUTED or UNDECIDED."""

    @property
    def name(self) -> str:
        """The name of the outcome."""


class VerdictLike(Protocol):
    """What the self-test reads of a verdict."""

    @property
    def outcome(self) -> OutcomeLike:
        """What was concluded."""

    @property
    def pairs(self) -> int:
        """How many pairs of runs were used."""

    @property
    def epsilon_lower(self) -> float:
        """The certified lower bound for epsilon."""


class AuditFunction(Protocol):
    """An audit such as `tollens.audit`."""

    def __call__(
        self,
        mechanism: Batched,
        claim: Claim,
        /,
        *,
        neighbours: tuple[object, object],
        alpha: float,
        budget: int,
        seed: int,
    ) -> VerdictLike:
        """Audit one mechanism on one pair."""


@dataclass(frozen=True, slots=True)
class SelfTestRow:
    """What an audit concluded about one entry, and whether that is right.

    `holds` and `true_epsilon` are the truth, `outcome`, `pairs` and `epsilon_lower` what the
    audit said, `budget` the pairs it was given. `ok` is True where nothing contradicts the truth
    and a broken mechanism was refuted; `problem` says what is wrong otherwise.
    """

    name: str
    holds: bool
    outcome: str
    pairs: int
    budget: int
    epsilon_lower: float
    true_epsilon: float
    problem: str = ""

    @property
    def ok(self) -> bool:
        """True where the audit was right about this entry."""
        return not self.problem


def self_test(
    audit: AuditFunction,
    *,
    alpha: float = 1e-6,
    budget: int | None = None,
    entries: Sequence[Entry] | None = None,
    progress: Callable[[SelfTestRow], None] | None = None,
) -> tuple[SelfTestRow, ...]:
    """Audit every entry with a fixed seed and compare with the truth.

    `alpha` is the error probability of each audit, so a sound audit fails by bad luck with
    probability at most alpha times the number of entries. `budget` replaces the entries' own
    budgets; `entries` selects some (default: all); `progress` is called with each finished row.

    A broken entry is right when it is refuted and `epsilon_lower` lies between the claim's
    epsilon and the truth. (For a claim without a delta of its own `epsilon_lower` is stated at
    a delta that the evidence need not be about, so only the upper end is checked.) A correct
    entry is right when it is not refuted and `epsilon_lower` is not above the truth.

    >>> from types import SimpleNamespace
    >>> from tollens.zoo import get
    >>> def lenient(mechanism, claim, *, neighbours, alpha, budget, seed):
    ...     return SimpleNamespace(
    ...         outcome=SimpleNamespace(name="UNREFUTED"), pairs=budget, epsilon_lower=0.0)
    >>> rows = self_test(lenient, entries=[get("rr-tight"), get("rr-extra-coin")])
    >>> [(row.name, row.ok, row.problem) for row in rows]
    [('rr-tight', True, ''), ('rr-extra-coin', False, 'broken, but not refuted')]
    """
    rows = []
    for entry in _all_entries() if entries is None else entries:
        pairs = entry.budget if budget is None else budget
        verdict = audit(
            entry.mechanism,
            entry.claim,
            neighbours=entry.neighbours,
            alpha=alpha,
            budget=pairs,
            seed=seed_of(entry),
        )
        row = SelfTestRow(
            name=entry.name,
            holds=entry.holds,
            outcome=verdict.outcome.name,
            pairs=verdict.pairs,
            budget=pairs,
            epsilon_lower=verdict.epsilon_lower,
            true_epsilon=entry.true_epsilon,
            problem=_problem(entry, verdict),
        )
        rows.append(row)
        if progress is not None:
            progress(row)
    return tuple(rows)


def seed_of(entry: Entry) -> int:
    """Seed an entry's audit by a checksum of its name, the same whatever other entries there are.

    >>> from tollens.zoo import get
    >>> seed_of(get("svt1")) == zlib.crc32(b"svt1")
    True
    """
    return zlib.crc32(entry.name.encode())


def _problem(entry: Entry, verdict: VerdictLike) -> str:
    """Say what is wrong with a verdict; an empty text if nothing is."""
    refuted = verdict.outcome.name == "REFUTED"
    lower = verdict.epsilon_lower
    if refuted and entry.holds:
        return "correct, but refuted"
    if not refuted and not entry.holds:
        return "broken, but not refuted"
    if math.isnan(lower) or lower > entry.true_epsilon + _ROUNDING:
        return "the certified epsilon is above the truth"
    if refuted and entry.claim.leak_delta is not None:
        claimed = min(promise.epsilon for promise in entry.claim.promises())
        if lower < claimed - _ROUNDING:
            return "refuted, but the certified epsilon is below the claim"
    return ""


def _all_entries() -> tuple[Entry, ...]:
    from tollens.zoo import entries

    return entries()
