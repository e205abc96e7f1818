"""Random streams: one seed, and uses of it that cannot be mixed up.

Evidence is drawn from one family of streams and everything that searches or learns from another,
as two types, so that no function can take the one for the other. A stream is made for each chunk
of a block of runs, not for each process: the draws depend on the seed and the place of a run
alone, whatever process makes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import DTypeLike, NDArray


class Side(IntEnum):
    """The two inputs of a neighbouring pair."""

    X = 0
    X_PRIME = 1


_EVIDENCE, _SEARCH, _SHARED = 1, 2, 3


class _RunSequence(ISpawnableSeedSequence):
    """The seed of one coupled run: four words that are known already.

    Only a run that asks for more (children, other generators) pays for a `SeedSequence`; its path
    of numbers is used by nothing else.
    """

    __slots__ = ("_path", "_seed", "_sequence", "_words")

    def __init__(self, words: NDArray[np.uint64], seed: int, path: tuple[int, ...]) -> None:
        self._words, self._seed, self._path = words, seed, path
        self._sequence: np.random.SeedSequence | None = None

    def generate_state(
        self, n_words: int, dtype: DTypeLike = np.uint32
    ) -> NDArray[np.unsignedinteger]:
        """The words that a bit generator starts from."""
        if n_words == len(self._words) and dtype is np.uint64:
            return self._words
        return self._full().generate_state(n_words, dtype)  # type: ignore[arg-type]

    def spawn(self, n_children: int) -> list[np.random.SeedSequence]:  # type: ignore[override]
        """Children as those of any other generator: fresh at every call."""
        return self._full().spawn(n_children)

    def _full(self) -> np.random.SeedSequence:
        if self._sequence is None:
            self._sequence = np.random.SeedSequence(self._seed, spawn_key=self._path)
        return self._sequence


@dataclass(frozen=True, slots=True)
class EvidenceStream:
    """Generators for the runs that score bets: independent for every side, block and chunk.

    Blocks and chunks are numbered from 0, below 2**32.

    >>> stream = EvidenceStream(7)
    >>> a, b = stream.generator(Side.X, 0), stream.generator(Side.X_PRIME, 0)
    >>> a.random() != b.random()
    True
    """

    seed: int

    def generator(
        self, side: Side, block: int, chunk: int = 0, after: int = 0
    ) -> np.random.Generator:
        """The generator of one side's runs in one chunk of a block.

        Where a process was lost, the runs `after` those made so far have a generator of their own.
        """
        key = (_EVIDENCE, int(side), block, chunk, after)
        sequence = np.random.SeedSequence(self.seed, spawn_key=key)
        return np.random.Generator(np.random.PCG64(sequence))

    def shared(self, block: int, n: int, chunk: int = 0) -> Iterator[np.random.Generator]:
        """n generators, one for each coupled pair of a chunk: both sides get the same draws.

        Run i is given generator i, however many draws the runs before it took. The generators
        start from 256 bits each, drawn from a generator of the chunk: that is several times cheaper
        than a `SeedSequence` a run, and the states are as independent as the draws of PCG64.

        >>> stream = EvidenceStream(7)
        >>> [a.random() == b.random() for a, b in zip(stream.shared(0, 2), stream.shared(0, 2))]
        [True, True]
        """
        key = (_SHARED, block, chunk)
        seeds = np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key))
        words = np.asarray(seeds.random_raw(4 * n), dtype=np.uint64).reshape(n, 4)
        for run in range(n):
            sequence = _RunSequence(words[run], self.seed, (*key, run))
            yield np.random.Generator(np.random.PCG64(sequence))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SearchStream:
    """Generators for what learns or searches (splits of the past, trial runs).

    >>> SearchStream(7).generator(1).random() != EvidenceStream(7).generator(Side.X, 1).random()
    True
    """

    seed: int

    def generator(self, purpose: int) -> np.random.Generator:
        """The generator of one purpose, numbered by the caller."""
        sequence = np.random.SeedSequence(self.seed, spawn_key=(_SEARCH, purpose))
        return np.random.Generator(np.random.PCG64(sequence))


def fresh_seed() -> int:
    """A seed from the operating system, short enough to paste into an issue.

    >>> 0 <= fresh_seed() < 2**48
    True
    """
    return secrets.randbits(48)
