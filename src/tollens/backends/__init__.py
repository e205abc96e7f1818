"""Where work is done that this process does not do itself: local processes, or a cluster.

A pool takes calls and gives futures. That is all that a backend is; what is sent, what is made
again when a worker is lost, and in which order answers count, is decided by those who use it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol
from urllib.parse import urlsplit

from tollens.errors import UsageError

__all__ = ["Pool", "backend_findings", "is_cluster", "open_pool"]

_CLUSTERS = {"dask": "distributed", "ray": "ray"}
"""Schemes of clusters, and the package that each needs."""


class Pool(Protocol):
    """Workers that take calls.

    `workers` is how many there are. `losses` are the exceptions in which a call ends whose worker
    was lost. `repeats` says that the backend has then made the call again by itself already.
    """

    workers: int
    losses: tuple[type[BaseException], ...]
    repeats: bool

    def submit(self, work: Callable[..., Any], /, *args: object) -> Future[Any]:
        """Have a worker make this call; what is sent must be what cloudpickle can send."""

    def look(self) -> None:
        """`BackendError` where no answer can come any more, because the workers are gone."""

    def close(self) -> None:
        """Give the workers up; calls that were not begun are dropped."""


def is_cluster(backend: str | None) -> bool:
    """Whether work is done elsewhere than on this machine.

    >>> is_cluster("dask://head:8786"), is_cluster("local"), is_cluster(None)
    (True, False, False)
    """
    return bool(backend) and backend != "local"


def backend_findings(backend: object) -> list[str]:
    """What is wrong with the address of a backend, as far as that can be said without a call.

    >>> backend_findings("dask:head")
    ["backend is 'dask:head'; it must be local, dask://host:port or ray://host:port"]
    >>> backend_findings(None)
    []
    """
    if backend is None or backend in ("", "local"):
        return []
    wrong = f"backend is {backend!r}; it must be local, dask://host:port or ray://host:port"
    if not isinstance(backend, str):
        return [wrong]
    try:
        parts = urlsplit(backend)
        complete = parts.hostname is not None and parts.port is not None
    except ValueError:  # a port that is none
        return [wrong]
    extra = parts.path + parts.query + parts.fragment
    if parts.scheme not in _CLUSTERS or not complete or extra or parts.username is not None:
        return [wrong]
    package = _CLUSTERS[parts.scheme]
    if importlib.util.find_spec(package) is None:
        return [
            f"backend {backend} needs {package}: pip install 'tollens[{parts.scheme}]', here and "
            "on the workers"
        ]
    return []


def open_pool(backend: str | None, workers: int) -> Pool:
    """The workers of a backend: `workers` local processes, or all that a cluster has.

    Local processes start with the first call. A cluster is reached at once, and it is seen that
    its workers have the same versions; `BackendError` where it is not there or does not fit.

    >>> pool = open_pool(None, 2)
    >>> pool.submit(abs, -1).result(), pool.workers
    (1, 2)
    >>> pool.close()
    """
    findings = backend_findings(backend)
    if findings:
        raise UsageError(findings)
    if backend is None or not is_cluster(backend):
        from tollens.backends.local import LocalPool

        return LocalPool(workers)
    place = urlsplit(backend)
    host, port = str(place.hostname), int(place.port or 0)
    if place.scheme == "dask":
        from tollens.backends.dask import DaskPool

        return DaskPool(host, port)
    from tollens.backends.ray import RayPool

    return RayPool(host, port)
