"""Runs in several processes: chunks of both sides are drawn at the same time.

The outputs are those of one process, because every chunk has random streams of its own. The
processes are started anew and not forked, so no state of this process is repeated in them; they
belong to one `ParallelRuns` and end with it.
"""

from __future__ import annotations

import contextlib
import copyreg
import os
import queue
import random
import signal
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from multiprocessing import resource_tracker
from typing import Any, NoReturn

from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, Mechanism
from tollens.neighbours import Pair
from tollens.remote import Answer, Named, Order, Supplies, begin, work
from tollens.streams import EvidenceStream, Side
from tollens.worker import Batch, Chunk, chunks_of, join

_ORDERS, _AHEAD = 4, 2
"""Orders for each process and request, because runs take unequal times; those sent ahead."""

_KNOWN = 256
"""Pairs that have a number at a time."""

_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


def parallel_finding(mechanism: Mechanism) -> str | None:
    """Why a mechanism cannot be run in several processes at once; None where it may be tried.

    >>> from tollens.mechanism import from_callable
    >>> parallel_finding(from_callable(lambda data, rng: rng.random())) is None
    True
    """
    if mechanism.takes_rng or mechanism.own_entropy:
        return None
    return (
        f"{mechanism.name} takes no rng: if it keeps a generator of its own, every process would "
        "repeat the same draws, and runs would not be independent; use workers=1, or give it a "
        "parameter named rng and draw from that"
    )


