"""Random streams: one seed, and uses of it that cannot be mixed up.

Evidence is drawn from one family of streams and everything that searches or learns from another,
as two types, so that no function can take the one for the other. A stream is made for each block
of runs, not for each worker: the draws depend on the seed and the block alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class Side(IntEnum):
    """The two inputs of a neighbouring pair."""

    X = 0
    X_PRIME = 1


_EVIDENCE, _SEARCH, _SHARED = 1, 2, 3


@dataclass(frozen=True, slots=True)
class EvidenceStream:
    """Generators for the runs that score bets: independent for every side and block.

    >>> stream = EvidenceStream(7)
    >>> a, b = stream.generator(Side.X, 0), stream.generator(Side.X_PRIME, 0)
    >>> a.random() != b.random()
    True
    """

    seed: int

    def generator(self, side: Side, block: int) -> np.random.Generator:
        """The generator of one side's runs in one block."""
        sequence = np.random.SeedSequence(self.seed, spawn_key=(_EVIDENCE, int(side), block))
        return np.random.Generator(np.random.PCG64(sequence))

    def shared(self, block: int, n: int) -> Iterator[np.random.Generator]:
        """n generators, one for each coupled pair of a block: both sides get the same draws.

        Run i is given generator i, however many draws the runs before it took.

        >>> stream = EvidenceStream(7)
        >>> [a.random() == b.random() for a, b in zip(stream.shared(0, 2), stream.shared(0, 2))]
        [True, True]
        """
        for run in range(n):
            sequence = np.random.SeedSequence(self.seed, spawn_key=(_SHARED, block, run))
            yield np.random.Generator(np.random.PCG64(sequence))


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
