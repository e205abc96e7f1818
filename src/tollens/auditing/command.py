"""What `tollens audit` does: from texts to mechanism, claim and pair, and files of evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tollens.auditing.api import audit, collect
from tollens.auditing.record import Recorder, rescore
from tollens.auditing.run import Progress
from tollens.claim import parse_claim
from tollens.errors import UsageError
from tollens.promises import declared
from tollens.relations import parse_relation
from tollens.serial import data_from_json, parse_json
from tollens.targets import load_target, split_target
from tollens.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Request:
    """The texts of a command line."""

    target: str
    claim: str | None = None
    x: str | None = None
    x_prime: str | None = None
    neighbours: str | None = None
    evidence: Path | None = None

    @staticmethod
    def from_options(options: dict[str, object]) -> Request:
        """The request in the options of the command."""

        def text(name: str) -> str | None:
            value = options[name]
            return None if value is None else str(value)

        evidence = options["evidence"]
        return Request(
            str(options["target"]),
            text("claim"),
            text("x"),
            text("x_prime"),
            text("neighbours"),
            evidence if isinstance(evidence, Path) else None,
        )


def audit_target(
    request: Request,
    settings: dict[str, object],
    progress: Callable[[str, Progress], None] | None = None,
) -> Verdict:
    """Audit what the request names, and write its file of evidence."""
    findings: list[str] = []
    mechanism = collect(findings, lambda: load_target(request.target))
    found = declared(mechanism)
    own = None if found is None else found.neighbours
    pair = None
    if mechanism is not None:
        pair = collect(findings, lambda: neighbours_of(request, own))
    if findings and request.claim is not None:
        collect(findings, lambda: parse_claim(str(request.claim)))
    if findings:
        raise UsageError(findings)
    recorder = None if request.evidence is None else Recorder()
    try:
        return audit(
            mechanism,
            request.claim,
            neighbours=pair,
            recorder=recorder,
            target=request.target,
            progress=None if progress is None else lambda state: progress(request.target, state),
            **settings,  # type: ignore[arg-type]
        )
    finally:
        if request.evidence is not None and recorder is not None and recorder.document:
            _write(request.evidence, recorder.document)


def rescore_file(path: Path) -> Verdict:
    """The verdict of a file of evidence, scored again."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return rescore(text)


def neighbours_of(request: Request, own: object) -> object:
    """The neighbours that the texts name; `own` is what the target declares, None for nothing."""
    findings = []
    if (request.x is None) != (request.x_prime is None):
        findings.append("give both --x and --x-prime, or neither")
    if request.x is not None and request.neighbours is not None:
        findings.append("give --neighbours or --x and --x-prime, not both")
    if findings:
        raise UsageError(findings)
    if request.x is not None and request.x_prime is not None:
        return (
            data_from_json(parse_json(request.x, "--x")),
            data_from_json(parse_json(request.x_prime, "--x-prime")),
        )
    if request.neighbours is not None:
        place, _ = split_target(request.target)
        joint = "::" if place.endswith(".py") else ":"

        def named(name: str) -> object:
            return load_target(f"{place}{joint}{name}")

        relation = parse_relation(request.neighbours, data_of=named)
        return named(request.neighbours) if relation is None else relation
    if own is None:
        raise UsageError(
            f"{request.target} declares no neighbours; give --x JSON and --x-prime JSON, or "
            "--neighbours NAME for a relation such as queries:10 or for pairs in its file"
        )
    return own


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
