"""The verb `refute`: arguments are checked here, the search is in `engine`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tollens.certificate import Certificate, Search
from tollens.claim import Claim, parse_claim
from tollens.errors import CertificateError, Interrupted, UsageError, collect
from tollens.exact import exact_claim, plain_data
from tollens.neighbours import Pair
from tollens.outcome import Outcome, Reason
from tollens.promises import declared
from tollens.refutation import engine as engines
from tollens.refutation.found import TIMEOUT, Found, Json, Progress, Step
from tollens.refutation.inputs import exact_relation
from tollens.refutation.program import Program, read_program
from tollens.relations import Relation, as_relation
from tollens.targets import load_target
from tollens.verdict import Verdict
from tollens.versions import versions

DELTA = 1e-5
"""The delta at which a leak is stated for claims that have none of their own."""


def refute(
    mechanism: object,
    claim: Claim | str | None = None,
    *,
    neighbours: object,
    engine: str = "auto",
    timeout: float = TIMEOUT,
    progress: Callable[[Step], None] | None = None,
) -> Verdict:
    """Look for a proof that a claim is false, in the text of a mechanism; nothing is run.

    `mechanism` is a function of its data that draws from `tollens.noise`, or a text such as
    `"path/file.py::name"` that names one. `claim` is a claim or its text form; None takes the one
    that `tollens.promise` declares. Its parameters must be rational, or `ln` of a rational; a float
    counts as the decimal that it prints, 0.1 as 1/10. `neighbours` is one pair `(x, x_prime)`, a
    list of pairs, or a relation such as `tollens.queries(5)`; numbers are exact in the same way.

    `engine` is "events", "moments", "martingale" or "balls"; "auto" tries the cheapest that
    applies. `timeout` is in seconds for the whole search. `progress` is called with a `Step` now
    and then.

    A refuted verdict carries a `tollens.Certificate`, which the independent checker has confirmed.
    The other outcomes show nothing: UNREFUTED says that the search is done, UNDECIDED that it could
    not be made or was not finished; constructs outside the subset stand in the notes, by file and
    line.

    Raises `UsageError` (all problems at once) for wrong arguments and for functions without a text;
    `Interrupted`, with the verdict so far, on Ctrl-C.

    The method: expectation mismatch, as in SuperDP (Chatterjee, Goharshady, Zikelic 2026).

    >>> import tollens
    >>> from tollens.zoo.programs import get
    >>> verdict = tollens.refute(get("L1").function, "epsilon=1", neighbours=(0, 1))
    >>> verdict.outcome.name, round(verdict.epsilon_lower, 4)
    ('REFUTED', 2.0)
    """
    return search(mechanism, claim, neighbours, engine, timeout, progress)[0]


@dataclass
class _Best:
    """What a search has reported so far."""

    progress: Progress | None
    last: Step | None = field(default=None)

    def __call__(self, step: Step) -> None:
        self.last = step
        if self.progress is not None:
            self.progress(step)


def search(
    mechanism: object,
    claim: Claim | str | None,
    neighbours: object,
    engine: str = "auto",
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> tuple[Verdict, Found]:
    """What `refute` does, with what the search found beside the verdict."""
    findings = _setting_findings(engine, timeout)
    loaded = collect(
        findings, lambda: load_target(mechanism) if isinstance(mechanism, str) else mechanism
    )
    program = None if loaded is None else collect(findings, lambda: read_program(loaded))
    made = collect(findings, lambda: _claim_of(claim, loaded))
    exact = None if made is None else collect(findings, lambda: exact_claim(made))
    relation = collect(findings, lambda: exact_relation(as_relation(neighbours)))
    if findings or program is None or made is None or exact is None or relation is None:
        raise UsageError(findings)
    started = time.monotonic()
    best = _Best(progress)
    about = _About(program, made, relation, started)
    try:
        found = engines.search(program, exact, relation, engine, started + timeout, best)
    except KeyboardInterrupt:
        step = best.last or Step("", 0, len(relation), 0.0)
        so_far = Found(best_epsilon=step.best_epsilon, engine=step.engine or None)
        raise Interrupted(about.verdict(so_far, interrupted=True)) from None
    return about.verdict(found), found


@dataclass(frozen=True)
class _About:
    """What a search was about."""

    program: Program
    claim: Claim
    relation: Relation
    started: float

    def verdict(self, found: Found, *, interrupted: bool = False) -> Verdict:
        """The verdict on what was found; a proof counts once the checker has confirmed it."""
        proof, notes = _proof(found.certificate)
        outcome, reason = _judged(found, proof, interrupted)
        pair = found.pair or self.relation[0]
        return verdict_on(
            self.claim,
            self.program.name,
            Pair(plain_data(pair.x), plain_data(pair.x_prime), pair.relation),
            proof or Search(found.best_epsilon, found.engine),
            outcome,
            reason,
            time.monotonic() - self.started,
            (*self._notes(found, reason), *notes),
        )

    def _notes(self, found: Found, reason: Reason) -> list[str]:
        notes = [
            f"{self.program.place(refusal.line)}: {refusal.what}"
            + (f"; {refusal.instead}" if refusal.instead else "")
            for refusal in found.refusals
        ]
        notes += found.notes
        if found.refusals and reason is not Reason.OUTSIDE_SUBSET:
            notes.append("inputs on which the program does what is named here were passed over")
        if len(self.relation) > 1 and found.pair is not None:
            notes.append(
                f"{len(self.relation):,} pairs of inputs were given; the one shown is that with "
                "the largest leak found"
            )
        return [*notes, *self.program.notes]


def verdict_on(
    claim: Claim,
    mechanism: str,
    pair: Pair,
    evidence: Certificate | Search,
    outcome: Outcome,
    reason: Reason,
    seconds: float,
    notes: tuple[str, ...] = (),
) -> Verdict:
    """A verdict on a program text: without runs, and without an error probability."""
    delta = DELTA if claim.leak_delta is None else claim.leak_delta
    proof = evidence.verified if isinstance(evidence, Certificate) else None
    return Verdict(
        outcome=outcome,
        reason=reason,
        claim=claim,
        mechanism=mechanism,
        neighbours=pair,
        witness=None if proof is None else proof.witness,
        epsilon_lower=0.0 if proof is None else proof.epsilon_at(delta),
        delta=delta,
        pairs=0,
        runs=0,
        alpha=0.0,
        evidence=evidence,
        seed=None,
        replayable=True,
        seconds=seconds,
        detectable_excess=None,
        versions=versions(),
        notes=notes,
    )


def _proof(document: Json | None) -> tuple[Certificate | None, list[str]]:
    """The certificate, if the checker confirms it."""
    if document is None:
        return None, []
    try:
        return Certificate(document), []
    except CertificateError as error:
        return None, [f"a proof was found, but the checker refuses it: {error}"]


def _judged(found: Found, proof: Certificate | None, interrupted: bool) -> tuple[Outcome, Reason]:
    if proof is not None:
        return Outcome.REFUTED, Reason.PROVED
    if interrupted:
        return Outcome.UNDECIDED, Reason.SEARCH_INTERRUPTED
    if found.timed_out:
        return Outcome.UNDECIDED, Reason.TIME_LIMIT
    if found.engine is not None:
        return Outcome.UNREFUTED, Reason.NOT_PROVED
    if found.refusals:
        return Outcome.UNDECIDED, Reason.OUTSIDE_SUBSET
    return Outcome.UNDECIDED, Reason.NO_ENGINE


def _claim_of(claim: Claim | str | None, mechanism: object) -> Claim:
    """The claim that was given, else the one declared on the function."""
    if isinstance(claim, str):
        return parse_claim(claim)
    if isinstance(claim, Claim):
        return claim
    if claim is not None:
        raise UsageError(
            f"the claim is a {type(claim).__name__}; give a claim such as tollens.pure(1) or a "
            'text such as "epsilon=1"'
        )
    own = declared(mechanism)
    if own is None or own.claim is None:
        raise UsageError(
            'no claim: give one such as "epsilon=1", or declare it with @tollens.promise'
        )
    return own.claim


def _setting_findings(engine: str, timeout: float) -> list[str]:
    findings = []
    if engine not in engines.ENGINES:
        known = ", ".join(engines.ENGINES)
        findings.append(f"engine is {engine!r}; it must be one of {known}")
    real = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not real or not 0 < timeout < math.inf:
        findings.append(f"timeout is {timeout}; it must be a positive number of seconds")
    return findings
