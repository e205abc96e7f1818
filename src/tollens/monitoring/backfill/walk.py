"""A series made afterwards: one step for each commit of a range, then the commit of the break.

Evidence of many commits is added up first, with few runs of each; only around the likely break
are commits audited one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tollens.claim import claim_from_json, parse_claim, pure
from tollens.errors import UsageError, collect
from tollens.monitoring.backfill.first_refuted import first_refuted, most_audits
from tollens.monitoring.backfill.repository import Commit, find_repository
from tollens.monitoring.backfill.runner import Answer, Runner
from tollens.monitoring.command import (
    NOT_RECORDED,
    Settings,
    Step,
    faults,
    in_options,
    only_pair,
    open_monitor,
)
from tollens.monitoring.notes import new_store
from tollens.monitoring.overview import Standing, open_alarms, standing
from tollens.monitoring.recording import FIRST_RUN, record_failure
from tollens.monitoring.series import in_force
from tollens.request import neighbours_of
from tollens.serial import to_jsonable
from tollens.store import SeriesRecord, StepRecord, Store
from tollens.store.places import read_place
from tollens.targets import split_target

Remark = Callable[[str], None]

_DECIDED = {"REFUTED": True, "UNREFUTED": False}


@dataclass(frozen=True, slots=True)
class Order:
    """The texts of `tollens monitor backfill`; `confirm` is the budget of each audit."""

    step: Step
    range: str
    path: str
    confirm: int


@dataclass(frozen=True, slots=True)
class Breaking:
    """Where audits put the break.

    `first` is None where no audit refuted. `before` was not refuted; None where `first` is the
    first commit that could be. `untested` lie between them. `verdict` is the audit of `first`.
    """

    first: Commit | None
    before: Commit | None
    untested: tuple[Commit, ...]
    verdict: Mapping[str, object] | None
    audits: int
    alpha: float
    confirm: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a walk came to: commits in the range, what became of them, the alarm and its cause.

    `unreached` are those after the alarm. `reason` says why no commit could be run, if none could.
    """

    name: str
    repository: str
    commits: int
    known: int
    scored: int
    failed: int
    skipped: int
    standing: Standing | None
    alarm: Commit | None = None
    breaking: Breaking | None = None
    unreached: int = 0
    reason: str | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        found = {**asdict(self), "standing": None}
        if self.standing is not None:
            found["standing"] = self.standing.to_dict()
        jsonable = to_jsonable(found)
        assert isinstance(jsonable, dict)  # noqa: S101 - of a dictionary
        return jsonable


def backfill(order: Order, settings: Settings, remark: Remark) -> Backfill:
    """Walk the commits to the alarm or to the end; at the alarm look for the commit of the break.

    Commits that are recorded already are not run again. Those that cannot be run are recorded as
    failed and passed over.
    """
    settings = {**settings, "store": _absolute(str(settings["store"]))}
    notes = new_store(settings)
    with in_options():
        _check(order.step, settings)
    repository = find_repository(Path(order.path))
    commits = repository.commits(order.range)
    with (
        Store.open(str(settings["store"])) as store,
        repository.worktree(commits[0]) as tree,
    ):
        runner = Runner(order.step, settings, tree, repository)
        walk = _Walk(order.step, settings, store, commits)
        alarm = walk.run(runner, remark)
        breaking = None
        if alarm is not None:
            breaking = _find_break(walk.suspects(alarm), walk.start(alarm), order, runner, remark)
        series = walk.series()
        return Backfill(
            order.step.name, str(repository.top), len(commits), walk.known, walk.scored,
            walk.failed, walk.skipped, None if series is None else standing(store, series),
            alarm, breaking, len(commits) - walk.reached, walk.reason(), (*notes, *walk.news),
        )  # fmt: skip


