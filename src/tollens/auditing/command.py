"""What `tollens audit` does: from texts to mechanism, claim and pair, and files of evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tollens.auditing.api import audit
from tollens.auditing.record import Recorder, rescore
from tollens.auditing.run import Progress
from tollens.claim import parse_claim
from tollens.errors import UsageError, collect
from tollens.promises import declared
from tollens.request import Request, neighbours_of
from tollens.verdict import Verdict


def audit_target(
    request: Request,
    settings: dict[str, object],
    progress: Callable[[str, Progress], None] | None = None,
) -> Verdict:
    """Audit what the request names, and write its file of evidence."""
    findings: list[str] = []
    mechanism = collect(findings, request.load)
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
            target=request.target if request.python is None else None,
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


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
