"""What a report is made of: verdicts, series and reports of training, and where each came from."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tollens.certificate import Certificate
from tollens.claim import parse_claim
from tollens.errors import ClaimError, UsageError
from tollens.serial import data_to_json
from tollens.verdict import Verdict

if TYPE_CHECKING:
    from tollens.monitoring.overview import History
    from tollens.training.report import TrainingReport

_LONGEST_INPUT = 400


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, by its SHA-256; `what` says what was in it."""

    path: str
    digest: str
    size: int
    what: str


@dataclass(frozen=True, slots=True)
class Item:
    """A verdict, the target or test that it is about, and the places that it was read from."""

    target: str
    verdict: Verdict
    places: tuple[str, ...] = ()
    test: bool = False

    @property
    def again(self) -> str | None:
        """A command that makes the verdict anew; None where none is known to."""
        if self.test:
            return f"pytest {shlex.quote(self.target)}"
        if "::" in self.target:
            return self._command()
        if isinstance(self.verdict.evidence, Certificate) and self.places:
            return f"tollens verify {shlex.quote(self.places[0])}"
        return None

    @property
    def again_title(self) -> str:
        """What the command does; a pair of many is asked about alone."""
        many = not self.verdict.exact and ", " in self.verdict.neighbours.relation
        return "Audit this pair alone" if many and not self.test else "Do it again"

    def _command(self) -> str | None:
        verdict = self.verdict
        try:
            if parse_claim(str(verdict.claim)) != verdict.claim:
                return None
            x, x_prime = (
                json.dumps(data_to_json(value), ensure_ascii=True, allow_nan=False)
                for value in (verdict.neighbours.x, verdict.neighbours.x_prime)
            )
        except (ClaimError, UsageError, ValueError):
            return None
        if max(len(x), len(x_prime)) > _LONGEST_INPUT:
            return None
        words = ["tollens", "refute" if verdict.exact else "audit", self.target]
        words += ["--claim", str(verdict.claim), "--x", x, "--x-prime", x_prime]
        if not verdict.exact:
            words += ["--alpha", f"{verdict.alpha!r}"]
            words += [] if verdict.seed is None else ["--seed", str(verdict.seed)]
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a report shows; `problems` are what could not be tested."""

    items: tuple[Item, ...] = ()
    histories: tuple[History, ...] = ()
    trainings: tuple[TrainingReport, ...] = ()
    problems: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def rows(self) -> list[tuple[str, Verdict]]:
        """The verdicts with their targets."""
        return [(item.target, item.verdict) for item in self.items]

    @property
    def ranked(self) -> tuple[Item, ...]:
        """The verdicts: first what is refuted, then what is undecided, then the others."""
        order = {"REFUTED": 0, "UNDECIDED": 1, "UNREFUTED": 2}
        return tuple(sorted(self.items, key=lambda item: order[item.verdict.outcome.name]))

    @property
    def alpha(self) -> float:
        """The sum of the error probabilities of all verdicts on runs.

        If all their claims hold, one is refuted with at most this probability (union bound).
        """
        return float(sum(Fraction(item.verdict.alpha) for item in self.items))

    def counts(self) -> Counter[str]:
        """How many verdicts have each outcome, by its name."""
        return Counter(item.verdict.outcome.name for item in self.items)

    def summary(self) -> str:
        """How many promises were tested and what came of it, in one sentence.

        >>> Contents(problems=("it raised",)).summary()
        'No promise was tested; 1 target could not be tested.'
        """
        said = []
        if self.items:
            outcomes = self.counts()
            said.append(
                f"{_number(len(self.items), 'promise')} tested, {outcomes['REFUTED']:,} refuted, "
                f"{outcomes['UNREFUTED']:,} not refuted, {outcomes['UNDECIDED']:,} undecided"
            )
        if self.histories:
            open_ones = sum(found.standing.alarm for found in self.histories)
            said.append(f"{_number(len(self.histories), 'series', '')} watched, {open_ones:,} in "
                        "alarm")  # fmt: skip
        if self.trainings:
            refuted = sum(report.refuted for report in self.trainings)
            said.append(f"{_number(len(self.trainings), 'training run')} watched, {refuted:,} "
                        "refuted")  # fmt: skip
        if not said:
            said.append("No promise was tested")
        if self.problems:
            said.append(f"{_number(len(self.problems), 'target')} could not be tested")
        return "; ".join(said) + "."


def of_rows(rows: Sequence[tuple[str, Verdict]], problems: Sequence[str] = ()) -> Contents:
    """The contents of a command that has just made these verdicts."""
    return Contents(
        items=tuple(Item(target, verdict) for target, verdict in rows), problems=tuple(problems)
    )


def _number(count: int, noun: str, plural: str = "s") -> str:
    return f"{count:,} {noun}{'' if count == 1 else plural}"
