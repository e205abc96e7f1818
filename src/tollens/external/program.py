"""`command`: a program in any language as a mechanism."""

from __future__ import annotations

import json
import math
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

import numpy as np

from tollens.claim import Claim, parse_claim
from tollens.errors import MechanismError, UsageError, collect
from tollens.external.child import GRACE, Child, Ended, Late, Launch, limits_memory
from tollens.external.conversation import Conversation, Manner
from tollens.mechanism import Batch, BatchFailed, Mechanism
from tollens.outputs import CRASH, TIMEOUT, Raised
from tollens.serial import data_to_json

BATCH = 2048
"""Runs that a program is asked for at a time, at most."""

START = 60.0
"""Seconds until the first line of a program."""

SILENCE = 600.0
"""Seconds between two lines of a program whose runs have no time limit."""

_SEEDS = 2**53
"""Seeds are below this, so that they are exact in languages whose numbers are all floats."""


def command(
    argv: Sequence[str],
    *,
    claim: Claim | str | None = None,
    name: str | None = None,
    seeded: bool = False,
    batch: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    start: float = START,
) -> Mechanism:
    r"""Make a mechanism of a program, which is asked for runs by JSON lines.

    `argv` is the program and its arguments; no shell reads them. A request on its stdin is one
    line, `{"data": ..., "n": ..., "seed": ...}`, and it answers on its stdout with n outputs, such
    as `{"output": 1.5}` or `{"outputs": [1.5, 2]}`. docs/programs.md has all of it.

    It is started at the first run and stays. Where it ends in a run, that run is the output
    `Raised("Crash")`, and where a run takes longer than `timeout` seconds, `Raised("Timeout")`; it
    is started anew for the next. At most `batch` runs are asked for at a time (2048, but one where
    `timeout` is given; several together may take as long as all their limits). `seeded=True`
    promises that outputs depend on the data, n and the seed alone; runs can then be repeated and
    coupled. Otherwise it must draw from the operating system, or from the seeds: processes of it
    must not repeat each other's draws. `memory` limits its address space, in bytes. `env` holds
    variables beside those of this process. `claim` is what it promises. `start` is how many seconds
    it may take until its first line.

    Raises `UsageError` for wrong settings, here; at the first run, where the program cannot be
    started. A run raises `MechanismError` where the program breaks the protocol.

    >>> import sys, tollens
    >>> text = '''
    ... import json, random, sys
    ... for line in sys.stdin:
    ...     asked = json.loads(line)
    ...     for _ in range(asked["n"]):
    ...         print(json.dumps({"output": asked["data"] + random.choice([0, 1])}))
    ...     sys.stdout.flush()
    ... '''
    >>> coin = command([sys.executable, "-c", text], claim="epsilon=1", name="coin")
    >>> tollens.audit(coin, neighbours=(0, 7)).refuted
    True
    """
    findings = _argv_findings(argv) + findings_of(batch, timeout, memory, start)
    promise = collect(findings, lambda: claim_given(claim))
    if findings:
        raise UsageError(findings)
    words = tuple(os.fspath(word) for word in argv)
    folder = None if cwd is None else str(Path(cwd).absolute())
    launch = Launch(words, folder, tuple((env or {}).items()), memory)
    label = name or _short(shlex.join(words))
    program = Program(label, launch, Manner(float(start), SILENCE, greets=False), batch, timeout)
    return mechanism_of(program, seeded=seeded, promise=promise)


@dataclass(frozen=True)
class _Lost:
    """How a run or a batch lost its program."""

    output: Raised
    words: str


