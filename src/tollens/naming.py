"""How a text names an object: a file or a module, and the name in it."""

from __future__ import annotations

from tollens.errors import TargetError

FORMS = '"path/file.py::name" or "package.module:name"'


def split_target(text: str) -> tuple[str, str]:
    """The file or module and the name of a target.

    >>> split_target("src/counts.py::noisy")
    ('src/counts.py', 'noisy')
    """
    place, separator, name = text.partition("::")
    if not separator:
        place, separator, name = text.rpartition(":")
    if not separator or not place or not name:
        raise TargetError(f"cannot read the target {text!r}; write {FORMS}")
    return place, name