class _Walk:
    """The commits of a range, and what became of each."""

    def __init__(
        self, step: Step, settings: Settings, store: Store, commits: Sequence[Commit]
    ) -> None:
        self._step, self._settings, self._store, self._commits = step, settings, store, commits
        self.known = self.scored = self.failed = self.skipped = self.reached = 0
        self.news: list[str] = []
        self._errors: list[tuple[Commit, str]] = []

    def run(self, runner: Runner, remark: Remark) -> Commit | None:
        """Make the steps that are missing; the commit at which an alarm is open, if any."""
        outcomes = self._recorded()
        open_at = self._open_alarm()
        for i, commit in enumerate(self._commits, start=1):
            self.reached = i
            place = f"{i}/{len(self._commits)} {commit.short} {commit.subject[:50]}"
            if commit.sha in outcomes:
                self.known += 1
                self.scored += outcomes[commit.sha] == "scored"
                self.failed += outcomes[commit.sha] == "failed"
                if commit.sha == open_at:
                    remark(f"{place}: ALARM, recorded already")
                    return commit
                continue
            if open_at is not None and open_at not in outcomes:
                raise UsageError(
                    f"the alarm of version {open_at} of {self._step.name} is open, and that is no "
                    "commit of this range: acknowledge it first (tollens monitor acknowledge)"
                )
            answer = runner.step(commit)
            became, error = self._add(commit, answer)
            if became == "scored":
                remark(f"{place}: {_said(answer.document)}")
            elif self._errors and self._errors[-1][1] == error:
                remark(f"{place}: {became}, for the same reason")
            else:
                remark(f"{place}: {became}: {error}")
            if became != "scored":
                self._errors.append((commit, error))
            for note in answer.news:
                self.news.append(note)
                remark(f"note: {note}")
            if answer.document.get("alarm") is True:
                return commit
        return None

    def reason(self) -> str | None:
        """Why no commit could be run; None if one could."""
        if self.scored:
            return None
        if not self._errors:
            return f"all are recorded as failed already: {self._recorded_error()}"
        (first, why), (last, other) = self._errors[0], self._errors[-1]
        if why == other:
            return why
        return f"{first.short}: {why}; {last.short}: {other}"

    def _add(self, commit: Commit, answer: Answer) -> tuple[str, str]:
        """Count a commit; what became of it, and why it could not be run, if it could not."""
        if answer.document.get("version") == commit.sha:
            if answer.document.get("last_outcome") == "scored":
                self.scored += 1
                return "scored", ""
            self.failed += 1
            return "failed", answer.error.removeprefix(f"version {commit.sha} could not be run: ")
        series = self.series()
        if series is None:  # nowhere to record it: claim and pair are not known yet
            self.skipped += 1
            return "skipped", answer.error.partition(NOT_RECORDED)[0]
        run_id = self._step.run_id or FIRST_RUN
        record_failure(self._store, series, commit.sha, run_id, answer.error)
        self.failed += 1
        return "failed", answer.error

    def series(self) -> SeriesRecord | None:
        """The series of these settings in force; claim and pair may stand in the target."""
        same = [s for s in self._store.series(self._step.name) if self._mine(s)]
        return in_force(self._store, same)

    def _mine(self, series: SeriesRecord) -> bool:
        names = ["method", "alpha", "horizon", "pairs"]
        names += ["beta"] if self._settings["method"] == "brownian" else []
        claim = self._step.request.claim
        return (
            all(series.settings.get(name) == self._settings[name] for name in names)
            and to_jsonable(series.settings.get("events")) == list(self._step.events)
            and (claim is None or parse_claim(claim) == claim_from_json(series.settings["claim"]))
        )

    def _recorded(self) -> dict[str, str]:
        """The outcomes of commits that are recorded, under the run id of this walk."""
        mine = self._step.run_id or FIRST_RUN
        found: dict[str, str] = {}
        for series in self._store.series(self._step.name):
            for step in self._store.steps(series.id) if self._mine(series) else ():
                tried = step.run_id == mine or step.run_id.startswith(f"{mine}~")
                sha = self._sha(step.version)
                if tried and sha is not None and found.get(sha) != "scored":
                    found[sha] = step.outcome
        return found

    def _recorded_error(self) -> str:
        """Why the last step that failed did."""
        series = self.series()
        steps = [] if series is None else self._store.steps(series.id)
        errors = [str(step.summary.get("error")) for step in steps if step.outcome == "failed"]
        return errors[-1] if errors else "nobody knows why"

    def _sha(self, version: str) -> str | None:
        """The commit of the range that a recorded version is; it may have been cut short."""
        if re.fullmatch(r"[0-9a-f]{7,64}", version) is None:
            return None
        found = [commit.sha for commit in self._commits if commit.sha.startswith(version)]
        return found[0] if len(found) == 1 else None

    def _open_alarm(self) -> str | None:
        series = self.series()
        alarms = [] if series is None else open_alarms(self._store, series)
        return (self._sha(alarms[0].version) or alarms[0].version) if alarms else None

    def suspects(self, alarm: Commit) -> list[Commit]:
        """The commits up to the alarm that could be run."""
        scored = {self._sha(step.version) for step in self._steps()}
        until = self._commits.index(alarm)
        return [commit for commit in self._commits[: until + 1] if commit.sha in scored]

    def start(self, alarm: Commit) -> int:
        """The last suspect before the steps that the break may lie at; -1 if there is none."""
        series = self.series()
        alarms = [] if series is None else open_alarms(self._store, series)
        earliest = alarms[0].likely_break.earliest if alarms else 1
        before = {self._sha(step.version) for step in self._steps() if step.number < earliest}
        found = [i for i, commit in enumerate(self.suspects(alarm)) if commit.sha in before]
        return found[-1] if found else -1

    def _steps(self) -> list[StepRecord]:
        series = self.series()
        steps = [] if series is None else self._store.steps(series.id)
        return [step for step in steps if step.outcome == "scored"]


