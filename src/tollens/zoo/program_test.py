"""The self-test of the programs: a proof must be found of what is broken, and of nothing else.

The search for proofs comes as an argument, so that the zoo depends on the language only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tollens.claim import Claim
from tollens.zoo.programs import Program
from tollens.zoo.programs import entries as all_programs
from tollens.zoo.self_test import OutcomeLike

LIMIT = 30.0
"""Seconds that a search may take."""

_ROUNDING = 1e-9
"""Truths are floats, and some come from quadrature; relative to their size."""


class EvidenceLike(Protocol):
    """Evidence: a proof, or a search that found none."""

    @property
    def method(self) -> str:
        """The engine that found it or came nearest, or "none"."""


class ProofVerdictLike(Protocol):
    """What the self-test reads of a verdict."""

    @property
    def outcome(self) -> OutcomeLike:
        """What was concluded."""

    @property
    def epsilon_lower(self) -> float:
        """The proved lower bound for epsilon."""

    @property
    def seconds(self) -> float:
        """How long the search took."""

    @property
    def evidence(self) -> EvidenceLike:
        """The proof, or the search."""


class RefuteFunction(Protocol):
    """A search for a proof such as `tollens.refute`."""

    def __call__(
        self,
        mechanism: Callable[..., object],
        claim: Claim,
        /,
        *,
        neighbours: tuple[object, object],
        timeout: float,
    ) -> ProofVerdictLike:
        """Look for a proof about one program on one pair."""


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """What a search concluded about one program, and whether that is right.

    `broken` and `true_epsilon` are the truth; `outcome`, `engine`, `epsilon_lower` and `seconds`
    are what the search said. `ok` is True where nothing contradicts the truth and a broken program
    was refuted; `problem` says what is wrong otherwise.
    """

    id: str
    name: str
    broken: bool
    outcome: str
    engine: str
    epsilon_lower: float
    true_epsilon: float
    seconds: float
    problem: str = ""

    @property
    def ok(self) -> bool:
        """True where the search was right about this program."""
        return not self.problem


def program_test(
    refute: RefuteFunction,
    *,
    timeout: float = LIMIT,
    programs: Sequence[Program] | None = None,
    progress: Callable[[ProgramRow], None] | None = None,
) -> tuple[ProgramRow, ...]:
    """Look for a proof about every program of the suite and compare with the truth.

    Each is searched on the pair that its truth is stated for, for `timeout` seconds at most.
    `programs` selects some (default: all); `progress` is called with each finished row.

    A broken program is right when it is refuted with an epsilon that is not above the truth, a
    correct one when it is not refuted; a proof has no error probability, so there is no bad luck.

    >>> from types import SimpleNamespace
    >>> from tollens.zoo.programs import get
    >>> def lenient(function, claim, *, neighbours, timeout):
    ...     return SimpleNamespace(
    ...         outcome=SimpleNamespace(name="UNREFUTED"), epsilon_lower=0.0, seconds=0.1,
    ...         evidence=SimpleNamespace(method="none"))
    >>> rows = program_test(lenient, programs=[get("D1"), get("D1-bug")])
    >>> [(row.id, row.ok, row.problem) for row in rows]
    [('D1', True, ''), ('D1-bug', False, 'broken, but not refuted')]
    """
    rows = []
    for program in all_programs() if programs is None else programs:
        verdict = refute(program.function, program.claim, neighbours=program.pair, timeout=timeout)
        refuted = verdict.outcome.name == "REFUTED"
        row = ProgramRow(
            id=program.id,
            name=program.name,
            broken=program.broken,
            outcome=verdict.outcome.name,
            engine=verdict.evidence.method if refuted else "",
            epsilon_lower=verdict.epsilon_lower,
            true_epsilon=program.epsilon,
            seconds=verdict.seconds,
            problem=_problem(program, verdict, refuted=refuted),
        )
        rows.append(row)
        if progress is not None:
            progress(row)
    return tuple(rows)


def _problem(program: Program, verdict: ProofVerdictLike, *, refuted: bool) -> str:
    """Say what is wrong with a verdict; an empty text if nothing is."""
    lower = verdict.epsilon_lower
    if refuted and not program.broken:
        return "correct, but refuted"
    if not refuted and program.broken:
        return "broken, but not refuted"
    if math.isnan(lower) or lower > program.epsilon * (1 + _ROUNDING):
        return "the proved epsilon is above the truth"
    return ""
