"""The verb `monitor`: a claim watched over the versions of a mechanism.

A step is drawn outside the store's lock and scored within it, in one transaction: look whether
this run of this version is there already, score it with the state that the last step left, write
the step, the new state and, if need be, the alarm. Bets stand before the runs that they score,
for they are made from earlier steps alone, whoever wrote those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tollens.adapters import adapt
from tollens.claim import Claim
from tollens.errors import MechanismError, TargetError, UsageError
from tollens.mechanism import Mechanism
from tollens.monitoring.detectors import Counts, Runs, check_counts
from tollens.monitoring.options import Options, bad_options
from tollens.monitoring.plan import Plan, make_plan, names, seconds_of
from tollens.monitoring.recording import (
    FIRST_RUN,
    acknowledge,
    last_try,
    record_failure,
    record_step,
    refuse_long,
)
from tollens.monitoring.sampling import VersionFailed, draw, step_seed
from tollens.monitoring.series import history_of, in_force, last_step, located, state_of, unborn
from tollens.monitoring.state import AlarmState, HistoryRow, MonitorState
from tollens.monitoring.verdicts import verdict_of
from tollens.neighbours import Pair, as_pair
from tollens.serial import to_jsonable
from tollens.store import SeriesRecord, StepRecord, Store
from tollens.targets import load_target
from tollens.verdict import Verdict

DEFAULT_STORE = ".tollens/monitor.db"


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
        findings += bad_options(keep_outputs, seed, workers, timeout)
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
        refuse_long(version, run_id)
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
        return self._recorded(series, version, run_id, Runs(self.plan.pairs, (x, y)), extra)

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
        refuse_long(version, run_id)
        check_counts(counts, n, names(self.plan.events))
        whole = {event: (int(both[0]), int(both[1])) for event, both in counts.items()}
        series = self._entered(None)
        runs = Runs(n, counts=whole)
        return self._recorded(series, version, run_id, runs, {})

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

    def _recorded(
        self,
        series: SeriesRecord,
        version: str,
        run_id: str,
        runs: Runs,
        extra: Mapping[str, object],
    ) -> MonitorState:
        note = record_step(
            self._store, series, self.plan, self._options,
            version=version, run_id=run_id, runs=runs, extra=extra,
        )  # fmt: skip
        return self._state(*([] if note is None else [note]))

    def _known(self, series: SeriesRecord, version: str, run_id: str) -> StepRecord | None:
        with self._store.turn(series.id) as turn:
            return last_try(turn, version, run_id)


def _prepared(mechanism: object, target: str | None) -> Mechanism:
    if isinstance(mechanism, str):
        return replace(adapt(load_target(mechanism)), target=mechanism)
    return replace(adapt(mechanism), target=target)
