"""The same for programs: JSON as the command line prints it, metrics, and a sign of life."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tollens.errors import UsageError
from tollens.monitoring.overview import standing, standings
from tollens.report.documents import acknowledged_document, dump, history_document
from tollens.report.prometheus import prometheus_document
from tollens.server.access import Access, Right
from tollens.server.answers import failure
from tollens.server.forms import json_of, session_of
from tollens.server.listing import read_query, whole
from tollens.server.views import (
    MOST_STEPS,
    close_alarm,
    list_view,
    series_of,
    series_view,
    steps_after,
)
from tollens.store import Store

_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Api:
    """The answers for programs, of one store."""

    def __init__(self, store: Store, access: Access) -> None:
        self._store, self._access = store, access

    @property
    def routes(self) -> list[Route]:
        """Their addresses."""
        return [
            Route("/api/series", self.all),
            Route("/api/series/{number:int}", self.one),
            Route("/api/series/{number:int}/steps", self.steps),
            Route("/api/series/{number:int}/acknowledge", self.acknowledge, methods=["POST"]),
            Route("/metrics", self.metrics),
            Route("/healthz", self.health),
        ]

    async def all(self, request: Request) -> Response:
        """The series in force, as `tollens monitor status` has them; a page, without its steps."""
        query = read_query(request.query_params.multi_items())
        found = await run_in_threadpool(list_view, self._store, query)
        content = [row.to_dict() for row in found.rows]
        answer = _json(dump({"schema": "tollens/monitor-status/1", "series": content}))
        answer.headers["X-Total-Count"] = str(found.found)
        return answer

    async def one(self, request: Request) -> Response:
        """A series with its newest steps and all its alarms, as `tollens monitor history` does."""
        number = request.path_params["number"]
        view = await run_in_threadpool(series_view, self._store, number)
        return _json(history_document(view.history))

    async def steps(self, request: Request) -> Response:
        """The steps after a number, oldest first."""
        findings: list[str] = []
        after = whole(request.query_params.get("after", "0"), "after", findings, least=0)
        if findings:
            raise UsageError(findings)
        number = request.path_params["number"]

        def read() -> str:
            rows = steps_after(self._store, series_of(self._store, number), after, MOST_STEPS)
            more = rows[-1].number if len(rows) == MOST_STEPS else None
            content = {"steps": [row.to_dict() for row in rows], "next_after": more}
            return dump({"schema": "tollens/monitor-steps/1", **content})

        return _json(await run_in_threadpool(read))

    async def acknowledge(self, request: Request) -> Response:
        """Close the open alarm of a series: {"reason": text, "step": number of its step}."""
        refused = self._refused(request)
        if refused is not None:
            return refused
        given = await json_of(request)
        reason, step = given.get("reason"), given.get("step")
        findings = []
        if not isinstance(reason, str):
            findings.append("reason must be a text that says why the alarm is closed")
        if step is not None and (isinstance(step, bool) or not isinstance(step, int)):
            findings.append("step must be the number of the step that raised the alarm")
        if findings or not isinstance(reason, str):
            raise UsageError(findings)
        number = request.path_params["number"]
        seen = step if isinstance(step, int) else None

        def close() -> str:
            alarm = close_alarm(self._store, number, seen, reason)
            return acknowledged_document(
                standing(self._store, series_of(self._store, number), recent=0), alarm
            )

        return _json(await run_in_threadpool(close))

    def _refused(self, request: Request) -> Response | None:
        if request.state.right < Right.ACKNOWLEDGE:
            return failure(request, 403, ["this token does not give the right to acknowledge"])
        csrf = request.headers.get("x-csrf-token", "")
        if not request.state.bearer and not self._access.is_csrf(session_of(request), csrf):
            words = (
                "a program needs a token to acknowledge: start the server with "
                "--acknowledge-token-file, and send Authorization: Bearer TOKEN"
            )
            return failure(request, 403, [words])
        return None

    async def metrics(self, request: Request) -> Response:
        """Metrics for Prometheus."""
        rows = await run_in_threadpool(standings, self._store, recent=0)
        return Response(prometheus_document(rows) + "\n", media_type=_METRICS)

    async def health(self, request: Request) -> Response:
        """Whether the store can be read; nothing else is said, for anybody may ask."""
        await run_in_threadpool(self._store.newest_alarms)
        return Response("ok\n", media_type="text/plain")


def _json(text: str) -> Response:
    return Response(text + "\n", media_type="application/json")
