"""What a request carries: its form, its JSON, its session."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from tollens.errors import UsageError
from tollens.server.access import SESSION_SECONDS, Access
from tollens.server.guard import COOKIE

_MOST_FIELDS = 20


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; the guard has seen to its size."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise UsageError("send a form as application/x-www-form-urlencoded")
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise UsageError("the form cannot be read; it must be UTF-8 of few fields") from None


async def json_of(request: Request) -> Mapping[str, object]:
    """The JSON object that a request carries."""
    try:
        found = json.loads((await request.body()).decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError('send a JSON object, such as {"reason": "mended in v4"}')
    return found


def session_of(request: Request) -> str | None:
    """The session of a browser, whether anybody knows it or not."""
    given = request.cookies.get(COOKIE, "")
    return given if 20 <= len(given) <= 100 else None


def csrf_of(request: Request, access: Access) -> tuple[str, str | None]:
    """What a form of this browser must hold, and the name of a session that has to begin for it."""
    session = session_of(request)
    begun = None if session is not None else secrets.token_urlsafe(32)
    return access.csrf(session or begun or ""), begun


def keep_session(response: Response, session: str, *, secure: bool) -> None:
    """Have a browser send a session with requests that come from our own pages only."""
    response.set_cookie(
        COOKIE,
        session,
        max_age=int(SESSION_SECONDS),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def over_tls(request: Request) -> bool:
    """Whether the browser came over TLS, which a proxy may have ended."""
    return request.headers.get("origin", "").lower().startswith("https://")
