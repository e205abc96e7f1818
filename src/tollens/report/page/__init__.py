"""The report as one HTML file: no script, no network; for screens of any size and for paper."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tollens import __version__
from tollens.errors import UsageError
from tollens.report.contents import Contents
from tollens.report.figures.canvas import STYLE
from tollens.report.markup import visible

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_LETTERS = 4000
_MOST_CERTIFICATES = 1_000_000


def html_page(contents: Contents, *, title: str = "", now: datetime | None = None) -> str:
    """One HTML document with everything that a report shows; nothing of a text is markup.

    `now` is the date that is printed. Needs the extra `report` (Jinja2); `UsageError` without it.

    >>> page = html_page(Contents(problems=("<script>alert(1)</script>",)))
    >>> "<script" in page, "&lt;script&gt;" in page
    (False, True)
    """
    environment = _environment()  # which says what is missing, before the views need it
    from tollens.report.page import views, words

    verdicts, embedded = [], 0
    for number, item in enumerate(contents.ranked, start=1):
        view = views.verdict_view(item, number)
        size = len(view.certificate.link or "") if view.certificate else 0
        verdicts.append((view, embedded + size <= _MOST_CERTIFICATES))
        embedded += size if embedded + size <= _MOST_CERTIFICATES else 0
    style = f"{(_TEMPLATES / 'report.css').read_text(encoding='utf-8')}{STYLE}"
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return environment.get_template("report.html").render(
        title=title or "Report on privacy promises",
        contents=contents,
        summary=contents.summary(),
        verdicts=verdicts,
        series=[views.series_view(found, i) for i, found in enumerate(contents.histories, 1)],
        trainings=[views.training_view(found, i) for i, found in enumerate(contents.trainings, 1)],
        errors=words.error_words(contents),
        methods=words.methods(contents),
        never_private=words.NEVER_PRIVATE,
        version=__version__,
        moment=moment.strftime("%Y-%m-%d %H:%M UTC"),
        style=style,
        style_digest=base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode(),
    )


@cache
def _environment() -> Environment:
    try:
        import jinja2
    except ImportError:
        raise UsageError("a report in HTML needs Jinja2: pip install 'tollens[report]'") from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )


def _finalized(value: object) -> object:
    """Every text that is no markup is made visible, and cut where it is very long."""
    return visible(value, _MOST_LETTERS) if type(value) is str else value
