"""What `tollens refute` and `tollens verify` do: from texts to a verdict, and to certificates."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from tollens.certificate import Certificate
from tollens.claim import claim_from_json, parse_claim
from tollens.errors import UsageError, collect
from tollens.exact import exact_claim, plain_data
from tollens.neighbours import Pair
from tollens.outcome import Outcome, Reason
from tollens.promises import declared
from tollens.refutation.api import refute, verdict_on
from tollens.refutation.found import Step
from tollens.request import Request, neighbours_of
from tollens.targets import load_target
from tollens.verdict import Verdict
from tollens.verified import Verified, read_document


def refute_target(
    request: Request,
    *,
    engine: str,
    timeout: float,
    certificate: Path | None = None,
    progress: Callable[[str, Step], None] | None = None,
) -> Verdict:
    """Look for a proof about what the request names, and write its certificate."""
    findings: list[str] = []
    mechanism = collect(findings, lambda: load_target(request.target))
    found = declared(mechanism)
    own = None if found is None else found.neighbours
    pairs = None
    if mechanism is not None:
        pairs = collect(findings, lambda: neighbours_of(request, own))
    if certificate is not None:
        findings += _place_findings(certificate)
    if findings and request.claim is not None:
        collect(findings, lambda: exact_claim(parse_claim(str(request.claim))))
    if findings:
        raise UsageError(findings)
    verdict = refute(
        mechanism,
        request.claim,
        neighbours=pairs,
        engine=engine,
        timeout=timeout,
        progress=None if progress is None else lambda step: progress(request.target, step),
    )
    if certificate is not None and isinstance(verdict.evidence, Certificate):
        _write(certificate, verdict.evidence)
    return verdict


def verify_file(path: Path) -> tuple[Verified, Verdict]:
    """What the certificate in a file proves, and the verdict that it is."""
    started = time.monotonic()
    certificate = Certificate(read_document(path))
    verified = certificate.verified
    pair = Pair(plain_data(verified.x), plain_data(verified.x_prime), verified.relation)
    verdict = verdict_on(
        claim_from_json(certificate.document["claim"]),
        verified.mechanism,
        pair,
        certificate,
        Outcome.REFUTED,
        Reason.PROVED,
        time.monotonic() - started,
    )
    return verified, verdict


def _place_findings(path: Path) -> list[str]:
    """What stands in the way of writing a file, before a long search."""
    if path.is_dir():
        return [f"{path} is a folder; name a file for the certificate"]
    if not path.absolute().parent.is_dir():
        return [f"{path} cannot be written: there is no folder {path.parent}"]
    return []


def _write(path: Path, certificate: Certificate) -> None:
    text = json.dumps(certificate.document, ensure_ascii=False, indent=1)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
