"""A summary in GitHub's Markdown, such as `$GITHUB_STEP_SUMMARY` takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tollens.outcome import Outcome
from tollens.report.contents import Contents, Item
from tollens.report.leaks import leak_of, leak_text
from tollens.report.markup import markup, visible

MOST_BYTES = 900_000
"""Of a summary; GitHub takes 1 MiB."""

_MARKS = re.compile(r"[^\w\s.,;/=+-]|_|(?<=\w)\.(?=\w)")
_LONGEST = 300
_MOST_ROWS = 500
_DETAILS = 20_000


def markdown_document(contents: Contents) -> str:
    """Tables of verdicts and series, and what was shown of each that is refuted or undecided.

    >>> print(markdown_document(Contents(problems=("a|b",))).splitlines()[0])
    ### tollens: No promise was tested; 1 target could not be tested.
    """
    from tollens.report.page.words import NEVER_PRIVATE, error_words

    parts = [f"### tollens: {contents.summary()}", *_tables(contents)]
    if contents.problems:
        problems = [f"- {code(problem)}" for problem in contents.problems[:_MOST_ROWS]]
        parts.append("Could not be tested:\n\n" + "\n".join(problems))
    parts += [*error_words(contents), NEVER_PRIVATE]
    size = sum(len(part.encode("utf-8")) + 2 for part in parts)
    details, left = [], 0
    for part in _details(contents):
        size += len(part.encode("utf-8")) + 2
        if size > MOST_BYTES:
            left += 1
        else:
            details.append(part)
    if left:
        details.append(f"{left:,} more are not shown: a summary has little room.")
    return "\n\n".join([*parts[:-1], *details, parts[-1]]) + "\n"


def code(text: str) -> str:
    """A text of others in one line of code; nothing of it is Markdown.

    >>> code("a|b `c` @d")
    '<code>a&#124;b &#96;c&#96; &#64;d</code>'
    """
    line = " ".join(visible(text, _LONGEST).split())
    return f"<code>{_MARKS.sub(lambda found: f'&#{ord(found[0])};', line)}</code>"


def _tables(contents: Contents) -> Iterator[str]:
    from tollens.report.page.words import evidence_words

    if contents.items:
        rows = [
            (
                f"**{item.verdict.outcome.name}**",
                code(item.target),
                code(str(item.verdict.claim)),
                leak_of(item.verdict),
                evidence_words(item.verdict),
            )
            for item in contents.ranked[:_MOST_ROWS]
        ]
        yield _table(("outcome", "mechanism", "promise", "leak", "evidence"), rows)
        if len(contents.items) > _MOST_ROWS:
            yield f"{len(contents.items) - _MOST_ROWS:,} more verdicts are not shown."
    if contents.histories:
        states = [(found.standing, found.standing.state) for found in contents.histories]
        yield _table(
            ("series", "state", "promise", "steps", "evidence", "leak", "version"),
            [
                (
                    code(state.name), f"**{state.word}**", code(row.claim), f"{state.steps:,}",
                    f"{state.evidence:.2f} of {state.threshold:.2f}",
                    leak_text(state.epsilon_lower), code(state.version or "-"),
                )
                for row, state in states[:_MOST_ROWS]
            ],
        )  # fmt: skip
    if contents.trainings:
        yield _table(
            ("outcome", "training", "steps"),
            [(f"**{r.outcome.name}**", code(r.name), f"{r.steps:,}") for r in contents.trainings],
        )


def _details(contents: Contents) -> Iterator[str]:
    from tollens.report.series_text import standing_lines

    for item in contents.ranked:
        if item.verdict.outcome is not Outcome.UNREFUTED:
            yield _block(item.verdict.outcome.name, item.target, _verdict_lines(item))
    for found in contents.histories:
        if found.standing.alarm:
            yield _block("ALARM", found.standing.state.name, standing_lines(found.standing))
    for report in contents.trainings:
        yield _block(report.outcome.name, report.name, report.lines())


def _verdict_lines(item: Item) -> list[tuple[str, str]]:
    again = [] if item.again is None else [("again", item.again)]
    return [*item.verdict.lines(), *again]


def _block(word: str, name: str, lines: Sequence[tuple[str, str]]) -> str:
    """Lines that can be unfolded, as text that is no Markdown."""
    wide = max(len(label) for label, _ in lines)
    text = "\n".join(f"{label:<{wide}}  {' '.join(said.split())}" for label, said in lines)
    return (
        f"<details><summary>{word} {code(name)}</summary>\n\n"
        f"<pre>{markup(text, _DETAILS)}</pre>\n\n</details>"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
