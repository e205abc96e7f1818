"""`tollens check`: every declared promise, one after another or by several workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tollens.adapters import adapt
from tollens.auditing.run import Progress
from tollens.backends import Pool, backend_findings, is_cluster, open_pool
from tollens.backends.cluster import versions
from tollens.backends.flight import Flight
from tollens.discovery import Found, find_promises
from tollens.errors import Interrupted, TollensError, UsageError
from tollens.parallel import cluster_finding, from_anywhere, parallel_finding
from tollens.promise_check import Task, check_promise, run_task
from tollens.promise_tables import Table, load_tables
from tollens.refutation.found import Step
from tollens.streams import fresh_seed
from tollens.verdict import Verdict

_LOST = "its worker was lost, and again when it was tested anew; does a run end its process?"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The verdicts of a check in the order of the targets, and what could not be tested."""

    verdicts: tuple[tuple[str, Verdict], ...]
    problems: tuple[str, ...]
    alpha: float
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _Check:
    """What is to be tested, and how; `settings` are those of each audit."""

    found: Sequence[Found]
    tables: Mapping[int, Table]
    settings: Mapping[str, object]
    patience: float
    progress: Callable[[str, Progress], None] | None
    searching: Callable[[str, Step], None] | None

    @property
    def workers(self) -> int:
        """Processes; those of a cluster are not counted here."""
        workers = self.settings.get("workers", 1)
        return workers if isinstance(workers, int) else 1

    @property
    def backend(self) -> str | None:
        """The address of a backend, if there is one."""
        backend = self.settings.get("backend")
        return backend if isinstance(backend, str) else None


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

    With `workers` above 1, or a cluster as `backend`, each worker tests whole promises; if there
    are fewer promises than workers, they share the runs of one after another. Mechanisms that
    take no `rng` are tested here. Report and order are the same in every case.
    """
    found, problems = find_promises(paths)
    from_tables: dict[int, Table] = {}
    for table in tables:
        listed, faults = load_tables([table])
        from_tables |= dict.fromkeys(range(len(found), len(found) + len(listed)), table)
        found, problems = [*found, *listed], [*problems, *faults]
    audits = dict(settings)
    alpha, patience = audits["alpha"], audits.pop("proof-timeout", 0.0)
    if not isinstance(alpha, float):
        raise UsageError(f"alpha is {alpha}; it must be a number")
    if not isinstance(patience, int | float) or not 0 <= patience < float("inf"):
        raise UsageError(f"proof-timeout is {patience}; it must be at least 0 seconds")
    audits["alpha"] = alpha / max(1, len(found))
    task = _Check(
        found,
        from_tables,
        audits,
        float(patience),
        progress,
        searching,
    )
    results, interrupted = _results(task)
    verdicts = []
    for at, item in enumerate(found):
        result = results.get(at)
        if isinstance(result, Verdict):
            verdicts.append((item.target, result))
        elif result is not None:
            problems.append(f"{item.target}: {result}")
    return CheckReport(tuple(verdicts), tuple(problems), alpha, interrupted)


def _results(task: _Check) -> tuple[dict[int, Verdict | str], bool]:
    """The verdict on each promise or what is wrong with it, by its number; whether Ctrl-C came."""
    findings = backend_findings(task.settings.get("backend"))
    if is_cluster(task.backend) and task.settings.get("timeout") is not None:
        findings.append("timeout does not go with a backend: workers of clusters cannot fork")
    if findings:
        raise UsageError(findings)
    results: dict[int, Verdict | str] = {}
    everything = range(len(task.found))
    try:
        if not is_cluster(task.backend) and not 1 < task.workers <= len(everything):
            _here(task, everything, results)
            return results, False
        with closing(open_pool(task.backend, task.workers)) as pool:
            sent = [at for at in everything if _may_move(task, at)]
            if len(sent) < pool.workers:
                sent = []
            _elsewhere(task, sent, pool, results)
        _here(task, [at for at in everything if at not in results], results)
    except KeyboardInterrupt:
        return results, True
    return results, False


def _here(task: _Check, numbers: Sequence[int], results: dict[int, Verdict | str]) -> None:
    """Test promises in this process, one after another; the workers share the runs of each."""
    for at in numbers:
        item = task.found[at]
        settings = dict(task.settings)
        if not _may_move(task, at):
            settings |= {"workers": 1, "backend": None}
        try:
            results[at] = check_promise(
                item,
                settings,
                task.patience,
                progress=_named(task.progress, item.target),
                searching=task.searching,
            )
        except Interrupted as stop:
            results[at] = stop.verdict
            raise
        except TollensError as error:
            results[at] = str(error)


def _elsewhere(
    task: _Check, numbers: Sequence[int], pool: Pool, results: dict[int, Verdict | str]
) -> None:
    """Have workers test promises; those of a lost worker once more, one by one."""
    waiting, lost = list(reversed(numbers)), []
    flight: Flight[int] = Flight(pool, run_task)
    while waiting or flight:
        while waiting and not flight.full:
            at = waiting.pop()
            flight.send(at, _task(task, at))
        for at, future in flight.landed():
            try:
                results[at] = future.result()
            except pool.losses:
                lost.append(at)
            except Exception as error:  # noqa: BLE001 - what cannot be sent back is a problem too
                results[at] = f"its verdict could not be sent from its worker ({error})"
            else:
                _show(task, at, results[at])
    for at in sorted(lost):
        results[at] = _LOST
        if not pool.repeats:
            try:
                results[at] = pool.submit(run_task, _task(task, at)).result()
            except pool.losses:
                continue
            _show(task, at, results[at])


def _task(task: _Check, at: int) -> Task:
    settings = dict(task.settings)
    settings |= {"workers": 1, "backend": None}
    if settings.get("seed") is None:
        settings["seed"] = fresh_seed()
    target, table = from_anywhere(task.found[at].target), task.tables.get(at)
    table = None if table is None else replace(table, target=target)
    return Task(target, table, settings, task.patience, versions())


def _may_move(task: _Check, at: int) -> bool:
    """Whether runs of a promise may be made again, elsewhere, if a worker is lost."""
    if task.settings.get("outputs") == "timed":
        return False
    try:
        mechanism = adapt(task.found[at].mechanism)
    except UsageError:
        return False
    refused = cluster_finding if is_cluster(task.backend) else parallel_finding
    return mechanism.takes_rng and refused(mechanism) is None


def _show(task: _Check, at: int, result: Verdict | str) -> None:
    """Report a verdict that came from a worker as the end of its audit."""
    budget, alpha = task.settings.get("budget"), task.settings["alpha"]
    if task.progress is None or not isinstance(result, Verdict) or not isinstance(budget, int):
        return
    threshold = -math.log(alpha) if isinstance(alpha, float) and alpha > 0 else math.inf
    done = Progress(budget, budget, result.log_e_value, threshold)
    task.progress(task.found[at].target, done)


def _named(
    progress: Callable[[str, Progress], None] | None, target: str
) -> Callable[[Progress], None] | None:
    if progress is None:
        return None
    return lambda state: progress(target, state)
