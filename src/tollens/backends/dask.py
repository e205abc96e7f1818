"""The workers of a Dask cluster, by the client of `distributed`.

The scheduler makes the call of a lost worker again by itself, as often as its setting
`distributed.scheduler.allowed-failures` says (3 unless set), before it gives up.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from tollens.backends.cluster import CONNECT, compare, reach, within
from tollens.errors import BackendError

_PATIENCE = 30.0
"""Seconds that a cluster may be without workers or scheduler, which may be starting again."""


class DaskPool:
    """All workers of the cluster whose scheduler listens at host and port."""

    repeats = True

    def __init__(self, host: str, port: int) -> None:
        self._backend = f"dask://{host}:{port}"
        reach(self._backend, host, port)
        from distributed import Client
        from distributed.scheduler import KilledWorker

        self.losses: tuple[type[BaseException], ...] = (KilledWorker,)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            self._client = within(
                2 * CONNECT,  # its own timeout does not end a talk with what is no scheduler
                lambda: Client(f"tcp://{place}", timeout=CONNECT, set_as_default=False),
            )
        except Exception as error:  # what is no scheduler may answer anything
            raise BackendError(
                f"what answers at {self._backend} is no Dask scheduler that fits "
                f"({str(error) or type(error).__name__}); nothing was run"
            ) from error
        try:
            self.workers = len(self._client.nthreads())
            if not self.workers:
                raise BackendError(f"{self._backend} has no workers; start some with: dask worker")
            compare(self._backend, self._ask)
        except BaseException:
            self.close()
            raise
        self._executor = self._client.get_executor(pure=False, retries=0)
        self._lonely_since: float | None = None

    def submit(self, work: Callable[..., Any], /, *args: object) -> Future[Any]:
        """Have a worker make this call."""
        with warnings.catch_warnings():  # data are sent so seldom that no other way would pay
            warnings.filterwarnings("ignore", message="Sending large graph")
            future: Future[Any] = self._executor.submit(work, *args)
        return future

    def look(self) -> None:
        """`BackendError` where the scheduler, or every worker, has been gone for too long."""
        try:
            there = self._client.status == "running" and bool(self._client.nthreads())
        except (OSError, TimeoutError, CancelledError):
            there = False
        now = time.monotonic()
        self._lonely_since = None if there else (self._lonely_since or now)
        if self._lonely_since is not None and now - self._lonely_since > _PATIENCE:
            raise BackendError(f"{self._backend} has lost its scheduler or all its workers")

    def close(self) -> None:
        """Disconnect; the scheduler drops calls that were not begun."""
        self._client.close(timeout=CONNECT)

    def _ask(self, function: Callable[..., object], *args: object) -> list[object]:
        answers: dict[str, object] = self._client.run(function, *args, on_error="return")
        return list(answers.values())


def dropped() -> bool:
    """Whether this is called by a worker of Dask for a call that nobody waits for any more.

    Dask interrupts no call that was begun; a long one may ask now and then, and end itself.

    >>> dropped()
    False
    """
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        worker = distributed.get_worker()
    except ValueError:  # this is no worker
        return False
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"
