"""What leaks at least, in few words."""

from __future__ import annotations

import math

from tollens.rounding import down
from tollens.verdict import Verdict


def leak_message(verdict: Verdict) -> str:
    """The certified lower bound for epsilon as the end of a sentence; empty where there is none."""
    if verdict.epsilon_lower <= 0:
        return ""
    if math.isinf(verdict.epsilon_lower):
        found = "no epsilon, however large, holds"
    else:
        found = f"epsilon >= {down(verdict.epsilon_lower)}"
    proved = ", proved" if verdict.exact else ""
    return f": {found} at delta = {verdict.delta:g}{proved}"


def leak_text(epsilon_lower: float) -> str:
    """A certified lower bound as it stands in tables.

    >>> leak_text(1.5), leak_text(0.0), leak_text(math.inf)
    ('ε ≥ 1.5', '-', 'ε = ∞')
    """
    if math.isinf(epsilon_lower):
        return "ε = ∞"
    return f"ε ≥ {down(epsilon_lower, 3)}" if epsilon_lower > 0 else "-"
