"""Verdicts and tables for people, with colour only on a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tollens.report.leaks import leak_of, leak_text
from tollens.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from tollens.checking import CheckReport
    from tollens.zoo.entry import Entry
    from tollens.zoo.self_test import SelfTestRow

STYLES = {
    Outcome.REFUTED: "bold red",
    Outcome.UNREFUTED: "bold green",
    Outcome.UNDECIDED: "bold yellow",
}
"""The colour of each outcome, the same everywhere."""

_HELD = "\N{NO-BREAK SPACE}"


def console(stream: IO[str], *, color: bool = True) -> Console:
    """A console that colours only terminals and never cuts what is piped.

    Without colour it sends no escapes at all: no bold, and no bars that are drawn anew.
    """
    on_terminal = stream.isatty()
    return Console(
        file=stream,
        no_color=not color,
        color_system="auto" if color else None,
        force_terminal=None if color else False,
        highlight=False,
        width=None if on_terminal else 120,
        soft_wrap=not on_terminal,
    )


def verdict_text(verdict: Verdict, *, width: int = 100) -> Text:
    """A verdict as labelled lines, wrapped at `width` columns, ready to paste into an issue."""
    return labelled(verdict.lines(), STYLES[verdict.outcome], width=width)


def labelled(lines: Sequence[tuple[str, str]], style: str, *, width: int = 100) -> Text:
    """Lines of (label, text) with aligned texts; `style` is that of the first label.

    >>> print(labelled([("a", "one"), ("label", "two three")], "bold", width=14).plain)
    a      one
    label  two
           three
    """
    indent = max(len(label) for label, _ in lines) + 2
    out = Text()
    for i, (label, text) in enumerate(lines):
        if text.startswith(_HELD):
            wrapped = [text.removeprefix(_HELD)]
        else:
            wrapped = textwrap.wrap(text, max(width - indent, 6), break_long_words=False) or [""]
        out.append("\n" if i else "")
        out.append(f"{label:<{indent}}", "dim" if i else style)
        out.append(("\n" + " " * indent).join(wrapped), "" if i else "bold")
    return out


def unbroken(text: str) -> str:
    """A text that `labelled` leaves on one line, such as a command.

    >>> print(labelled([("do", unbroken("cp here there"))], "bold", width=12).plain)
    do  cp here there
    """
    return _HELD + text


def verdict_table(rows: Sequence[tuple[str, Verdict]], *, title: str | None = None) -> Table:
    """One line a verdict: what was promised, what came out, what leaks at least."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("mechanism", overflow="fold")
    table.add_column("claim", overflow="fold")
    table.add_column("outcome", no_wrap=True)
    table.add_column("pairs", justify="right", no_wrap=True)
    table.add_column("leak", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for name, verdict in rows:
        table.add_row(
            Text(name),
            Text(str(verdict.claim)),
            Text(verdict.outcome.name, STYLES[verdict.outcome]),
            "none, proof" if verdict.exact else f"{verdict.pairs:,}",
            leak_of(verdict),
            f"{verdict.seconds:.2f}",
        )
    return table


def check_summary(report: CheckReport) -> Text:
    """One sentence on what a check did and with what error probability."""
    outcomes = [verdict.outcome for _, verdict in report.verdicts]
    refuted = outcomes.count(Outcome.REFUTED)
    undecided = outcomes.count(Outcome.UNDECIDED)
    if not outcomes:
        return Text("No promise was tested: declare one with @tollens.promise.", "bold yellow")
    proved = sum(verdict.exact and verdict.refuted for _, verdict in report.verdicts)
    by_proof = f" ({proved} by proof)" if proved else ""
    promises = "1 promise" if len(outcomes) == 1 else f"{len(outcomes)} promises"
    text = f"{promises} tested, {refuted} refuted{by_proof}, {undecided} undecided; "
    text += f"a check in which all hold refutes one with probability at most {report.alpha:g}"
    return Text(text, STYLES[Outcome.REFUTED] if refuted else "")


def zoo_table(entries: Sequence[Entry]) -> Table:
    """The zoo: each mechanism with its claim and the truth about it."""
    table = Table(title="Mechanisms with known truth", title_justify="left", title_style="bold")
    for name in ("name", "what it is", "claim"):
        table.add_column(name, overflow="fold")
    table.add_column("true ε", justify="right", no_wrap=True)
    table.add_column("claim holds", no_wrap=True)
    for entry in entries:
        table.add_row(
            Text(entry.name),
            Text(entry.title),
            Text(str(entry.claim)),
            _epsilon(entry.true_epsilon),
            Text("yes", "green") if entry.holds else Text("no", "red"),
        )
    return table


def entry_text(entry: Entry, *, width: int = 100) -> Text:
    """A mechanism of the zoo as labelled lines."""
    lines = [
        (entry.name, entry.title),
        ("claim", f"{entry.claim}: {entry.claim.words()}"),
        ("x", " ".join(repr(entry.neighbours[0]).split())),
        ("x'", " ".join(repr(entry.neighbours[1]).split())),
        ("true ε", f"{_epsilon(entry.true_epsilon)} at delta = {entry.delta:g}"),
        ("claim holds", "yes" if entry.holds else "no"),
        ("known by", entry.truth),
        ("source", entry.source),
    ]
    return labelled(lines, "bold", width=width)


def self_test_table(rows: Sequence[SelfTestRow]) -> Table:
    """What the audit said of each mechanism of the zoo, beside the truth."""
    table = Table(title="Self-test on the zoo", title_justify="left", title_style="bold")
    table.add_column("name", overflow="fold")
    table.add_column("claim holds", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("pairs", justify="right", no_wrap=True)
    table.add_column("leak", justify="right", no_wrap=True)
    table.add_column("true ε", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        outcome = Outcome[row.outcome]
        table.add_row(
            Text(row.name),
            "yes" if row.holds else "no",
            Text(row.outcome, STYLES[outcome]),
            f"{row.pairs:,}",
            leak_text(row.epsilon_lower),
            _epsilon(row.true_epsilon),
            Text("as it should be", "green") if row.ok else Text("WRONG", "bold red"),
        )
    return table


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
