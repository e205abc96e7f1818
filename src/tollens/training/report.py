"""What an audit of training says: promised, shown, and not tested; frozen, to JSON and back."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from scipy.special import ndtri

from tollens.claim import Claim, claim_from_json
from tollens.errors import UsageError
from tollens.labelled import result_html, rows_text
from tollens.outcome import Outcome
from tollens.rounding import down
from tollens.serial import number_from_json, parse_json, to_jsonable, whole_from_json
from tollens.training.curve import Point
from tollens.training.parts.part import Finding
from tollens.training.run_leak import RunLeak

Json = dict[str, object]

SCHEMA = "tollens/training/1"

MEANINGS = {
    Outcome.REFUTED: "this is not the training that was accounted for; do not quote its epsilon",
    Outcome.UNREFUTED: "not refuted so far; this does not show that it is private",
    Outcome.UNDECIDED: "too little was told of the steps for anything to be tested",
}
"""What each outcome says of the training."""

NOT_TESTED = (
    "what changes weights outside of these steps; whether canaries of other directions, or several "
    "records at once, show more; the bits of "
    "floats; the model that comes out of the run"
)
"""What no audit of steps looks at, printed with each."""


@dataclass(frozen=True)
class PartSummary:
    """A part of the audit: its share of the stake, its log wealth, and what it assumes."""

    name: str
    share: float
    log_e_value: float
    assumes: str


@dataclass(frozen=True)
class TrainingReport:
    """The state of an audit of training after some steps: printable, to JSON and back.

    `scored` counts the steps that told any number. `alpha` is the probability with which
    `refuted_at` is ever a step if all is as the accountant
    assumes; the same holds for both lower bounds together. `mu_lower` and `epsilon_lower` (at
    `delta`) are about one step and assume nothing. `epsilon_normal` is the epsilon of a step with
    normal noise and that mu, `mu_lower_normal` a bound that looks at all coordinates of the noise
    and assumes that it is normal.
    `part` is the piece that won the bet. Logs are natural.
    """

    name: str
    claim: Claim
    noise_multiplier: float
    alpha: float
    delta: float
    method: str
    steps: int
    scored: int
    pairs: int
    log_e_value: float
    refuted_at: int | None
    part: str | None
    mu_lower: float
    mu_lower_normal: float
    epsilon_lower: float
    epsilon_normal: float
    largest_sensitivity: float
    parts: tuple[PartSummary, ...]
    findings: tuple[Finding, ...]
    run: RunLeak | None
    curve: tuple[Point, ...]
    seconds: float
    versions: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """REFUTED by the bets or by an exact comparison; UNDECIDED if most steps told nothing."""
        if self.refuted_at is not None or any(f.level == "fault" for f in self.findings):
            return Outcome.REFUTED
        looked = self.scored > 0 and 2 * self.scored >= self.steps
        return Outcome.UNREFUTED if looked else Outcome.UNDECIDED

    @property
    def refuted(self) -> bool:
        """Whether the outcome is REFUTED."""
        return self.outcome is Outcome.REFUTED

    def metrics(self) -> dict[str, float]:
        """Plain floats for loggers of experiments, such as MLflow or Weights & Biases."""
        found = {
            "refuted": float(self.refuted_at is not None),
            "broken": float(self.refuted),
            "steps": float(self.steps),
            "pairs": float(self.pairs),
            "log_e_value": min(self.log_e_value, 1e300),
            "mu_claimed": claimed_mu(self.claim),
            "mu_lower": self.mu_lower,
            "mu_lower_normal": min(self.mu_lower_normal, 1e300),
            "epsilon_lower": self.epsilon_lower,
            "epsilon_normal": self.epsilon_normal,
            "faults": float(sum(finding.level == "fault" for finding in self.findings)),
            "warnings": float(sum(finding.level == "warning" for finding in self.findings)),
        }
        if self.run is not None:
            found["epsilon_accountant"] = self.run.printed
            found["epsilon_run_promised"] = self.run.promised
            found["epsilon_run_shown"] = self.run.shown
        return found

    def lines(self) -> list[tuple[str, str]]:
        """(label, text) pairs that say everything a reader needs, the outcome first."""
        counted = f"{_count(self.steps, 'step')}, {self.pairs:,} of them replayed"
        rows = [(self.outcome.name, f"{self.name}, {counted}, each claimed {self.claim}")]
        for finding in self.findings:
            where = "before the first step" if finding.step == 0 else f"from step {finding.step}"
            rows.append((finding.level, f"{finding.part} ({where}): {finding.text}"))
        rows.append(("step", self._step_words()))
        if self.mu_lower > 0 or self.mu_lower_normal > 0:
            rows.append(("if normal", self._normal_words()))
        if self.run is not None:
            rows.append(("run", self._run_words(self.run)))
        rows.append(("evidence", self._evidence_words()))
        rows += [(f"- {part.name}", _part_words(part)) for part in self.parts]
        rows.append(("not tested", self._not_tested()))
        rows += [("note", note) for note in self.notes]
        rows.append(("meaning", MEANINGS[self.outcome]))
        return rows

    def _not_tested(self) -> str:
        names = {part.name for part in self.parts}
        missing = [] if "sampling" in names else ["how batches are drawn (no rate is known)"]
        missing += [] if self.run is not None else ["the accountant (none is known)"]
        return "; ".join([*missing, NOT_TESTED])

    def _step_words(self) -> str:
        if self.mu_lower <= 0:
            return "no leak of a step is shown yet by its projections"
        return (
            f"a step leaks more than mu = {down(self.mu_lower)} allows (promised: {self.claim}), "
            f"and epsilon >= {down(self.epsilon_lower)} at delta = {self.delta:g}; nothing is "
            "assumed of the noise"
        )

    def _normal_words(self) -> str:
        """What follows if the noise is normal: from the projections, and from all coordinates."""
        if math.isinf(self.mu_lower_normal):
            return "some step had no noise: it hides nothing"
        found = []
        if self.mu_lower > 0:
            found.append(
                f"with normal noise such a step has epsilon = {down(self.epsilon_normal)} at delta "
                f"= {self.delta:g}"
            )
        if self.mu_lower_normal > 0:
            found.append(f"by all coordinates some step has mu >= {down(self.mu_lower_normal)}")
        return "; ".join(found)

    def _run_words(self, run: RunLeak) -> str:
        text = f"{run.accountant} says epsilon = {run.printed:.4g} at delta = {self.delta:g}"
        if self.refuted:
            text += ", which does not hold for this training"
        faulty = {finding.part for finding in self.findings if finding.level == "fault"}
        if run.shown <= 0 or faulty & {"sampling", "accountant", "batch size", "release"}:
            return text
        by = "" if run.compared_by == run.accountant else f" (by {run.compared_by})"
        return (
            f"{text}; if every step is normal and leaks what was shown of one, the run leaks "
            f"{down(run.shown)} or more where {run.promised:.4g} was promised{by}"
        )

    def _evidence_words(self) -> str:
        threshold = math.log10(1.0 / self.alpha)
        text = f"wealth 10^{self.log_e_value / math.log(10.0):.2f} (refuted at 10^{threshold:.2f}, "
        text += f"which happens with probability at most {self.alpha:g} if all is as said)"
        if self.refuted_at is None:
            return f"{text}; refuted by comparing numbers, without chance" if self.refuted else text
        return f"{text}, reached in step {self.refuted_at} by {self.part}"

    def __str__(self) -> str:
        return rows_text(self.lines())

    def _repr_html_(self) -> str:
        return result_html(self, self.lines())

    def to_dict(self) -> Json:
        """The content of `to_json` as a dictionary."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        own["claim"] = self.claim.to_json()
        own["parts"] = [asdict(part) for part in self.parts]
        own["findings"] = [asdict(finding) for finding in self.findings]
        own["run"] = None if self.run is None else asdict(self.run)
        own["curve"] = [list(point) for point in self.curve]
        return {"schema": SCHEMA, "outcome": self.outcome.name, **own}

    def to_json(self) -> str:
        """One JSON document of schema "tollens/training/1"."""
        return json.dumps(to_jsonable(self.to_dict()), ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> TrainingReport:
        """The report of a document made by `to_json`; `UsageError` if it is none."""
        data = parse_json(text, "report of training")
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise UsageError(f'not a report of training: the "schema" must be "{SCHEMA}"')
        try:
            return _from_dict(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"not a report of training: {error!r}") from None


def claimed_mu(claim: Claim) -> float:
    """The mu of a Gaussian claim; of others the mu with the same total variation.

    >>> from tollens.claim import gaussian
    >>> round(claimed_mu(gaussian(0.5)), 9)
    0.5
    """
    apart = min(claim.support(1.0, 1.0), 1.0 - 1e-15)
    return 2.0 * float(ndtri((1.0 + apart) / 2.0))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_NUMBERS = (
    "noise_multiplier", "alpha", "delta", "log_e_value", "mu_lower", "mu_lower_normal",
    "epsilon_lower", "epsilon_normal", "largest_sensitivity", "seconds",
)  # fmt: skip


def _from_dict(data: dict[str, object]) -> TrainingReport:
    numbers = {name: number_from_json(data[name], name) for name in _NUMBERS}
    run = data["run"]
    return TrainingReport(
        name=str(data["name"]),
        claim=claim_from_json(data["claim"]),
        method=str(data["method"]),
        steps=whole_from_json(data["steps"], "steps"),
        scored=whole_from_json(data["scored"], "scored"),
        pairs=whole_from_json(data["pairs"], "pairs"),
        refuted_at=_whole_or_none(data["refuted_at"], "refuted_at"),
        part=None if data["part"] is None else str(data["part"]),
        parts=tuple(
            PartSummary(
                str(part["name"]),
                number_from_json(part["share"], "share"),
                number_from_json(part["log_e_value"], "log_e_value"),
                str(part["assumes"]),
            )
            for part in _objects(data["parts"])
        ),
        findings=tuple(_finding(item) for item in _objects(data["findings"])),
        run=None if run is None else _run(_objects([run])[0]),
        curve=tuple(
            Point(
                whole_from_json(step, "step"),
                number_from_json(value, "log_e_value"),
                number_from_json(mu, "mu_lower"),
            )
            for step, value, mu in _lists(data["curve"])
        ),
        versions={str(k): str(v) for k, v in _objects([data["versions"]])[0].items()},
        notes=tuple(str(note) for note in _items(data["notes"])),
        **numbers,
    )


def _finding(item: Json) -> Finding:
    level, value = item["level"], item["log_e_value"]
    if level not in ("fault", "warning"):
        raise ValueError(f"level is {level!r}")
    return Finding(
        str(item["part"]),
        "fault" if level == "fault" else "warning",
        whole_from_json(item["step"], "step"),
        str(item["text"]),
        str(item["assumes"]),
        None if value is None else number_from_json(value, "log_e_value"),
    )


def _run(item: Json) -> RunLeak:
    return RunLeak(
        str(item["accountant"]),
        number_from_json(item["printed"], "printed"),
        str(item["compared_by"]),
        number_from_json(item["promised"], "promised"),
        number_from_json(item["shown"], "shown"),
        tuple(
            (
                whole_from_json(step, "step"),
                number_from_json(printed, "printed"),
                number_from_json(shown, "shown"),
            )
            for step, printed, shown in _lists(item["points"])
        ),
    )


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value


def _objects(value: object) -> list[Json]:
    found = [item for item in _items(value) if isinstance(item, dict)]
    if len(found) != len(_items(value)):
        raise TypeError("an object is missing")
    return found


def _lists(value: object) -> list[list[object]]:
    return [_items(item) for item in _items(value)]


def _whole_or_none(value: object, name: str) -> int | None:
    return None if value is None else whole_from_json(value, name)


def _part_words(part: PartSummary) -> str:
    wealth = part.log_e_value / math.log(10.0)
    return f"wealth 10^{wealth:.2f} with {part.share:.0%} of the stake; assumes {part.assumes}"
