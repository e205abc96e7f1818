"""Calls that are on their way: never more than the workers can do soon, so that little is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Generic, TypeVar

from tollens.backends import Pool

K = TypeVar("K")

_AHEAD = 2
"""Calls for each worker: the one that it makes, and the next."""

_LOOK = 5.0
"""Seconds without any answer after which it is seen whether the workers are still there."""


class Flight(Generic[K]):
    """Calls of one function, each with a key; answers come as they are ready.

    >>> from tollens.backends import open_pool
    >>> pool = open_pool(None, 2)
    >>> flight = Flight(pool, abs)
    >>> flight.send("a", -3)
    >>> [(key, future.result()) for key, future in flight.landed()], len(flight)
    ([('a', 3)], 0)
    >>> pool.close()
    """

    def __init__(self, pool: Pool, work: Callable[..., Any]) -> None:
        self._pool, self._work = pool, work
        self._running: dict[Future[Any], K] = {}

    def __len__(self) -> int:
        return len(self._running)

    @property
    def full(self) -> bool:
        """Whether further calls would only wait."""
        return len(self._running) >= _AHEAD * self._pool.workers

    def send(self, key: K, *args: object) -> None:
        """Make the call with these arguments."""
        self._running[self._pool.submit(self._work, *args)] = key

    def landed(self) -> Iterator[tuple[K, Future[Any]]]:
        """Those that are done, once one is; `BackendError` where the workers are gone."""
        while not (done := wait(self._running, _LOOK, return_when=FIRST_COMPLETED).done):
            self._pool.look()
        for future in done:
            yield self._running.pop(future), future
