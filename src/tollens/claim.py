"""Claims: the promise that is tested, as a convex region of the unit square.

Every claim has `support(a, b)`, the largest a p - b q that it allows for the means p = E f(A(x))
and q = E f(A(x')) of any test f with values in [0, 1]; its profile `delta(epsilon)` is
`support(1, e^epsilon)`. A witness is a test and a direction whose value exceeds the support.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens import divergence
from tollens.errors import ClaimError
from tollens.quantity import Number, Quantity, delta_quantity, epsilon_quantity
from tollens.region import GRID, Boundary, lines, outer

Json = dict[str, object]
Array = NDArray[np.float64]

TANGENTS = 12
"""How many (epsilon, delta) promises stand for a curved claim in a bet."""


class Promise(NamedTuple):
    """One (epsilon, delta) inequality that a claim implies, the unit that a bet is made against.

    `order` is +1 for P(S) <= e^eps Q(S) + delta with P = A(x), -1 for the roles swapped, and 0
    for both orders at once, which is used where delta is 0.
    """

    epsilon: float
    delta: float
    order: int


class Claim(ABC):
    """A promise about a neighbouring pair; made by `pure`, `approx`, `gaussian` and the others.

    >>> import tollens
    >>> claim = tollens.approx("ln 3", 0.1)
    >>> claim.support(1, 3), round(claim.support(1, 1), 3)
    (0.1, 0.55)
    """

    kind: ClassVar[str]
    ordered: bool

    @abstractmethod
    def _hockey_stick(self, ratio: float) -> float:
        """The largest p - ratio q that the claim allows, for any ratio >= 0."""

    @abstractmethod
    def _parameters(self) -> Json:
        """What the JSON form adds to the kind."""

    @abstractmethod
    def _formula(self) -> str:
        """A short text such as `epsilon=1`, in the form that `parse_claim` reads where it can."""

    @abstractmethod
    def promises(self) -> tuple[Promise, ...]:
        """The (epsilon, delta) inequalities through which runs test this claim."""

    def support(self, a: float, b: float) -> float:
        """max { a p - b q : (p, q) in the region } for any real direction (a, b).

        >>> import tollens
        >>> round(tollens.pure("ln 3").support(1, 1), 6)     # the largest total variation
        0.5
        """
        if not (math.isfinite(a) and math.isfinite(b)):
            raise ClaimError(f"the direction ({a}, {b}) is not finite")
        if a >= 0 >= b:
            return a - b
        if a <= 0 <= b:
            return 0.0
        if a > 0:
            return a * self._hockey_stick(b / a)
        # the region is symmetric under (p, q) -> (1 - p, 1 - q)
        return a - b - a * self._hockey_stick(b / a)

    def delta(self, epsilon: Number) -> float:
        """The profile: the least delta with which the claim implies (epsilon, delta)-DP.

        >>> import tollens
        >>> round(tollens.gaussian(1).delta(1), 4)
        0.1269
        """
        return max(0.0, self._hockey_stick(math.exp(epsilon_quantity(epsilon).value)))

    def epsilon(self, delta: Number) -> float:
        """The least epsilon with which the claim implies (epsilon, delta)-DP; inf if none does.

        >>> import tollens
        >>> round(tollens.gaussian(1).epsilon(1e-5), 3)
        4.377
        """
        target = delta_quantity(delta).value
        if self.delta(0) <= target:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > target:
            low, high = high, 2 * high
            if high > 700:
                return math.inf
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > target else (low, middle)
        return high

    @property
    def leak_delta(self) -> float | None:
        """The claim's own delta, at which a certified leak is stated; None if it has none."""
        return None

    @abstractmethod
    def words(self) -> str:
        """The promise in one sentence for a reader who is no expert."""

    def to_json(self) -> Json:
        """A plain dictionary; `claim_from_json` turns it back into an equal claim."""
        return {"kind": self.kind, **self._parameters(), "ordered": self.ordered}

    def __str__(self) -> str:
        return self._formula() + (", ordered" if self.ordered else "")


def _sides(epsilon: float, delta: float, ordered: bool) -> tuple[Promise, ...]:
    if ordered:
        return (Promise(epsilon, delta, 1),)
    if delta == 0:
        return (Promise(epsilon, 0.0, 0),)
    return (Promise(epsilon, delta, 1), Promise(epsilon, delta, -1))


