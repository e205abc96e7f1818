"""Small pictures made of characters: evidence over the steps of a series."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"

MISSING = "·"
"""Stands for a step without a value."""


def sparkline(shares: Sequence[float | None], width: int) -> str:
    """Shares of a threshold as a line of at most `width` characters; the full block is 1 or more.

    Where there are more shares than characters, each character is the largest of its group.

    >>> sparkline([0.0, 0.3, None, 0.99, 1.7], 10), sparkline([0.0, 0.3, None, 0.99, 1.7, 0.1], 3)
    ('▁▃·▇█', '▃▇█')
    """
    if width < 1 or not shares:
        return ""
    size = math.ceil(len(shares) / width)
    first = len(shares) % size or size
    starts = [0, *range(first, len(shares), size)]
    groups = [shares[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return "".join(_level([share for share in group if share is not None]) for group in groups)


def _level(shares: Sequence[float]) -> str:
    if not shares:
        return MISSING
    share = max(shares)
    if share >= 1:
        return _LEVELS[-1]
    return _LEVELS[min(int(max(share, 0.0) * len(_LEVELS)), len(_LEVELS) - 2)]


def bar(share: float, width: int) -> str:
    """A share as a bar, padded to `width`; full only for 1 or more.

    >>> bar(0.5, 4), bar(1.2, 4), bar(-math.inf, 2)
    ('██  ', '████', '  ')
    """
    eighths = 8 * width if share >= 1 else min(int(max(share, 0.0) * 8 * width), 8 * width - 1)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)
