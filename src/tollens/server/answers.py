"""Answers that say what is wrong: a page for people, JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tollens.report.documents import error_document
from tollens.report.markup import visible

HERE = Path(__file__).parent

TITLES = {
    400: "This cannot be read",
    401: "A token is needed",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This cannot be done",
    409: "This is out of date",
    413: "This is too long",
    421: "Another server was asked for",
    429: "Too many tries",
    500: "A fault in tollens",
    503: "The store cannot be read",
}


def failure(
    request: Request, status: int, findings: Sequence[str], headers: Mapping[str, str] | None = None
) -> Response:
    """What is wrong: JSON below /api, a page for browsers, and a text for all others."""
    extra = dict(headers or {})
    path = request.scope["path"]
    if path.startswith("/api/"):
        return Response(error_document(findings), status, extra, media_type="application/json")
    if "text/html" not in request.headers.get("accept", "") or path == "/metrics":
        return Response("\n".join(findings) + "\n", status, extra, media_type="text/plain")
    if status == 401 and request.method == "GET":
        return RedirectResponse(f"/login?next={path}", 303, extra)
    title = TITLES.get(status, "This did not work")
    return page("failure.html", {"title": title, "findings": findings}, status, extra)


def page(
    template: str, values: Mapping[str, object], status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:  # fmt: skip
    """A page made of a template."""
    text = _templates().get_template(template).render(values)
    return HTMLResponse(text, status, dict(headers or {}))


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["infinity"] = math.inf
    return environment


def _shown(value: object) -> object:
    """Texts of others: what hides or turns text is written as an escape."""
    return visible(value) if type(value) is str else value