def _which_orders(ordered: bool) -> str:
    return "with x first" if ordered else "whichever of the two neighbours comes first"


@dataclass(frozen=True)
class PureClaim(Claim):
    """P(A(x) in S) <= e^epsilon P(A(x') in S) for every set S of outputs (Dwork et al. 2006)."""

    bound: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "pure"

    @cached_property
    def _boundary(self) -> Boundary:
        return _approx_boundary(self.bound.value, 0.0, self.ordered)

    def _hockey_stick(self, ratio: float) -> float:
        return self._boundary.hockey_stick(ratio)

    def promises(self) -> tuple[Promise, ...]:
        """The claim itself."""
        return _sides(self.bound.value, 0.0, self.ordered)

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
class ApproxClaim(Claim):
    """P(A(x) in S) <= e^epsilon P(A(x') in S) + delta for every set S (Dwork et al. 2006)."""

    bound: Quantity
    slack: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "approx"

    @cached_property
    def _boundary(self) -> Boundary:
        return _approx_boundary(self.bound.value, self.slack.value, self.ordered)

    def _hockey_stick(self, ratio: float) -> float:
        return self._boundary.hockey_stick(ratio)

    def promises(self) -> tuple[Promise, ...]:
        """The claim itself, an inequality for each order."""
        return _sides(self.bound.value, self.slack.value, self.ordered)

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
class GaussianClaim(Claim):
    """mu-GDP: no test does better than telling N(0, 1) from N(mu, 1) (Dong, Roth, Su 2022)."""

    mu: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "gaussian"

    def _hockey_stick(self, ratio: float) -> float:
        return divergence.gaussian_hockey_stick(self.mu.value, ratio)

    def promises(self) -> tuple[Promise, ...]:
        """Tangents of the curve from epsilon = 0 to where delta(epsilon) has become small."""
        return _tangents(self)

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
class ZCDPClaim(Claim):
    """D_alpha(A(x) || A(x')) <= rho alpha for every order alpha > 1 (Bun, Steinke 2016)."""

    rho: Quantity
    ordered: bool = False
    kind: ClassVar[str] = "zcdp"

    @cached_property
    def _boundary(self) -> Boundary:
        orders = divergence.ORDERS
        return outer(divergence.renyi_curve(orders, self.rho.value * orders, self.ordered))

    def _hockey_stick(self, ratio: float) -> float:
        return self._boundary.hockey_stick(ratio)

    def promises(self) -> tuple[Promise, ...]:
        """Tangents of the exact region for two-valued tests."""
        return _tangents(self)

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
class RenyiClaim(Claim):
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

    def _hockey_stick(self, ratio: float) -> float:
        return self._boundary.hockey_stick(ratio)

    def promises(self) -> tuple[Promise, ...]:
        """Tangents of the exact region for two-valued tests."""
        return _tangents(self)

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
class TradeoffClaim(Claim):
    """f-DP: the type II error of every test is at least f(type I error) (Dong, Roth, Su 2022)."""

    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    ordered: bool = False
    kind: ClassVar[str] = "tradeoff"

    @cached_property
    def _both(self) -> Boundary:
        own = Boundary(self.alphas, tuple(1.0 - beta for beta in self.betas))
        if self.ordered:
            return own
        mirrored = own.mirrored()
        return outer(lambda q: np.minimum(own.heights(q), mirrored.heights(q)))

    def _hockey_stick(self, ratio: float) -> float:
        return self._both.hockey_stick(ratio)

    def promises(self) -> tuple[Promise, ...]:
        """Tangents of the curve."""
        return _tangents(self)

    def words(self) -> str:
        """The promise in words."""
        return (
            "every test that tells two neighbouring inputs apart has a type II error of at least "
            f"f(type I error), a curve with f(0.05) = {1 - self._both.height(0.05):.4g}"
        )

    def _parameters(self) -> Json:
        return {"alpha": list(self.alphas), "beta": list(self.betas)}

    def _formula(self) -> str:
        return f"f(0.05)={1 - self._both.height(0.05):.4g}"


