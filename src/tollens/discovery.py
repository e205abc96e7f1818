"""Every promise declared below some paths, by importing the files that may declare one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollens.errors import TollensError
from tollens.mechanism import Batched
from tollens.promises import Declared, declared, declared_in
from tollens.targets import load_file

_SKIPPED = {"node_modules", "__pycache__", "site-packages", "build", "dist", "venv"}


@dataclass(frozen=True, slots=True)
class Found:
    """A mechanism, the target text that names it, and what is promised of it."""

    target: str
    mechanism: object
    promise: Declared


def find_promises(paths: Sequence[Path]) -> tuple[list[Found], list[str]]:
    """Every promise declared at the top level of a Python file below `paths`, and the problems.

    Only files whose text mentions both `tollens` and `promise` are imported.
    """
    found: list[Found] = []
    problems: list[str] = []
    for path in paths:
        if not path.exists():
            problems.append(f"{path} does not exist")
            continue
        for file in _python_files(path):
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                problems.append(f"{file} cannot be read: {error}")
                continue
            if "tollens" not in text or "promise" not in text:
                continue
            try:
                module = load_file(file)
            except TollensError as error:
                problems.append(str(error))
                continue
            for name, mechanism in declared_in(module).items():
                promise = declared(mechanism)
                known = any(mechanism is other.mechanism for other in found)
                at_home = _home(mechanism) in (None, module.__name__)
                if promise is not None and not known and at_home:
                    found.append(Found(f"{file}::{name}", mechanism, promise))
    return found, problems


def _home(mechanism: object) -> str | None:
    """The module that a function was written in; None for other objects."""
    function = mechanism.function if isinstance(mechanism, Batched) else mechanism
    return function.__module__ if inspect.isfunction(function) else None


def _python_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        if path.is_file():
            yield path
        return
    for child in sorted(path.iterdir()):
        if child.name.startswith(".") or child.name in _SKIPPED:
            continue
        if child.is_dir():
            if not child.is_symlink() and not (child / "pyvenv.cfg").exists():
                yield from _python_files(child)
        elif child.suffix == ".py" and child.is_file():
            yield child
