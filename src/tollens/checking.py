"""`tollens check`: each declared promise, by a proof where the text allows it, or an audit."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tollens.auditing.api import audit
from tollens.auditing.run import Progress
from tollens.discovery import Found, find_promises
from tollens.errors import Interrupted, TollensError, UsageError
from tollens.event import Event, event_of
from tollens.noise import draws_here
from tollens.outcome import Reason
from tollens.promise_tables import Table, load_tables
from tollens.promises import Declared
from tollens.refutation import api as proofs
from tollens.refutation.found import Found as Searched
from tollens.refutation.found import Step
from tollens.verdict import Verdict

_MOST_NOTES = 3


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The verdicts of a check in the order of the targets, and what could not be tested."""

    verdicts: tuple[tuple[str, Verdict], ...]
    problems: tuple[str, ...]
    alpha: float
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What a search for a proof left: a proof, or notes and an event for the audit."""

    proof: Verdict | None = None
    notes: tuple[str, ...] = ()
    witness: Event | None = None


def check(
    paths: Sequence[Path],
    settings: Mapping[str, object],
    *,
    tables: Sequence[Table] = (),
    progress: Callable[[str, Progress], None] | None = None,
    searching: Callable[[str, Step], None] | None = None,
) -> CheckReport:
    """Test every declared promise; alpha is the error probability of the whole check.

    They are those declared below `paths`, and those of `tables`, which stand in a settings file.
    Where a mechanism draws from `tollens.noise` only, a proof is looked for first, for at most
    `proof-timeout` seconds (0: never). Where there is none, the mechanism is audited on the same
    inputs, and a part of the bets goes to the event that came nearest to a proof.

    Each of m promises gets alpha / m, so that a check of promises that all hold refutes one with
    probability at most alpha; proofs spend nothing.
    """
    found, problems = find_promises(paths)
    listed, faults = load_tables(tables)
    found, problems = [*found, *listed], [*problems, *faults]
    audits = dict(settings)
    alpha, patience = audits["alpha"], audits.pop("proof-timeout", 0.0)
    if not isinstance(alpha, float):
        raise UsageError(f"alpha is {alpha}; it must be a number")
    if not isinstance(patience, int | float) or not 0 <= patience < float("inf"):
        raise UsageError(f"proof-timeout is {patience}; it must be at least 0 seconds")
    verdicts: list[tuple[str, Verdict]] = []
    audits["alpha"] = alpha / max(1, len(found))
    for item in found:
        own = item.promise
        try:
            attempt = _prove(item, own, float(patience), searching)
            verdict = attempt.proof
            if verdict is None:
                verdict = audit(
                    item.mechanism,
                    own.claim,
                    neighbours=own.neighbours,
                    progress=_named(progress, item.target),
                    target=item.target,
                    witness=attempt.witness,
                    **audits,  # type: ignore[arg-type]
                )
                verdict = replace(verdict, notes=(*verdict.notes, *attempt.notes))
        except Interrupted as stop:
            verdicts.append((item.target, stop.verdict))
            return CheckReport(tuple(verdicts), tuple(problems), alpha, interrupted=True)
        except TollensError as error:
            problems.append(f"{item.target}: {error}")
            continue
        verdicts.append((item.target, verdict))
    return CheckReport(tuple(verdicts), tuple(problems), alpha)


def _prove(
    item: Found, own: Declared, seconds: float, searching: Callable[[str, Step], None] | None
) -> _Attempt:
    """Look for a proof, where the text of a mechanism may have one."""
    function = item.mechanism
    if not seconds or own.claim is None or not isinstance(function, types.FunctionType):
        return _Attempt()
    if not draws_here(function):
        return _Attempt()
    watch = None if searching is None else lambda step: searching(item.target, step)
    try:
        verdict, searched = proofs.search(
            function, own.claim, own.neighbours, timeout=seconds, progress=watch
        )
    except UsageError as error:
        return _Attempt(notes=_shortened("no proof was looked for", error.findings))
    except Interrupted:
        raise
    except Exception as error:  # noqa: BLE001 - a fault in the search must not hide the audit
        return _Attempt(notes=(f"the search for a proof failed: {type(error).__name__}: {error}",))
    if verdict.refuted:
        return _Attempt(verdict)
    if verdict.reason in (Reason.OUTSIDE_SUBSET, Reason.NO_ENGINE):
        return _Attempt(notes=_shortened("no proof was looked for", verdict.notes))
    said = verdict.evidence.words(0)
    return _Attempt(notes=(f"{said}, in {verdict.seconds:.1f} s",), witness=_event(searched))


def _event(searched: Searched) -> Event | None:
    """The best event that a search has found, as a function of outputs."""
    witness = searched.witness or {}
    try:
        return event_of({"kind": "event", "patterns": witness.get("event", [])})
    except UsageError:  # no event, or a witness of another kind
        return None


def _shortened(first: str, findings: Sequence[str]) -> tuple[str, ...]:
    kept = [f"{first}: {finding}" for finding in findings[:_MOST_NOTES]]
    more = len(findings) - len(kept)
    return (*kept, *([f"{more} more of this kind; see tollens refute"] if more > 0 else []))


def _named(
    progress: Callable[[str, Progress], None] | None, target: str
) -> Callable[[Progress], None] | None:
    if progress is None:
        return None
    return lambda state: progress(target, state)
