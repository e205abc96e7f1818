"""What all clusters have in common: they must answer, and have the same versions as we."""

from __future__ import annotations

import importlib.metadata
import platform
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from tollens.errors import BackendError

T = TypeVar("T")

CONNECT = 5.0
"""Seconds in which a cluster must answer."""

ASKED = "tollens", "numpy"
"""Packages of which workers must have the same versions: draws depend on both."""


def reach(backend: str, host: str, port: int) -> None:
    """`BackendError` where nobody listens there, within `CONNECT` seconds."""
    try:
        socket.create_connection((host, port), timeout=CONNECT).close()
    except (OSError, UnicodeError) as error:  # the latter for names that no host can have
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BackendError(
            f"nobody answers at {backend} ({reason}); is the cluster running, and can this "
            "machine reach it? Nothing was run"
        ) from None


def compare(
    backend: str, ask: Callable[..., Iterable[object]], packages: Sequence[str] = ASKED
) -> None:
    """`BackendError` where a worker has another Python or another version of a package.

    `ask(function, *args)` gives what the function returned, or the exception, on each worker. The
    functions are of the standard library, so that they work where tollens is missing.
    """
    ours = platform.python_version()
    for found in ask(platform.python_version):
        if isinstance(found, Exception):
            raise BackendError(f"a worker of {backend} cannot be asked for its versions: {found}")
        if _minor(str(found)) != _minor(ours):
            _differs(backend, "Python", str(found), ours)
    for package in packages:
        here = importlib.metadata.version(package)
        for found in ask(importlib.metadata.version, package):
            if isinstance(found, Exception):
                raise BackendError(
                    f"a worker of {backend} has no {package} ({type(found).__name__}); install "
                    f"{package} {here} on all workers"
                )
            if found != here:
                _differs(backend, package, str(found), here)


def versions() -> tuple[str, ...]:
    """What must be the same here and on a worker, as one comparable value.

    >>> versions() == versions()
    True
    """
    return (
        _minor(platform.python_version()),
        *(f"{package} {importlib.metadata.version(package)}" for package in ASKED),
    )


def within(seconds: float, make: Callable[[], T]) -> T:
    """What `make` returns; `TimeoutError` if that takes longer, for it may never return.

    >>> within(5.0, lambda: 3)
    3
    """
    made: Future[T] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except BaseException as error:  # noqa: BLE001 - it is raised in the other thread
            made.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return made.result(seconds)


def _minor(version: str) -> str:
    return "Python " + ".".join(version.split(".")[:2])


def _differs(backend: str, what: str, theirs: str, ours: str) -> None:
    raise BackendError(
        f"a worker of {backend} has {what} {theirs}, and {ours} is here; draws may depend on it, "
        "so all must have the same"
    )
