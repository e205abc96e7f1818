"""From a step to the run: what the accountant prints, and what it would print for what was shown.

If every step is a Gaussian mechanism that leaks like the one that was tested, mu or more, a run
of T steps leaks at least what a run with noise multiplier 1/mu leaks: the same accountant, asked
about that multiplier, gives a number that can be put beside the one it prints. It is a comparison
and no certificate: the accountant's own numbers are upper bounds, and the other steps are
supposed to be alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tollens.training.curve import Point

POINTS = 10
"""Points of the curve over steps; each asks the accountant twice."""

LEAST_MU = 1e-3
"""A mu below this composes to nothing worth a number."""


class RunAccount(Protocol):
    """An accountant of private training, as far as it is asked.

    `compared_by` names the accountant behind `epsilon`, which may be another one: some that are
    exact for the promised noise need hours or all memory for much less noise.
    """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def compared_by(self) -> str:
        """What the accountant behind `epsilon` is called."""

    def epsilon(self, noise_multiplier: float, steps: int, delta: float) -> float:
        """The epsilon of so many steps at a noise multiplier, quickly."""

    def printed(self, delta: float) -> float:
        """The epsilon that it prints for the run so far."""


@dataclass(frozen=True)
class RunLeak:
    """Epsilons of the whole run at one delta.

    `printed` is the accountant's own number. `promised` and `shown` are those of `compared_by`,
    for the promised noise and for the leak that was shown (0 if none was). `points` holds
    (step, promised by then, shown by then).
    """

    accountant: str
    printed: float
    compared_by: str
    promised: float
    shown: float
    points: tuple[tuple[int, float, float], ...]


def run_leak(
    account: RunAccount | None,
    points: Sequence[Point],
    noise_multiplier: float,
    delta: float,
) -> RunLeak | None:
    """Ask the accountant about the promise and about what was shown; None without one.

    >>> class Linear:
    ...     name = compared_by = "a toy"
    ...     def epsilon(self, noise_multiplier, steps, delta):
    ...         return steps / noise_multiplier
    ...     def printed(self, delta):
    ...         return 6.0
    >>> leak = run_leak(Linear(), [Point(1, 0.0, 0.0), Point(6, 3.0, 2.0)], 1.0, 1e-5)
    >>> leak.printed, leak.promised, leak.shown, leak.points
    (6.0, 6.0, 12.0, ((1, 1.0, 0.0), (6, 6.0, 12.0)))
    """
    if account is None or not points:
        return None

    def shown(point: Point) -> float:
        if point.mu_lower < LEAST_MU:
            return 0.0
        return account.epsilon(1.0 / point.mu_lower, point.step, delta)

    return RunLeak(
        account.name,
        account.printed(delta),
        account.compared_by,
        account.epsilon(noise_multiplier, points[-1].step, delta),
        shown(points[-1]),
        tuple(
            (point.step, account.epsilon(noise_multiplier, point.step, delta), shown(point))
            for point in _spread(points)
        ),
    )


def _spread(points: Sequence[Point]) -> list[Point]:
    """At most `POINTS` of them, evenly over the steps, the last one among them."""
    last = points[-1].step
    wanted = [last * (i + 1) / POINTS for i in range(POINTS)]
    picked: list[Point] = []
    for target in wanted:
        nearest = min(points, key=lambda point: abs(point.step - target))
        if not picked or picked[-1] != nearest:
            picked.append(nearest)
    return picked