def _find_break(
    suspects: Sequence[Commit], start: int, order: Order, runner: Runner, remark: Remark
) -> Breaking:
    """Audit commits until the first that is refuted is known."""
    alpha = float(str(runner.settings["alpha"])) / most_audits(len(suspects))
    verdicts: dict[int, Mapping[str, object]] = {}

    def refuted(i: int) -> bool | None:
        answer = runner.audit(suspects[i], alpha, order.confirm)
        outcome = str(answer.document.get("outcome", ""))
        verdicts[i] = answer.document
        said = outcome if outcome in _DECIDED else f"undecided: {answer.error or outcome}"
        remark(f"audit of {suspects[i]}: {said}")
        return _DECIDED.get(outcome)

    found = first_refuted(len(suspects), start, refuted)
    if found.first is None:
        return Breaking(None, None, (), None, found.audits, alpha, order.confirm)
    low = -1 if found.before is None else found.before
    return Breaking(
        suspects[found.first],
        None if found.before is None else suspects[found.before],
        tuple(suspects[low + 1 : found.first]),
        verdicts[found.first],
        found.audits,
        alpha,
        order.confirm,
    )


def _check(step: Step, settings: Settings) -> None:
    """`UsageError` for what would be wrong at every commit."""
    findings = faults(settings, step.name, step.version)
    collect(findings, lambda: split_target(step.request.target))
    claim = pure(1.0)
    if step.request.claim is not None:
        text = step.request.claim
        claim = collect(findings, lambda: parse_claim(text)) or claim
    if step.request.x is not None or step.request.x_prime is not None:
        collect(findings, lambda: only_pair(neighbours_of(step.request, None)))
    if findings:
        raise UsageError(findings)
    open_monitor(step, claim, settings).close()


def _absolute(store: str) -> str:
    """A store that means the same in another folder."""
    place = read_place(store)
    return store if place.path is None else str(place.path)


def _said(document: Mapping[str, object]) -> str:
    """How the series stands, in a few words."""
    evidence, threshold = document.get("evidence"), document.get("threshold")
    if isinstance(evidence, float) and isinstance(threshold, float):
        return f"{document.get('word')}, evidence {evidence:.2f} of {threshold:.2f}"
    return str(document.get("word"))
