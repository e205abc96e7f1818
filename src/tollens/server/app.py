"""The application: guard, pages, JSON and files, and what is said when something fails."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tollens.errors import StoreError, UsageError
from tollens.server.access import Access
from tollens.server.answers import HERE, failure
from tollens.server.api import Api
from tollens.server.guard import Guard
from tollens.server.pages import Pages
from tollens.server.settings import ServeSettings
from tollens.server.views import MissingError
from tollens.store import OutOfDateError, Store

_FILES = {
    "style.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "htmx-2.0.11.min.js": "text/javascript; charset=utf-8",
    "htmx-LICENSE.txt": "text/plain; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_SAID = {
    404: "there is no such page; the list of promises is at /",
    405: "this address does not take requests of this kind",
}


def make_app(store: Store, settings: ServeSettings, *, access: Access | None = None) -> Guard:
    """The application of one store, which stays the caller's to close."""
    access = access or Access(settings)
    files = Route("/static/{name}", _file)
    app = Starlette(
        routes=[*Pages(store, access).routes, *Api(store, access).routes, files],
        exception_handlers={UsageError: _wrong, HTTPException: _refused, Exception: _fault},
    )
    return Guard(app, settings=settings, access=access)  # also around what says that we failed


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404)
    headers = {"Cache-Control": "public, max-age=3600"}
    return FileResponse(HERE / "static" / name, headers=headers, media_type=_FILES[name])


async def _wrong(request: Request, error: Exception) -> Response:
    """What a request got wrong, or what the store says."""
    status = 400
    if isinstance(error, MissingError):
        status = 404
    elif isinstance(error, OutOfDateError):
        status = 409
    elif isinstance(error, StoreError):
        status = 503
    findings = list(error.findings) if isinstance(error, UsageError) else [str(error)]
    if isinstance(error, StoreError) and request.scope["path"] == "/healthz":
        findings = ["the store cannot be read"]
    return failure(request, status, findings, {"Retry-After": "10"} if status == 503 else None)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return failure(request, status, [_SAID.get(status, "this did not work")])


async def _fault(request: Request, error: Exception) -> Response:
    """A fault of ours: said in words, while what it was goes to the log of the server."""
    return failure(request, 500, ["a fault in tollens; the server's log says which: report it"])
