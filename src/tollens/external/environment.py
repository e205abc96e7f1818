"""`in_environment`: a Python function that runs in another interpreter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from shutil import which

from tollens import values
from tollens.claim import Claim
from tollens.errors import UsageError, collect
from tollens.external import agent
from tollens.external.child import Launch
from tollens.external.conversation import Hello, Manner
from tollens.external.program import SILENCE, Program, claim_given, findings_of, mechanism_of
from tollens.mechanism import Mechanism
from tollens.naming import split_target

START = 300.0
"""Seconds until the file is loaded: some libraries take long."""

_NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
"""Variables about this interpreter, which would mislead another."""


def in_environment(
    python: str | os.PathLike[str],
    target: str,
    *,
    claim: Claim | str | None = None,
    name: str | None = None,
    batch: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    start: float = START,
) -> Mechanism:
    """Make a mechanism of a function that runs in another interpreter or virtual environment.

    `python` is an interpreter (a path, or a name on PATH) or the folder of a virtual environment;
    it may be any Python from 3.6 on and need not have tollens. `target` is "path/file.py::name" or
    "package.module:name" and is loaded there, now. The function is one of `(data)` or
    `(data, rng)`, or of `(data, n)` or `(data, n, rng)` for n outputs in one call, where the second
    parameter is named `n`. Its `rng` is a numpy Generator if numpy has them, else a
    `random.Random`; it comes from our seed, so that such runs can be repeated and coupled.

    `claim` is what it promises; if it is None, the function's attribute `__tollens_claim__` or the
    module's dictionary `CLAIMS` is asked for one. The other settings are those of `command`.

    Raises `UsageError` where the interpreter, the file or the name does not exist, or the file
    cannot be loaded.

    >>> import sys, tempfile, tollens
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "counts.py"
    ...     _ = file.write_text("def noisy(rows, rng): return len(rows) + rng.normal()")
    ...     noisy = in_environment(sys.executable, f"{file}::noisy")
    >>> noisy.name, noisy.takes_rng
    ('noisy', True)
    """
    findings = findings_of(batch, timeout, memory, start)
    promise = collect(findings, lambda: claim_given(claim))
    interpreter = collect(findings, lambda: _interpreter(python))
    words = collect(findings, lambda: _words(target))
    if findings or interpreter is None or words is None:
        raise UsageError(findings)
    variables = {**dict.fromkeys(_NOT_INHERITED), **(env or {})}
    launch = Launch(
        (interpreter, "-u", str(agent.__file__), str(values.__file__), *words),
        None if cwd is None else str(Path(cwd).absolute()),
        tuple(variables.items()),
        memory,
    )
    label = name or words[-1]
    program = Program(label, launch, Manner(float(start), SILENCE, greets=True), batch, timeout)
    hello = _greeting(program, interpreter)
    if promise is None:
        promise = claim_given(hello.claim)
    return mechanism_of(program, seeded=bool(hello.seeded), promise=promise)


def _greeting(program: Program, interpreter: str) -> Hello:
    """The hello of the agent, which is started."""
    try:
        hello = program.conversation().hello
    except UsageError as error:
        if "SyntaxError" in str(error) and " at its start" in str(error):
            raise UsageError(f"{interpreter} is older than Python 3.6") from None
        raise
    return hello or Hello()


def _interpreter(python: str | os.PathLike[str]) -> str:
    """The path of an interpreter, as it is: links are not followed, for they name environments."""
    path = Path(python).expanduser()
    if path.is_dir():
        for inside in ("bin/python", "Scripts/python.exe"):
            if (path / inside).exists():
                return str((path / inside).absolute())
        raise UsageError(f"{path} is no virtual environment: it has no bin/python")
    if path.exists():
        return str(path.absolute())
    found = which(str(python))
    if found is None:
        raise UsageError(
            f"there is no interpreter {str(python)!r}; give its path, or the folder of a virtual "
            "environment (python -m venv FOLDER)"
        )
    return found


def _words(target: str) -> tuple[str, str, str]:
    """A target as arguments of the agent: file or module, the place, and the name."""
    place, name = split_target(target)
    if not place.endswith(".py"):
        return "module", place, name
    file = Path(place)
    if not file.is_file():
        raise UsageError(f"{place} does not exist")
    return "file", str(file.absolute()), name
