"""What engines are given, and what they give back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tollens.checker.claims import contradict, read_claim
from tollens.checker.errors import CertificateError
from tollens.checker.program import Program
from tollens.neighbours import Pair
from tollens.refutation.documents import certificate
from tollens.refutation.found import Json, Progress, Step
from tollens.refutation.objectives import Objective
from tollens.relations import Relation


@dataclass(frozen=True)
class Task:
    """What is to be refuted: a program and its text, a claim in exact form, and pairs of inputs.

    `deadline` is a time of `time.monotonic`; `alone` says that one engine was asked for.
    """

    program: Program
    text: str
    claim: Json
    objective: Objective
    pairs: Relation
    deadline: float
    progress: Progress | None = None
    alone: bool = False

    @property
    def orders(self) -> Sequence[bool]:
        """The orders of a pair that the claim binds; True swaps x and x'."""
        return (False,) if self.claim["ordered"] else (False, True)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline

    def each_pair(self, engine: str, best: Callable[[], float]) -> Iterator[tuple[int, Pair]]:
        """The pairs one after the other, until the time is over; progress is reported."""
        for i in range(len(self.pairs)):
            if self.late:
                return
            yield i, self.pairs[i]
            if self.progress is not None:
                self.progress(Step(engine, i + 1, len(self.pairs), best()))

    def document(
        self, pair: Pair, swapped: bool, engine: str, witness: Json, proof: Json,
        lower: Fraction, upper: Fraction,
    ) -> Json | None:  # fmt: skip
        """The certificate of bounds that contradict the claim; None if they do not."""
        made = certificate(
            self.text, self.program, self.claim, self.objective, self.pairs.exact, pair, swapped,
            engine, witness, proof, lower, upper,
        )  # fmt: skip
        low, high = Fraction(str(made["lower"])), Fraction(str(made["upper"]))
        unit = witness["kind"] == "event" or bool(witness.get("unit"))
        try:
            contradict(read_claim(self.claim), made["hint"], low, high, unit)
        except CertificateError:
            return None
        return made


@dataclass(frozen=True)
class Attempt:
    """What an engine came to: its best pair and bounds, and the certificate if they are a proof.

    `value` is the parameter of the claim's kind that its bounds imply, `epsilon` the epsilon;
    `event` is the event in JSON with its side, where the witness is one. An engine that does not
    apply says why in `note`. `looked` says that it saw any ends of runs, if only equal ones.
    """

    engine: str
    note: str = ""
    value: float = 0.0
    epsilon: float = 0.0
    pair: Pair | None = None
    document: Json | None = None
    event: Json | None = None
    looked: bool = False
