"""What is noted of a stream beside the bets: constants, digests and the curve of the wealth."""

from __future__ import annotations

import hashlib

import numpy as np

from tollens.outputs import Outputs

_CURVE_GROWTH = 1.05


class Constant:
    """Whether all outputs of a side were one and the same value."""

    def __init__(self) -> None:
        self.key: int | None = None
        self.holds = True
        self.shape = -1

    def look(self, part: Outputs) -> None:
        """Look at further outputs."""
        if not len(part):
            return
        if self.key is None:
            self.key, self.shape = int(part.keys[0]), int(part.shapes[0])
        if self.holds:
            self.holds = bool(np.all(part.keys == np.uint64(self.key)))


class Notes:
    """Constants, a digest of all outputs in order, and the wealth at geometric times."""

    def __init__(self) -> None:
        self.constants = (Constant(), Constant())
        self._digests = (hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16))
        self._curve: list[tuple[int, float]] = []
        self._next_mark = 0.0

    def take(self, x: Outputs, y: Outputs, pairs: int, log_wealth: float) -> None:
        """Note further outputs, after which there are `pairs` and the wealth is as given."""
        for constant, digest, part in zip(self.constants, self._digests, (x, y), strict=True):
            constant.look(part)
            digest.update(np.ascontiguousarray(part.keys).tobytes())
        if pairs >= self._next_mark:
            self._curve.append((pairs, log_wealth))
            self._next_mark = pairs * _CURVE_GROWTH

    @property
    def digest(self) -> str:
        """A digest of the outputs of both sides."""
        return "-".join(digest.hexdigest() for digest in self._digests)

    def curve_to(self, end: int, log_wealth: float) -> tuple[tuple[int, float], ...]:
        """The noted points before `end`, and the point at `end`."""
        return (*(point for point in self._curve if point[0] < end), (end, log_wealth))
