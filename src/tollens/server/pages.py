"""The pages: a list of promises, a page for each series, and the way in."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tollens.errors import UsageError
from tollens.report.leaks import leak_text
from tollens.report.series_text import alarm_lines, short, standing_lines, when
from tollens.rounding import down
from tollens.server.access import Access, Right, TooManyError
from tollens.server.answers import failure, page
from tollens.server.forms import csrf_of, form_of, keep_session, over_tls, session_of
from tollens.server.guard import COOKIE, client_of, too_many
from tollens.server.listing import ORDERS, WORDS, Query, read_query, whole
from tollens.server.views import (
    close_alarm,
    figure,
    list_view,
    series_of,
    series_view,
    steps_after,
)
from tollens.store import OutOfDateError, Store

_WORDS = {
    "leak_text": leak_text, "short": short, "when": when, "down": down, "words": WORDS,
    "orders": tuple(ORDERS), "standing_lines": standing_lines, "alarm_lines": alarm_lines,
}  # fmt: skip
"""What templates say numbers and moments with: the same words as the command line."""


class Pages:
    """The answers for browsers, of one store."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store, self._access = store, access

    @property
    def routes(self) -> list[Route]:
        """Their addresses."""
        return [
            Route("/", self.promises),
            Route("/series/{number:int}", self.series),
            Route("/series/{number:int}/figure.svg", self.figure),
            Route("/series/{number:int}/steps", self.new_steps),
            Route("/series/{number:int}/acknowledge", self.acknowledge, methods=["POST"]),
            Route("/login", self.login_form),
            Route("/login", self.login, methods=["POST"]),
            Route("/logout", self.logout, methods=["POST"]),
        ]

    async def promises(self, request: Request) -> Response:
        """The list of promises."""
        query = read_query(request.query_params.multi_items())
        found = await run_in_threadpool(list_view, self._store, query)
        return self._page(request, "list.html", found=found, query=query, default=Query())

    async def series(self, request: Request) -> Response:
        """One series."""
        return await self._series(request)

    async def _series(
        self, request: Request, status: int = 200, reason: str = "", wrong: tuple[str, ...] = ()
    ) -> Response:
        before = None
        findings: list[str] = []
        if "before" in request.query_params:
            before = whole(request.query_params["before"], "before", findings)
        if findings:
            raise UsageError(findings)
        view = await run_in_threadpool(
            series_view, self._store, request.path_params["number"], before
        )
        return self._page(
            request, "series.html", status, view=view, reason=reason, wrong=wrong,
            may=request.state.right >= Right.ACKNOWLEDGE and not request.state.bearer,
            can_acknowledge=self._access.can_acknowledge,
        )  # fmt: skip

    async def figure(self, request: Request) -> Response:
        """The figure of a series. Its style is its own, named by a nonce."""
        picture = await run_in_threadpool(figure, self._store, request.path_params["number"])
        nonce = secrets.token_urlsafe(16)
        policy = f"default-src 'none'; style-src 'nonce-{nonce}'; frame-ancestors 'none'"
        marked = picture.replace("<style>", f'<style nonce="{nonce}">')
        return Response(marked, 200, {"Content-Security-Policy": policy}, "image/svg+xml")

    async def new_steps(self, request: Request) -> Response:
        """Rows of steps after a number, the newest first, for a table that is shown already."""
        findings: list[str] = []
        after = whole(request.query_params.get("after", ""), "after", findings, least=0)
        if findings:
            raise UsageError(findings)
        number = request.path_params["number"]

        def read() -> list[object]:
            return list(steps_after(self._store, series_of(self._store, number), after, 100))

        rows = await run_in_threadpool(read)
        if not rows:
            return Response(status_code=204)
        view = await run_in_threadpool(series_view, self._store, number)
        return self._page(request, "new_steps.html", rows=list(reversed(rows)), view=view)

    async def acknowledge(self, request: Request) -> Response:
        """Close the open alarm of a series with a reason."""
        form = await form_of(request)
        refused = self._refused(request, form.get("csrf", ""))
        if refused is not None:
            return refused
        number = request.path_params["number"]
        findings: list[str] = []
        step, reason = whole(form.get("step", ""), "step", findings), form.get("reason", "")
        if findings:
            raise UsageError(findings)
        try:
            await run_in_threadpool(close_alarm, self._store, number, step, reason)
        except OutOfDateError as error:
            return await self._series(request, 409, reason, error.findings)
        except UsageError as error:
            if type(error) is not UsageError:
                raise
            return await self._series(request, 400, reason, error.findings)
        return RedirectResponse(f"/series/{number}#alarms", 303)

    def _refused(self, request: Request, csrf: str) -> Response | None:
        """Why this browser may not change anything; None if it may."""
        if request.state.right < Right.ACKNOWLEDGE:
            words = "acknowledging needs the right to it; log in with the token that gives it"
            if not self._access.can_acknowledge:
                words = (
                    "nobody may acknowledge here: the server was started without "
                    "--acknowledge-token-file; use tollens monitor acknowledge"
                )
            return failure(request, 403, [words])
        if not self._access.is_csrf(session_of(request), csrf):
            return failure(request, 403, ["the form is too old; load the page again"])
        return None

    async def login_form(self, request: Request) -> Response:
        """A form for a token."""
        place = _own(request.query_params.get("next", "/"))
        return self._page(request, "login.html", next=place, wrong="")

    async def login(self, request: Request) -> Response:
        """Begin a session for a token."""
        form = await form_of(request)
        if not self._access.is_csrf(session_of(request), form.get("csrf", "")):
            return failure(request, 403, ["the form is too old; load the page again"])
        place = _own(form.get("next", "/"))
        try:
            right = self._access.right_of_token(form.get("token", "").strip(), client_of(request))
        except TooManyError as error:
            status, words, headers = too_many(error)
            answer = self._page(request, "login.html", status, next=place, wrong=words)
            answer.headers.update(headers)
            return answer
        if right is Right.NONE:
            return self._page(request, "login.html", 401, next=place, wrong="the token is wrong")
        self._access.end(session_of(request))
        answer = RedirectResponse(place, 303)
        keep_session(answer, self._access.begin(right), secure=over_tls(request))
        return answer

    async def logout(self, request: Request) -> Response:
        """End a session."""
        form = await form_of(request)
        session = session_of(request)
        if not self._access.is_csrf(session, form.get("csrf", "")):
            return failure(request, 403, ["the form is too old; load the page again"])
        self._access.end(session)
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(COOKIE)
        return answer

    def _page(
        self, request: Request, template: str, status: int = 200, **values: object
    ) -> Response:
        csrf, begun = csrf_of(request, self._access)
        own = self._access.right_of_session(session_of(request))
        about = {
            "csrf": csrf,
            "now": datetime.now(UTC),
            "logged_in": self._access.has_tokens and own > self._access.anybody,
            "may_log_in": self._access.has_tokens and own < Right.ACKNOWLEDGE,
        }
        answer = page(template, {**_WORDS, **about, **values}, status)
        if begun is not None:
            keep_session(answer, begun, secure=over_tls(request))
        return answer


def _own(place: str) -> str:
    """An address of ours to go on to.

    >>> _own("/series/7"), _own("//elsewhere.example")
    ('/series/7', '/')
    """
    return place if re.fullmatch(r"/series/\d{1,9}", place) else "/"
