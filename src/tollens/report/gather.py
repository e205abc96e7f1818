"""The files of a report: read, told apart by their schema, and checked; all faults at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tollens.auditing.record import rescore
from tollens.certificate import Certificate
from tollens.errors import UsageError
from tollens.monitoring.overview import History, Standing
from tollens.refutation.command import verify_file
from tollens.report.contents import Contents, Item, Source
from tollens.report.monitor_documents import history_from, standing_from
from tollens.serial import parse_json
from tollens.training.report import TrainingReport
from tollens.verdict import Verdict

MOST_BYTES = 64 * 2**20
"""The largest file that is read."""

MOST_VERDICTS = 10_000
"""Verdicts and series that one report shows."""

_MOST_FINDINGS = 20

_ENDS = (".json", ".jsonl")
_KNOWN = (
    "a verdict, a check, a certificate, a file of evidence, a report of training, or the history, "
    "status or step of a monitor"
)


def gather(paths: Sequence[Path]) -> Contents:
    """Read files, and all `.json` and `.jsonl` in folders, in the order given.

    They may hold verdicts (one, a line each, or those of `tollens check`), certificates (which the
    checker confirms), histories of a monitor and reports of training. The same verdict in several
    files is shown once. Raises `UsageError` that names every file which is none of these.
    """
    found = _Found()
    findings: list[str] = []
    for path in paths:
        try:
            files = list(_files(path))
        except UsageError as error:
            findings += error.findings
            continue
        for file in files:
            try:
                found.add(file)
            except UsageError as error:
                findings += [
                    finding if finding.startswith(str(file)) else f"{file}: {finding}"
                    for finding in error.findings
                ]
    if not findings and not found.sources:
        findings.append("there is no file to report on; name files of verdicts, or a folder")
    if findings:
        raise UsageError(findings)
    return found.contents()


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    inside = sorted(file for file in path.rglob("*") if file.suffix in _ENDS and file.is_file())
    if not inside:
        raise UsageError(f"{path} is a folder without files that end in .json or .jsonl")
    yield from inside


@dataclass
class _Found:
    """What was read so far."""

    items: dict[str, Item] = field(default_factory=dict)
    histories: dict[str, History] = field(default_factory=dict)
    trainings: dict[str, TrainingReport] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)

    def contents(self) -> Contents:
        """All of it, for a report."""
        return Contents(
            tuple(self.items.values()), tuple(self.histories.values()),
            tuple(self.trainings.values()), tuple(dict.fromkeys(self.problems)),
            tuple(self.sources.values()),
        )  # fmt: skip

    def add(self, path: Path) -> None:
        """Read a file."""
        content = _content(path)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError(f"{path} is no text in UTF-8") from None
        if path.suffix == ".jsonl":
            what = self._lines(text, path)
        else:
            what = self._document(parse_json(text, str(path)), path, str(path))
        digest = hashlib.sha256(content).hexdigest()
        self.sources[str(path)] = Source(str(path), digest, len(content), what)

    def _lines(self, text: str, path: Path) -> str:
        findings, count = [], 0
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                self._document(parse_json(line, place), path, place)
                count += 1
            except UsageError as error:
                findings += [f if f.startswith(place) else f"{place}: {f}" for f in error.findings]
            if len(findings) >= _MOST_FINDINGS:
                findings.append(f"{path}: what comes after was not read")
                break
        if not count and not findings:
            findings.append(f"{path} is empty")
        if findings:
            raise UsageError(findings)
        return f"{count:,} lines"

    def _document(self, data: object, path: Path, place: str) -> str:
        schema = data.get("schema") if isinstance(data, dict) else None
        read = _READERS.get(schema) if isinstance(schema, str) else None
        if not isinstance(data, dict) or read is None:
            named = f'its "schema" is {schema!r}' if schema is not None else 'it has no "schema"'
            raise UsageError(f"{place} is none of {_KNOWN}: {named}")
        what = read(self, data, path, place)
        if len(self.items) + len(self.histories) + len(self.trainings) > MOST_VERDICTS:
            raise UsageError(f"a report shows {MOST_VERDICTS:,} verdicts at most; name fewer files")
        return what

    def keep(self, target: str, verdict: Verdict, place: str, *, test: bool = False) -> None:
        """Add a verdict; one that is there already gets a further place."""
        key = _key(verdict) if isinstance(verdict.evidence, Certificate) else verdict.to_json()
        known = self.items.get(key)
        if known is None:
            self.items[key] = Item(target, verdict, (place,), test)
        else:
            named = target if "::" in target and "::" not in known.target else known.target
            self.items[key] = replace(known, target=named, places=(*known.places, place))

    def watched(self, found: History) -> None:
        """Add a series; of one that is there already, the more steps count."""
        state = found.standing.state
        key = json.dumps([state.name, found.standing.claim, state.method, found.standing.alpha])
        known = self.histories.get(key)
        if known is None or len(known.rows) < len(found.rows):
            self.histories[key] = found


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # others may never end, or never begin
        raise UsageError(f"{path} is no file")
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{str(path)[:60]!r} is no path") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} has more than {MOST_BYTES:,} bytes; that is too large a file")
    if not content.strip():
        raise UsageError(f"{path} is empty")
    return content


def _key(verdict: Verdict) -> str:
    """A proof is the same wherever it stands."""
    evidence = verdict.evidence
    document = evidence.document if isinstance(evidence, Certificate) else {}
    return json.dumps(document, sort_keys=True)


def _verdict(data: Mapping[str, object]) -> Verdict:
    return Verdict.from_json(json.dumps(data))


def _read_verdict(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    verdict, test = _verdict(data), data.get("test")
    found.keep(str(test) if test else verdict.mechanism, verdict, place, test=isinstance(test, str))
    return "a verdict"


def _read_check(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    rows, problems = data.get("verdicts"), data.get("problems")
    if not isinstance(rows, list) or not isinstance(problems, list):
        raise UsageError('not a check: "verdicts" and "problems" must be lists')
    findings = []
    for number, row in enumerate(rows, start=1):
        try:
            found.keep(str(row["target"]), _verdict(row["verdict"]), place)
        except UsageError as error:
            findings += [f"verdict {number}: {finding}" for finding in error.findings]
        except (KeyError, TypeError):
            findings.append(f'verdict {number} must have a "target" and a "verdict"')
    if findings:
        raise UsageError(findings)
    found.problems += [str(problem) for problem in problems]
    if data.get("interrupted") is True:
        found.problems.append(f"{place}: the check was interrupted; what came after is missing")
    return f"a check of {len(rows):,} promise{'' if len(rows) == 1 else 's'}"


def _read_report(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    series, trainings = data.get("series"), data.get("training")
    if not isinstance(series, list) or not isinstance(trainings, list):
        raise UsageError('not a report: "series" and "training" must be lists')
    _read_check(found, data, path, place)
    for row in series:
        found.watched(history_from({**row, "older": []} if isinstance(row, dict) else {}))
    for report in trainings:
        _read_training(found, report, path, place)
    return "a report"


def _read_error(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    findings = data.get("findings")
    found.problems += [str(f) for f in findings] if isinstance(findings, list) else [place]
    return "errors of a command"


def _read_certificate(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    verified, verdict = verify_file(path)
    found.keep(verified.mechanism, verdict, place)
    return "a certificate, confirmed by the checker"


def _read_evidence(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    verdict = rescore(json.dumps(data))
    found.keep(verdict.mechanism, verdict, place)
    return "a file of evidence, scored again"


def _read_history(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    history = history_from(data)
    found.watched(history)
    return f"the history of a series, {len(history.rows):,} steps"


def _read_step(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    found.watched(_alone(standing_from(data)))
    return "a step of a series"


def _read_status(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    rows = data.get("series")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError('not the status of a monitor: "series" must be a list of objects')
    for row in rows:
        found.watched(_alone(standing_from(row)))
    return f"the status of {len(rows):,} series"


def _read_training(found: _Found, data: dict[str, object], path: Path, place: str) -> str:
    report = TrainingReport.from_json(json.dumps(data))
    found.trainings[report.to_json()] = report
    return "a report of training"


def _alone(row: Standing) -> History:
    raised = row.state.raised
    return History(row, (), () if raised is None else (raised,), ())


_Reader = Callable[[_Found, "dict[str, object]", Path, str], str]

_READERS: dict[str, _Reader] = {
    "tollens/verdict/1": _read_verdict,
    "tollens/check/1": _read_check,
    "tollens/report/1": _read_report,
    "tollens/error/1": _read_error,
    "tollens/certificate/1": _read_certificate,
    "tollens/verified/1": _read_certificate,
    "tollens/evidence/1": _read_evidence,
    "tollens/monitor-history/1": _read_history,
    "tollens/monitor-step/1": _read_step,
    "tollens/monitor-status/1": _read_status,
    "tollens/training/1": _read_training,
}