@dataclass(frozen=True)
class ProfileClaim(Claim):
    """(epsilon_k, delta_k)-DP for every k of a table; what an accountant or a PLD promises."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    ordered: bool = False
    source: str = "profile"
    kind: ClassVar[str] = "profile"

    @cached_property
    def _boundary(self) -> Boundary:
        return lines(np.asarray(self.epsilons), np.asarray(self.deltas), ordered=self.ordered)

    def _hockey_stick(self, ratio: float) -> float:
        return self._boundary.hockey_stick(ratio)

    def promises(self) -> tuple[Promise, ...]:
        """Tangents of the region that all lines of the table leave."""
        return _tangents(self)

    def words(self) -> str:
        """The promise in words."""
        return (
            f"(epsilon, delta)-DP at each of {len(self.epsilons)} points of a privacy profile, "
            f"for example epsilon = {self.epsilon(1e-5):.4g} at delta = 1e-5"
        )

    def _parameters(self) -> Json:
        return {
            "epsilons": list(self.epsilons),
            "deltas": list(self.deltas),
            "source": self.source,
        }

    def _formula(self) -> str:
        return f"{self.source}: epsilon={self.epsilon(1e-5):.4g} at delta=1e-05"


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


def _tangents(claim: Claim) -> tuple[Promise, ...]:
    """(epsilon_k, delta(epsilon_k)) from 0 to where delta is a thousandth of delta(0).

    Where it falls below a thousandth late or never, epsilon stops at 30. A claim of perfect
    privacy (delta(0) = 0) is the pure claim with epsilon = 0.
    """
    start = claim.delta(0)
    if start <= 1e-12:
        return _sides(0.0, max(start, 0.0), claim.ordered)
    last = min(claim.epsilon(start * 1e-3), 30.0)
    found = []
    for epsilon in np.linspace(0.0, last, TANGENTS).tolist():
        found.extend(_sides(epsilon, min(1.0, claim.delta(epsilon) + 1e-13), claim.ordered))
    return tuple(found)


def _power(q: Quantity) -> str:
    return f"({q})" if " " in q.text or "/" in q.text else q.text


def _json_quantity(q: Quantity) -> str | float:
    """A number where the text is that number, the exact text (`ln 3`, `1/3`) otherwise."""
    try:
        return q.value if float(q.text) == q.value else q.text
    except ValueError:
        return q.text


def pure(epsilon: Number, *, ordered: bool = False) -> Claim:
    """Pure epsilon-DP.

    >>> pure("ln 3")
    PureClaim(bound=Quantity(value=1.0986122886681098, text='ln 3'), ordered=False)
    """
    return PureClaim(epsilon_quantity(epsilon), ordered)


def approx(epsilon: Number, delta: Number, *, ordered: bool = False) -> Claim:
    """(epsilon, delta)-DP; delta in [0, 1].

    >>> str(approx(1, 1e-6))
    'epsilon=1, delta=1e-06'
    """
    findings = []
    made: list[Quantity] = []
    for read, number in ((epsilon_quantity, epsilon), (delta_quantity, delta)):
        try:
            made.append(read(number))
        except ClaimError as error:
            findings.extend(error.findings)
    if findings:
        raise ClaimError(findings)
    return ApproxClaim(made[0], made[1], ordered)


def gaussian(mu: Number, *, ordered: bool = False) -> Claim:
    """mu-Gaussian DP, `delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`.

    >>> str(gaussian(0.5))
    'mu=0.5'
    """
    return GaussianClaim(epsilon_quantity(mu, "mu"), ordered)


def zcdp(rho: Number, *, ordered: bool = False) -> Claim:
    """rho-zero-concentrated DP.

    >>> 0 < zcdp(0.5).delta(3) < gaussian(1).delta(3) * 10
    True
    """
    return ZCDPClaim(epsilon_quantity(rho, "rho"), ordered)


def renyi(order: Number, epsilon: Number, *, ordered: bool = False) -> Claim:
    """(order, epsilon)-Rényi DP with order > 1.

    >>> str(renyi(8, 0.3))
    'order=8, epsilon=0.3'
    """
    alpha = epsilon_quantity(order, "order")
    if alpha.value <= 1:
        raise ClaimError(f"order is {alpha.text}; it must be greater than 1")
    return RenyiClaim(alpha, epsilon_quantity(epsilon), ordered)


def tradeoff(f: Callable[[float], float], *, ordered: bool = False) -> Claim:
    """f-DP for a convex nonincreasing trade-off function f on [0, 1] with f(a) <= 1 - a.

    The curve is tabulated on the safe side: the table is nowhere above f.

    >>> claim = tradeoff(lambda a: max(0.0, 1 - 3 * a, (1 - a) / 3))
    >>> round(claim.support(1, 1), 4)
    0.5
    """
    values = np.array([float(f(a)) for a in GRID.tolist()])
    findings = []
    if not np.all(np.isfinite(values)):
        findings.append("tradeoff: f is not finite on all of [0, 1]")
    elif np.any(values < -1e-12) or np.any(values > 1 - GRID + 1e-9):
        findings.append("tradeoff: f must satisfy 0 <= f(a) <= 1 - a")
    elif np.any(np.diff(values) > 1e-9):
        findings.append("tradeoff: f must be nonincreasing")
    elif np.any(np.diff(np.diff(values) / np.diff(GRID))[1:-1] < -1e-3):
        findings.append("tradeoff: f must be convex")
    if findings:
        raise ClaimError(findings)
    table = outer(lambda q: 1.0 - np.interp(q, GRID, values))
    return TradeoffClaim(table.q, tuple(1.0 - p for p in table.p), ordered)


def profile(delta_of_epsilon: Callable[[float], float], *, ordered: bool = False) -> Claim:
    """A claim given by its privacy profile, tabulated at epsilon from 0 to 50.

    Only the tabulated points are claimed, which is the safe side.

    >>> claim = profile(gaussian(1).delta)
    >>> abs(claim.delta(1) - gaussian(1).delta(1)) < 1e-3
    True
    """
    return _profile(delta_of_epsilon, ordered, "profile")


def _profile(delta_of_epsilon: Callable[[float], float], ordered: bool, source: str) -> Claim:
    epsilons = np.unique(np.concatenate([np.linspace(0, 10, 201), np.geomspace(10, 50, 40)]))
    deltas = np.array([float(delta_of_epsilon(e)) for e in epsilons.tolist()])
    if not np.all((deltas >= -1e-12) & (deltas <= 1 + 1e-12)):
        raise ClaimError("profile: delta(epsilon) must lie in [0, 1] for every epsilon >= 0")
    if np.any(np.diff(deltas) > 1e-9):
        raise ClaimError("profile: delta(epsilon) must not increase with epsilon")
    kept = _needed(epsilons, np.clip(deltas, 0.0, 1.0))
    return ProfileClaim(
        tuple(epsilons[kept].tolist()),
        tuple(np.clip(deltas, 0.0, 1.0)[kept].tolist()),
        ordered,
        source,
    )


def _needed(epsilons: Array, deltas: Array) -> NDArray[np.intp]:
    """All points up to the first delta of (numerically) zero, which implies those after it."""
    zero = np.flatnonzero(deltas <= 1e-15)
    end = int(zero[0]) + 1 if len(zero) else len(epsilons)
    return np.arange(end)


def accountant(dp_event_or_pld: object, *, ordered: bool = False) -> Claim:
    """The claim that an accountant computes: a `dp_accounting` event or privacy loss distribution.

    Anything with `get_delta_for_epsilon(epsilon)` serves as a privacy loss distribution; an event
    is composed by `dp_accounting.pld.PLDAccountant` first.

    >>> class Pld:
    ...     def get_delta_for_epsilon(self, epsilon):
    ...         return gaussian(1).delta(epsilon)
    >>> str(accountant(Pld()))
    'accountant: epsilon=4.4 at delta=1e-05'
    """
    from tollens.accounting import delta_function

    return _profile(delta_function(dp_event_or_pld), ordered, "accountant")


_TEXT_FORMS: dict[frozenset[str], tuple[Callable[..., Claim], Sequence[str]]] = {
    frozenset({"epsilon"}): (pure, ("epsilon",)),
    frozenset({"epsilon", "delta"}): (approx, ("epsilon", "delta")),
    frozenset({"mu"}): (gaussian, ("mu",)),
    frozenset({"rho"}): (zcdp, ("rho",)),
    frozenset({"order", "epsilon"}): (renyi, ("order", "epsilon")),
}
_SYMBOLS = {"ε": "epsilon", "eps": "epsilon", "δ": "delta", "μ": "mu", "ρ": "rho", "alpha": "order"}
_EXAMPLES = (
    '"epsilon=1", "epsilon=ln 3, delta=1e-6", "mu=1", "rho=0.5" or "order=8, epsilon=0.3"'
)


def parse_claim(text: str) -> Claim:
    """Read the text form of a claim.

    >>> parse_claim("epsilon=ln 3, delta=1e-6") == approx("ln 3", "1e-6")
    True
    >>> parse_claim("epsilon: 1")
    Traceback (most recent call last):
    ...
    tollens.errors.ClaimError: cannot read the claim 'epsilon: 1': 'epsilon: 1' is not of the form \
