"""What every request passes before an answer is made, and the headers of every answer."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tollens.server.access import Access, Right, TooManyError
from tollens.server.answers import failure
from tollens.server.settings import ServeSettings

MOST_BYTES = 64 * 1024
BODY_SECONDS = 10.0
COOKIE = "tollens_session"

OPEN = ("/healthz", "/login", "/static/")
"""Paths that need no right."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not no-referrer: browsers then send "Origin: null" with forms
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware: refuses what must not reach the pages, in the order cheapest first."""

    def __init__(self, app: ASGIApp, *, settings: ServeSettings, access: Access) -> None:
        self._app, self._settings, self._access = app, settings, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope)
        refusal = self._refusal(request)
        if refusal is None and request.method not in ("GET", "HEAD"):
            body, refusal = await _body(receive)
            receive = _again(body)
        if refusal is None:
            refusal = self._without_right(request)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        status, words, headers = refusal
        await failure(request, status, [words], headers)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Refusal | None:
        headers = request.headers
        name = _name(headers.getlist("host"))
        if name is None:
            return 400, "the Host header must be one name, or a name and a port: name:8317", {}
        if not self._is_ours(name):
            words = (
                f"this server does not answer as {name[:100]!r}; start it with --allow-host NAME "
                "for each name that it may be asked for"
            )
            return 421, words, {}
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > MOST_BYTES:
            return _TOO_LONG
        if request.method in ("GET", "HEAD"):
            return None
        if not _same_origin(headers):
            return 403, "a page of another site sent this; nothing was done", {}
        return None

    def _is_ours(self, name: str) -> bool:
        if name in self._settings.known_names:
            return True
        if not self._settings.any_address:
            return False
        try:  # an address is no name that somebody could point at this machine
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _without_right(self, request: Request) -> Refusal | None:
        """Note the right of a request; refuse it where it has none."""
        state = request.scope.setdefault("state", {})
        given = request.headers.get("authorization", "")
        session = request.cookies.get(COOKIE)
        state["bearer"] = bool(given)
        if given:
            kind, _, token = given.partition(" ")
            if kind.lower() != "bearer" or not token.strip():
                return 401, "write the token as Authorization: Bearer TOKEN", _BEARER
            try:
                right = self._access.right_of_token(token.strip(), client_of(request))
            except TooManyError as error:
                return too_many(error)
            if right is Right.NONE:
                return 401, "the token is wrong", _BEARER
        else:
            right = self._access.right_of_session(session)
        state["right"] = right
        path = request.scope["path"]  # that of request.url depends on the Host header
        if right is Right.NONE and not any(
            path == place or (place.endswith("/") and path.startswith(place)) for place in OPEN
        ):
            return 401, "reading needs a token: Authorization: Bearer TOKEN", _BEARER
        return None


Refusal = tuple[int, str, Mapping[str, str]]
"""A status, what to say, and further headers."""

_BEARER = {"WWW-Authenticate": 'Bearer realm="tollens"'}
_TOO_LONG: Refusal = (
    413,
    f"the request is too long; at most {MOST_BYTES // 1024} kB are read",
    {"Connection": "close"},
)


def too_many(error: TooManyError) -> Refusal:
    """The refusal of a client that gave too many wrong tokens."""
    words = f"too many wrong tokens; try again in {error.seconds} seconds"
    return 429, words, {"Retry-After": str(error.seconds)}


def client_of(request: Request) -> str:
    """The address that a request came from; headers that name others are not believed."""
    return "?" if request.client is None else request.client.host


_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


def _name(hosts: Sequence[str]) -> str | None:
    """The name in the Host headers, without its port; None if they hold anything else.

    >>> _name(["DP.example.org:8317"]), _name(["[::1]:80"]), _name(["localhost/x"])
    ('dp.example.org', '::1', None)
    """
    found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return None if found is None else (found[1] or found[2]).lower()


def _same_origin(headers: Headers) -> bool:
    """Whether a page of this server sent this, or a program that is no browser.

    Browsers send Origin with every POST. A program that sends neither it nor Sec-Fetch-Site gets
    no further than its token.
    """
    origin = headers.get("origin")
    if origin is None:
        fetched = headers.get("sec-fetch-site", "none")
        return "authorization" in headers and fetched in ("none", "same-origin")
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:
        return False


async def _body(receive: Receive) -> tuple[bytes, Refusal | None]:
    """The body of a request, of which no more is read than is allowed, and not for ever."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return b"", (400, "the request ended before its body", {})
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MOST_BYTES:
                    return b"", _TOO_LONG
                if not message.get("more_body", False):
                    return b"".join(parts), None
    except TimeoutError:
        return b"", (408, "the body of the request did not come in time", {"Connection": "close"})


def _again(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
