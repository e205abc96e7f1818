"""What a certificate proves, for people."""

from __future__ import annotations

from rich.text import Text

from tollens.report.text import labelled
from tollens.verified import Verified


def verified_text(verified: Verified, *, width: int = 100) -> Text:
    """The statement as labelled lines, and below it the text of the program, as it is."""
    out = labelled(verified.lines(), "bold red", width=width)
    for line in verified.program.split("\n"):
        out.append("\n" + (f"    {line}" if line.strip() else ""), "dim")
    return out
