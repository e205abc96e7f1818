"""Parts of a training audit: each looks at one piece of a step and bets that it is not as said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tollens.training.parts.reading import Reading

Level = Literal["fault", "warning"]


@dataclass(frozen=True)
class Finding:
    """Something that is not as promised, in words, with the step at which it showed.

    A "fault" breaks the promise, a "warning" does not (too much noise, say, costs accuracy only).
    `log_e_value` is the natural log of the evidence; None for an exact comparison, in which
    chance has no part. `assumes` says what must hold for it. Step 0 is before the first step.
    """

    part: str
    level: Level
    step: int
    text: str
    assumes: str
    log_e_value: float | None = None


class Part(Protocol):
    """An e-process on one piece: nonnegative, starts at 1, expectation at most 1 if all is well.

    `update` takes the readings in their order and passes over those without its numbers.
    """

    @property
    def name(self) -> str:
        """The piece, in a word or two."""

    @property
    def assumes(self) -> str:
        """What must hold for its evidence to mean something."""

    @property
    def log_e_value(self) -> float:
        """The natural log of the evidence that the piece is not as said, now."""

    def update(self, reading: Reading) -> None:
        """Take one more step into account."""

    def words(self) -> str:
        """What the evidence, if it is large, says is wrong, with a number where there is one."""
