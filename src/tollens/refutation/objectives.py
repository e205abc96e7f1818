"""How far two probabilities are outside of a claim, in floats, for the search.

Each objective gives the parameter that the two probabilities of an event imply: the smallest
epsilon, mu or rho under which they would be allowed. The claim is broken where that exceeds its
own. Proofs do not rest on these numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tollens.quantity import logarithm, rational

Array = NDArray[np.float64]

ORDERS = tuple(Fraction(k, 4) for k in range(5, 257))
"""The Rényi orders that are tried against zCDP."""


DELTA = 1e-5
"""The delta at which the leak is stated for claims that have none of their own."""

_ABOVE = 1e6
_MARGIN = 1e-3


@dataclass(frozen=True, slots=True)
class Objective:
    """The implied parameter of a claim's kind, and the claim's own `bound`.

    `slack` is the delta of the claim (0 where it has none), `order` that of a Rényi claim.
    """

    kind: str
    bound: float
    slack: float = 0.0
    order: float = math.nan

    def __call__(self, p: float, q: float) -> float:
        """The implied parameter of an event with probability p on one side and q on the other.

        >>> round(Objective("pure", 1.0)(0.4, 0.1), 4)
        1.3863
        """
        return float(self.implied(np.array([p]), np.array([q]))[0])

    def implied(self, p: Array, q: Array) -> Array:
        """The implied parameter of each of several events."""
        found = np.where(p > np.maximum(self.slack, q), np.inf, 0.0)
        inside = (p > np.maximum(self.slack, q)) & (q > 0)
        if inside.any():
            found[inside] = self._implied(p[inside], q[inside])
        return found

    def _implied(self, p: Array, q: Array) -> Array:
        match self.kind:
            case "gaussian":
                return np.asarray(ndtri(np.minimum(p, 1 - 1e-16)) - ndtri(q))
            case "renyi":
                return np.asarray(_renyi(p, q, np.array([self.order]))[0])
            case "zcdp":
                orders = np.array(ORDERS, dtype=float)
                return np.asarray(np.max(_renyi(p, q, orders) / orders[:, None], axis=0))
        return np.asarray(np.log((p - self.slack) / q))

    def score(self, p: Array, q: Array) -> Array:
        """What the search maximises.

        For curved claims, once the claim is broken, it is the epsilon at `DELTA`, as that is the
        leak that is stated; before, and for the others, it is the implied parameter.
        """
        found = self.implied(p, q)
        if self.kind in ("pure", "approx"):
            return found
        broken = found > self.bound * (1 + _MARGIN) + _MARGIN
        with np.errstate(divide="ignore", invalid="ignore"):
            leak = np.log(np.maximum(p - DELTA, 0.0) / np.maximum(q, 1e-300))
        return np.where(broken, _ABOVE + np.nan_to_num(leak, neginf=-_ABOVE / 2), found)

    @property
    def pure(self) -> bool:
        """Whether single outcomes are the best events."""
        return self.kind == "pure"

    def hint(self, lower: Fraction, upper: Fraction) -> str | None:
        """The number by which the checker sees that the bounds break a curved claim."""
        if upper == 0:
            return None
        if self.kind == "gaussian":
            z = Fraction(float(ndtri(float(upper)))) + Fraction(1, 10**9)
            return str(Fraction(math.ceil(z * 10**10), 10**10))
        if self.kind == "zcdp":
            orders = np.array(ORDERS, dtype=float)
            both = np.array([float(lower)]), np.array([float(upper)])
            best = np.argmax(_renyi(*both, orders)[:, 0] / orders)
            return str(ORDERS[int(best)])
        return None

    def epsilon(self, p: float, q: float) -> float:
        """The epsilon that holds at the claim's delta, or at `DELTA`, at the least."""
        slack = self.slack if self.kind in ("pure", "approx") else DELTA
        return Objective("approx", 0.0, slack)(p, q)


def objective(claim: dict[str, object]) -> Objective:
    """The objective of a claim in exact form.

    >>> objective({"kind": "pure", "epsilon": "ln 3", "ordered": False}).bound == math.log(3)
    True
    """
    kind = str(claim["kind"])

    def value(name: str) -> float:
        written = str(claim[name])
        exact = rational(written)
        if exact is not None:
            return float(exact)
        logged = logarithm(written)
        assert logged is not None  # noqa: S101 - claims in exact form have no other texts
        return float(logged[0]) * math.log(logged[1])

    match kind:
        case "approx":
            return Objective(kind, value("epsilon"), value("delta"))
        case "renyi":
            return Objective(kind, value("epsilon"), order=value("order"))
        case "gaussian":
            return Objective(kind, value("mu"))
        case "zcdp":
            return Objective(kind, value("rho"))
    return Objective(kind, value("epsilon"))


def _renyi(p: Array, q: Array, orders: Array) -> Array:
    """Rényi divergences of Bernoulli laws, shape (orders, events)."""
    a = orders[:, None]
    with np.errstate(divide="ignore"):
        first = a * np.log(p) + (1 - a) * np.log(q)
        second = a * np.log1p(-np.minimum(p, 1.0)) + (1 - a) * np.log1p(-q)
    return np.asarray(np.logaddexp(first, second) / (a - 1))
