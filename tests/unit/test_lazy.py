"""`import tollens` costs next to nothing, and yet every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tollens


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement loads in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {statement}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_import_of_the_package_loads_nothing_of_it():
    loaded = loaded_by("import tollens")
    assert {name for name in loaded if name.startswith("tollens")} == {"tollens"}
    assert not loaded & {"numpy", "scipy", "sklearn", "click", "rich"}


def test_every_public_name_is_there_and_each_in_its_home():
    assert set(tollens._HOMES) == set(tollens.__all__) - {"__version__"}
    assert set(tollens.__all__) <= set(dir(tollens))
    for name in tollens.__all__:
        assert getattr(tollens, name) is getattr(tollens, name)


def test_modules_that_are_public_need_no_import_of_their_own():
    assert "tollens.noise" in loaded_by("import tollens; tollens.noise.laplace")


def test_a_name_that_is_missing_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'tollens' has no attribute 'adit'"):
        _ = tollens.adit
    assert not hasattr(tollens, "relation")
