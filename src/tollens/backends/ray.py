"""The workers of a Ray cluster, by the client of `ray`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from tollens.backends.cluster import compare, reach
from tollens.errors import BackendError

_PATIENCE = 60.0
"""Seconds in which a first call must come back."""


class RayPool:
    """As many workers as the cluster at host and port (of its client server) has CPUs."""

    repeats = False

    def __init__(self, host: str, port: int) -> None:
        self._backend = f"ray://{host}:{port}"
        reach(self._backend, host, port)
        import ray
        from ray.exceptions import LocalRayletDiedError, NodeDiedError, WorkerCrashedError

        self.losses: tuple[type[BaseException], ...] = (
            *(WorkerCrashedError, NodeDiedError, LocalRayletDiedError),
        )
        logging.getLogger("ray.client_builder").setLevel(logging.WARNING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._context: Any = ray.init(
                    self._backend, allow_multiple=True, log_to_driver=False
                )
        except Exception as error:
            raise BackendError(
                f"what answers at {self._backend} is no Ray client server that fits "
                f"({' '.join(str(error).split())}); nothing was run"
            ) from error
        try:
            with self._context:
                self._call = ray.remote(_call).options(max_retries=0, num_cpus=1)
                self.workers = int(ray.cluster_resources().get("CPU", 0))
            if not self.workers:
                raise BackendError(f"{self._backend} has no CPUs to run on")
            compare(self._backend, self._ask)
        except BaseException:
            self.close()
            raise

    def submit(self, work: Callable[..., Any], /, *args: object) -> Future[Any]:
        """Have a worker make this call."""
        with self._context:
            future: Future[Any] = self._call.remote(work, *args).future()
        return future

    def look(self) -> None:
        """`BackendError` where the connection is lost."""
        import ray

        with self._context:
            if not ray.is_initialized():
                raise BackendError(f"{self._backend} has been lost")

    def close(self) -> None:
        """Disconnect; calls that were not begun are dropped."""
        self._context.disconnect()

    def _ask(self, function: Callable[..., object], *args: object) -> list[object]:
        future = self.submit(function, *args)
        if not wait([future], timeout=_PATIENCE).done:
            raise BackendError(f"no worker of {self._backend} is free within {_PATIENCE:.0f} s")
        return [future.exception() or future.result()]


def _call(work: Callable[..., Any], *args: object) -> Any:
    return work(*args)
