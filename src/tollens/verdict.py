"""Verdicts: what was shown, and never more than that."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum

from tollens.claim import Claim, claim_from_json
from tollens.errors import RefutedError, UsageError
from tollens.evidence import Alarm, Wealth, evidence_from_json
from tollens.neighbours import Pair
from tollens.rounding import down, up
from tollens.serial import (
    data_from_json,
    number_from_json,
    parse_json,
    to_jsonable,
    whole_from_json,
)
from tollens.witness import Witness, witness_from_json

Json = dict[str, object]

SCHEMA = "tollens/verdict/1"

ASSUMPTIONS = (
    "x and x' are neighbours, the claim binds each run, and runs are fresh: none influences another"
)
"""What must hold for a verdict, printed with each."""


class Outcome(Enum):
    """The three outcomes; there is no "private" one."""

    REFUTED = "refuted"
    UNREFUTED = "unrefuted"
    UNDECIDED = "undecided"


class Reason(Enum):
    """Why the outcome is what it is; the value is a text with advice."""

    WEALTH_REACHED = (
        "a gambler betting against the claim multiplied the stake by 1/alpha or more; if the "
        "claim held, that would happen with probability at most alpha"
    )
    NO_RANDOMNESS = (
        "no randomness seen: each side returned one constant, and they differ; is a seed fixed?"
    )
    ALARM = (
        "a monitor of the versions of this mechanism raised an alarm; if every version kept the "
        "claim, that would happen with probability at most alpha in the whole life of the series"
    )
    NO_ALARM = (
        "the versions so far raised no alarm; this does not show that they keep the claim: more "
        "pairs a step or a worse pair of neighbours may still raise one"
    )
    NO_STEPS = "no version could be run yet: nothing was tested"
    BUDGET_SPENT = (
        "the budget is spent and the claim is not refuted; this does not show that it holds: a "
        "larger budget or a worse pair of neighbours may still refute it"
    )
    INTERRUPTED = "interrupted before the budget was spent; the claim is not refuted so far"
    TOO_FEW_PAIRS = (
        "too few pairs were seen for even the plainest leak to be refuted; run more pairs"
    )
    EQUAL_CONSTANTS = (
        "both sides returned one and the same constant: nothing random was seen and nothing was "
        "tested; does the mechanism release what it should?"
    )
    ALWAYS_RAISES = (
        "every run raised an exception on both sides: no output was seen and nothing was tested; "
        "mend the call of the mechanism first"
    )
    ALWAYS_TIMES_OUT = (
        "no run finished within the time limit on either side: no output was seen and nothing "
        "was tested; raise the timeout or find out why the mechanism hangs"
    )


@dataclass(frozen=True)
class Verdict:
    """The result of an audit: frozen, printable, and to JSON and back.

    `pairs` counts pairs of runs that were looked at, `runs` all runs made; `epsilon_lower` is the
    certified lower bound for epsilon at `delta`; `detectable_excess` is the smallest
    epsilon above the claim's with which randomised response would have been refuted nine times
    in ten with these pairs. Building a refuted verdict without evidence for it is an error.
    """

    outcome: Outcome
    reason: Reason
    claim: Claim
    mechanism: str
    neighbours: Pair
    witness: Witness | None
    epsilon_lower: float
    delta: float
    pairs: int
    runs: int
    alpha: float
    evidence: Wealth | Alarm
    seed: int | None
    replayable: bool
    seconds: float
    detectable_excess: float | None
    versions: dict[str, str]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        findings = [
            f"{name} is {value}; it must lie in {wanted}"
            for name, value, fits, wanted in (
                ("alpha", self.alpha, 0 < self.alpha < 1, "(0, 1)"),
                ("delta", self.delta, 0 <= self.delta <= 1, "[0, 1]"),
                ("epsilon_lower", self.epsilon_lower, self.epsilon_lower >= 0, "[0, inf]"),
                ("pairs", self.pairs, self.pairs >= 0, "[0, inf)"),
                ("runs", self.runs, self.runs >= 0, "[0, inf)"),
            )
            if not fits
        ]
        if findings:
            raise UsageError([f"verdict: {finding}" for finding in findings])
        if self.outcome is Outcome.REFUTED and not self.evidence.refutes(self.alpha):
            raise UsageError(
                f"a verdict cannot be REFUTED at alpha = {self.alpha} with a log wealth of "
                f"{self.evidence.log_e_value:.3f} against {-math.log(self.alpha):.3f}"
            )

    @property
    def refuted(self) -> bool:
        """Whether the outcome is REFUTED."""
        return self.outcome is Outcome.REFUTED

    @property
    def log_e_value(self) -> float:
        """The natural logarithm of the evidence against the claim."""
        return self.evidence.log_e_value

    def raise_if_refuted(self) -> Verdict:
        """Raise `RefutedError` if refuted; return the verdict itself otherwise."""
        if self.refuted:
            raise RefutedError(self)
        return self

    def metrics(self) -> dict[str, float]:
        """Plain floats for loggers of experiments."""
        excess = self.detectable_excess
        return {
            "refuted": float(self.refuted),
            "log_e_value": self.log_e_value,
            "epsilon_lower": self.epsilon_lower,
            "pairs": float(self.pairs),
            "runs": float(self.runs),
            "seconds": self.seconds,
            "detectable_excess": math.nan if excess is None else excess,
        }

    def lines(self) -> list[tuple[str, str]]:
        """(label, text) pairs that say everything a reader needs, the outcome first."""
        rows = [(self.outcome.name, f"{self.mechanism} against {self.claim}")]
        if self.witness is not None and self.refuted:
            rows.append(("witness", self.witness.describe()))
        rows.append(("leak", self._leak_text()))
        rows.append(("evidence", self.evidence.words(self.pairs)))
        if self.detectable_excess is not None and not self.refuted:
            rows.append(("power", self.power_text()))
        rows.append(("pair", self._pair_text()))
        rows.append(("looked at", "values, types, lengths, exceptions; not the bits of floats"))
        rows.append(("assumed", ASSUMPTIONS))
        rows.append(("reason", self.reason.value))
        rows.extend(("note", note) for note in self.notes)
        rows.append(("replay", self._replay_text()))
        return rows

    def _leak_text(self) -> str:
        if self.epsilon_lower <= 0:
            return f"no lower bound for epsilon could be certified (at delta = {self.delta:g})"
        return (
            f"epsilon >= {down(self.epsilon_lower)} at delta = {self.delta:g}, certified with "
            f"error probability {self.alpha:g}"
        )

    def power_text(self) -> str:
        """What leak these pairs would have refuted, in words."""
        excess = self.detectable_excess
        if excess is None or not math.isfinite(excess):
            return "no leak, however large, would have been refuted nine times in ten"
        return (
            f"for a two-valued output (randomised response) these pairs would have refuted "
            f"epsilon = {up(excess)} or more nine times in ten"
        )

    def _pair_text(self) -> str:
        x = _short(self.neighbours.x)
        return f"x = {x}, x' = {_short(self.neighbours.x_prime)} ({self.neighbours.relation})"

    def _replay_text(self) -> str:
        if isinstance(self.evidence, Alarm):
            return "every step has a seed of its own; the history of the series has them"
        if self.replayable and self.seed is not None:
            return f"the same runs again with seed={self.seed}"
        return (
            "the mechanism draws its own randomness, so these runs cannot be repeated; a new "
            "audit makes new ones"
        )

    def __str__(self) -> str:
        width = max(len(label) for label, _ in self.lines())
        return "\n".join(f"{label:<{width}}  {text}" for label, text in self.lines())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{_escape(label)}</th>"
            f"<td style='text-align:left'>{_escape(text)}</td></tr>"
            for label, text in self.lines()
        )
        return f"<table>{cells}</table>"

    def to_json(self) -> str:
        """One JSON document of schema "tollens/verdict/1"."""
        return json.dumps(to_jsonable(self.to_dict()), ensure_ascii=False, allow_nan=False)

    def to_dict(self) -> Json:
        """The content of `to_json` as a dictionary."""
        return {
            "schema": SCHEMA,
            "outcome": self.outcome.name,
            "reason": self.reason.name,
            "mechanism": self.mechanism,
            "claim": self.claim.to_json(),
            "neighbours": {
                "x": to_jsonable(self.neighbours.x),
                "x_prime": to_jsonable(self.neighbours.x_prime),
                "relation": self.neighbours.relation,
            },
            "alpha": self.alpha,
            "pairs": self.pairs,
            "runs": self.runs,
            "log_e_value": self.log_e_value,
            "epsilon_lower": self.epsilon_lower,
            "delta": self.delta,
            "witness": None if self.witness is None else self.witness.to_json(),
            "evidence": self.evidence.to_json(),
            "detectable_excess": self.detectable_excess,
            "seed": self.seed,
            "replayable": self.replayable,
            "seconds": self.seconds,
            "versions": dict(self.versions),
            "notes": list(self.notes),
        }

    @staticmethod
    def from_json(text: str) -> Verdict:
        """The verdict of a document made by `to_json`; `UsageError` if it is none.

        Inputs come back as JSON data (arrays as lists).
        """
        data = parse_json(text, "verdict")
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise UsageError(f'not a verdict: the "schema" must be "{SCHEMA}"')
        try:
            pair = data["neighbours"]
            excess, witness = data["detectable_excess"], data["witness"]
            return Verdict(
                outcome=Outcome[data["outcome"]],
                reason=Reason[data["reason"]],
                claim=claim_from_json(data["claim"]),
                mechanism=str(data["mechanism"]),
                neighbours=Pair(
                    data_from_json(pair["x"]),
                    data_from_json(pair["x_prime"]),
                    str(pair["relation"]),
                ),
                witness=None if witness is None else witness_from_json(witness),
                epsilon_lower=number_from_json(data["epsilon_lower"], "epsilon_lower"),
                delta=number_from_json(data["delta"], "delta"),
                pairs=whole_from_json(data["pairs"], "pairs"),
                runs=whole_from_json(data["runs"], "runs"),
                alpha=number_from_json(data["alpha"], "alpha"),
                evidence=evidence_from_json(data["evidence"]),
                seed=None if data["seed"] is None else whole_from_json(data["seed"], "seed"),
                replayable=bool(data["replayable"]),
                seconds=number_from_json(data["seconds"], "seconds"),
                detectable_excess=None
                if excess is None
                else number_from_json(excess, "detectable_excess"),
                versions={str(k): str(v) for k, v in data["versions"].items()},
                notes=tuple(str(note) for note in data["notes"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"not a verdict: {error!r}") from None


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 48 else text[:45] + "..."


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
