"""Runs in several workers: chunks of both sides are drawn at the same time.

The outputs are those of one process, because every chunk has random streams of its own. The
workers are local processes, which belong to one `ParallelRuns` and end with it, or those of a
cluster, which keep nothing of one audit for another.
"""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

from tollens.backends import is_cluster, open_pool
from tollens.backends.cluster import versions
from tollens.backends.flight import Flight
from tollens.errors import BackendError, MechanismError, UsageError
from tollens.mechanism import BatchFailed, Mechanism
from tollens.naming import command_words, split_target
from tollens.neighbours import Pair
from tollens.remote import Answer, Named, Order, Supplies, work
from tollens.streams import EvidenceStream, Side
from tollens.worker import Batch, Chunk, chunks_of, join

_ORDERS = 4
"""Orders for each worker and request, because runs take unequal times."""

_KNOWN = 256
"""Pairs that have a number at a time."""


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


def cluster_finding(mechanism: Mechanism) -> str | None:
    """Why a mechanism cannot be run on a cluster; None where it may be tried.

    >>> from tollens.mechanism import from_callable
    >>> cluster_finding(from_callable(len)).split(";")[0]
    'len takes no rng: the runs of a worker that is lost could not be made again'
    """
    if not mechanism.takes_rng:
        return (
            f"{mechanism.name} takes no rng: the runs of a worker that is lost could not be made "
            "again; leave backend out, or give it a parameter named rng and draw from that"
        )
    if mechanism.own_entropy:
        return f"{mechanism.name} is a program, and programs run here only; leave backend out"
    return None


class ParallelRuns:
    """Draws runs of a mechanism in `workers` processes, or on a cluster; a context manager.

    Processes start with the first request and last until the end of the context; a cluster is
    reached at once. With `timeout`, each process makes its runs as `tollens.timed.TimedRuns` does.
    Raises `UsageError` for mechanisms of which copies would repeat each other's draws, and
    `BackendError` for a cluster that is not there or does not fit.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        stream: EvidenceStream,
        workers: int,
        timeout: float | None = None,
        backend: str | None = None,
    ) -> None:
        finding = (cluster_finding if is_cluster(backend) else parallel_finding)(mechanism)
        if finding is not None:
            raise UsageError(finding)
        self._mechanism, self._audit = mechanism, uuid.uuid4().hex
        parcel: Mechanism | Named = replace(mechanism, promise=None)
        if mechanism.target is not None:
            parcel = Named(from_anywhere(mechanism.target), mechanism.vectorised)
        self._supplies = Supplies(parcel, stream, timeout, versions())
        self._pool = open_pool(backend, workers)
        self._pairs: OrderedDict[int, tuple[int, Pair]] = OrderedDict()
        self._introduced = 0

    def __enter__(self) -> ParallelRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing, or leave the cluster."""
        self._pool.close()

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

        The chunks of a lost worker are drawn once more, with the same draws: that is no choice
        among outputs. Where a mechanism draws from elsewhere it would be one, and is an error.
        """
        number = self._number(pair)
        drawn = self._round(pair, self._deal(number, chunks))
        lost = [chunk for chunk in chunks if chunk not in drawn]
        if lost:
            if not self._mechanism.takes_rng:
                self._give_up("ended its process, and its draws cannot be repeated")
            if not self._pool.repeats:
                drawn |= self._round(pair, self._deal(number, lost))
            if len(drawn) < len(chunks):
                self._give_up("ended its process, and did so again when its draws were repeated")
        return [drawn[chunk] for chunk in chunks]

    def _deal(self, pair: int, chunks: Sequence[Chunk]) -> list[Order]:
        """The chunks as a few orders for each worker, as even as can be."""
        size = -(-len(chunks) // (_ORDERS * self._pool.workers))
        starts = range(0, len(chunks), size)
        return [Order(self._audit, pair, tuple(chunks[at : at + size])) for at in starts]

    def _round(self, pair: Pair, orders: Sequence[Order]) -> dict[Chunk, Batch]:
        """The batches of all orders; those that were lost with a worker are missing.

        Of several errors, the one of the first order is raised, whichever came first.
        """
        answers: dict[Order, Answer] = {}
        waiting = deque(orders)
        flight: Flight[Order] = Flight(self._pool, work)
        while flight or waiting:
            while waiting and not flight.full:
                order = waiting.popleft()
                flight.send(order, order)
            for order, future in flight.landed():
                answer = self._answer(future)
                if answer is None:
                    waiting.clear()
                elif answer.kind == "missing":
                    flight.send(order, order, self._supplies, pair)
                else:
                    answers[order] = answer
        answered = [order for order in orders if order in answers]
        batches = [zip(order.chunks, _outputs(answers[order]), strict=True) for order in answered]
        return dict(chain.from_iterable(batches))

    def _answer(self, future: Future[Any]) -> Answer | None:
        """The answer to an order; None where its worker was lost."""
        try:
            answer: Answer = future.result()
        except self._pool.losses:
            return None
        except CancelledError:
            raise BackendError("the cluster was lost, and the runs with it") from None
        except Exception as error:
            raise MechanismError(
                f"{self._mechanism.name}: a run's output could not be sent from its process "
                f"({_last_line(error)})"
            ) from error
        return answer

    def _give_up(self, what: str) -> NoReturn:
        raise MechanismError(
            f"{self._mechanism.name}: a run {what}; mend the run, or set timeout, with which the "
            "end of a process is an output"
        )

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
                Order(self._audit, -1, ()),
                self._supplies,
            )
        number = self._introduced
        self._hand_over(
            "the data of a pair cannot be sent to other processes",
            "use data that can be pickled, or workers=1",
            Order(self._audit, number, ()),
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
            answer = self._pool.submit(work, *order).result()
        except Exception as error:
            raise UsageError(f"{problem} ({_last_line(error)}); {advice}") from error
        _outputs(answer)


def from_anywhere(target: str) -> str:
    """A target whose file is found from any working folder.

    >>> from_anywhere("counts:noisy"), from_anywhere("/srv/counts.py::noisy")
    ('counts:noisy', '/srv/counts.py::noisy')
    """
    if command_words(target) is not None:
        return target
    place, name = split_target(target)
    return f"{os.path.abspath(place)}::{name}" if place.endswith(".py") else target  # noqa: PTH100


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
