"""The course of an audit over steps, in a bounded number of points."""

from __future__ import annotations

from typing import NamedTuple

MOST = 512
"""Points kept; when there are more, every other one goes."""


class Point(NamedTuple):
    """What was shown after a step; natural logs."""

    step: int
    log_e_value: float
    mu_lower: float


class Curve:
    """Points at every step at first, then ever further apart; the last one is always there.

    >>> curve = Curve()
    >>> for step in range(1, 2001):
    ...     curve.add(step, 0.0, 0.1)
    >>> len(curve.points()) <= MOST + 1, curve.points()[-1].step
    (True, 2000)
    """

    def __init__(self) -> None:
        self._kept: list[Point] = []
        self._stride = 1
        self._last: Point | None = None

    def add(self, step: int, log_e_value: float, mu_lower: float) -> None:
        """Add the state after a step."""
        self._last = Point(step, log_e_value, mu_lower)
        if step % self._stride == 0:
            self._kept.append(self._last)
            if len(self._kept) > MOST:
                self._kept = self._kept[1::2]
                self._stride *= 2

    def points(self) -> tuple[Point, ...]:
        """The points kept, in order."""
        if self._last is None or (self._kept and self._kept[-1] == self._last):
            return tuple(self._kept)
        return (*self._kept, self._last)
