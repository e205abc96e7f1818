"""What the template of a page is given: plain texts, and figures that are markup already."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tollens.certificate import Certificate
from tollens.claim import parse_claim
from tollens.errors import ClaimError
from tollens.monitoring.overview import History
from tollens.report.contents import Item
from tollens.report.figures.drawn import history_figure, verdict_figures
from tollens.report.leaks import leak_of, leak_text
from tollens.report.page import words
from tollens.report.series_text import short, standing_lines, when
from tollens.report.training_figure import training_svg
from tollens.training.report import TrainingReport
from tollens.verdict import Verdict

MOST_EMBEDDED = 200_000
"""Bytes of the largest certificate that a page holds; of larger ones it names the digest."""

_MOST_STEPS = 200

Lines = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Download:
    """A certificate as a link, or, if it is large, its digest alone."""

    digest: str
    size: int
    link: str | None


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict on a page."""

    id: str
    title: str
    outcome: str
    claim: str
    leak: str
    evidence: str
    pairs: str
    meaning: str
    promise: str
    lines: Lines
    untested: Sequence[str]
    again: str | None
    again_title: str
    record: Lines
    figures: Sequence[Markup]
    certificate: Download | None


@dataclass(frozen=True, slots=True)
class SeriesView:
    """A series on a page."""

    id: str
    title: str
    state: str
    claim: str
    leak: str
    evidence: str
    lines: Lines
    figure: Markup | None
    steps: Sequence[tuple[str, str, str, str, str]]
    hidden: int


@dataclass(frozen=True, slots=True)
class TrainingView:
    """A report of training on a page."""

    id: str
    title: str
    outcome: str
    lines: Lines
    figure: Markup


def verdict_view(item: Item, number: int) -> VerdictView:
    """The view of a verdict; `number` makes its id."""
    verdict = item.verdict
    promise = verdict.claim.words()
    return VerdictView(
        id=f"verdict-{number}",
        title=item.target,
        outcome=verdict.outcome.name,
        claim=str(verdict.claim),
        leak=leak_of(verdict),
        evidence=words.evidence_words(verdict),
        pairs="none" if verdict.exact else f"{verdict.pairs:,}",
        meaning=words.outcome_words(verdict),
        promise=f"{promise[:1].upper()}{promise[1:]}.",
        lines=verdict.lines()[1:],
        untested=words.not_tested(verdict),
        again=item.again,
        again_title=item.again_title,
        record=list(_record(item)),
        figures=[Markup(svg) for svg in verdict_figures(verdict, styled=False)],  # noqa: S704
        certificate=_download(verdict),
    )


def series_view(found: History, number: int) -> SeriesView:
    """The view of a series."""
    row, state = found.standing, found.standing.state
    svg = history_figure(found, styled=False)
    lines = [*_promised(row.claim), *standing_lines(row)[1:]]
    lines += [
        ("closed", f"the alarm of step {alarm.step:,}: {' '.join((alarm.reason or '').split())}")
        for alarm in found.alarms
        if alarm.acknowledged_at is not None
    ]
    return SeriesView(
        id=f"series-{number}",
        title=state.name,
        state=state.word,
        claim=row.claim,
        leak=leak_text(state.epsilon_lower),
        evidence=f"{_number(state.evidence)} of {state.threshold:.2f}",
        lines=lines,
        figure=None if svg is None else Markup(svg),  # noqa: S704 - made by us, texts are escaped
        steps=[
            (
                f"{step.number:,}",
                short(step.version) + ("" if step.run_id == "1" else f" ({step.run_id})"),
                _number(step.evidence) if step.outcome == "scored" else step.outcome,
                leak_text(step.epsilon_lower),
                when(step.recorded_at),
            )
            for step in found.rows[-_MOST_STEPS:]
        ],
        hidden=max(len(found.rows) - _MOST_STEPS, 0),
    )


def training_view(report: TrainingReport, number: int) -> TrainingView:
    """The view of a report of training."""
    return TrainingView(
        id=f"training-{number}",
        title=report.name,
        outcome=report.outcome.name,
        lines=report.lines()[1:],
        figure=Markup(training_svg(report, styled=False)),  # noqa: S704 - made by us
    )


def _promised(claim: str) -> Lines:
    """A claim in words; nothing for one that has no text form."""
    try:
        return [("promised", parse_claim(claim).words())]
    except ClaimError:
        return []


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _record(item: Item) -> Iterator[tuple[str, str]]:
    """What an auditor keeps: numbers, seeds, versions, digests and places."""
    verdict = item.verdict
    yield "mechanism", verdict.mechanism
    yield "alpha", "0: a proof has no error probability" if verdict.exact else f"{verdict.alpha:g}"
    if not verdict.exact:
        yield "runs", f"{verdict.runs:,} runs, {verdict.pairs:,} pairs of them looked at"
        yield "seed", "none" if verdict.seed is None else str(verdict.seed)
    yield "method", verdict.evidence.method
    if digest := getattr(verdict.evidence, "digest", ""):
        yield "outputs", f"digest {digest} of all outputs in order"
    if isinstance(verdict.evidence, Certificate):
        yield "program", f"SHA-256 {verdict.evidence.verified.digest} of its text"
    yield "versions", ", ".join(f"{name} {text}" for name, text in verdict.versions.items())
    yield "seconds", f"{verdict.seconds:.2f}"
    yield "claim", json.dumps(verdict.claim.to_json(), ensure_ascii=False)[:400]
    if item.places:
        yield "read from", "; ".join(item.places)


def _download(verdict: Verdict) -> Download | None:
    if not isinstance(verdict.evidence, Certificate):
        return None
    text = json.dumps(verdict.evidence.document, ensure_ascii=True, indent=1) + "\n"
    content = text.encode("ascii")
    link = None
    if len(content) <= MOST_EMBEDDED:
        link = f"data:application/json;base64,{base64.b64encode(content).decode('ascii')}"
    return Download(hashlib.sha256(content).hexdigest(), len(content), link)
