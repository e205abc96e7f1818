"""Runs in chunks: what any process does with its share of a block.

A block of runs is cut into chunks of a fixed size, each with random streams of its own. So the
outputs depend on the seed alone: not on how many processes there are, nor on which of them draws
which chunk.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.errors import MechanismError
from tollens.mechanism import Mechanism, changes_input, fingerprint
from tollens.neighbours import Pair
from tollens.streams import EvidenceStream, Side

Batch = Sequence[object] | NDArray[np.generic]

CHUNK = 16
"""Runs in a chunk of a mechanism that makes one output a call."""

BATCH_CHUNK = 2048
"""Runs in a chunk of a batched mechanism: one call, unless the runs are coupled."""

_UNUSED = np.random.default_rng(0)
"""Given to mechanisms that draw their own randomness, and take no generator."""

_WATCHED = 64
"""Pairs whose data are watched at a time."""


class Chunk(NamedTuple):
    """Runs that are made together: chunk `number` of a block, with `n` runs of one side."""

    side: Side
    block: int
    number: int
    n: int
    coupled: bool


def chunks_of(
    mechanism: Mechanism, side: Side, block: int, n: int, *, coupled: bool
) -> list[Chunk]:
    """The chunks of n runs of one side, in order; their size depends on the mechanism alone.

    >>> from tollens.mechanism import from_callable
    >>> [chunk.n for chunk in chunks_of(from_callable(len), Side.X, 0, 20, coupled=False)]
    [16, 4]
    """
    size = BATCH_CHUNK if mechanism.vectorised else CHUNK
    return [
        Chunk(side, block, start // size, min(size, n - start), coupled)
        for start in range(0, n, size)
    ]


def draw_chunk(mechanism: Mechanism, data: object, chunk: Chunk, stream: EvidenceStream) -> Batch:
    """The outputs of one chunk.

    Coupled runs are made one by one, batched mechanisms too: in one call, draws of run i on one
    side could be those of run j on the other, and pairs would not be independent of each other.
    """
    if not mechanism.takes_rng:
        return mechanism.sample(data, chunk.n, _UNUSED)
    if not chunk.coupled:
        rng = stream.generator(chunk.side, chunk.block, chunk.number)
        return mechanism.sample(data, chunk.n, rng)
    shared = stream.shared(chunk.block, chunk.n, chunk.number)
    return [mechanism.sample(data, 1, rng)[0] for rng in shared]


def draw(
    mechanism: Mechanism,
    data: object,
    n: int,
    stream: EvidenceStream,
    side: Side,
    block: int,
    *,
    coupled: bool,
) -> Batch:
    """n outputs of one side of a block, chunk by chunk, coupled with the other side or not.

    >>> from tollens.mechanism import from_callable
    >>> mechanism = from_callable(lambda data, rng: rng.random())
    >>> outputs = draw(mechanism, None, 20, EvidenceStream(7), Side.X, 0, coupled=False)
    >>> outputs[16] == EvidenceStream(7).generator(Side.X, 0, chunk=1).random()
    True
    """
    chunks = chunks_of(mechanism, side, block, n, coupled=coupled)
    return join([draw_chunk(mechanism, data, chunk, stream) for chunk in chunks])


def join(batches: Sequence[Batch]) -> Batch:
    """One batch of several: an array where all are plain arrays alike, else a list.

    >>> join([np.zeros(2), np.ones(1)])
    array([0., 0., 1.])
    >>> join([[1, "a"], np.zeros(1)])
    [1, 'a', np.float64(0.0)]
    """
    if len(batches) == 1:
        return batches[0]
    arrays = [batch for batch in batches if type(batch) is np.ndarray]
    kinds = {(array.dtype, array.shape[1:]) for array in arrays}
    if len(arrays) == len(batches) and len(kinds) == 1:
        return np.concatenate(arrays)
    return list(chain.from_iterable(batches))


class DirectRuns:
    """Runs in this process; now and then it is checked that the input is still what it was."""

    def __init__(self, mechanism: Mechanism, stream: EvidenceStream) -> None:
        self._mechanism, self._stream = mechanism, stream
        self._watch = Watch(mechanism.name)

    def chunk(self, pair: Pair, chunk: Chunk) -> Batch:
        """The outputs of one chunk; `MechanismError` where the input has changed."""
        self._watch.start(pair)
        outputs = draw_chunk(self._mechanism, data_of(pair, chunk.side), chunk, self._stream)
        self._watch.look(pair, chunk.side)
        return outputs

    def sample(self, pair: Pair, side: Side, block: int, n: int, *, coupled: bool) -> Batch:
        """n outputs of one side, chunk by chunk."""
        chunks = chunks_of(self._mechanism, side, block, n, coupled=coupled)
        return join([self.chunk(pair, chunk) for chunk in chunks])

    def both(self, pair: Pair, block: int, n: int, *, coupled: bool) -> tuple[Batch, Batch]:
        """n outputs of x, then n of x'."""
        x, y = (self.sample(pair, side, block, n, coupled=coupled) for side in Side)
        return x, y


class Watch:
    """Finds out that a mechanism changes its input, by a look now and then at each pair's data.

    A look copies the data, so it is taken after the 1st, 2nd, 4th, 8th, ... chunk of a side.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._pairs: OrderedDict[int, tuple[Pair, dict[Side, _Seen]]] = OrderedDict()

    def start(self, pair: Pair) -> None:
        """Remember what the data are, before the first run on a pair."""
        if id(pair) not in self._pairs:
            seen = {side: _Seen(fingerprint(data_of(pair, side))) for side in Side}
            self._pairs[id(pair)] = (pair, seen)
            if len(self._pairs) > _WATCHED:
                _, (old, sides) = self._pairs.popitem(last=False)
                for side in Side:
                    self._compare(old, side, sides[side])

    def look(self, pair: Pair, side: Side) -> None:
        """Count a chunk; `MechanismError` where it is time to look and the data have changed."""
        seen = self._pairs[id(pair)][1][side]
        seen.chunks += 1
        if seen.chunks >= seen.next_look:
            seen.next_look *= 2
            self._compare(pair, side, seen)

    def _compare(self, pair: Pair, side: Side, seen: _Seen) -> None:
        if fingerprint(data_of(pair, side)) != seen.before:
            raise MechanismError(changes_input(self._name))


class _Seen:
    """What the data of one side were, and how many chunks have been drawn on them."""

    __slots__ = ("before", "chunks", "next_look")

    def __init__(self, before: object) -> None:
        self.before, self.chunks, self.next_look = before, 0, 1


def data_of(pair: Pair, side: Side) -> object:
    """The input of one side."""
    return pair.x if side is Side.X else pair.x_prime
