"""How a text names an object: a file or a module, and the name in it."""

from __future__ import annotations

import shlex

from tollens.errors import TargetError

_FORMS = '"path/file.py::name" or "package.module:name"'

_COMMAND = "command:"


def command_words(text: str) -> list[str] | None:
    """The words of a program, where a target names one; None where it names an object.

    >>> command_words("command:./noisy --epsilon 1"), command_words("counts.py::noisy")
    (['./noisy', '--epsilon', '1'], None)
    """
    if not text.startswith(_COMMAND):
        return None
    try:
        words = shlex.split(text.removeprefix(_COMMAND))
    except ValueError as error:
        raise TargetError(f"cannot read the program in {text!r}: {error}") from None
    if not words:
        raise TargetError(f'{text!r} names no program; write "command:./program --flag"')
    return words


def split_target(text: str) -> tuple[str, str]:
    """The file or module and the name of a target.

    >>> split_target("src/counts.py::noisy")
    ('src/counts.py', 'noisy')
    """
    place, separator, name = text.partition("::")
    if not separator:
        place, separator, name = text.rpartition(":")
    if not separator or not place or not name:
        raise TargetError(f"cannot read the target {text!r}; write {_FORMS}")
    return place, name
