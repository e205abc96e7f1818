"""Rows of a label and a text, as results show themselves: plain, and as a table of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module

Rows = Sequence[tuple[str, str]]


def rows_text(rows: Rows) -> str:
    """Labels in one column, texts in the next.

    >>> print(rows_text([("REFUTED", "f"), ("leak", "2")]))
    REFUTED  f
    leak     2
    """
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def rows_html(rows: Rows) -> str:
    """The same as an HTML table; nothing of a text is markup.

    >>> rows_html([("leak", "< 2")])                   # doctest: +ELLIPSIS
    "<table><tr><th style=...>leak</th><td style=...>&lt; 2</td></tr></table>"
    """
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(label, quote=False)}</th>"
        f"<td style='text-align:left'>{escape(text, quote=False)}</td></tr>"
        for label, text in rows
    )
    return f"<table>{cells}</table>"


def result_html(result: object, rows: Rows) -> str:
    """The table of a result, and below it the figures that reports have for it.

    Results know nothing of reports, which stand above them. So the module is asked for by its name,
    at the moment when a notebook shows a result: this is the one place that looks upwards.
    """
    figures: str = import_module("tollens.report.figures.drawn").notebook_figures(result)
    return rows_html(rows) + figures
