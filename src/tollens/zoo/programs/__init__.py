"""Mechanisms as program texts: the suite that a refuter is measured on.

The files of this package hold nothing but such programs, each an ordinary function of its data
that draws from `tollens.noise`. `suite` says of each what it claims and what is true.
"""

from __future__ import annotations

import difflib

from tollens.errors import UsageError
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite import PROGRAMS

__all__ = ["Program", "entries", "get"]


def entries() -> tuple[Program, ...]:
    """All programs of the suite, in the order of its rows.

    >>> [program.id for program in entries()][:2]
    ['D1', 'D1-bug']
    """
    return PROGRAMS


def get(key: str) -> Program:
    """Find a program by its id or its name; `UsageError` with a suggestion if there is none.

    >>> get("L1") is get("l1-laplace-half-scale")
    True
    >>> get("d1-response-coins")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: the suite has no program 'd1-response-coins'; did you mean \
'd1-response-coin'?
    """
    for program in PROGRAMS:
        if key in (program.id, program.name):
            return program
    names = [name for program in PROGRAMS for name in (program.id, program.name)]
    close = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its ids are {', '.join(names[::2])}"
    raise UsageError(f"the suite has no program {key!r}; {hint}")