class Program:
    """A sampler that asks a program; each process that uses it has a program of its own."""

    def __init__(
        self, name: str, launch: Launch, manner: Manner, batch: int | None, timeout: float | None
    ) -> None:
        self.name, self.seeded = name, False
        self._launch, self._manner = launch, manner
        self._given, self._timeout = batch, timeout
        self.batch = batch or (BATCH if timeout is None else 1)
        self._talk: Conversation | None = None
        self._owner = 0
        self._trusted = False
        self._packages: dict[str, str] = {}

    def __getstate__(self) -> dict[str, object]:
        """All but the running program, which belongs to this process."""
        fresh = {"_talk": None, "_owner": 0, "_trusted": False}
        return {**self.__dict__, **fresh}

    def __call__(self, data: object, n: int, rng: np.random.Generator) -> Batch:
        """n outputs; those of a batch that lost the program raise `BatchFailed`."""
        text = json.dumps(data_to_json(data), separators=(",", ":"))
        outputs: list[object] = []
        while len(outputs) < n:
            seed = int(rng.integers(_SEEDS)) if self.seeded else secrets.randbelow(_SEEDS)
            outputs += self._ask(text, min(n - len(outputs), self.batch), seed)
        return outputs

    def within(self, seconds: float) -> Program:
        """The same with a time limit for each run, or its own if that is less.

        It goes on with the program that runs, if that has said hello.
        """
        limit = seconds if self._timeout is None else min(seconds, self._timeout)
        other = Program(self.name, self._launch, self._manner, self._given, limit)
        other.seeded, other._packages = self.seeded, self._packages
        if self._talk is not None and self._talk.hello is not None:
            other._talk, other._owner, self._talk = self._talk, self._owner, None
        return other

    def packages(self) -> Mapping[str, str]:
        """The versions that the program has told so far."""
        return self._packages

    def conversation(self) -> Conversation:
        """The running program, which is started where there is none in this process."""
        if self._owner != os.getpid():
            self._talk, self._owner = None, os.getpid()
        if self._talk is not None and self._talk.left():
            self.close()
        if self._talk is None:
            greets = self._manner.greets or self._timeout is not None
            manner = replace(self._manner, greets=greets, careful=not self._trusted)
            self._talk = Conversation(self.name, self._launch, manner)
            self._note(self._talk)
        return self._talk

    def close(self, grace: float = GRACE) -> None:
        """End the program, if it runs; it gets `grace` seconds to do so by itself."""
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.child.end(grace)

    def _ask(self, text: str, n: int, seed: int) -> list[object]:
        try:
            talk = self.conversation()
            try:
                outputs = talk.ask(text, n, seed, self._timeout)
            except Ended:
                lost = self._ended(talk)
            except Late:
                lost = _Lost(TIMEOUT, f"took longer than {n} times {self._timeout:g} s")
                self.close(0.0)
            else:
                self._note(talk)
                return outputs
        except BaseException:  # an error, or a signal in the middle of an answer
            self.close(0.0)
            raise
        if n > 1:
            raise BatchFailed(f"a batch of {n} runs {lost.words}")
        return [lost.output]

    def _note(self, talk: Conversation) -> None:
        """Remember the versions that the program has told, and that it answers as it should."""
        self._trusted = self._trusted or talk.asked > 1
        if talk.hello is not None:
            self._packages.update(talk.hello.packages)

    def _ended(self, talk: Conversation) -> _Lost:
        """What it means that the program ended in a run; `MechanismError` if it always ends."""
        seconds = monotonic() - talk.began
        self._talk = None
        how = talk.child.end() + talk.complaint()
        unknown, self._trusted = not self._trusted and not talk.spoke, True
        if unknown and self._ends_unasked(0.5 + 2 * seconds):
            raise MechanismError(
                f"{self.name} {how}, and does so before it is asked for a run; a program reads "
                "requests from its stdin until that is closed"
            )
        return _Lost(Raised(CRASH.type, f"the program {how}"[:1000]), f"lost the program: it {how}")

    def _ends_unasked(self, seconds: float) -> bool:
        """Whether the program, started once more, ends without a request."""
        child = Child(self._launch)
        until = monotonic() + seconds
        try:
            while True:
                child.line(lambda: until)
        except Ended:
            return True
        except Late:
            return False
        finally:
            child.end(grace=0.0)


def findings_of(batch: object, timeout: object, memory: object, start: object) -> list[str]:
    """What is wrong with the settings of a program."""
    found = []
    if batch is not None and (not _is_whole(batch) or batch < 1):  # type: ignore[operator]
        found.append(f"batch is {batch!r}; it must be a whole number of runs, at least 1")
    if timeout is not None and not _is_positive(timeout):
        found.append(f"timeout is {timeout!r}; it must be a positive number of seconds")
    if not _is_positive(start):
        found.append(f"start is {start!r}; it must be a positive number of seconds")
    if memory is not None and (not _is_whole(memory) or memory < 1):  # type: ignore[operator]
        found.append(f"memory is {memory!r}; it must be a whole number of bytes, at least 1")
    if memory is not None and not limits_memory():
        found.append("memory can be limited on Linux only; leave it out here")
    return found


def _argv_findings(argv: object) -> list[str]:
    if isinstance(argv, str | bytes) or not isinstance(argv, Sequence):
        return [
            f"the program is {argv!r}; give a list of its words, such as "
            '["./program", "--flag"] (shlex.split makes one of a text)'
        ]
    wrong = [word for word in argv if not isinstance(word, str | os.PathLike)]
    if wrong or not argv:
        return [f"the program is {list(argv)!r}; give its name and its arguments as texts"]
    return []


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: object) -> bool:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and 0 < value < math.inf  # type: ignore[operator]


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def mechanism_of(program: Program, *, seeded: bool, promise: Claim | None) -> Mechanism:
    """The mechanism that a program is."""
    program.seeded = seeded
    return Mechanism(
        program.name,
        program,
        takes_rng=seeded,
        promise=promise,
        vectorised=program.batch > 1,
        own_entropy=True,
        installed=program.packages,
        limit=program.within,
    )


def claim_given(claim: Claim | str | None) -> Claim | None:
    """The claim that was given, a text read."""
    made = parse_claim(claim) if isinstance(claim, str) else claim
    if made is not None and not isinstance(made, Claim):
        raise UsageError(f'the claim is a {type(made).__name__}; give one such as "epsilon=1"')
    return made
