"""The file of evidence: all that the bets looked at, so that anyone can score it again.

The file holds encoded outputs (shapes, digests of exact values, numbers), the verdict and its
seed. Scoring it again repeats the bets and must give the same wealth; it needs neither the
mechanism nor its data.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from tollens.auditing.bandit import Bandit
from tollens.auditing.conclude import Circumstances, conclude
from tollens.auditing.gamblers import gamblers
from tollens.errors import UsageError
from tollens.evidence import Wealth
from tollens.outputs import Encoder, Outputs, concatenate
from tollens.relations import Relation
from tollens.serial import number_from_json, parse_json, to_jsonable, whole_from_json
from tollens.verdict import Verdict

SCHEMA = "tollens/evidence/1"

_FOLLOWS = ("witness", "epsilon_lower", "delta", "pairs", "detectable_excess", "reason")
"""What of a verdict follows from the outputs, beside the wealth. Names of inputs do not."""


class Recorder:
    """Collects the outputs of an audit for a file of evidence."""

    def __init__(self) -> None:
        self._parts: list[tuple[Outputs, Outputs]] = []
        self.coupling = "independent"
        self.budget = 0
        self.inputs = 1
        self.unequal = False
        self.given: str | None = None
        self.document: str | None = None

    def add(self, x: Outputs, y: Outputs) -> None:
        """Append encoded pairs."""
        self._parts.append((x, y))

    def clear(self) -> None:
        """Forget all pairs: the audit starts anew."""
        self._parts = []

    def finish(self, verdict: Verdict, encoder: Encoder) -> None:
        """Make `document`, the JSON text of the file."""
        content = {
            "schema": SCHEMA,
            "verdict": verdict.to_dict(),
            "coupling": self.coupling,
            "budget": self.budget,
            "inputs": self.inputs,
            "unequal": self.unequal,
            **({} if self.given is None else {"given": self.given}),
            "shapes": encoder.shape_names,
            "texts": {str(key): text for key, text in encoder.texts.items()},
            "x": _to_json([part[0] for part in self._parts]),
            "x_prime": _to_json([part[1] for part in self._parts]),
        }
        self.document = json.dumps(to_jsonable(content), ensure_ascii=False, allow_nan=False)


def rescore(text: str) -> Verdict:
    """Score a file of evidence again; the verdict of the repeated bets.

    Raises `UsageError` where the file is not of the schema or where the recorded verdict does
    not follow from the recorded outputs.
    """
    data = parse_json(text, "evidence")
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UsageError(f'not a file of evidence: the "schema" must be "{SCHEMA}"')
    recorded = Verdict.from_json(json.dumps(data.get("verdict")))
    evidence = recorded.evidence
    if not isinstance(evidence, Wealth):
        raise UsageError("evidence: the verdict is not of an audit")
    if not 0 < evidence.level <= recorded.alpha:
        raise UsageError("evidence: the level must lie above 0 and not above alpha")
    inputs = whole_from_json(data.get("inputs"), "inputs")
    if inputs < 1:
        raise UsageError(f"evidence: inputs is {inputs}; there must be at least one pair of inputs")
    given = data.get("given")
    gambler = _bandit(
        recorded, evidence, inputs, data.get("coupling"), data.get("budget"),
        data.get("unequal"), None if given is None else str(given),
    )  # fmt: skip
    try:
        gambler.encoder.restore(
            [str(name) for name in data["shapes"]],
            {int(key): str(value) for key, value in data["texts"].items()},
        )
        exact = evidence.outputs == "exact"
        x, y = (replace(_from_json(data[side]), exact=exact) for side in ("x", "x_prime"))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"evidence: the recorded outputs cannot be read ({error!r})") from None
    if given is not None and (x.marks is None or y.marks is None):
        raise UsageError("evidence: the outputs are not marked by the event that was given")
    if not gambler.encoder.knows(np.concatenate([x.shapes, y.shapes])):
        raise UsageError("evidence: an output has a shape that is not in the list of shapes")
    try:
        gambler.update(x, y)
    except AssertionError as error:
        raise UsageError(
            "evidence: the recorded verdict does not follow from the recorded outputs: of "
            f"{len(x)} of x and {len(y)} of x_prime, {error}"
        ) from None
    again = conclude(
        gambler,
        Circumstances(
            mechanism=recorded.mechanism,
            pair=recorded.neighbours,
            alpha=recorded.alpha,
            seed=recorded.seed,
            replayable=recorded.replayable,
            seconds=recorded.seconds,
            runs=recorded.runs,
            until_refuted=2 * recorded.pairs < len(x) + len(y),
        ),
    )
    difference = abs(again.log_e_value - recorded.log_e_value)
    changed = [name for name in _FOLLOWS if getattr(again, name) != getattr(recorded, name)]
    same_runs = isinstance(again.evidence, Wealth) and again.evidence.digest == evidence.digest
    if not same_runs or again.outcome is not recorded.outcome or difference > 1e-6:
        raise UsageError(
            "evidence: the recorded verdict does not follow from the recorded outputs: recorded "
            f"{recorded.outcome.name} with log wealth {recorded.log_e_value:.6f}, scored again "
            f"{again.outcome.name} with {again.log_e_value:.6f}"
            + ("" if same_runs else "; the digests of the outputs differ too")
        )
    if changed:
        raise UsageError(
            "evidence: the recorded verdict does not follow from the recorded outputs: scored "
            f"again, {', '.join(changed)} differ{'s' if len(changed) == 1 else ''}"
        )
    return replace(again, versions=recorded.versions, notes=recorded.notes)


def _bandit(
    recorded: Verdict,
    evidence: Wealth,
    inputs: int,
    coupling: object,
    budget: object,
    unequal: object, given: str | None,
) -> Bandit:  # fmt: skip
    """The bets of the recorded audit, made again; which inputs those were does not matter."""
    made = gamblers(
        recorded.claim, level=evidence.level, delta=recorded.delta,
        seed=recorded.seed or 0, method=evidence.method, coupling=_coupling(coupling),
        budget=whole_from_json(budget, "budget"), unequal=unequal is True, given=given,
        exact=evidence.outputs == "exact",
    )  # fmt: skip
    relation = Relation("recorded", inputs, lambda _: recorded.neighbours)
    return Bandit(relation, made, outputs=evidence.outputs)


def _coupling(value: object) -> str:
    if value not in ("independent", "common", "auto"):
        raise UsageError(f"evidence: coupling is {value!r}; it must be independent, common or auto")
    return str(value)


def _to_json(parts: list[Outputs]) -> dict[str, object]:
    if not parts:
        return {"shapes": [], "keys": [], "numbers": []}
    outputs = concatenate(parts)
    marks = {} if outputs.marks is None else {"marks": outputs.marks.tolist()}
    return {
        "shapes": outputs.shapes.tolist(),
        "keys": outputs.keys.tolist(),
        "numbers": outputs.numbers.tolist(),
        **marks,
    }


def _from_json(data: dict[str, list[object]]) -> Outputs:
    rows = data["numbers"]
    width = max((len(row) for row in rows if isinstance(row, list)), default=0)
    numbers = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        if isinstance(row, list):
            numbers[i, : len(row)] = [number_from_json(value, "a number") for value in row]
    shapes = np.array(data["shapes"], dtype=np.int64)
    keys = np.array(data["keys"], dtype=np.uint64)
    if shapes.ndim != 1 or keys.ndim != 1 or not len(shapes) == len(keys) == len(rows):
        raise ValueError("shapes, keys and numbers must be lists of one length")
    if "marks" not in data:
        return Outputs(shapes, keys, numbers)
    marks = np.array(data["marks"], dtype=bool)
    if marks.shape != shapes.shape:
        raise ValueError("marks must be as many as shapes")
    return Outputs(shapes, keys, numbers, marks)
