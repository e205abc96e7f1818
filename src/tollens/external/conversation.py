"""What is said to a program and what it answers: the protocol, one line at a time.

See docs/programs.md. Whatever is not in the protocol is a mistake of the program and an error,
never an output.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from tollens.errors import MechanismError, UsageError
from tollens.external.child import LONGEST_LINE, Child, Ended, Late, Launch, TooLong
from tollens.mechanism import BatchFailed
from tollens.outputs import Raised
from tollens.values import ValueFault, from_json

VERSION = 1

MOMENT = 0.1
"""Seconds for which a new program is listened to, once, before its second request."""

_ANSWERS = ("output", "outputs", "error", "failed", "fault")
_WRITE = (
    'write {"output": ...} for each run, {"outputs": [...]} for several, or {"error": {"type": '
    "...}} for one that raised, one JSON object a line, and everything else to stderr"
)
_GREET = f'a program prints {{"tollens": {VERSION}}} when it is ready'


@dataclass(frozen=True)
class Manner:
    """How a program is spoken to.

    `start` is in seconds, until its first line; `silence` between two lines, where runs have no
    limit of their own; `greets` says that its first line is a hello, and `careful` that it is
    listened to for a moment, to find out whether it writes what nobody has asked for.
    """

    start: float
    silence: float
    greets: bool = False
    careful: bool = True


@dataclass(frozen=True)
class Hello:
    """The first line of a program: versions of what it uses, its promise, whether it is seeded."""

    packages: Mapping[str, str] = field(default_factory=dict)
    claim: str | None = None
    seeded: bool | None = None


class Conversation:
    """A program that was started, and what it has said so far.

    Raises `UsageError` where it cannot be started, or ends or stays silent instead of greeting.
    """

    def __init__(self, name: str, launch: Launch, manner: Manner) -> None:
        self._name, self._manner = name, manner
        self.child = Child(launch)
        self.began = self.child.heard
        self.hello: Hello | None = None
        self.spoke = False
        self.asked = 0
        if manner.greets:
            self._greeting()

    def left(self) -> bool:
        """Whether the program has ended by itself since its last answer.

        `MechanismError` where that was its first answer of all, or where it has written something.
        """
        if not self.asked:
            return False
        listen = MOMENT if self._manner.careful and self.asked == 1 else 0.0
        self._nothing_unasked("nobody has asked for it", listen)
        if listen and self.child.closed:
            how = self.child.end()
            raise MechanismError(
                f"{self._name} {how} after its first answer; a program goes on to read requests "
                f"from its stdin until that is closed{self.complaint()}"
            )
        return self.child.closed

    def ask(self, data: str, n: int, seed: int, seconds: float | None) -> list[object]:
        """n outputs on data, which are JSON text, in at most n times `seconds`.

        Raises `Ended` and `Late` where the program was lost, `BatchFailed` where it says so,
        `MechanismError` where it breaks the protocol, and `UsageError` with a fault that it tells.
        """
        self.asked += 1
        self.child.send(f'{{"data": {data}, "n": {n}, "seed": {seed}}}\n'.encode("ascii"))
        until = self._until(n, seconds)
        outputs: list[object] = []
        while len(outputs) < n:
            try:
                line = self._line(until)
            except Late:
                if seconds is not None:
                    raise
                raise MechanismError(self._silent(len(outputs), n)) from None
            if line.strip():
                outputs += self._read(line, n, n - len(outputs))
        self._nothing_unasked(f"it has given all {n} outputs before")
        return outputs

    def complaint(self) -> str:
        """The end of what the program wrote to stderr, to follow a sentence."""
        words = self.child.words()
        return f"; its stderr ends: {words[-600:]}" if words else ""

    def _greeting(self) -> None:
        wanted = f"{_GREET}, before it reads its first request"
        while not self.spoke:
            try:
                line = self._line(lambda: self.began + self._manner.start)
            except Late:
                raise UsageError(
                    f"{self._name} has not said hello for {self._manner.start:g} s after its "
                    f"start; {wanted}, or raise start{self.complaint()}"
                ) from None
            except Ended:
                how = self.child.end()
                raise UsageError(f"{self._name} {how} at its start{self.complaint()}") from None
            if line.strip():
                found = self._object(line)
                if "tollens" not in found:
                    self._refuse(line, f"is no hello: {wanted}")
                self._hear(line, found)

    def _until(self, n: int, seconds: float | None) -> Callable[[], float]:
        asked = time.monotonic()
        if seconds is not None:
            return lambda: asked + n * seconds
        manner = self._manner

        def until() -> float:
            return max(asked, self.child.heard) + (manner.silence if self.spoke else manner.start)

        return until

    def _line(self, until: Callable[[], float]) -> bytes:
        try:
            return self.child.line(until)
        except TooLong as error:
            raise MechanismError(
                f"{self._name}: a line has more than {LONGEST_LINE >> 20} MiB without an end, and "
                f"begins with {_shown(str(error))}; {_WRITE}"
            ) from None

    def _read(self, line: bytes, n: int, left: int) -> list[object]:
        """The outputs in a line: none in a hello."""
        answer = self._object(line)
        if "tollens" in answer and not self.spoke:
            self._hear(line, answer)
            return []
        self.spoke = True
        kind = next(iter(answer), None)
        if len(answer) != 1 or kind not in _ANSWERS:
            self._refuse(line, "is no answer")
        content = answer[kind]
        if kind == "fault":
            self._tell_fault(line)
        if kind in ("error", "failed"):
            output = self._raised(line, content)
            if kind == "failed" and n > 1:
                raise BatchFailed(f"a batch of {n} runs raised {output}")
            return [output]
        if kind == "outputs" and not isinstance(content, list):
            self._refuse(line, 'has no list in "outputs"')
        given = content if kind == "outputs" and isinstance(content, list) else [content]
        if len(given) > left:
            self._refuse(line, f"gives {len(given)} outputs where {left} of {n} were left to give")
        try:
            return [from_json(output) for output in given]
        except ValueFault as error:
            self._refuse(line, f"holds what is no value ({error})")

    def _tell_fault(self, line: bytes) -> None:
        """`UsageError` where the program says that it cannot go on."""
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
            if isinstance(answer, dict) and list(answer) == ["fault"]:
                raise UsageError(f"{self._name}: {answer['fault']}")

    def _object(self, line: bytes) -> dict[str, object]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(line, "is no JSON")
        if not isinstance(found, dict):
            self._refuse(line, "is no JSON object")
        return found

    def _raised(self, line: bytes, content: object) -> Raised:
        parts = content if isinstance(content, dict) else {}
        kind, message = parts.get("type"), parts.get("message", "")
        if not (
            isinstance(kind, str)
            and isinstance(message, str)
            and len(parts) <= 1 + ("message" in parts)
        ):
            self._refuse(line, "does not say what was raised")
        return Raised(kind, message[:300])

    def _hear(self, line: bytes, hello: dict[str, object]) -> None:
        """Take a hello; `UsageError` with the fault that it tells."""
        self.spoke = True
        packages, claim = hello.get("packages", {}), hello.get("claim")
        seeded, fault = hello.get("seeded"), hello.get("fault")
        unknown = set(hello) - {"tollens", "packages", "claim", "seeded", "fault"}
        if hello["tollens"] != VERSION:
            self._refuse(line, f"is not version {VERSION} of the protocol")
        if fault is not None:
            raise UsageError(f"{self._name}: {fault}")
        if unknown:
            self._refuse(line, f"is a hello with the unknown key {sorted(unknown)[0]!r}")
        if not isinstance(packages, dict) or not all(isinstance(v, str) for v in packages.values()):
            self._refuse(line, 'has no versions as texts in "packages"')
        if not isinstance(claim, str | None) or not isinstance(seeded, bool | None):
            self._refuse(line, 'needs a text as "claim" and true or false as "seeded"')
        self.hello = Hello(packages, claim, seeded)

    def _nothing_unasked(self, why: str, listen: float = 0.0) -> None:
        try:
            unasked = self.child.unasked(listen)
        except TooLong as error:
            unasked = str(error).encode()
        if unasked is not None:
            line = unasked.strip().splitlines()[0]
            self._tell_fault(line)
            self._refuse(line, f"came too much: {why}")

    def _silent(self, done: int, n: int) -> str:
        if not self.spoke:
            return (
                f"{self._name} has said nothing for {self._manner.start:g} s after its start; "
                f"{_GREET}, and is then given more time{self.complaint()}"
            )
        return (
            f"{self._name} has said nothing for {self._manner.silence:g} s after {done} of {n} "
            "outputs; it must answer each request with n outputs and flush its stdout; if a run "
            f"takes that long, set timeout{self.complaint()}"
        )

    def _refuse(self, line: bytes, what: str) -> NoReturn:
        text = _shown(line.decode("utf-8", "replace"))
        raise MechanismError(f"{self._name}: its line {text} {what}; {_WRITE}{self.complaint()}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:197] + "...")
