"""`oracle`: what program texts mean, by CPython, and the paths that the checker finds."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

_HELPERS = ("runs", "paths", "expectations")
collect_ignore = [f"{name}.py" for name in _HELPERS]  # no tests, and they import each other


def _load(name: str) -> types.ModuleType:
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def oracle():
    modules = [_load(name) for name in _HELPERS]
    return types.SimpleNamespace(**{k: v for module in modules for k, v in vars(module).items()})
