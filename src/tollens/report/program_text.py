"""The programs of the zoo, for people and as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tollens.report.leaks import leak_text
from tollens.report.text import STYLES, labelled
from tollens.rounding import exact_down
from tollens.verdict import Outcome

if TYPE_CHECKING:
    from tollens.zoo.program_test import ProgramRow
    from tollens.zoo.programs import Program


def programs_table(programs: Sequence[Program]) -> Table:
    """The suite: each program with its claim and the truth about it."""
    table = Table(title="Programs with known truth", title_justify="left", title_style="bold")
    table.add_column("id", no_wrap=True)
    for name in ("name", "claim"):
        table.add_column(name, overflow="fold")
    table.add_column("true ε", justify="right", no_wrap=True)
    table.add_column("claim holds", no_wrap=True)
    table.add_column("source", overflow="fold")
    for program in programs:
        table.add_row(
            Text(program.id),
            Text(program.name),
            Text(str(program.claim)),
            _epsilon(program.epsilon),
            Text(holds_words(program), "red" if program.broken else "green"),
            Text(program.source),
        )
    return table


def program_text(program: Program, text: str, *, width: int = 100) -> Text:
    """A program as labelled lines, and below it its text, as it is."""
    x, x_prime = (" ".join(repr(side).split()) for side in program.pair)
    lines = [
        (program.id, program.title),
        ("name", program.name),
        ("claim", f"{program.claim}: {program.claim.words()}"),
        ("x", x),
        ("x'", x_prime),
        ("true ε", f"{_epsilon(program.epsilon)} at delta = {program.delta:g}"),
        ("claim holds", holds_words(program)),
        ("known by", program.source),
    ]
    if program.supremum is not None:
        lines.insert(6, ("largest ε", f"{_epsilon(program.supremum)} over all pairs"))
    out = labelled(lines, "bold", width=width)
    for line in text.rstrip().split("\n"):
        out.append("\n" + (f"    {line}" if line.strip() else ""), "dim")
    return out


def program_test_table(rows: Sequence[ProgramRow]) -> Table:
    """What the search for proofs said of each program, beside the truth."""
    table = Table(title="Proofs about the programs", title_justify="left", title_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("claim holds", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("engine", no_wrap=True)
    table.add_column("proved leak", justify="right", no_wrap=True)
    table.add_column("true ε", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row.id),
            "no" if row.broken else "yes",
            Text(row.outcome, STYLES[Outcome[row.outcome]]),
            row.engine,
            _proved(row),
            _epsilon(row.true_epsilon),
            f"{row.seconds:.2f}",
            Text("as it should be", "green") if row.ok else Text("WRONG", "bold red"),
        )
    return table


def program_content(program: Program) -> dict[str, object]:
    """A program of the zoo as plain data; the text stands apart."""
    return {
        "id": program.id,
        "name": program.name,
        "title": program.title,
        "claim": program.claim.to_json(),
        "neighbours": {"x": program.pair[0], "x_prime": program.pair[1]},
        "true_epsilon": program.epsilon,
        "delta": program.delta,
        "supremum": program.supremum,
        "holds": not program.broken,
        "tight": program.tight,
        "source": program.source,
    }


def program_row_content(row: ProgramRow) -> dict[str, object]:
    """A row of the self-test as plain data."""
    return {
        "id": row.id,
        "name": row.name,
        "holds": not row.broken,
        "outcome": row.outcome,
        "engine": row.engine or None,
        "epsilon_lower": row.epsilon_lower,
        "true_epsilon": row.true_epsilon,
        "seconds": row.seconds,
        "ok": row.ok,
    }


def holds_words(program: Program) -> str:
    """Whether the claim of a program holds, and whether with nothing to spare.

    >>> from tollens.zoo.programs import get
    >>> [holds_words(get(key)) for key in ("D1", "D1-bug", "L2-eps1.5")]
    ['yes, tight', 'no', 'yes']
    """
    if program.broken:
        return "no"
    return "yes, tight" if program.tight else "yes"


def _proved(row: ProgramRow) -> str:
    if not row.engine:
        return ""
    if math.isinf(row.epsilon_lower):
        return leak_text(row.epsilon_lower)
    return f"ε ≥ {exact_down(Fraction(row.epsilon_lower))}"


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
