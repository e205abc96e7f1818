"""Verdicts: what was shown, and never more than that."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction

from tollens.certificate import Certificate, Search
from tollens.claim import Claim, claim_from_json
from tollens.errors import ClaimError, RefutedError, UsageError
from tollens.event import exact_words
from tollens.evidence import Alarm, AnyEvidence, evidence_from_json
from tollens.exact import claim_words, exact_claim, plain_data
from tollens.labelled import result_html, rows_text
from tollens.neighbours import Pair
from tollens.outcome import Outcome, Reason
from tollens.rounding import down, up
from tollens.serial import (
    data_from_json,
    number_from_json,
    parse_json,
    to_jsonable,
    whole_from_json,
)
from tollens.tally import Tally
from tollens.verified import MEANING, leak_words
from tollens.witness import ProvedWitness, Witness, any_witness_from_json

Json = dict[str, object]

__all__ = ["Outcome", "Reason", "Verdict"]

SCHEMA = "tollens/verdict/1"

ASSUMPTIONS = (
    "x and x' are neighbours, the claim binds each run, and runs are fresh: none influences another"
)
"""What must hold for a verdict on runs, printed with each."""

ASSUMPTIONS_OF_PROOFS = (
    "x and x' are neighbours, the claim binds each run, and what runs is what the text says"
)
"""What must hold for a verdict on a program text, printed with each."""

ASSUMPTIONS_OF_SCORES = {
    "scores": "the claim binds what one score is made from, and each row of scores was drawn "
    "independently of all others (members and others of one run are no such rows)",
    "one-run": "the claim binds the training run for one canary more or less, and each canary was "
    "included by a fair coin of its own that nothing else looked at",
}
"""What must hold for a verdict on a file of scores, by the method of its evidence."""

LOOKED_AT = {
    "numeric": "values, types, lengths, exceptions; not the bits of floats",
    "exact": "values, types, lengths, exceptions; and the bits of numbers",
    "timed": "values, types, lengths, exceptions; and the running time; not the bits of floats",
}
"""What bets see, by the setting `outputs`."""


@dataclass(frozen=True)
class Verdict:
    """The result of an audit or of a search for a proof: frozen, printable, to JSON and back.

    `pairs` counts pairs of runs that were looked at, `runs` all runs made; `epsilon_lower` is the
    certified lower bound for epsilon at `delta`; `detectable_excess` is the smallest
    epsilon above the claim's with which randomised response would have been refuted nine times
    in ten with these pairs. `tally` counts where outputs fell, for a picture; it certifies
    nothing. A verdict on a program text has no runs, and an alpha of 0: a proof
    has no error probability. Building a refuted verdict without evidence for it is an error.
    """

    outcome: Outcome
    reason: Reason
    claim: Claim
    mechanism: str
    neighbours: Pair
    witness: Witness | ProvedWitness | None
    epsilon_lower: float
    delta: float
    pairs: int
    runs: int
    alpha: float
    evidence: AnyEvidence
    seed: int | None
    replayable: bool
    seconds: float
    detectable_excess: float | None
    versions: dict[str, str]
    notes: tuple[str, ...] = ()
    tally: Tally | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        alpha_fits = self.alpha == 0 if self.exact else 0 < self.alpha < 1
        findings = [
            f"{name} is {value}; it must {wanted}"
            for name, value, fits, wanted in (
                ("alpha", self.alpha, alpha_fits, "be 0" if self.exact else "lie in (0, 1)"),
                ("delta", self.delta, 0 <= self.delta <= 1, "lie in [0, 1]"),
                ("epsilon_lower", self.epsilon_lower, self.epsilon_lower >= 0, "lie in [0, inf]"),
                ("pairs", self.pairs, self.pairs >= 0, "lie in [0, inf)"),
                ("runs", self.runs, self.runs >= 0, "lie in [0, inf)"),
            )
            if not fits
        ]
        if findings:
            raise UsageError([f"verdict: {finding}" for finding in findings])
        if self.outcome is Outcome.REFUTED and not self.evidence.refutes(self.alpha):
            if self.exact:
                raise UsageError("a verdict cannot be REFUTED by a search that found no proof")
            raise UsageError(
                f"a verdict cannot be REFUTED at alpha = {self.alpha} with a log wealth of "
                f"{self.evidence.log_e_value:.3f} against {-math.log(self.alpha):.3f}"
            )
        if isinstance(self.evidence, Certificate):
            self._check_proof(self.evidence)

    def _check_proof(self, proof: Certificate) -> None:
        """A verdict must not say more than its proof."""
        own, findings = _claimed(self.claim), []
        if own != proof.verified.claim:
            findings.append(f"the proof is about {proof.verified.claim}, not about {own}")
        if self.outcome is not Outcome.REFUTED:
            findings.append("a proof refutes")
        if self.epsilon_lower > (least := proof.verified.epsilon_at(self.delta)):
            findings.append(f"epsilon_lower is {self.epsilon_lower}, and only {least} is proved")
        pair = (self.neighbours.x, self.neighbours.x_prime)
        about = (self.mechanism, *map(to_jsonable, pair))
        proved = (plain_data(value) for value in (proof.verified.x, proof.verified.x_prime))
        if about != (proof.verified.mechanism, *map(to_jsonable, proved)):
            findings.append("the proof is about another mechanism or other inputs")
        if self.witness != proof.verified.witness:
            findings.append("the witness is not that of the proof")
        if findings:
            raise UsageError([f"verdict: {finding}" for finding in findings])

    @property
    def exact(self) -> bool:
        """Whether it is about a program text, without runs and without an error probability."""
        return isinstance(self.evidence, Certificate | Search)

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
        if self.exact:
            return self._exact_lines()
        rows = [(self.outcome.name, f"{self.mechanism} against {self.claim}")]
        if self.witness is not None and self.refuted:
            rows.append(("witness", self.witness.describe()))
        rows.append(("leak", self._leak_text()))
        rows.append(("evidence", self.evidence.words(self.pairs)))
        if self.detectable_excess is not None and not self.refuted:
            rows.append(("power", self.power_text()))
        rows.append(("pair", self._pair_text()))
        scored = ASSUMPTIONS_OF_SCORES.get(self.evidence.method)
        whole = LOOKED_AT.get(getattr(self.evidence, "outputs", ""), LOOKED_AT["numeric"])
        rows.append(("looked at", whole if scored is None else "the scores, and nothing else"))
        rows.append(("assumed", scored or ASSUMPTIONS))
        rows.append(("reason", self.reason.value))
        rows.extend(("note", note) for note in self.notes)
        rows.append(("replay", self._replay_text()))
        return rows

    def _exact_lines(self) -> list[tuple[str, str]]:
        """The lines of a verdict on a program text."""
        rows = [(self.outcome.name, f"{self.mechanism} against {self.claim}")]
        if isinstance(self.witness, ProvedWitness):
            rows += [("witness", self.witness.text), ("bounds", self.witness.bounds())]
        if isinstance(self.evidence, Certificate):
            rows.append(("leak", self._proved_leak()))
        rows.append(("evidence", self.evidence.words(self.pairs)))
        if self.evidence.method != "none":
            rows.append(("pair", self._pair_text()))
        rows.append(("meaning", MEANING))
        if self.refuted:
            rows.append(("assumed", ASSUMPTIONS_OF_PROOFS))
        rows.append(("reason", self.reason.value))
        rows.extend(("note", note) for note in self.notes)
        return rows

    def _proved_leak(self) -> str:
        proved = None if math.isinf(self.epsilon_lower) else Fraction(self.epsilon_lower)
        return leak_words(proved) + (f", at delta = {self.delta:g}" if self.delta else "")

    def _leak_text(self) -> str:
        if self.epsilon_lower <= 0:
            return f"no lower bound for epsilon could be certified (at delta = {self.delta:g})"
        return (
            f"epsilon >= {down(self.epsilon_lower)} at delta = {self.delta:g}, certified with "
            f"error probability {self.alpha:g}"
        )

    def power_text(self) -> str:
        """What leak these pairs (or canaries) would have refuted, in words."""
        excess = self.detectable_excess
        if excess is None or not math.isfinite(excess):
            return "no leak, however large, would have been refuted nine times in ten"
        those = "canaries" if self.evidence.method == "one-run" else "pairs"
        return (
            f"for a two-valued output (randomised response) these {those} would have refuted "
            f"epsilon = {up(excess)} or more nine times in ten"
        )

    def _pair_text(self) -> str:
        if isinstance(self.evidence, Certificate):
            proof = self.evidence.verified
            x, x_prime = (_cut(exact_words(value)) for value in (proof.x, proof.x_prime))
            return f"x = {x}, x' = {x_prime} ({self.neighbours.relation})"
        x = _short(self.neighbours.x)
        return f"x = {x}, x' = {_short(self.neighbours.x_prime)} ({self.neighbours.relation})"

    def _replay_text(self) -> str:
        if isinstance(self.evidence, Alarm):
            return "every step has a seed of its own; the history of the series has them"
        if self.evidence.method in ASSUMPTIONS_OF_SCORES:
            return f"the same scores again with seed={self.seed}; no run is made again"
        if self.replayable and self.seed is not None:
            return f"the same runs again with seed={self.seed}"
        return (
            "the mechanism draws its own randomness, so these runs cannot be repeated; a new "
            "audit makes new ones"
        )

    def __str__(self) -> str:
        return rows_text(self.lines())

    def _repr_html_(self) -> str:
        return result_html(self, self.lines())

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
            **({} if self.tally is None else {"tally": self.tally.to_json()}),
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
            verdict = Verdict(
                outcome=Outcome[data["outcome"]],
                reason=Reason[data["reason"]],
                claim=claim_from_json(data["claim"]),
                mechanism=str(data["mechanism"]),
                neighbours=Pair(
                    data_from_json(pair["x"]),
                    data_from_json(pair["x_prime"]),
                    str(pair["relation"]),
                ),
                witness=None if witness is None else any_witness_from_json(witness),
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
                tally=None if data.get("tally") is None else Tally.from_json(data["tally"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise UsageError(f"not a verdict: {error!r}") from None
        if not verdict.refuted and not verdict.exact and verdict.evidence.refutes(verdict.alpha):
            raise UsageError(
                f"not a verdict: it is {verdict.outcome.name}, and its evidence refutes the claim"
            )
        return verdict


def _claimed(claim: Claim) -> str:
    """The claim as proofs name it; as it is where it has no exact form."""
    try:
        return claim_words(exact_claim(claim))
    except ClaimError:
        return str(claim)


def _short(value: object) -> str:
    return _cut(" ".join(repr(value).split()))


def _cut(text: str) -> str:
    return text if len(text) <= 48 else text[:45] + "..."
