"""Claims: the promise that is tested, as a convex region of the unit square.

Every claim has `support(a, b)`, the largest a p - b q that it allows for the means p = E f(A(x))
and q = E f(A(x')) of any test f with values in [0, 1]; its profile `delta(epsilon)` is
`support(1, e^epsilon)`. A witness is a test and a direction whose value exceeds the support.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tollens.contract import Claim, Json, Promise
from tollens.errors import ClaimError
from tollens.kinds import (
    ApproxClaim,
    GaussianClaim,
    ProfileClaim,
    PureClaim,
    RenyiClaim,
    TradeoffClaim,
    ZCDPClaim,
)
from tollens.quantity import Number, Quantity, delta_quantity, epsilon_quantity
from tollens.region import GRID, outer

Array = NDArray[np.float64]

_LARGEST_EPSILON = 700.0

__all__ = [
    "Claim",
    "Json",
    "Promise",
    "accountant",
    "approx",
    "claim_from_json",
    "gaussian",
    "parse_claim",
    "profile",
    "pure",
    "renyi",
    "tradeoff",
    "zcdp",
]


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
    findings: list[str] = []
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


def _profile(
    delta_of_epsilon: Callable[[float], float], ordered: bool, source: str, neighbours: str = ""
) -> Claim:
    epsilons = np.unique(np.concatenate([np.linspace(0, 10, 201), np.geomspace(10, 50, 40)]))
    deltas = np.array([float(delta_of_epsilon(e)) for e in epsilons.tolist()])
    if not np.all((deltas >= -1e-12) & (deltas <= 1 + 1e-12)):
        raise ClaimError(f"{source}: delta(epsilon) must lie in [0, 1] for every epsilon >= 0")
    if np.any(np.diff(deltas) > 1e-9):
        raise ClaimError(f"{source}: delta(epsilon) must not increase with epsilon")
    # rounding may raise delta a little with epsilon: the later value then counts for both
    deltas = np.maximum.accumulate(np.clip(deltas, 0.0, 1.0)[::-1])[::-1]
    if deltas[-1] == 1.0:
        raise ClaimError(
            f"{source}: delta is 1 at every epsilon up to {epsilons[-1]:g}, which promises nothing"
        )
    kept = _needed(epsilons, deltas)
    return ProfileClaim(
        tuple(epsilons[kept].tolist()), tuple(deltas[kept].tolist()), ordered, source, neighbours
    )


def _needed(epsilons: Array, deltas: Array) -> NDArray[np.intp]:
    """All points up to the first delta of (numerically) zero, which implies those after it."""
    zero = np.flatnonzero(deltas <= 1e-15)
    end = int(zero[0]) + 1 if len(zero) else len(epsilons)
    return np.arange(end)


def accountant(dp_event_or_pld: object, *, ordered: bool = False) -> Claim:
    """The claim that an accountant computes: of a `dp_accounting` event, or a loss distribution.

    Anything with `get_delta_for_epsilon(epsilon)` serves as a privacy loss distribution. An event
    is composed by `dp_accounting.pld.PLDAccountant`, for neighbours that add or remove one
    record; an accountant that has composed events states its own neighbours. `words()` names
    them.

    >>> class Pld:
    ...     def get_delta_for_epsilon(self, epsilon):
    ...         return gaussian(1).delta(epsilon)
    >>> str(accountant(Pld()))
    'accountant: epsilon=4.379 at delta=1e-05'
    """
    from tollens.accounting import stated

    delta, neighbours = stated(dp_event_or_pld)
    return _profile(delta, ordered, "accountant", neighbours)


_TEXT_FORMS: dict[frozenset[str], tuple[Callable[..., Claim], Sequence[str]]] = {
    frozenset({"epsilon"}): (pure, ("epsilon",)),
    frozenset({"epsilon", "delta"}): (approx, ("epsilon", "delta")),
    frozenset({"mu"}): (gaussian, ("mu",)),
    frozenset({"rho"}): (zcdp, ("rho",)),
    frozenset({"order", "epsilon"}): (renyi, ("order", "epsilon")),
}
_SYMBOLS = {"ε": "epsilon", "eps": "epsilon", "δ": "delta", "μ": "mu", "ρ": "rho", "alpha": "order"}
_EXAMPLES = '"epsilon=1", "epsilon=ln 3, delta=1e-6", "mu=1", "rho=0.5" or "order=8, epsilon=0.3"'


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
    if kind == "profile" and "neighbours" in data:
        names = (*names, "neighbours")
    return make(*(data[name] for name in names), ordered=ordered)


def _floats(values: object, name: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not values:
        raise ClaimError(f"claim: {name} must be a list of numbers")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ClaimError(f"claim: {name} must be a list of numbers")
    try:
        return tuple(float(value) for value in values)
    except OverflowError:
        raise ClaimError(f"claim: {name} has a number that is too large") from None


def _is_convex(alphas: tuple[float, ...], betas: tuple[float, ...]) -> bool:
    coarse = np.interp(np.linspace(0.0, 1.0, 129), alphas, betas)
    return bool(np.all(np.diff(coarse, 2) >= -1e-6))


def _tradeoff_from_table(alpha: object, beta: object, *, ordered: bool) -> Claim:
    alphas, betas = _floats(alpha, "alpha"), _floats(beta, "beta")
    findings = []
    if len(alphas) != len(betas):
        findings.append("alpha and beta differ in length")
    if not all(a < b for a, b in pairwise(alphas)) or alphas[0] != 0 or alphas[-1] != 1:
        findings.append("alpha must rise from 0 to 1")
    if any(b > a for a, b in pairwise(betas)):
        findings.append("beta must not increase")
    if not all(0 <= b <= 1 - a + 1e-9 for a, b in zip(alphas, betas, strict=False)):
        findings.append("beta must lie between 0 and 1 - alpha")
    if not findings and not _is_convex(alphas, betas):
        findings.append("beta must be convex")
    if findings:
        raise ClaimError([f"claim of kind tradeoff: {finding}" for finding in findings])
    return TradeoffClaim(alphas, betas, ordered)


def _profile_from_table(
    epsilons: object, deltas: object, source: object, neighbours: object = "", *, ordered: bool
) -> Claim:
    e, d = _floats(epsilons, "epsilons"), _floats(deltas, "deltas")
    if len(e) != len(d):
        raise ClaimError("claim of kind profile: epsilons and deltas differ in length")
    if not all(0 <= value <= _LARGEST_EPSILON for value in e):
        raise ClaimError(f"claim of kind profile: epsilon must lie in [0, {_LARGEST_EPSILON:g}]")
    if not all(0 <= value <= 1 for value in d):
        raise ClaimError("claim of kind profile: delta must lie in [0, 1]")
    if not all(a < b for a, b in pairwise(e)) or any(b > a for a, b in pairwise(d)):
        raise ClaimError("claim of kind profile: epsilon must rise and delta must not")
    return ProfileClaim(e, d, ordered, str(source), str(neighbours))
