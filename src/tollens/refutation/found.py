"""What a search for a proof hands back, and what it says on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tollens.checker.errors import Refusal
from tollens.neighbours import Pair

Json = dict[str, object]

TIMEOUT = 60.0
"""Seconds that a search may take by default."""


class Step(NamedTuple):
    """How far a search has come: the engine, its pairs of inputs, and the best epsilon so far."""

    engine: str
    done: int
    total: int
    best_epsilon: float


Progress = Callable[[Step], None]


@dataclass(frozen=True)
class Found:
    """The end of a search.

    `certificate` is the document of a proof, which the checker still has to confirm; None where
    none was found. `best_epsilon` is the largest epsilon that any candidate came to, in floats,
    on the pair of inputs `pair`; `engine` is what found it (None: no engine applied). `refusals`
    are the constructs outside the subset, by the lines of the program's text. `witness` is the best
    event found, proved or not: `{"event": [pattern, ...], "likely_under": "x" | "x_prime"}`.
    """

    certificate: Json | None = None
    best_epsilon: float = 0.0
    pair: Pair | None = None
    engine: str | None = None
    notes: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    timed_out: bool = False
    witness: Json | None = None
