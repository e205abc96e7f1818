"""What goes wrong in a check, in two kinds."""

from __future__ import annotations

from dataclasses import dataclass


class CertificateError(Exception):
    """A certificate that proves nothing: the message says what is wrong with it."""


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """A construct that has no exact meaning here: where it is and what to write instead."""

    line: int
    what: str
    instead: str

    def __str__(self) -> str:
        advice = f"; {self.instead}" if self.instead else ""
        return f"line {self.line}: {self.what}{advice}"


class Refused(Exception):  # noqa: N818 - not a fault: the text is outside the subset
    """A program text outside the subset; `findings` lists all refusals, in order of lines."""

    def __init__(self, findings: list[Refusal]) -> None:
        self.findings = tuple(sorted(set(findings)))
        super().__init__("\n".join(map(str, self.findings)))
