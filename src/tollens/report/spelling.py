"""What is printed where the stream is not UTF-8: pictures and Greek letters in ASCII."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from io import TextIOWrapper
from typing import IO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_SPELLED = str.maketrans(
    {
        **dict(zip("▁▂▃▄▅▆▇█", "_,:-=+*#", strict=True)),
        **dict(zip("▏▎▍▌▋▊▉", "---====", strict=True)),
        **{"·": ".", "ε": "epsilon", "≥": ">=", "≤": "<=", "∞": "inf", "δ": "delta", "μ": "mu"},
        **{"ρ": "rho", "α": "alpha", "×": "x", "–": "-", "—": "-", "…": "~"},
    }
)


def is_unicode(stream: IO[str]) -> bool:
    """Whether a stream can show every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def never_fails(stream: IO[str]) -> None:
    """Let a stream show a question mark for what it cannot encode."""
    if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        with contextlib.suppress(ValueError, OSError):
            if not is_unicode(stream):
                stream.reconfigure(errors="replace")


def spelled(text: str) -> str:
    """A text with our own signs in ASCII.

    >>> spelled("▁▃█ ε ≥ 1.5")
    '_:# epsilon >= 1.5'
    """
    return text.translate(_SPELLED)


def spelled_parts(parts: Sequence[RenderableType], console: Console) -> list[RenderableType]:
    """Texts and tables with our own signs in ASCII."""
    return [_spelled_part(part, console) for part in parts]


def _spelled_part(part: RenderableType, console: Console) -> RenderableType:
    if isinstance(part, str):
        return spelled(part)
    if isinstance(part, Text):
        return _spelled_text(part, console)
    if isinstance(part, Table):
        if isinstance(part.title, str):
            part.title = spelled(part.title)
        for column in part.columns:
            column.header = _spelled_part(column.header, console)
            column._cells = [_spelled_part(cell, console) for cell in column._cells]
    return part


def _spelled_text(text: Text, console: Console) -> Text:
    if text.plain.isascii():
        return text
    out = Text()
    for i, letter in enumerate(text.plain):
        out.append(spelled(letter), text.get_style_at_offset(console, i))
    return out


def ascii_json(document: str) -> str:
    r"""A JSON text without letters that are not ASCII.

    >>> print(ascii_json('{"name": "é"}'))
    {"name": "\u00e9"}
    """
    return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], document)


def ascii_xml(document: str) -> str:
    """An XML text without letters that are not ASCII.

    >>> ascii_xml("<a>é</a>")
    '<a>&#233;</a>'
    """
    return document.encode("ascii", "xmlcharrefreplace").decode("ascii")
