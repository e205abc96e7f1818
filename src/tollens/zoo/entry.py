"""One mechanism of the zoo: what it claims, what is true, and how the truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tollens.claim import Claim
from tollens.mechanism import Batched
from tollens.zoo.law import Law

LEAK_DELTA = 1e-5
"""The delta at which a true epsilon is stated for claims that name no delta themselves."""


@dataclass(frozen=True)
class Entry:
    """A mechanism with a known truth on one neighbouring pair.

    `name` and `title` are for tables; `claim` is what the mechanism promises and `holds` whether
    that is so on the pair `neighbours`. `truth` says how this is known, `source` where the
    mechanism or its fault comes from. `law` has the exact masses. `closed_form` is the true
    epsilon where there is a formula for it. `budget` is a number of pairs of runs with which an
    audit at alpha = 1e-6 should refute a broken mechanism, and which it may spend on a correct
    one.

    >>> from tollens.zoo import get
    >>> entry = get("laplace-half-noise")
    >>> str(entry.claim), entry.true_epsilon, entry.holds
    ('epsilon=1', 2.0, False)
    """

    name: str
    title: str
    claim: Claim
    neighbours: tuple[object, object]
    mechanism: Batched
    holds: bool
    truth: str
    source: str
    law: Law
    closed_form: float | None = None
    budget: int = 20_000

    @property
    def delta(self) -> float:
        """The delta at which the true epsilon is stated: the claim's own, or 1e-5.

        >>> from tollens.zoo import get
        >>> get("gaussian-tight").delta, get("gaussian-mu-tight").delta
        (0.01, 1e-05)
        """
        own = self.claim.leak_delta
        return LEAK_DELTA if own is None else own

    @cached_property
    def true_epsilon(self) -> float:
        """The smallest epsilon at `delta` on this pair, both orders; may be infinite.

        The closed form where there is one, otherwise computed from the law on first use.

        >>> from tollens.zoo import get
        >>> round(get("svt6").true_epsilon, 3)
        4.061
        """
        if self.closed_form is not None:
            return self.closed_form
        return self.law.least_epsilon(self.neighbours, self.delta)
