"""Targets: texts such as `path/file.py::name` or `package.module:name` that name an object."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tollens.errors import TargetError
from tollens.naming import command_words, split_target

__all__ = ["find_name", "load_file", "load_target", "split_target"]


def load_target(text: str) -> object:
    """The object that a target names; the file or module is imported, that is, run.

    "command:WORDS" names a program, see `tollens.command`; its words are read as a shell would.

    Raises `TargetError` where the file, module or name does not exist or cannot be imported.

    >>> load_target("math:sqrt")(9.0)
    3.0
    """
    words = command_words(text)
    if words is not None:
        from tollens.external import command

        return command(words)
    place, name = split_target(text)
    module = load_file(Path(place)) if place.endswith(".py") else _load_module(place, text)
    return find_name(module, name, place)


def find_name(module: ModuleType, name: str, place: str) -> object:
    """The attribute `name` (dots allowed) of a module."""
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [known for known in vars(module) if not known.startswith("_")]
            near = difflib.get_close_matches(part, public, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TargetError(f"{place} has no {name!r}{hint}")
        found = getattr(found, part)
    return found


def load_file(path: Path) -> ModuleType:
    """Import a Python file by its path, with its folder on the import path."""
    if not path.exists():
        raise TargetError(f"{path} does not exist")
    if path.is_dir():
        raise TargetError(f"{path} is a folder; name a Python file")
    full = path.resolve()
    digest = hashlib.blake2b(str(full).encode(), digest_size=4).hexdigest()
    name = f"tollens_target_{full.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, full)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} cannot be imported as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(full.parent)
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        reason = _where(error, full) + _hint(error, full.parent)
        raise TargetError(f"{path} cannot be imported: {reason}") from error
    finally:
        if added and folder in sys.path:
            sys.path.remove(folder)
    return module


def _load_module(name: str, text: str) -> ModuleType:
    working = str(Path.cwd())
    if working not in sys.path:
        sys.path.insert(0, working)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name and name.startswith(error.name):
            hint = _hint(error, Path.cwd())
            raise TargetError(
                f"there is no module {error.name!r} (target {text!r}){hint}"
            ) from None
        reason = _where(error, None) + _hint(error, Path.cwd())
        raise TargetError(f"module {name} cannot be imported: {reason}") from error


def _where(error: BaseException, path: Path | None) -> str:
    """The error and the line of the target's file at which it was raised.

    A text that is no Python may stand in a file that the target imports; that one is named.
    """
    if isinstance(error, SyntaxError):
        file = error.filename
        if path is not None and (file is None or file == str(path)):
            return f"{error.msg} (line {error.lineno})"
        place = "" if file is None else f"{_seen_from_here(Path(file))}, "
        return f"{type(error).__name__}: {error.msg} ({place}line {error.lineno})"
    line, trace = None, error.__traceback__
    while trace is not None:
        if path is None or trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    place = f" (line {line})" if line is not None and path is not None else ""
    return f"{type(error).__name__}: {error}{place}"


def _hint(error: BaseException, folder: Path) -> str:
    """Where a module that was not found lies all the same: in a project that is not installed."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    first = error.name.partition(".")[0]
    if first in sys.modules:
        return ""
    for root in dict.fromkeys([Path.cwd(), *_up_to_project(folder)]):
        for place in (root / "src", root):
            if (place / first).is_dir() or (place / f"{first}.py").is_file():
                shown = _seen_from_here(place)
                whole = first if shown == "." else f"{shown}/{first}"
                project = _seen_from_here(root)
                return (
                    f"; {whole} is there: install the project (pip install -e {project}) or set "
                    f"PYTHONPATH={shown}"
                )
    return ""


def _up_to_project(folder: Path) -> list[Path]:
    """A folder and those above it, up to the root of its repository; itself where there is none."""
    found = []
    for place in (folder, *folder.parents):
        found.append(place)
        if (place / ".git").exists() or (place / "pyproject.toml").is_file():
            return found
    return [folder]


def _seen_from_here(path: Path) -> str:
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
