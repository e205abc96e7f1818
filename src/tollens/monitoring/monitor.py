"""The verb `monitor`: a claim watched over the versions of a mechanism.

A step is drawn outside the store's lock and scored within it, in one transaction: look whether
this run of this version is there already, score it with the state that the last step left, write
the step, the new state and, if need be, the alarm. Bets stand before the runs that they score,
for they are made from earlier steps alone, whoever wrote those.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from tollens.adapters import adapt
from tollens.claim import Claim
from tollens.errors import MechanismError, TargetError, UsageError
from tollens.mechanism import Mechanism
from tollens.monitoring.archive import alarm_details, packed, recent_steps
from tollens.monitoring.detectors import Counts, Runs, check_counts
from tollens.monitoring.methods import make_detector
from tollens.monitoring.pack import pack
from tollens.monitoring.plan import Plan, make_plan, names, plan_from_settings, seconds_of
from tollens.monitoring.sampling import VersionFailed, draw, step_seed
from tollens.monitoring.series import history_of, in_force, last_step, located, state_of, unborn
from tollens.monitoring.state import AlarmState, HistoryRow, MonitorState
from tollens.monitoring.verdicts import verdict_of
from tollens.neighbours import Pair, as_pair
from tollens.serial import to_jsonable
from tollens.store import SeriesRecord, StepRecord, Store, Turn
from tollens.targets import load_target
from tollens.verdict import Verdict

DEFAULT_STORE = ".tollens/monitor.db"
FIRST_RUN = "1"
"""The `run_id` of a step that was given none."""

LONGEST = 245
"""Characters of a version and of a `run_id`; the store has room for ten more, for a second try."""


@dataclass(frozen=True, slots=True)
class Options:
    """What may change within a series; see `Monitor.open`."""

    stale_after: float | None = None
    keep_outputs: bool = False
    small_counts: str = "refuse"
    seed: int | None = None
    workers: int = 1
    timeout: float | None = None


class Monitor:
    """One claim watched under one name; made by `Monitor.open`.

    Its series begins with the first step. Another claim, pair, n, alpha, horizon or other events
    under the same name are another series; the old one stays readable in the store.

    >>> import tempfile, tollens
    >>> def noisy_count(rows, rng):
    ...     return len(rows) + rng.laplace(scale=0.5)        # epsilon = 1 needs scale 1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Monitor.open("count", "epsilon=1", store=f"{folder}/m.db", seed=1) as monitor:
    ...         state = monitor.step(noisy_count, neighbours=([1, 1], [1]), version="v1")
    >>> state.alarm, state.likely_break.version
    (True, 'v1')
    """

    def __init__(self, store: Store, name: str, plan: Plan, options: Options) -> None:
        self._store, self.name, self.plan, self._options = store, name, plan, options
        self._series: SeriesRecord | None = None

    @classmethod
    def open(  # noqa: PLR0913 - keyword-only settings with good defaults
        cls,
        name: str,
        claim: Claim | str,
        *,
        store: str | Path = DEFAULT_STORE,
        method: str = "exact",
        alpha: float = 0.05,
        horizon: int | str | None = None,
        beta: float = 0.25,
        events: object = None,
        pairs: int = 750,
        delta: float | None = None,
        stale_after: float | str | None = None,
        keep_outputs: bool = False,
        small_counts: str = "refuse",
        seed: int | None = None,
        workers: int = 1,
        timeout: float | None = None,
    ) -> Self:
        """Open a series in a store (a path is SQLite, a URL may be PostgreSQL), made if need be.

        `alpha` is the probability of any false alarm: ever (`horizon=None`), within `horizon`
        steps, or, with `horizon="arl"`, 1 over the mean number of steps to one. `events` are
        texts such as "output <= 0", or names with functions of one output; the exact method needs
        none. `pairs` are the runs of a step on each input. `delta` is where the leak is stated if
        the claim has none of its own. `stale_after` ("2d", or seconds) is how long the series may
        go without a step before it is reported. Outputs are kept only with `keep_outputs`.
        `small_counts="warn"` lets the Brownian method raise alarms where its level does not hold.
        """
        findings: list[str] = []
        plan = None
        try:
            plan = make_plan(
                claim, method=method, alpha=alpha, horizon=horizon, beta=beta, events=events,
                pairs=pairs, delta=delta,
            )  # fmt: skip
        except UsageError as error:
            findings.extend(error.findings)
        try:
            stale = seconds_of(stale_after)
        except UsageError as error:
            findings.extend(error.findings)
        if small_counts not in ("refuse", "warn"):
            findings.append(f"small_counts is {small_counts!r}; it must be one of refuse, warn")
        if name is not None and not isinstance(name, str):
            findings.append(f"the name of the series is a {type(name).__name__}; give a text")
        elif not name or not name.strip():
            findings.append("the name of the series is empty")
        findings += _bad_options(keep_outputs, seed, workers, timeout)
        if findings or plan is None:
            raise UsageError(findings)
        options = Options(stale, keep_outputs, small_counts, seed, workers, timeout)
        return cls(Store.open(store), name, plan, options)

    def step(
        self,
        mechanism: object,
        *,
        neighbours: object,
        version: str,
        run_id: str | None = None,
        target: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> MonitorState:
        """Run this version on both inputs, score the runs, and say how the series stands.

        A version that cannot be loaded or run, or that breaks the contract of a run, is recorded
        as a failed step, and the series goes on. A step that is sent again (same `version` and
        `run_id`) counts once. Workers load a mechanism that cannot be sent to them from its text
        form, `target`. Nothing is recorded where this raises.
        """
        pair = as_pair(neighbours)
        run_id = FIRST_RUN if run_id is None else run_id
        _refuse_long(version, run_id)
        series = self._entered(pair)
        known = self._known(series, version, run_id)
        if known is not None and known.outcome == "scored":
            return self._state(
                f"version {version}, run {run_id} is recorded already; not run again"
            )
        last = last_step(self._store, series)
        number = 1 if last is None else last.number + 1
        seed = step_seed(self._options.seed, version, run_id, number)
        try:
            ready = _prepared(mechanism, target)
            x, y = draw(
                ready, pair, self.plan.pairs, seed=seed, workers=self._options.workers,
                timeout=self._options.timeout, progress=progress,
            )  # fmt: skip
        except (VersionFailed, TargetError, MechanismError) as error:
            record_failure(self._store, series, version, run_id, str(error))
            return self._state(f"version {version} could not be run: {error}")
        extra = {"seed": seed, "replayable": ready.takes_rng, "mechanism": ready.name}
        return self._scored(series, version, run_id, Runs(self.plan.pairs, (x, y)), extra)

    def step_counts(
        self,
        counts: Counts,
        *,
        version: str,
        n: int | None = None,
        run_id: str | None = None,
    ) -> MonitorState:
        """A step of which only counts are known: {"event": (hits on x, hits on x')} of n runs.

        `n` is that of the series if it is not given. Sent again with the same `version` and
        `run_id` it counts once; other numbers under them are an error.
        """
        n = self.plan.pairs if n is None else n
        if not self.plan.events:
            raise UsageError('counts need events; open the series with events=["name", ...]')
        run_id = FIRST_RUN if run_id is None else run_id
        _refuse_long(version, run_id)
        check_counts(counts, n, names(self.plan.events))
        whole = {event: (int(both[0]), int(both[1])) for event, both in counts.items()}
        series = self._entered(None)
        runs = Runs(n, counts=whole)
        return self._scored(series, version, run_id, runs, {})

    @property
    def store(self) -> Store:
        """The store, open for as long as the monitor is."""
        return self._store

    @property
    def series(self) -> SeriesRecord | None:
        """The series in force with the settings of this monitor; None before its first step."""
        return self._found()

    @property
    def state(self) -> MonitorState:
        """How the series stands."""
        return self._state()

    def verdict(self) -> Verdict:
        """What the series has shown so far, as the verdict of an audit would say it."""
        series = self._found()
        if series is None:
            raise UsageError(f"{self.name} has no steps yet; there is nothing to give a verdict on")
        return verdict_of(self._store, series)

    def history(self, last: int | None = None) -> Iterator[HistoryRow]:
        """The steps of the series, oldest first; only the `last` ones if so asked."""
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 0):
            raise UsageError(f"last is {last!r}; give a whole number of steps, or None for all")
        series = self._found()
        return iter(()) if series is None else history_of(self._store, series, last)

    def alarms(self) -> list[AlarmState]:
        """All alarms of the series, oldest first."""
        series = self._found()
        return [] if series is None else [located(alarm) for alarm in self._store.alarms(series.id)]

    def acknowledge(self, reason: str) -> MonitorState:
        """Close the open alarm with a reason; evidence starts anew from the next step."""
        series = self._found()
        if series is None:
            raise UsageError(f"{self.name} has no steps yet; there is no alarm to acknowledge")
        acknowledge(self._store, series, reason)
        return self._state()

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _entered(self, pair: Pair | None) -> SeriesRecord:
        digest, settings = self.plan.digest(pair), self.plan.settings(pair)
        self._series = self._store.enter(
            self.name, digest, settings, stale_after=self._options.stale_after
        )
        return self._series

    def _found(self) -> SeriesRecord | None:
        """The series in force, if it has the settings of this monitor, whatever its pair."""
        if self._series is None:
            mine = self.plan.settings(None)
            same = [
                series
                for series in self._store.series(self.name)
                if to_jsonable({**series.settings, "neighbours": None}) == mine
            ]
            self._series = in_force(self._store, same)
        return self._series

    def _state(self, *notes: str) -> MonitorState:
        series = self._found()
        if series is None:
            return unborn(self.name, self.plan.method, self.plan.alpha, notes)
        return state_of(self._store, series, notes)

    def _known(self, series: SeriesRecord, version: str, run_id: str) -> StepRecord | None:
        with self._store.turn(series.id) as turn:
            return _last_try(turn, version, run_id)

    def _scored(
        self,
        series: SeriesRecord,
        version: str,
        run_id: str,
        runs: Runs,
        extra: Mapping[str, object],
    ) -> MonitorState:
        fingerprint = _fingerprint(runs)
        with self._store.turn(series.id) as turn:
            known = _last_try(turn, version, run_id)
            if known is not None and known.outcome == "scored":
                if runs.counts is not None and known.fingerprint != fingerprint:
                    raise UsageError(
                        f"version {version}, run {run_id} of {self.name} was given with other "
                        "numbers before; give another run_id if these are further runs"
                    )
                return self._state(f"version {version}, run {run_id} was recorded; it counts once")
            detector = make_detector(
                self.plan, turn.checkpoint, small_counts=self._options.small_counts
            )
            latched = turn.alarm is not None
            steering = step_seed(0, version, run_id, turn.number)
            reading = detector.take(runs, latched=latched, seed=steering)
            step = StepRecord(
                number=turn.number,
                version=version,
                run_id=run_id if known is None else _free(turn, version, run_id),
                outcome="scored",
                pairs=runs.n,
                recorded_at=datetime.now(UTC),
                fingerprint=fingerprint,
                log_e_value=reading.evidence,
                epsilon_lower=reading.epsilon_lower,
                summary={
                    **_carried(turn.last, scored=1, pairs=runs.n), "threshold": reading.threshold,
                    "notes": list(reading.notes), **reading.summary, **extra,
                },
                experts=pack(dict(reading.trace)),
            )  # fmt: skip
            alarm = None
            if reading.alarm and not latched:
                past = recent_steps(self._store, series)
                alarm = alarm_details(past, detector, reading, step)
            raw = None
            if self._options.keep_outputs and runs.outputs is not None:
                raw = packed(runs.outputs)
            turn.record(step, checkpoint=detector.kept(), alarm=alarm, raw=raw)
        return self._state()


def record_failure(
    store: Store, series: SeriesRecord, version: str, run_id: str, message: str
) -> None:
    """Add a failed step: a version that could not be loaded or run. Evidence stays as it was."""
    with store.turn(series.id) as turn:
        known, last = _last_try(turn, version, run_id), turn.last
        if known is not None and known.outcome != "failed":
            return
        step = StepRecord(
            number=turn.number,
            version=version,
            run_id=run_id if known is None else _free(turn, version, run_id),
            outcome="failed",
            pairs=0,
            recorded_at=datetime.now(UTC),
            fingerprint="",
            log_e_value=-math.inf if last is None else last.log_e_value,
            epsilon_lower=0.0 if last is None else last.epsilon_lower,
            summary={**_carried(last, failed=1), "error": message},
            experts=b"",
        )
        turn.record(step, checkpoint=None)


def _bad_options(keep_outputs: object, seed: object, workers: object, timeout: object) -> list[str]:
    """What is wrong with settings that may change within a series."""
    findings = []
    if not isinstance(keep_outputs, bool):
        findings.append(f"keep_outputs is {keep_outputs!r}; it must be true or false")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        findings.append(f"seed is {seed!r}; it must be a whole number of at least 0")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        findings.append(f"workers is {workers!r}; it must be a whole number of at least 1")
    real = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (real and 0 < timeout < math.inf):  # type: ignore[operator]
        findings.append(f"timeout is {timeout!r}; it must be a positive number of seconds")
    return findings


def _refuse_long(version: object, run_id: object) -> None:
    """`UsageError`, before anything is run, for texts that the store could not keep."""
    findings = [
        f"{what} has {len(text)} characters; it may have {LONGEST}"
        for what, text in (("version", version), ("run_id", run_id))
        if isinstance(text, str) and len(text) > LONGEST
    ]
    if findings:
        raise UsageError(findings)


def _carried(
    last: StepRecord | None, *, scored: int = 0, failed: int = 0, pairs: int = 0
) -> dict[str, object]:
    """The counts of steps and the threshold, carried on from the last step."""
    before = {} if last is None else last.summary
    found: dict[str, object] = {
        "scored": _count(before.get("scored")) + scored,
        "failed": _count(before.get("failed")) + failed,
        "pairs_so_far": _count(before.get("pairs_so_far")) + pairs,
    }
    if "threshold" in before:
        found["threshold"] = before["threshold"]
    return found


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def acknowledge(store: Store, series: SeriesRecord, reason: str) -> AlarmState:
    """Close the open alarm of a series; evidence starts anew from the next step."""
    plan = plan_from_settings(dict(series.settings))
    with store.turn(series.id) as turn:
        kept = None
        if turn.checkpoint is not None:
            detector = make_detector(plan, turn.checkpoint)
            detector.restart()
            kept = detector.kept()
        return located(turn.acknowledge(reason, checkpoint=kept))


def _prepared(mechanism: object, target: str | None) -> Mechanism:
    if isinstance(mechanism, str):
        return replace(adapt(load_target(mechanism)), target=mechanism)
    return replace(adapt(mechanism), target=target)


def _last_try(turn: Turn, version: str, run_id: str) -> StepRecord | None:
    """The last try of this run of a version: a run that failed is tried again (see `_free`)."""
    found, again = turn.find(version, run_id), 2
    while found is not None and found.outcome == "failed":
        later = turn.find(version, f"{run_id}~{again}")
        if later is None:
            break
        found, again = later, again + 1
    return found


def _free(turn: Turn, version: str, run_id: str) -> str:
    """A run_id that is free, for a run that is tried again after it failed."""
    again = 2
    while turn.find(version, f"{run_id}~{again}") is not None:
        again += 1
    return f"{run_id}~{again}"


def _fingerprint(runs: Runs) -> str:
    """A digest of the counts; of runs only that they are runs, as they are never drawn twice."""
    content: object = "runs"
    if runs.counts is not None:
        content = [runs.n, sorted((event, list(both)) for event, both in runs.counts.items())]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=12).hexdigest()