name=value; write for example "epsilon=1", "epsilon=ln 3, delta=1e-6", "mu=1", "rho=0.5" or \
"order=8, epsilon=0.3"
    """
    values: dict[str, str] = {}
    ordered = False
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name == "ordered" and not equals:
            ordered = True
            continue
        if not equals or not value:
            raise ClaimError(
                f"cannot read the claim {text!r}: {part.strip()!r} is not of the form name=value; "
                f"write for example {_EXAMPLES}"
            )
        key = _SYMBOLS.get(name.lower(), name.lower())
        if key in values:
            raise ClaimError(f"cannot read the claim {text!r}: {key} is given twice")
        values[key] = value
    form = _TEXT_FORMS.get(frozenset(values))
    if form is None:
        raise ClaimError(
            f"cannot read the claim {text!r}: no kind of claim has the parameters "
            f"{', '.join(sorted(values)) or '(none)'}; write for example {_EXAMPLES}"
        )
    make, order = form
    return make(*(values[name] for name in order), ordered=ordered)


def claim_from_json(data: object) -> Claim:
    """The claim of a JSON object made by `Claim.to_json`; `ClaimError` if it is none.

    >>> claim_from_json(zcdp("1/2").to_json()) == zcdp("1/2")
    True
    """
    if not isinstance(data, dict):
        raise ClaimError(f"a claim is a JSON object, not {type(data).__name__}")
    kind, ordered = data.get("kind"), data.get("ordered", False)
    if not isinstance(ordered, bool):
        raise ClaimError("claim: 'ordered' must be true or false")
    makers: dict[object, tuple[Callable[..., Claim], tuple[str, ...]]] = {
        "pure": (pure, ("epsilon",)),
        "approx": (approx, ("epsilon", "delta")),
        "gaussian": (gaussian, ("mu",)),
        "zcdp": (zcdp, ("rho",)),
        "renyi": (renyi, ("order", "epsilon")),
        "tradeoff": (_tradeoff_from_table, ("alpha", "beta")),
        "profile": (_profile_from_table, ("epsilons", "deltas", "source")),
    }
    if not isinstance(kind, str) or kind not in makers:
        known = ", ".join(str(name) for name in makers)
        raise ClaimError(f"claim: kind is {kind!r}; known kinds are {known}")
    make, names = makers[kind]
    missing = [name for name in names if name not in data]
    if missing:
        raise ClaimError(f"claim of kind {kind}: {', '.join(missing)} missing")
    return make(*(data[name] for name in names), ordered=ordered)


def _floats(values: object, name: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not values:
        raise ClaimError(f"claim: {name} must be a list of numbers")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ClaimError(f"claim: {name} must be a list of numbers")
    return tuple(float(value) for value in values)


def _tradeoff_from_table(alpha: object, beta: object, *, ordered: bool) -> Claim:
    alphas, betas = _floats(alpha, "alpha"), _floats(beta, "beta")
    findings = []
    if len(alphas) != len(betas):
        findings.append("alpha and beta differ in length")
    if any(b <= a for a, b in pairwise(alphas)) or alphas[0] != 0 or alphas[-1] != 1:
        findings.append("alpha must rise from 0 to 1")
    if any(b > a for a, b in pairwise(betas)) or not all(0 <= b <= 1 for b in betas):
        findings.append("beta must fall inside [0, 1]")
    if findings:
        raise ClaimError([f"claim of kind tradeoff: {finding}" for finding in findings])
    return TradeoffClaim(alphas, betas, ordered)


def _profile_from_table(epsilons: object, deltas: object, source: object, *, ordered: bool) -> Claim:
    e, d = _floats(epsilons, "epsilons"), _floats(deltas, "deltas")
    if len(e) != len(d):
        raise ClaimError("claim of kind profile: epsilons and deltas differ in length")
    if any(value < 0 for value in e) or any(not 0 <= value <= 1 for value in d):
        raise ClaimError("claim of kind profile: epsilon must be >= 0 and delta in [0, 1]")
    return ProfileClaim(e, d, ordered, str(source))
