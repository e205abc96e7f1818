"""Where outputs come from: this process, one with a time limit, several, or a cluster.

All sources of `Runs` draw the same outputs from the same seed, if the mechanism takes its `rng`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tollens.backends import is_cluster
from tollens.clocked import ClockedRuns
from tollens.mechanism import Mechanism, limited
from tollens.neighbours import Pair
from tollens.streams import EvidenceStream, Side
from tollens.worker import Batch, DirectRuns

__all__ = ["Batch", "DirectRuns", "Runs", "open_runs"]


class Runs(Protocol):
    """Where outputs come from; no block number may be used twice in an audit."""

    def sample(self, pair: Pair, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs of one side; coupled runs get the draws that the other side gets too."""

    def both(self, pair: Pair, block: int, n: int, *, coupled: bool) -> tuple[Batch, Batch]:
        """n outputs of x and n of x'."""


@contextmanager
def open_runs(
    mechanism: Mechanism,
    stream: EvidenceStream,
    *,
    workers: int = 1,
    timeout: float | None = None,
    clocked: bool = False,
    backend: str | None = None,
) -> Iterator[Runs]:
    """The runs of a mechanism; the processes that they need end with the block.

    With the address of a cluster as `backend`, all its workers make them.

    `clocked` runs have their running time in their outputs, and are made here, one by one.

    Raises `UsageError` where a mechanism cannot be run in that way.

    >>> from tollens.mechanism import from_callable
    >>> with open_runs(from_callable(len), EvidenceStream(7)) as runs:
    ...     runs.both(Pair([1, 1], [1]), 0, 3, coupled=False)
    ([2, 2, 2], [1, 1, 1])
    """
    if clocked:
        yield ClockedRuns(mechanism, stream)
        return
    if workers > 1 or is_cluster(backend):
        from tollens.parallel import ParallelRuns

        with ParallelRuns(mechanism, stream, workers, timeout, backend) as parallel:
            yield parallel
        return
    mechanism, timeout = limited(mechanism, timeout)
    if timeout is not None:
        from tollens.timed import TimedRuns

        with TimedRuns(mechanism, stream, timeout) as timed:
            yield timed
    else:
        yield DirectRuns(mechanism, stream)
