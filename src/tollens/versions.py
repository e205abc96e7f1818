"""The versions that a result was made with."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from importlib import metadata

_OURS = ("tollens", "numpy", "scipy", "scikit-learn")


def versions(*modules: str, elsewhere: Mapping[str, str] | None = None) -> dict[str, str]:
    """Python's version and those of tollens, what it computes with, and of `modules`.

    `elsewhere` has those of the program that is audited, where that is another one.

    >>> sorted(versions())
    ['numpy', 'python', 'scikit-learn', 'scipy', 'tollens']
    """
    found = {"python": platform.python_version()}
    for name in (*_OURS, *modules):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = getattr(sys.modules.get(name), "__version__", None)
            if version is not None:
                found[name] = str(version)
    for name, version in (elsewhere or {}).items():
        found[f"{name} of the program" if name in found else name] = version
    return found
