"""Listening: a socket that is bound before anything is said, and a server that ends at once."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Callable

from tollens.errors import UsageError
from tollens.server.settings import ServeSettings
from tollens.store import Store


def serve(where: str, settings: ServeSettings, say: Callable[[str], None]) -> None:
    """Serve a store until Ctrl-C or SIGTERM; `UsageError` for a store or port that is not there."""
    try:
        import uvicorn

        from tollens.server.app import make_app
        from tollens.server.connections import MOST_CONNECTIONS, Connection
    except ImportError as error:
        raise UsageError(
            f"tollens serve needs {error.name}: pip install 'tollens[server]'"
        ) from None
    with Store.open(where, create=False) as store, _listening(settings) as listener:
        app = make_app(store, settings)
        config = uvicorn.Config(
            app, http=Connection, loop="asyncio", ws="none", lifespan="off", log_level="error",
            access_log=False, proxy_headers=False, server_header=False,
            # what made room needs a moment to end, and what is worked on makes none
            limit_concurrency=2 * MOST_CONNECTIONS, timeout_graceful_shutdown=1,
        )  # fmt: skip
        say(f"{store.place} is shown at {_address(listener)}; end with Ctrl-C")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listening(settings: ServeSettings) -> socket.socket:
    place = f"--host {settings.host} --port {settings.port}"
    try:
        found = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, address = found[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # the latter for a name of parts that cannot be
        why = getattr(error, "strerror", error)
        raise UsageError(f"{place}: there is no such address here ({why})") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(100)
    except OSError as error:
        listener.close()
        words = {
            errno.EADDRINUSE: "another program listens there; end it, or give another --port",
            errno.EACCES: "this user may not listen there; give a --port of 1024 or more",
            errno.EADDRNOTAVAIL: "this machine does not have that address",
        }
        why = words.get(error.errno or 0, str(error.strerror))
        raise UsageError(f"{place}: {why}") from None
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
