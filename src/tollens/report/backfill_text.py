"""What a walk over commits came to, for people."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from tollens.monitoring.backfill.walk import Backfill, Breaking
from tollens.report.series_text import STYLES, evidence_words, quoted
from tollens.report.text import labelled, unbroken
from tollens.rounding import down
from tollens.serial import number_from_json
from tollens.witness import witness_from_json

_ADVICE = (
    "name the code itself, such as package.module:name, and give --claim, --x and --x-prime, which "
    "older commits do not have"
)


def backfill_text(found: Backfill, *, width: int = 100) -> Text:
    """The walk as labelled lines: the first commit that was refuted, or how the series stands."""
    state = None if found.standing is None else found.standing.state
    word = "ALARM" if found.alarm is not None else "nothing" if state is None else state.word
    lines = [(word, f"{found.name} over {found.commits:,} commits")]
    if found.alarm is not None:
        lines.append(("noticed", f"at {found.alarm}"))
    if found.breaking is not None:
        lines += _breaking_lines(found.breaking, found.repository)
    if state is not None and found.alarm is None:
        lines.append(("evidence", evidence_words(state)))
    counts = f"{found.scored:,} scored, {found.failed:,} failed, {found.skipped:,} skipped"
    counts += f"; {found.known:,} known before" if found.known else ""
    counts += f"; {found.unreached:,} not reached after the alarm" if found.unreached else ""
    lines.append(("commits", counts))
    if found.reason is not None:
        lines += [
            ("reason", f"no commit could be run: {found.reason}"),
            ("advice", f"where the file of the promise is younger than the code, {_ADVICE}"),
        ]
    lines += [("note", note) for note in found.notes]
    if found.alarm is not None:
        words = f"tollens monitor acknowledge {quoted(found.name)} --reason TEXT"
        lines.append(("close", unbroken(words)))
    return labelled(lines, STYLES.get(word, "bold yellow"), width=width)


def _breaking_lines(breaking: Breaking, repository: str) -> list[tuple[str, str]]:
    audits = (
        f"{breaking.audits} of at most {breaking.confirm:,} pairs, "
        f"each with alpha = {breaking.alpha:.2g}"
    )
    if breaking.first is None:
        return [
            ("found", f"no commit; {breaking.confirm:,} pairs do not refute that of the alarm"),
            ("advice", "give more with --confirm PAIRS; the walk is not made again"),
            ("audits", audits),
        ]  # fmt: skip
    lines = [("found", f"first refuted commit: {breaking.first}")]
    if breaking.before is not None:
        pairs = f"{breaking.confirm:,} pairs"
        lines.append(("before it", f"{breaking.before} (not refuted with {pairs})"))
    else:
        lines.append(("before it", "no commit of the range; the break may be older"))
    if breaking.untested:
        between = ", ".join(commit.short for commit in breaking.untested)
        lines.append(("between", f"{between} could not be decided; the break may be there"))
    lines += _verdict_lines(breaking)
    lines.append(("audits", audits))
    inside = Path.cwd().resolve().is_relative_to(Path(repository).resolve())
    where = "" if inside else f" -C {quoted(repository)}"
    lines.append(("change", unbroken(f"git{where} show {breaking.first.short}")))
    return lines


def _verdict_lines(breaking: Breaking) -> list[tuple[str, str]]:
    verdict = breaking.verdict or {}
    lines = []
    if verdict.get("witness"):
        lines.append(("witness", witness_from_json(verdict["witness"]).describe()))
    leak = number_from_json(verdict.get("epsilon_lower", 0.0), "epsilon_lower")
    if leak > 0:
        error = f"certified with error probability {breaking.alpha:.2g}"
        lines.append(("leak", f"epsilon >= {down(leak)}, {error}"))
    return lines
