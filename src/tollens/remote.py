"""What happens in a worker of `tollens.parallel`: it is handed what it needs, and draws chunks.

A worker keeps the mechanism and the pairs it was handed, so that they are sent to it once.
"""

from __future__ import annotations

import random
import socket
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tollens.adapters import adapt
from tollens.backends.cluster import versions
from tollens.errors import MechanismError, UsageError
from tollens.mechanism import BatchFailed, Mechanism, limited, one_by_one
from tollens.neighbours import Pair
from tollens.streams import EvidenceStream
from tollens.targets import load_target
from tollens.timed import TimedRuns
from tollens.worker import Batch, Chunk, DirectRuns

_KEPT = 32
"""Pairs that a worker keeps at a time for each audit."""

_AUDITS = 4
"""Audits whose mechanism and pairs a worker keeps at a time."""


@dataclass(frozen=True, slots=True)
class Named:
    """A mechanism that every process loads by its target; `vectorised` as it is now used."""

    target: str
    vectorised: bool


@dataclass(frozen=True, slots=True)
class Supplies:
    """What a worker needs for all its chunks; `versions` must be its own, or draws may differ."""

    mechanism: Mechanism | Named
    stream: EvidenceStream
    timeout: float | None
    versions: tuple[str, ...]


class Order(NamedTuple):
    """Chunks to draw on the pair of this number, in the audit of this name."""

    audit: str
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
        if supplies.versions != versions():
            raise UsageError(
                f"a worker on {socket.gethostname()} has {', '.join(versions())}, but "
                f"{', '.join(supplies.versions)} are here; all must have the same"
            )
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


_benches: OrderedDict[str, _Bench] = OrderedDict()
"""The benches of this worker by their audits; a process of this machine serves one only."""

_turn = threading.Lock()
"""A worker with several threads makes the runs of one order at a time."""


def work(order: Order, supplies: Supplies | None = None, pair: Pair | None = None) -> Answer:
    """Draw what is ordered, with supplies or with those that this worker has already."""
    try:
        with _turn:
            return _serve(order, supplies, pair)
    except BatchFailed as error:
        return Answer("failed", str(error))
    except MechanismError as error:
        return Answer("error", str(error))
    except UsageError as error:
        return Answer("usage", str(error))


def _serve(order: Order, supplies: Supplies | None, pair: Pair | None) -> Answer:
    if supplies is not None and order.audit not in _benches:
        _benches[order.audit] = _Bench(supplies)
        if len(_benches) > _AUDITS:
            _benches.popitem(last=False)
    bench = _benches.get(order.audit)
    if bench is None:
        return Answer("missing", "")
    if pair is not None and order.pair not in bench.pairs:
        bench.keep(order.pair, pair)
    if order.chunks and order.pair not in bench.pairs:
        return Answer("missing", "")
    return Answer("outputs", bench.draw(order) if order.chunks else [])


def _unpack(mechanism: Mechanism | Named) -> Mechanism:
    if isinstance(mechanism, Mechanism):
        return mechanism
    try:
        loaded = adapt(load_target(mechanism.target))
    except UsageError as error:
        raise UsageError(
            f"a worker on {socket.gethostname()} cannot load the target {mechanism.target}: "
            f"{error}; what a target names must be at the same place on every worker, a function "
            "given in Python is sent to them"
        ) from error
    return one_by_one(loaded) if loaded.vectorised and not mechanism.vectorised else loaded


def _fresh_seeds() -> None:
    """Seed the global generators anew: the file of a mechanism may have seeded them, here too."""
    np.random.seed()  # noqa: NPY002 - libraries that are audited may draw from it
    random.seed()
