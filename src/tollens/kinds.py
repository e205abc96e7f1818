"""The kinds of claims: pure, approximate, Gaussian, zCDP, Rényi, trade-off curve, profile."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tollens import divergence
from tollens.contract import Claim, Json, Promise, sides, tangents
from tollens.quantity import Quantity, quantity
from tollens.region import Boundary, lines, outer


class _Polygon(Claim):
    """A claim whose region is given by a piecewise-linear upper boundary."""

    @property
    @abstractmethod
    def _boundary(self) -> Boundary:
        """The upper boundary, nowhere below the true one."""

    def _hockey_stick(self, ratio: float) -> float:
        return self._boundary.hockey_stick(ratio)


class _Curved(Claim):
    """A claim that is a family of (epsilon, delta) inequalities, tested at its tangents."""

    def promises(self) -> tuple[Promise, ...]:
        """Tangents from epsilon = 0 to where delta(epsilon) has become small."""
        return tangents(self)


@dataclass(frozen=True)
class PureClaim(_Polygon):
    """P(A(x) in S) <= e^epsilon P(A(x') in S) for every set S of outputs (Dwork et al. 2006)."""

    bound: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "pure"

    @cached_property
    def _boundary(self) -> Boundary:
        return _approx_boundary(self.bound.value, 0.0, self.ordered)

    def promises(self) -> tuple[Promise, ...]:
        """The claim itself."""
        return sides(self.bound.value, 0.0, self.ordered)

    @property
    def leak_delta(self) -> float | None:
        """A pure claim states delta = 0."""
        return 0.0

    def words(self) -> str:
        """The promise in words."""
        return (
            f"no set of outputs is more than e^{_power(self.bound)} times as likely on one of two "
            f"neighbouring inputs as on the other, {_which_orders(self.ordered)}"
        )

    def _parameters(self) -> Json:
        return {"epsilon": _json_quantity(self.bound)}

    def _formula(self) -> str:
        return f"epsilon={self.bound}"


@dataclass(frozen=True)
class ApproxClaim(_Polygon):
    """P(A(x) in S) <= e^epsilon P(A(x') in S) + delta for every set S (Dwork et al. 2006)."""

    bound: Quantity
    slack: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "approx"

    @cached_property
    def _boundary(self) -> Boundary:
        return _approx_boundary(self.bound.value, self.slack.value, self.ordered)

    def promises(self) -> tuple[Promise, ...]:
        """The claim itself, an inequality for each order."""
        return sides(self.bound.value, self.slack.value, self.ordered)

    @property
    def leak_delta(self) -> float | None:
        """The delta of the claim."""
        return self.slack.value

    def words(self) -> str:
        """The promise in words."""
        return (
            f"no set of outputs is more than e^{_power(self.bound)} times as likely plus "
            f"{self.slack} on one of two neighbouring inputs as on the other, "
            f"{_which_orders(self.ordered)}"
        )

    def _parameters(self) -> Json:
        return {"epsilon": _json_quantity(self.bound), "delta": _json_quantity(self.slack)}

    def _formula(self) -> str:
        return f"epsilon={self.bound}, delta={self.slack}"


@dataclass(frozen=True)
class GaussianClaim(_Curved):
    """mu-GDP: no test does better than telling N(0, 1) from N(mu, 1) (Dong, Roth, Su 2022)."""

    mu: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "gaussian"

    def _hockey_stick(self, ratio: float) -> float:
        return divergence.gaussian_hockey_stick(self.mu.value, ratio)

    def words(self) -> str:
        """The promise in words."""
        return (
            "no test tells two neighbouring inputs apart better than one draw tells a normal "
            f"distribution from the same shifted by {self.mu} standard deviations"
        )

    def _parameters(self) -> Json:
        return {"mu": _json_quantity(self.mu)}

    def _formula(self) -> str:
        return f"mu={self.mu}"


@dataclass(frozen=True)
class ZCDPClaim(_Polygon, _Curved):
    """D_alpha(A(x) || A(x')) <= rho alpha for every order alpha > 1 (Bun, Steinke 2016)."""

    rho: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "zcdp"

    @cached_property
    def _boundary(self) -> Boundary:
        orders = divergence.ORDERS
        return outer(divergence.renyi_curve(orders, self.rho.value * orders, self.ordered))

    def words(self) -> str:
        """The promise in words."""
        return (
            f"the Rényi divergence of every order alpha between the outputs on two neighbouring "
            f"inputs is at most {self.rho} alpha"
        )

    def _parameters(self) -> Json:
        return {"rho": _json_quantity(self.rho)}

    def _formula(self) -> str:
        return f"rho={self.rho}"


@dataclass(frozen=True)
class RenyiClaim(_Polygon, _Curved):
    """D_alpha(A(x) || A(x')) <= epsilon for one order alpha > 1 (Mironov 2017)."""

    order: Quantity
    bound: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "renyi"

    @cached_property
    def _boundary(self) -> Boundary:
        curve = divergence.renyi_curve(
            np.array([self.order.value]), np.array([self.bound.value]), self.ordered
        )
        return outer(curve)

    def words(self) -> str:
        """The promise in words."""
        return (
            f"the Rényi divergence of order {self.order} between the outputs on two neighbouring "
            f"inputs is at most {self.bound}"
        )

    def _parameters(self) -> Json:
        return {"order": _json_quantity(self.order), "epsilon": _json_quantity(self.bound)}

    def _formula(self) -> str:
        return f"order={self.order}, epsilon={self.bound}"


@dataclass(frozen=True)
class TradeoffClaim(_Polygon, _Curved):
    """f-DP: the type II error of every test is at least f(type I error) (Dong, Roth, Su 2022)."""

    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    ordered: bool = False
    kind: ClassVar[str] = "tradeoff"

    @cached_property
    def _boundary(self) -> Boundary:
        own = Boundary(self.alphas, tuple(1.0 - beta for beta in self.betas))
        if self.ordered:
            return own
        mirrored = own.mirrored()
        return outer(lambda q: np.minimum(own.heights(q), mirrored.heights(q)))

    def words(self) -> str:
        """The promise in words."""
        return (
            "every test that tells two neighbouring inputs apart has a type II error of at least "
            f"f(type I error), a curve with f(0.05) = {1 - self._boundary.height(0.05):.4g}"
        )

    def _parameters(self) -> Json:
        return {"alpha": list(self.alphas), "beta": list(self.betas)}

    def _formula(self) -> str:
        return f"f(0.05)={1 - self._boundary.height(0.05):.4g}"


@dataclass(frozen=True)
class ProfileClaim(_Polygon, _Curved):
    """(epsilon_k, delta_k)-DP for every k of a table; what an accountant or a PLD promises."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    ordered: bool = False
    source: str = "profile"
    neighbours: str = ""
    kind: ClassVar[str] = "profile"

    @cached_property
    def _boundary(self) -> Boundary:
        return lines(np.asarray(self.epsilons), np.asarray(self.deltas), ordered=self.ordered)

    def words(self) -> str:
        """The promise in words."""
        whose = f", for inputs {self.neighbours}" if self.neighbours else ""
        return (
            f"(epsilon, delta)-DP at each of {len(self.epsilons)} points of a privacy profile, "
            f"for example {self._example()}{whose}"
        )

    def _example(self) -> str:
        """A point of the profile: at delta = 1e-5, or at the least delta that it reaches."""
        delta = max(1e-5, self.deltas[-1])
        return f"epsilon={self.epsilon(delta):.4g} at delta={delta:.4g}"

    def _parameters(self) -> Json:
        said = {"neighbours": self.neighbours} if self.neighbours else {}
        return {
            "epsilons": list(self.epsilons),
            "deltas": list(self.deltas),
            "source": self.source,
            **said,
        }

    def _formula(self) -> str:
        return f"{self.source}: {self._example()}"


def _approx_boundary(epsilon: float, delta: float, ordered: bool) -> Boundary:
    """The exact polygon of an (epsilon, delta) claim."""
    shrink = math.exp(-epsilon)  # e^-eps never overflows
    if ordered:
        return Boundary((0.0, (1 - delta) * shrink, 1.0), (delta, 1.0, 1.0))
    corner = shrink / (1 + shrink)
    return Boundary(
        (0.0, (1 - delta) * corner, 1 - delta, 1.0),
        (delta, (1 + delta * shrink) / (1 + shrink), 1.0, 1.0),
    )


def _which_orders(ordered: bool) -> str:
    return "with x first" if ordered else "whichever of the two neighbours comes first"


def _power(q: Quantity) -> str:
    return f"({q})" if " " in q.text or "/" in q.text else q.text


def _json_quantity(q: Quantity) -> str | float:
    """A number where that says all; the text as written (`ln 3`, `1/3`, `1e-6`) otherwise."""
    return q.value if quantity(q.value, "").text == q.text else q.text