class ParallelRuns:
    """Draws runs of a mechanism in `workers` processes; a context manager.

    The processes start with the first request and last until the end of the context. With
    `timeout`, each of them makes its runs as `tollens.timed.TimedRuns` does.
    Raises `UsageError` for mechanisms of which copies would repeat each other's draws.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        stream: EvidenceStream,
        workers: int,
        timeout: float | None = None,
    ) -> None:
        finding = parallel_finding(mechanism)
        if finding is not None:
            raise UsageError(finding)
        self._mechanism, self._workers = mechanism, workers
        parcel: Mechanism | Named = replace(mechanism, promise=None)
        if mechanism.target is not None:
            parcel = Named(mechanism.target, mechanism.vectorised)
        self._supplies = Supplies(parcel, stream, timeout)
        self._executor: Any = None
        self._pairs: OrderedDict[int, tuple[int, Pair]] = OrderedDict()
        self._introduced = 0

    def __enter__(self) -> ParallelRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def sample(self, pair: Pair, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs of one side; errors as those of `both`."""
        chunks = chunks_of(self._mechanism, side, block, n, coupled=coupled)
        return join(self._collect(pair, chunks))

    def both(self, pair: Pair, block: int, n: int, *, coupled: bool) -> tuple[Batch, Batch]:
        """n outputs of x and n of x', drawn at the same time.

        Raises `BatchFailed` where a batched mechanism raised, `UsageError` where the mechanism or
        the data cannot be sent to a process, and `MechanismError` where a run changed its input,
        or ended its process: again, if the lost chunks can be drawn again.
        """
        x, y = (chunks_of(self._mechanism, side, block, n, coupled=coupled) for side in Side)
        both = [chunk for two in zip(x, y, strict=True) for chunk in two]
        batches = self._collect(pair, both)
        return join(batches[0::2]), join(batches[1::2])

    def _collect(self, pair: Pair, chunks: Sequence[Chunk]) -> list[Batch]:
        """The batches of the chunks, in their order.

        The chunks of a lost process are drawn once more, with the same draws: that is no choice
        among outputs. Where a mechanism draws from elsewhere it would be one, and is an error.
        """
        number = self._number(pair)
        drawn = self._round(pair, _deal(number, chunks, self._workers))
        lost = [chunk for chunk in chunks if chunk not in drawn]
        if lost:
            if not self._mechanism.takes_rng:
                self._give_up("ended its process, and its draws cannot be repeated")
            drawn |= self._round(pair, _deal(number, lost, self._workers))
            if len(drawn) < len(chunks):
                self._give_up("ended its process, and did so again when its draws were repeated")
        return [drawn[chunk] for chunk in chunks]

    def _round(self, pair: Pair, orders: Sequence[Order]) -> dict[Chunk, Batch]:
        """The batches of all orders; those that were lost with a process are missing.

        Of several errors, the one of the first order is raised, whichever came first.
        """
        answers: dict[Order, Answer] = {}
        broken = False
        waiting = deque(orders)
        running: dict[Future[Answer], Order] = {}
        while running or (waiting and not broken):
            while waiting and not broken and len(running) < _AHEAD * self._workers:
                order = waiting.popleft()
                running[self._submit(order)] = order
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                order = running.pop(future)
                answer = self._answer(future)
                if answer is None:
                    broken = True
                elif answer.kind == "missing":
                    running[self._submit(order, self._supplies, pair)] = order
                else:
                    answers[order] = answer
        if broken:
            self.close()
        answered = [order for order in orders if order in answers]
        batches = [zip(order.chunks, _outputs(answers[order]), strict=True) for order in answered]
        return dict(chain.from_iterable(batches))

    def _answer(self, future: Future[Answer]) -> Answer | None:
        """The answer to an order; None where its process was lost."""
        from joblib.externals.loky import BrokenProcessPool

        try:
            return future.result()
        except BrokenProcessPool:
            return None
        except Exception as error:
            raise MechanismError(
                f"{self._mechanism.name}: a run's output could not be sent from its process "
                f"({_last_line(error)})"
            ) from error

    def _give_up(self, what: str) -> NoReturn:
        raise MechanismError(
            f"{self._mechanism.name}: a run {what}; mend the run, or set timeout, with which the "
            "end of a process is an output"
        )

    def _submit(self, *order: object) -> Future[Answer]:
        from joblib.externals.loky import BrokenProcessPool

        try:
            future: Future[Answer] = self._pool().submit(work, *order)
        except BrokenProcessPool as error:  # by an order before this one
            future = Future()
            future.set_exception(error)
        return future

    def _number(self, pair: Pair) -> int:
        """The number of a pair; a new one is handed to a process to see that it can be sent."""
        known = self._pairs.get(id(pair))
        if known is not None:
            return known[0]
        if not self._introduced:
            self._hand_over(
                f"{self._mechanism.name} cannot be sent to other processes",
                'give it as a text such as "path/file.py::name", which each process loads by '
                "itself, or use workers=1",
                Order(-1, ()),
                self._supplies,
            )
        number = self._introduced
        self._hand_over(
            "the data of a pair cannot be sent to other processes",
            "use data that can be pickled, or workers=1",
            Order(number, ()),
            self._supplies,
            pair,
        )
        self._introduced += 1
        self._pairs[id(pair)] = (number, pair)
        if len(self._pairs) > _KNOWN:
            self._pairs.popitem(last=False)
        return number

    def _hand_over(self, problem: str, advice: str, *order: object) -> None:
        """Give supplies to a process; no run is made, so whatever fails is the transport."""
        try:
            answer = self._pool().submit(work, *order).result()
        except Exception as error:
            self.close()
            raise UsageError(f"{problem} ({_last_line(error)}); {advice}") from error
        _outputs(answer)

    def _pool(self) -> Any:
        """The processes, which are started where there are none.

        They do not see Ctrl-C: this process does, and ends them.
        """
        if self._executor is None:
            from joblib.externals.loky import ProcessPoolExecutor

            copyreg.pickle(random.SystemRandom, _system_random)
            threads = str(max((os.cpu_count() or 1) // self._workers, 1))
            with _no_interrupt():
                if os.name == "posix":
                    resource_tracker.ensure_running()
                self._executor = ProcessPoolExecutor(
                    max_workers=self._workers,
                    initializer=begin,
                    initargs=(os.getpid(),),
                    env={name: os.environ.get(name, threads) for name in _THREADS},
                )
            with _no_interrupt():  # again: the trackers of resources end the first
                self._executor.submit(os.getpid)
        return self._executor


def _deal(pair: int, chunks: Sequence[Chunk], workers: int) -> list[Order]:
    """The chunks as a few orders for each process, as even as can be."""
    size = -(-len(chunks) // (_ORDERS * workers))
    return [
        Order(pair, tuple(chunks[start : start + size])) for start in range(0, len(chunks), size)
    ]


def _outputs(answer: Answer) -> list[Batch]:
    """The batches of an answer, or the error that it tells."""
    errors: dict[str, type[Exception]] = {
        "failed": BatchFailed,
        "error": MechanismError,
        "usage": UsageError,
    }
    if isinstance(answer.value, list):
        return answer.value
    raise errors[answer.kind](answer.value)


def _last_line(error: BaseException) -> str:
    """What went wrong: the last line of the trace of the other process, if there is one."""
    text = str(error.__cause__ or error).strip().strip('"').strip()
    return text.splitlines()[-1] if text else type(error).__name__


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
