"""The ledger: how the error probability of a session is shared out among its audits.

Each of m tests gets alpha / m, and the j-th audit of a test gets 1 / (j (j + 1)) of that. The
series sums to 1, so by the union bound a session in which all claims hold refutes one with
probability at most alpha: whatever the order of the tests, however many audits a test makes, and
whichever process runs it. No process needs to know what another one has spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Ledger:
    """The shares of a session: `tests` of them, each run by `copies` processes (mostly one).

    >>> ledger = Ledger(alpha=1e-6, tests=4)
    >>> ledger.of_test, ledger.of_audit(1), ledger.of_audit(2)
    (2.5e-07, 1.25e-07, 4.166666666666666e-08)
    """

    alpha: float
    tests: int
    copies: int = 1

    @property
    def of_test(self) -> float:
        """The share of one test."""
        return _part(self.alpha, self.tests * self.copies)

    def of_audit(self, number: int) -> float:
        """The share of the audit of this number, counted from 1 within its test."""
        return _part(self.of_test, number * (number + 1))


def _part(whole: float, parts: int) -> float:
    """One of so many equal parts, rounded so that together they never exceed the whole."""
    part = whole / parts
    too_large = Fraction(part) * parts > Fraction(whole)
    return math.nextafter(part, 0.0) if too_large else part
