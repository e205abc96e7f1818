"""What leaks at least, in few words."""

from __future__ import annotations

import math
from fractions import Fraction

from tollens.rounding import down, exact_down
from tollens.verdict import Verdict


def leak_message(verdict: Verdict) -> str:
    """The certified lower bound for epsilon as the end of a sentence; empty where there is none."""
    if verdict.epsilon_lower <= 0:
        return ""
    if math.isinf(verdict.epsilon_lower):
        found = "no epsilon, however large, holds"
    else:
        found = f"epsilon >= {_number(verdict, 4)}"
    proved = ", proved" if verdict.exact else ""
    return f": {found} at delta = {verdict.delta:g}{proved}"


def leak_of(verdict: Verdict) -> str:
    """The certified lower bound of a verdict as it stands in tables."""
    if not verdict.exact or math.isinf(verdict.epsilon_lower) or verdict.epsilon_lower <= 0:
        return leak_text(verdict.epsilon_lower)
    return f"ε ≥ {_number(verdict, 3)}"


def _number(verdict: Verdict, digits: int) -> str:
    """The bound, rounded down; what is proved is not even rounded to the nearest float."""
    if verdict.exact:
        return exact_down(Fraction(verdict.epsilon_lower))
    return down(verdict.epsilon_lower, digits)


def leak_text(epsilon_lower: float) -> str:
    """A certified lower bound as it stands in tables.

    >>> leak_text(1.5), leak_text(0.0), leak_text(math.inf)
    ('ε ≥ 1.5', '-', 'ε = ∞')
    """
    if math.isinf(epsilon_lower):
        return "ε = ∞"
    return f"ε ≥ {down(epsilon_lower, 3)}" if epsilon_lower > 0 else "-"
