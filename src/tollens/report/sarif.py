"""SARIF 2.1.0: what code scanning shows beside the line of a mechanism.

A promise that is not refuted has no result, since a result is something to look at; how many
there were stands in the properties of the invocation. Files are parsed, never imported.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tollens import __version__
from tollens.report.junit import problem_target
from tollens.report.leaks import leak_message
from tollens.report.places import Json, physical, target_place
from tollens.serial import to_jsonable
from tollens.verdict import Outcome, Verdict

REFUTED, UNDECIDED, NOT_TESTED = "TOLLENS001", "TOLLENS002", "TOLLENS003"
"""The ids of the rules; an id never changes its meaning."""

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "tollensPromise/v1"
_RULES: tuple[tuple[str, str, str, str, str], ...] = (
    (
        REFUTED, "PromiseRefuted", "error",
        "A declared privacy promise is refuted.",
        "The mechanism treats two neighbouring inputs more differently than the promise allows. "
        "That is proved from its text, or shown by runs: if the promise held, runs would show it "
        "with probability at most alpha. Mend the mechanism, or promise no more than it keeps.",
    ),
    (
        UNDECIDED, "NothingDecided", "note",
        "Nothing could be decided about a privacy promise.",
        "Nothing was shown for or against the promise. The message gives the reason and what to do "
        "about it.",
    ),
    (
        NOT_TESTED, "NotTested", "warning",
        "A target could not be tested.",
        "No promise was tested here. The message says what is in the way.",
    ),
)  # fmt: skip
_LEVELS = {rule: level for rule, _, level, _, _ in _RULES}
_LINE = re.compile(r"\(line (\d+)\)\s*$")
_FILE = re.compile(r"(?P<file>.+?\.py|\S+(?= does not exist)) (?:cannot|does not|has no|is )")


def sarif_document(
    rows: Sequence[tuple[str, Verdict]], problems: Sequence[str], *, root: Path | None = None
) -> str:
    """A SARIF text with one run: `rows` are (target, verdict), `problems` what was not tested.

    Files are named relative to `root` (default: the working directory), so that the fingerprints
    are the same wherever the code is checked out; those outside have absolute URIs.

    >>> json.loads(sarif_document([], ["it raised"]))["runs"][0]["results"][0]["ruleId"]
    'TOLLENS003'
    """
    base = Path.cwd() if root is None else root
    results = [
        _verdict_result(target, verdict, base)
        for target, verdict in rows
        if verdict.outcome is not Outcome.UNREFUTED
    ]
    results += [_problem_result(problem, base) for problem in problems]
    rules = [
        {
            "id": rule,
            "name": name,
            "shortDescription": {"text": short},
            "fullDescription": {"text": full},
            "help": {"text": full},
            "defaultConfiguration": {"level": level},
        }
        for rule, name, level, short, full in _RULES
    ]
    driver = {"name": "tollens", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(rows, problems)],
        "columnKind": "unicodeCodePoints",
        "results": _with_fingerprints(results),
    }
    document = to_jsonable({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    return text.encode("utf-8", "replace").decode("utf-8")


def _verdict_result(target: str, verdict: Verdict, base: Path) -> Json:
    rule = REFUTED if verdict.outcome is Outcome.REFUTED else UNDECIDED
    first = (
        f"The promise {verdict.claim} of {verdict.mechanism} is refuted{leak_message(verdict)}."
        if rule == REFUTED
        else f"Nothing could be decided about the promise {verdict.claim} of {verdict.mechanism}: "
        f"{verdict.reason.value}."
    )
    properties = {
        "claim": str(verdict.claim),
        "alpha": verdict.alpha,
        "pairs": verdict.pairs,
        "epsilonLower": verdict.epsilon_lower,
        "delta": verdict.delta,
        "seed": verdict.seed,
        "reason": verdict.reason.name,
    }
    place = target_place(target, base)
    text = f"{first}\n\n{verdict}"
    return _result(rule, text, place, f"{verdict.claim}", {"properties": properties})


def _problem_result(problem: str, base: Path) -> Json:
    target, _ = problem_target(problem)
    file, line = _FILE.match(problem), _LINE.search(problem)
    if target is not None:
        return _result(NOT_TESTED, problem, target_place(target, base), "", {})
    if file is None:  # the root: some readers refuse a result without a place
        return _result(NOT_TESTED, problem, physical(".", None, base), problem, {})
    place = physical(file["file"], int(line[1]) if line else None, base)
    return _result(NOT_TESTED, problem, place, "", {})


def _result(rule: str, text: str, place: Json, subject: str, more: Json) -> Json:
    """A result; its fingerprint knows the rule, the file and name, and the subject: no numbers."""
    inner = place["physicalLocation"]
    artifact = inner["artifactLocation"] if isinstance(inner, dict) else None
    identity = json.dumps([rule, artifact, place.get("logicalLocations"), subject])
    return {
        "ruleId": rule,
        "ruleIndex": list(_LEVELS).index(rule),
        "level": _LEVELS[rule],
        "message": {"text": text or "no text"},
        "locations": [place],
        "partialFingerprints": {_FINGERPRINT: identity},
        **more,
    }


def _with_fingerprints(results: Sequence[Json]) -> list[Json]:
    """Digest the identities; those that occur twice are numbered."""
    seen: Counter[str] = Counter()
    out = []
    for result in results:
        prints = result["partialFingerprints"]
        identity = str(prints[_FINGERPRINT]) if isinstance(prints, dict) else ""
        seen[identity] += 1
        numbered = f"{identity}:{seen[identity]}".encode("utf-8", "replace")
        digest = hashlib.blake2b(numbered, digest_size=16).hexdigest()
        out.append({**result, "partialFingerprints": {_FINGERPRINT: digest}})
    return out


def _invocation(rows: Sequence[tuple[str, Verdict]], problems: Sequence[str]) -> Json:
    """What the run did: successful if everything that was asked for was tested."""
    outcomes = Counter(verdict.outcome.name.lower() for _, verdict in rows)
    counts: Json = {outcome.name.lower(): outcomes[outcome.name.lower()] for outcome in Outcome}
    versions = {name: text for _, verdict in rows for name, text in verdict.versions.items()}
    properties = {
        **counts,
        "notTested": len(problems),
        "pairs": sum(verdict.pairs for _, verdict in rows),
        "runs": sum(verdict.runs for _, verdict in rows),
        "versions": versions,
    }
    return {"executionSuccessful": not problems, "properties": properties}
