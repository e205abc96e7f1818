"""One declared promise: by a proof where the text of the mechanism allows it, or an audit.

It is tested in this process, or by a worker that is sent nothing but where the promise stands.
"""

from __future__ import annotations

import socket
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tollens.auditing.api import audit
from tollens.auditing.run import Progress
from tollens.backends.cluster import versions
from tollens.backends.dask import dropped
from tollens.discovery import Found
from tollens.errors import Interrupted, TollensError, UsageError
from tollens.event import Event, event_of
from tollens.noise import draws_here
from tollens.outcome import Reason
from tollens.promise_tables import Table, load_tables
from tollens.promises import Declared, declared
from tollens.refutation import api as proofs
from tollens.refutation.found import Found as Searched
from tollens.refutation.found import Step
from tollens.targets import load_target
from tollens.verdict import Verdict

_MOST_NOTES = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A promise for a worker: its target, the table that declares it (or none), its settings."""

    target: str
    table: Table | None
    settings: Mapping[str, object]
    patience: float
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What a search for a proof left: a proof, or notes and an event for the audit."""

    proof: Verdict | None = None
    notes: tuple[str, ...] = ()
    witness: Event | None = None


def check_promise(
    item: Found,
    settings: Mapping[str, object],
    patience: float,
    *,
    progress: Callable[[Progress], None] | None = None,
    searching: Callable[[str, Step], None] | None = None,
) -> Verdict:
    """The verdict on one promise; a proof is looked for, for at most `patience` seconds (0: never).

    Errors are those of `tollens.audit`, whose `settings` these are.
    """
    own = item.promise
    attempt = _prove(item, own, patience, searching)
    if attempt.proof is not None:
        return attempt.proof
    verdict = audit(
        item.mechanism,
        own.claim,
        neighbours=own.neighbours,
        progress=progress,
        target=item.target,
        witness=attempt.witness,
        **settings,  # type: ignore[arg-type]
    )
    return replace(verdict, notes=(*verdict.notes, *attempt.notes))


def run_task(task: Task) -> Verdict | str:
    """What a worker does with a task: the verdict, or what is wrong with the promise."""
    try:
        if task.versions != versions():
            raise UsageError(
                f"a worker on {socket.gethostname()} has {', '.join(versions())}, but "
                f"{', '.join(task.versions)} are where the check was started"
            )
        return check_promise(_load(task), task.settings, task.patience, progress=_stop_if_dropped)
    except Interrupted:
        return "interrupted"
    except TollensError as error:
        return str(error)


def _load(task: Task) -> Found:
    if task.table is not None:
        found, problems = load_tables([task.table])
        if problems:
            raise UsageError(f"on a worker ({socket.gethostname()}): {problems[0]}")
        return found[0]
    try:
        mechanism = load_target(task.target)
    except TollensError as error:
        raise UsageError(
            f"a worker on {socket.gethostname()} cannot load it: {error}; the files of promises "
            "must be at the same place on every worker"
        ) from error
    promise = declared(mechanism)
    if promise is None:
        raise UsageError(f"on a worker ({socket.gethostname()}) the file declares no such promise")
    return Found(task.target, mechanism, promise)


def _stop_if_dropped(_: Progress) -> None:
    if dropped():
        raise KeyboardInterrupt


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
