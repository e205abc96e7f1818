"""The course of an audit over steps, in a bounded number of points."""

from __future__ import annotations

from typing import NamedTuple

FIRST, STRIDE = 16, 16
"""Steps that are all kept, and how far apart points are after them."""

MOST = 256
"""Points kept; when there are more, every other one goes."""


class Point(NamedTuple):
    """What was shown after a step; natural logs."""

    step: int
    log_e_value: float
    mu_lower: float


class Curve:
    """Points at every step at first, then ever further apart.

    >>> curve = Curve()
    >>> for step in range(1, 5001):
    ...     if curve.wants(step):
    ...         curve.add(Point(step, 0.0, 0.1))
    >>> len(curve.points) <= MOST
    True
    """

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self._stride = STRIDE

    def wants(self, step: int) -> bool:
        """Whether a point of this step is kept."""
        return (step <= FIRST and self._stride == STRIDE) or step % self._stride == 0

    def add(self, point: Point) -> None:
        """Add the state after a step."""
        self.points = (*self.points, point)
        if len(self.points) > MOST:
            self._stride *= 2
            self.points = tuple(p for p in self.points if p.step % self._stride == 0)

    def to(self, last: Point) -> tuple[Point, ...]:
        """The points kept, and the last one if there is none of its step."""
        if self.points and self.points[-1].step == last.step:
            return self.points
        return (*self.points, last) if last.step else ()
