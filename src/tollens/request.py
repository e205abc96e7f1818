"""What a command line asks for, as texts: a target, a claim, and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tollens.errors import UsageError
from tollens.external import in_environment
from tollens.naming import command_words, split_target
from tollens.relations import parse_relation
from tollens.serial import data_from_json, parse_json
from tollens.targets import load_target


@dataclass(frozen=True, slots=True)
class Request:
    """The texts of a command line."""

    target: str
    claim: str | None = None
    x: str | None = None
    x_prime: str | None = None
    neighbours: str | None = None
    evidence: Path | None = None
    python: str | None = None

    @staticmethod
    def from_options(options: Mapping[str, object]) -> Request:
        """The request in the options of the command."""

        def text(name: str) -> str | None:
            value = options.get(name)
            return None if value is None else str(value)

        evidence = options.get("evidence")
        return Request(
            str(options["target"]),
            text("claim"),
            text("x"),
            text("x_prime"),
            text("neighbours"),
            evidence if isinstance(evidence, Path) else None,
            text("python"),
        )

    def load(self) -> object:
        """The mechanism that the target names, in the interpreter that is asked for."""
        if self.python is None:
            return load_target(self.target)
        if command_words(self.target) is not None:
            raise UsageError("--python is for functions; a program names its own interpreter")
        return in_environment(self.python, self.target)


def neighbours_of(request: Request, own: object) -> object:
    """The neighbours that the texts name; `own` is what the target declares, None for nothing."""
    findings = []
    if (request.x is None) != (request.x_prime is None):
        findings.append("give both --x and --x-prime, or neither")
    if request.x is not None and request.neighbours is not None:
        findings.append("give --neighbours or --x and --x-prime, not both")
    if findings:
        raise UsageError(findings)
    if request.x is not None and request.x_prime is not None:
        return (
            data_from_json(parse_json(request.x, "--x")),
            data_from_json(parse_json(request.x_prime, "--x-prime")),
        )
    if request.neighbours is not None:

        def named(name: str) -> object:
            program = command_words(request.target) is not None
            if program or not all(part.isidentifier() for part in name.split(".")):
                what = "for a program give" if program else "name pairs of the target's file, give"
                raise UsageError(
                    f"--neighbours is {name[:80]!r}; {what} a relation such as queries:10, "
                    "or --x JSON and --x-prime JSON"
                )
            place, _ = split_target(request.target)
            return load_target(f"{place}{'::' if place.endswith('.py') else ':'}{name}")

        relation = parse_relation(request.neighbours, data_of=named)
        return named(request.neighbours) if relation is None else relation
    if own is None:
        raise UsageError(
            f"{request.target} declares no neighbours; give --x JSON and --x-prime JSON, or "
            "--neighbours NAME for a relation such as queries:10 or for pairs in its file"
        )
    return own
