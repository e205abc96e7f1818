"""What the commands of `tollens monitor` do: from texts to steps, counts and views of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tollens.adapters import adapt
from tollens.auditing.api import claim_of
from tollens.claim import Claim, claim_from_json, parse_claim
from tollens.errors import StoreError, TargetError, UsageError, collect
from tollens.monitoring.monitor import Monitor
from tollens.monitoring.notes import new_series, new_store
from tollens.monitoring.overview import (
    History,
    Standing,
    history,
    open_alarms,
    standing,
    standings,
)
from tollens.monitoring.recording import FIRST_RUN, acknowledge, last_try, record_failure
from tollens.monitoring.series import in_force, named
from tollens.monitoring.state import AlarmState, MonitorState
from tollens.neighbours import Pair
from tollens.promises import declared
from tollens.relations import as_relation
from tollens.request import Request, neighbours_of
from tollens.serial import parse_json, to_jsonable
from tollens.store import SeriesRecord, Store
from tollens.targets import load_target, split_target

Settings = Mapping[str, object]
Progress = Callable[[int, int], None]

NOT_RECORDED = "; nothing was recorded"
"""Follows the reason why a target cannot be loaded, where there is no series to record it in."""


@dataclass(frozen=True, slots=True)
class Step:
    """The texts of `tollens monitor step`."""

    request: Request
    name: str
    version: str
    run_id: str | None = None
    events: tuple[str, ...] = ()
    keep_outputs: bool = False


def step(order: Step, settings: Settings, progress: Progress | None = None) -> Standing:
    """Make a step; a target that cannot be loaded is recorded as a failed one."""
    with in_options():
        return _step(order, settings, progress)


def _step(order: Step, settings: Settings, progress: Progress | None) -> Standing:
    findings = faults(settings, order.name, order.version)
    request = order.request
    collect(findings, lambda: split_target(request.target))
    given = collect(findings, lambda: None if request.claim is None else parse_claim(request.claim))
    pair = None
    if request.x is not None or request.x_prime is not None:
        pair = collect(findings, lambda: only_pair(neighbours_of(request, None)))
    if findings:
        raise UsageError(findings)
    try:
        loaded = load_target(request.target)
    except TargetError as error:
        return _unloadable(order, settings, given, pair, str(error))
    own = declared(loaded)
    theirs = None if own is None else own.neighbours
    ready = collect(findings, lambda: adapt(loaded))
    claim = None
    if ready is not None:
        claim = collect(findings, lambda: claim_of(given, loaded, ready))
    if pair is None:
        pair = collect(findings, lambda: only_pair(neighbours_of(request, theirs)))
    if findings or claim is None or pair is None:
        raise UsageError(findings)

    def run(monitor: Monitor) -> MonitorState:
        return monitor.step(
            loaded, neighbours=pair, version=order.version, run_id=order.run_id,
            target=request.target, progress=progress,
        )  # fmt: skip

    return _made(order, claim, settings, run)


def _unloadable(
    order: Step, settings: Settings, claim: Claim | None, pair: Pair | None, message: str
) -> Standing:
    """Record the failed step, in the series in force where claim or pair stand in the target."""
    if claim is not None and pair is not None:

        def run(monitor: Monitor) -> MonitorState:
            return monitor.step(
                order.request.target, neighbours=pair, version=order.version, run_id=order.run_id
            )

        return _made(order, claim, settings, run)
    with Store.open(str(settings["store"])) as store:
        series = in_force(store, store.series(order.name))
        if series is None:
            raise UsageError(
                f"{message}{NOT_RECORDED}, for {order.name} has no steps yet and without "
                "its target its claim and pair are not known: give --claim, --x and --x-prime"
            )
        run_id = FIRST_RUN if order.run_id is None else order.run_id
        with store.turn(series.id) as turn:
            known = last_try(turn, order.version, run_id)
        if known is not None and known.outcome != "failed":
            note = f"version {order.version}, run {run_id} is recorded already; not run again"
        else:
            record_failure(store, series, order.version, run_id, message)
            note = f"version {order.version} could not be run: {message}"
        return standing(store, series, notes=[note])


def only_pair(neighbours: object) -> Pair:
    """The one pair that is watched.

    >>> only_pair([([1], [2]), ([1], [3])])
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: the neighbours are 2 pairs (list), but a series watches one: give \
--x and --x-prime, or the name of one pair in the target's file, and a series to each pair
    """
    relation = as_relation(neighbours)
    if len(relation) > 1:
        raise UsageError(
            f"the neighbours are {len(relation):,} pairs ({relation.name}), but a series watches "
            "one: give --x and --x-prime, or the name of one pair in the target's file, and a "
            "series to each pair"
        )
    return relation[0]


def count(
    name: str,
    version: str,
    counts: str,
    *,
    n: int | None,
    run_id: str | None,
    claim: str | None,
    settings: Settings,
) -> Standing:
    """A step of counts that were made elsewhere; claim and events are those of the series."""
    with in_options():
        return _count(name, version, counts, n, run_id, claim, settings)


def _count(
    name: str,
    version: str,
    counts: str,
    n: int | None,
    run_id: str | None,
    claim: str | None,
    settings: Settings,
) -> Standing:
    findings = faults(settings, name, version)
    content = collect(findings, lambda: parse_json(counts, "--counts"))
    given = collect(findings, lambda: None if claim is None else parse_claim(claim))
    if not findings and (not isinstance(content, dict) or not content):
        findings.append('--counts must be an object such as {"event": [3, 1]}')
    if findings or not isinstance(content, dict):
        raise UsageError(findings)
    made = new_store(settings)
    series = _series_of(name, settings)
    events = sorted(content)
    if series is not None:
        known = [str(event) for event in _listed(to_jsonable(series.settings.get("events")))]
        if known and (set(known) == set(events) or given is None):
            events = known
        if given is None:
            given = claim_from_json(series.settings["claim"])
    if given is None:
        raise UsageError(f"{name} has no steps yet; give its --claim, such as epsilon=1")
    order = Step(Request(""), name, version, run_id, tuple(events))

    def run(monitor: Monitor) -> MonitorState:
        return monitor.step_counts(content, version=version, n=n, run_id=run_id)

    return _made(order, given, settings, run, made)


def status(settings: Settings) -> list[Standing]:
    """How every series of the store stands."""
    with _reading(settings) as store:
        return standings(store)


def history_view(name: str, last: int | None, settings: Settings) -> History:
    """The history of the series in force under a name."""
    if last is not None and last < 1:
        raise UsageError(f"last is {last}; it must be at least 1")
    with _reading(settings) as store:
        return history(store, name, last)


def close_alarm(name: str, reason: str, settings: Settings) -> tuple[AlarmState, Standing]:
    """Acknowledge the open alarm of a name, that of the series in force first."""
    if not reason.strip():
        raise UsageError("the reason is empty; say why the alarm is closed")
    with _reading(settings) as store:
        series = named(store, name)
        for one in [series, *reversed(store.series(name))]:
            if open_alarms(store, one):
                closed = acknowledge(store, one, reason)
                return closed, standing(store, series)
        raise UsageError(f"{name} has no open alarm; there is nothing to close")


def migrate(settings: Settings) -> bool:
    """Bring a store to the schema of this version; whether it was an older one."""
    where = str(settings["store"])
    try:
        Store.open(where, create=False).close()
    except StoreError:
        Store.open(where, create=False, migrate=True).close()
        return True
    return False


def open_monitor(order: Step, claim: Claim, settings: Settings) -> Monitor:
    """The monitor of a claim with these settings."""
    options: dict[str, Any] = {key.replace("-", "_"): value for key, value in settings.items()}
    return Monitor.open(
        order.name, claim, events=list(order.events) or None, keep_outputs=order.keep_outputs,
        **options,
    )  # fmt: skip


@contextmanager
def in_options() -> Iterator[None]:
    """Say what is wrong in the words of the command line, not in those of Python."""
    try:
        yield
    except UsageError as error:
        findings = [_spelled(finding) for finding in error.findings]
        if findings == list(error.findings):
            raise
        raise type(error)(findings) from error


_SPELLED = (
    ('open the series with events=["name", ...]', "name them with --event"),
    ('events=["name", ...]', "--event NAME"),
    ('events=["output <= 0"]', '--event "output <= 0"'),
    ("small_counts is", "--small-counts is"),
    ("run_id has", "--run-id has"),
    ("give another run_id", "give another --run-id"),
)


def _spelled(finding: str) -> str:
    for python, option in _SPELLED:
        finding = finding.replace(python, option)
    return finding


def _made(
    order: Step,
    claim: Claim,
    settings: Settings,
    run: Callable[[Monitor], MonitorState],
    made: Sequence[str] = (),
) -> Standing:
    """Make a step; say how its series stands, and whether store and series are new."""
    notes = [*made, *new_store(settings)]
    with open_monitor(order, claim, settings) as monitor:
        same = monitor.store.series(order.name)
        before = in_force(monitor.store, same)
        state = run(monitor)
        series = monitor.series
        assert series is not None  # noqa: S101 - it has a step
        if before is not None and series.id not in {other.id for other in same}:
            notes.append(new_series(before, series))
        return standing(monitor.store, series, notes=[*state.notes, *notes])


def _reading(settings: Settings) -> Store:
    return Store.open(str(settings["store"]), create=False)


def _series_of(name: str, settings: Settings) -> SeriesRecord | None:
    with Store.open(str(settings["store"])) as store:
        return in_force(store, store.series(name))


def faults(settings: Settings, name: str, version: str) -> list[str]:
    """What is wrong with settings that the runs need, and with names."""
    findings = []
    workers, timeout, seed = settings["workers"], settings["timeout"], settings["seed"]
    if not isinstance(workers, int) or workers < 1:
        findings.append(f"workers is {workers}; it must be a whole number of at least 1")
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < 1e9):
        findings.append(f"timeout is {timeout}; it must be a positive number of seconds")
    if seed is not None and not (isinstance(seed, int) and seed >= 0):
        findings.append(f"seed is {seed}; it must be a whole number of at least 0")
    for what, text in (("name", name), ("version", version)):
        if not text.strip():
            findings.append(f"the {what} is empty")
    return findings


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
