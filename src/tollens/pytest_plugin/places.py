"""Where a mechanism can be found again: the target texts that the command line takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tollens.mechanism import Batched


def target_of(mechanism: object, item: pytest.Item) -> str | None:
    """A text that names a mechanism for `tollens audit`, seen from where pytest was called.

    It is "package.module:name" for a module of a package that the import path leads to, and
    "file.py::name" for others. None for what has no name at the top level of a module.
    """
    here = item.config.invocation_params.dir
    for module in _modules(mechanism, item):
        name = _name_in(module, mechanism)
        if name is not None:
            return _module_text(module, name) or _file_text(module, name, here)
    return None


def _modules(mechanism: object, item: pytest.Item) -> list[ModuleType]:
    """The module that a mechanism was written in, and that of the test."""
    function = mechanism.function if isinstance(mechanism, Batched) else mechanism
    own = sys.modules.get(str(getattr(function, "__module__", None)))
    found = [own, getattr(item, "module", None)]
    return [module for module in found if isinstance(module, ModuleType)]


def _name_in(module: ModuleType, mechanism: object) -> str | None:
    names = [name for name, value in vars(module).items() if value is mechanism]
    return names[0] if names else None


def _module_text(module: ModuleType, name: str) -> str | None:
    file = getattr(module, "__file__", None)
    parts = module.__name__.split(".")
    if file is None or len(parts) < 2:
        return None
    place = Path(file)
    if place.name == "__init__.py":
        place = place.parent
    root = place.parents[len(parts) - 1]
    fits = place.with_suffix("").parts[-len(parts) :] == tuple(parts)
    known = any(Path(entry or ".").resolve() == root.resolve() for entry in sys.path)
    return f"{module.__name__}:{name}" if fits and known else None


def _file_text(module: ModuleType, name: str, here: Path) -> str | None:
    file = getattr(module, "__file__", None)
    return None if file is None else f"{Path(os.path.relpath(file, here)).as_posix()}::{name}"


def test_text(item: pytest.Item) -> str:
    """The id of a test, seen from where pytest was called."""
    file, separator, rest = item.nodeid.partition("::")
    here = item.config.invocation_params.dir
    seen = os.path.relpath(item.config.rootpath / file, here)
    return f"{Path(seen).as_posix()}{separator}{rest}"
