"""A zoo of mechanisms with a known truth, correct and broken.

Each entry has a claim, a neighbouring pair, a vectorised sampler, and the exact law from which
the smallest true epsilon on the pair is computed. It feeds tests, benchmarks, examples and
`tollens zoo self-test`.
"""

from __future__ import annotations

import difflib

from tollens.errors import UsageError
from tollens.zoo import (
    bits,
    controls,
    discrete,
    gaussian,
    histogram,
    laplace,
    means,
    noisy_max,
    prefix_sums,
    rare,
    sampling,
    selection,
    sparse_values,
    sparse_vector,
    training,
)
from tollens.zoo.entry import Entry
from tollens.zoo.law import Law
from tollens.zoo.self_test import SelfTestRow, self_test

__all__ = ["Entry", "Law", "SelfTestRow", "entries", "get", "self_test"]


def entries() -> tuple[Entry, ...]:
    """All mechanisms of the zoo, in a fixed order by theme.

    >>> broken = [entry.name for entry in entries() if not entry.holds]
    >>> broken[:2], len(entries()) >= 15
    (['laplace-half-noise', 'laplace-noise-30-percent-low'], True)
    """
    return _ENTRIES


def get(name: str) -> Entry:
    """Find an entry by its name; `UsageError` with a suggestion if there is none.

    >>> get("rr-tight").title
    'Randomised response, exactly at its claim'
    >>> get("svt-6")
    Traceback (most recent call last):
    ...
    tollens.errors.UsageError: the zoo has no mechanism named 'svt-6'; did you mean 'svt6'?
    """
    for entry in _ENTRIES:
        if entry.name == name:
            return entry
    names = [entry.name for entry in _ENTRIES]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its names are {', '.join(names)}"
    raise UsageError(f"the zoo has no mechanism named {name!r}; {hint}")


_ENTRIES: tuple[Entry, ...] = (
    *laplace.ENTRIES,
    *discrete.ENTRIES,
    *bits.ENTRIES,
    *gaussian.ENTRIES,
    *noisy_max.ENTRIES,
    *selection.ENTRIES,
    *sparse_vector.ENTRIES,
    *sparse_values.ENTRIES,
    *histogram.ENTRIES,
    *prefix_sums.ENTRIES,
    *means.ENTRIES,
    *sampling.ENTRIES,
    *training.ENTRIES,
    *rare.ENTRIES,
    *controls.ENTRIES,
)
