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
        if p <= self.slack or p <= q:
            return 0.0
        if q <= 0:
            return math.inf
        match self.kind:
            case "gaussian":
                return float(ndtri(min(p, 1 - 1e-16)) - ndtri(q))
            case "renyi":
                return float(_renyi(p, q, np.array([self.order]))[0])
            case "zcdp":
                orders = np.array(ORDERS, dtype=float)
                return float(np.max(_renyi(p, q, orders) / orders))
        return math.log((p - self.slack) / q)

    @property
    def pure(self) -> bool:
        """Whether single outcomes are the best events."""
        return self.kind == "pure"

    def gain(self, p: float, q: float) -> float:
        """What an outcome adds to an event, up to a factor; for claims with a delta."""
        return p - math.exp(min(self.bound, 700.0)) * q

    def hint(self, lower: Fraction, upper: Fraction) -> str | None:
        """The number by which the checker sees that the bounds break a curved claim."""
        if upper == 0:
            return None
        if self.kind == "gaussian":
            z = Fraction(float(ndtri(float(upper)))) + Fraction(1, 10**9)
            return str(Fraction(math.ceil(z * 10**10), 10**10))
        if self.kind == "zcdp":
            orders = np.array(ORDERS, dtype=float)
            best = np.argmax(_renyi(float(lower), float(upper), orders) / orders)
            return str(ORDERS[int(best)])
        return None

    def epsilon(self, p: float, q: float) -> float:
        """The epsilon that holds at the claim's delta at the least."""
        return math.inf if q <= 0 < p - self.slack else Objective("pure", 0.0)(p - self.slack, q)


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


def _renyi(p: float, q: float, orders: Array) -> Array:
    """Rényi divergences of two Bernoulli laws."""
    with np.errstate(divide="ignore"):
        first = orders * np.log(p) + (1 - orders) * np.log(q)
        second = orders * np.log1p(-min(p, 1.0)) + (1 - orders) * np.log1p(-q)
    return np.asarray(np.logaddexp(first, second) / (orders - 1))
