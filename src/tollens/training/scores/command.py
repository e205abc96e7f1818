"""What `tollens audit scores.csv` does: settings that fit a file of scores, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tollens.errors import UsageError, collect
from tollens.training.scores.files import SUFFIXES, Scores, read_scores

if TYPE_CHECKING:
    from tollens.verdict import Verdict

_MEANINGLESS = {
    "x": "--x: the inputs are those behind the file",
    "x_prime": "--x-prime: the inputs are those behind the file",
    "neighbours": "--neighbours: those of a file of scores are a canary in and out",
    "evidence": "--evidence: the file of scores is the evidence; keep it",
    "budget": "--budget: all rows of the file are looked at",
    "until": "--until: all rows of the file are looked at",
    "method": "--method: the method follows from the columns of the file",
    "workers": "--workers: nothing is run",
    "backend": "--backend: nothing is run",
    "timeout": "--timeout: nothing is run",
}
"""Options of `tollens audit` that say nothing about a file of scores, and why."""


def is_scores(target: str) -> bool:
    """Whether a target is a file of scores, by the end of its name.

    >>> is_scores("runs/scores.CSV"), is_scores("counts.py::noisy")
    (True, False)
    """
    return "::" not in target and target.lower().endswith(SUFFIXES)


def audit_file(options: Mapping[str, object], settings: Mapping[str, object]) -> Verdict:
    """The verdict on the file that the options of the command name.

    `options` are those of the command line, which may hold what a file of scores has no use for
    (`UsageError`); `settings` are those in force, whatever they come from.
    """
    from tollens.training.scores.audit import audit_scores

    target = str(options["target"])
    findings = [
        f"{words}; leave it out" for name, words in _MEANINGLESS.items() if options.get(name)
    ]
    coupling = str(settings["coupling"])
    coupling = "independent" if coupling == "auto" else coupling
    claim = options.get("claim")
    seed = settings.get("seed")

    def audited(read: Scores | str) -> Verdict:
        return audit_scores(
            read,
            None if claim is None else str(claim),
            alpha=_real(settings["alpha"]),
            delta=None if settings["delta"] is None else _real(settings["delta"]),
            coupling=coupling,
            seed=0 if seed is None else int(str(seed)),
            name=Path(target).name,
        )

    if not findings:
        return audited(target)
    collect(findings, lambda: read_scores(target))
    raise UsageError(findings)


def _real(value: object) -> float:
    return float(str(value))
