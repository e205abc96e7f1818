"""What was found of an entry, as a small JSON file of its own."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tollens.serial import to_jsonable

FOLDER = Path(__file__).with_name("results")
LONGEST = 160
"""Characters of an input that are kept; longer ones are cut in the middle."""


@dataclass(frozen=True, slots=True)
class Result:
    """One audit of one entry.

    `claim` is what was claimed, `x` and `x_prime` the pair that paid (shrunken where it could be),
    `known` what was known before, `given` whether the pair was written down beforehand. `seconds`
    is the time of the audit with the start of its interpreter.
    """

    id: str
    library: str
    environment: str
    versions: dict[str, str]
    mechanism: str
    claim: str
    known: str
    source: str
    given: bool
    outputs: str
    outcome: str
    reason: str
    alpha: float
    budget: int
    pairs: int
    seconds: float
    relation: str
    x: str
    x_prime: str
    witness: str | None
    epsilon_lower: float
    delta: float
    detectable_excess: float | None
    seed: int | None
    notes: tuple[str, ...]

    @property
    def command(self) -> str:
        """What runs it again."""
        return f"python -m catalogue run {self.id} --seed {self.seed}"

    def save(self) -> None:
        """Write it to its file."""
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(to_jsonable(asdict(self)), indent=1, ensure_ascii=False)
        path_of(self.id).write_text(text + "\n", encoding="utf-8")


def path_of(entry: str) -> Path:
    """The file of an entry's result."""
    return FOLDER / f"{entry}.json"


def load(path: Path) -> Result:
    """Read a result; `ValueError` where the file is none."""
    data = json.loads(path.read_text(encoding="utf-8"))
    names = {field.name for field in fields(Result)}
    if set(data) != names:
        raise ValueError(f"{path}: not a result; run the entry again")
    numbers = ("epsilon_lower", "detectable_excess")
    read = {key: float(data[key]) if key in numbers and data[key] is not None else data[key]
            for key in names}  # fmt: skip
    return Result(**{**read, "notes": tuple(data["notes"])})


def saved() -> dict[str, Result]:
    """All results by the id of their entry."""
    return {path.stem: load(path) for path in sorted(FOLDER.glob("*.json"))}


def shown(value: object) -> str:
    """An input as text, cut in the middle where it is long."""
    text = " ".join(repr(value).split())
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2 - 3
    return f"{text[:half]} ... {text[-half:]}"
