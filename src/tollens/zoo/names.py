"""One look-up for all that the zoo holds: mechanisms by name, programs by id or name."""

from __future__ import annotations

import difflib

from tollens.errors import UsageError
from tollens.zoo import entries
from tollens.zoo.entry import Entry
from tollens.zoo.programs import Program
from tollens.zoo.programs import entries as programs


def find(key: str) -> Entry | Program:
    """A mechanism or a program; `UsageError` with a suggestion if there is none.

    >>> find("svt6").title, find("S2-n10") is find("s2-no-stop-n10")
    ('Sparse vector without a cutoff', True)
    >>> find("S2-n100")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: the zoo has nothing named 'S2-n100'; did you mean 'S2-n10'?
    """
    named: dict[str, Entry | Program] = {entry.name: entry for entry in entries()}
    for program in programs():
        named |= {program.id: program, program.name: program}
    if key in named:
        return named[key]
    folded = {name.casefold(): name for name in named}
    close = difflib.get_close_matches(key.casefold(), folded, n=1)
    hint = f"did you mean {folded[close[0]]!r}?" if close else "`tollens zoo list` has all names"
    raise UsageError(f"the zoo has nothing named {key!r}; {hint}")
