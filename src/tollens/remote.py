"""What happens in a process of `tollens.parallel`: it is handed what it needs, and draws chunks.

A process keeps the mechanism and the pairs it was handed, so that they are sent to it once. It
ends itself when the process that started it is gone.
"""

from __future__ import annotations

import random
import signal
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tollens.adapters import adapt
from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, Mechanism, limited, one_by_one
from tollens.neighbours import Pair
from tollens.streams import EvidenceStream
from tollens.targets import load_target
from tollens.timed import TimedRuns, end_with
from tollens.worker import Batch, Chunk, DirectRuns

_KEPT = 32
"""Pairs that a process keeps at a time."""


@dataclass(frozen=True, slots=True)
class Named:
    """A mechanism that every process loads by its target; `vectorised` as it is now used."""

    target: str
    vectorised: bool


@dataclass(frozen=True, slots=True)
class Supplies:
    """What a process needs for all its chunks."""

    mechanism: Mechanism | Named
    stream: EvidenceStream
    timeout: float | None


class Order(NamedTuple):
    """Chunks to draw on the pair of this number."""

    pair: int
    chunks: tuple[Chunk, ...]


class Answer(NamedTuple):
    """`outputs` (a batch for each chunk), or why there are none.

    `missing` asks for the supplies, `failed` is a `BatchFailed`, `error` a `MechanismError` and
    `usage` a `UsageError` with this message.
    """

    kind: str
    value: str | list[Batch]


class _Source(Protocol):
    def chunk(self, pair: Pair, chunk: Chunk) -> Batch: ...


class _Bench:
    """What this process holds."""

    def __init__(self, supplies: Supplies) -> None:
        mechanism, timeout = limited(_unpack(supplies.mechanism), supplies.timeout)
        _fresh_seeds()
        self.pairs: OrderedDict[int, Pair] = OrderedDict()
        self._source: _Source = (
            DirectRuns(mechanism, supplies.stream)
            if timeout is None
            else TimedRuns(mechanism, supplies.stream, timeout)
        )

    def keep(self, number: int, pair: Pair) -> None:
        self.pairs[number] = pair
        if len(self.pairs) > _KEPT:
            self.pairs.popitem(last=False)

    def draw(self, order: Order) -> list[Batch]:
        pair = self.pairs[order.pair]
        return [self._source.chunk(pair, chunk) for chunk in order.chunks]


_benches: list[_Bench] = []
"""The bench of this process, once it has one: a process serves one `ParallelRuns` only."""


def begin(parent: int) -> None:
    """Make this process deaf to Ctrl-C and end it when the process that it serves is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)


def work(order: Order, supplies: Supplies | None = None, pair: Pair | None = None) -> Answer:
    """Draw what is ordered, with supplies or with those that this process has already."""
    try:
        if supplies is not None and not _benches:
            _benches.append(_Bench(supplies))
        if not _benches:
            return Answer("missing", "")
        bench = _benches[0]
        if pair is not None and order.pair not in bench.pairs:
            bench.keep(order.pair, pair)
        if order.chunks and order.pair not in bench.pairs:
            return Answer("missing", "")
        return Answer("outputs", bench.draw(order) if order.chunks else [])
    except BatchFailed as error:
        return Answer("failed", str(error))
    except MechanismError as error:
        return Answer("error", str(error))
    except UsageError as error:
        return Answer("usage", str(error))


def _unpack(mechanism: Mechanism | Named) -> Mechanism:
    if isinstance(mechanism, Mechanism):
        return mechanism
    loaded = adapt(load_target(mechanism.target))
    return one_by_one(loaded) if loaded.vectorised and not mechanism.vectorised else loaded


def _fresh_seeds() -> None:
    """Seed the global generators anew: the file of a mechanism may have seeded them, here too."""
    np.random.seed()  # noqa: NPY002 - libraries that are audited may draw from it
    random.seed()
