"""An entry of the catalogue: a mechanism of a release, neighbours, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MECHANISMS = Path(__file__).with_name("mechanisms")
TRUTHS = ("broken", "sound", "unknown")


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism of one release.

    `truth` is what was known before: broken, sound or unknown, and `source` where from.
    `neighbours` is a relation over the type of the data; `given` says that it is a pair which
    nobody would guess, written down beforehand. `claim` is what is claimed where the library does
    not say it itself. `pairs` is the budget.
    """

    id: str
    library: str
    environment: str
    file: str
    name: str
    neighbours: object
    truth: str
    source: str = ""
    claim: str | None = None
    given: bool = False
    outputs: str = "numeric"
    pairs: int = 5_000

    @property
    def target(self) -> str:
        """The mechanism as `tollens.in_environment` takes it."""
        return f"{MECHANISMS / self.file}::{self.name}"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of mechanisms of one library, from which entries are made."""

    library: str
    file: str

    def each(
        self,
        name: str,
        neighbours: object,
        *,
        sound: str = "",
        broken: str = "",
        unknown: str = "",
        suffix: str = "",
        **settings: object,
    ) -> Iterator[Entry]:
        """An entry for each release: labels of environments, by what is known of it there."""
        for truth, labels in zip(TRUTHS, (broken, sound, unknown), strict=True):
            for label in labels.split():
                words = [label, name.replace("_", "-"), *([suffix] if suffix else [])]
                yield Entry(
                    "-".join(words),
                    self.library,
                    label,
                    self.file,
                    name,
                    neighbours,
                    truth,
                    **settings,  # type: ignore[arg-type]
                )
