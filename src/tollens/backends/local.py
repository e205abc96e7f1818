"""Processes of this machine, by loky, the executor inside joblib.

They are started anew and not forked, so no state of this process is repeated in them.
"""

from __future__ import annotations

import contextlib
import copyreg
import os
import queue
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from tollens.timed import end_with

_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


class LocalPool:
    """`workers` processes, which start with the first call; one that dies takes the others along.

    Calls after that go to new processes.
    """

    repeats = False

    def __init__(self, workers: int) -> None:
        from joblib.externals.loky import BrokenProcessPool

        self.workers = workers
        self.losses: tuple[type[BaseException], ...] = (BrokenProcessPool,)
        self._executor: Any = None

    def submit(self, work: Callable[..., Any], /, *args: object) -> Future[Any]:
        """Have a process make this call."""
        try:
            future: Future[Any] = self._started().submit(work, *args)
        except self.losses:  # by a call before this one
            self.close()
            future = self._started().submit(work, *args)
        return future

    def look(self) -> None:
        """Nothing to see: calls of processes that die end by themselves."""

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        if self._executor is None:
            return
        with _no_interrupt(), warnings.catch_warnings():
            # where processes cannot be listed, those of a time limit end by themselves
            warnings.filterwarnings("ignore", message="Failed to kill subprocesses")
            executor, self._executor = self._executor, None
            with contextlib.suppress(queue.Empty):  # or loky looks for work that it has dropped
                while True:
                    executor._work_ids.get_nowait()
            executor.shutdown(wait=True, kill_workers=True)

    def _started(self) -> Any:
        """The processes, which are started where there are none.

        They do not see Ctrl-C: this process does, and ends them.
        """
        if self._executor is None:
            from joblib.externals.loky import ProcessPoolExecutor

            copyreg.pickle(random.SystemRandom, _system_random)
            threads = str(max((os.cpu_count() or 1) // self.workers, 1))
            with _no_interrupt():
                if os.name == "posix":
                    resource_tracker.ensure_running()
                self._executor = ProcessPoolExecutor(
                    max_workers=self.workers,
                    initializer=_begin,
                    initargs=(os.getpid(),),
                    env={name: os.environ.get(name, threads) for name in _THREADS},
                )
            with _no_interrupt():  # again: the trackers of resources end the first
                self._executor.submit(os.getpid)
        return self._executor


def _begin(parent: int) -> None:
    """Make this process deaf to Ctrl-C and end it when the process that it serves is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)


def _system_random(generator: random.SystemRandom) -> tuple[type, tuple[()]]:
    """How to pickle a generator of the operating system: it has no state."""
    return type(generator), ()


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ctrl-C waits until the end; processes that are started here never see it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
