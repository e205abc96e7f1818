"""The physical limit: how few pairs any level-alpha sequential test can need on average.

No such test of independent runs can need fewer than about log(1/alpha) / KL* pairs, where KL* is
the smallest KL(P || P') + KL(Q || Q') over pairs (P', Q') that keep the promise (Wald 1945). All
masses here are exact: those of a mechanism with finitely many outputs, or of a fine grid of a
continuous law (whose KL* is a lower bound of the true one, by less than the grid is coarse).

KL* is computed from below. A bet (a, b) whose `sum P' a + sum Q' b` is at most 2 for all (P', Q')
that keep the promise grows by `sum P log a + sum Q log b` a pair, and the largest growth is KL*
(convex duality). The bets are mixtures of events: from `P'(S) <= E Q'(S) + delta` for a set S of
outputs comes the bet that pays on S for x and off S for x'. The sets that matter are those of the
outputs with the largest P/Q, so a law of k cells has k of them for each (epsilon, delta). For pure
claims the projection has a closed form, which is used instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

import tollens
from tollens.auditing.projection import project_pure
from tollens.auditing.ville import certify, worst_pure
from tollens.kinds import PureClaim
from tollens.zoo import Entry

Array = NDArray[np.float64]

GAP = 1e-3
"""The relative error of KL* at which the search ends."""

_TANGENTS = 60
_SMALLEST_DELTA = 1e-9
_NEGLIGIBLE = 1e-15
_ROUNDS = 400
_STEPS = 40
_LARGEST_EPSILON = 60.0


class Masses(NamedTuple):
    """The exact masses of the same cells on x and on x'."""

    p: Array
    q: Array


def divergence(p: Array, q: Array, claim: tollens.Claim) -> float:
    """KL*: how far the laws are from all pairs that keep the claim.

    >>> p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    >>> round(divergence(p, q, tollens.pure(0)), 4)             # both laws become (1/2, 1/2)
    0.3855
    >>> divergence(p, q, tollens.pure("ln 4")) < 1e-9
    True
    """
    kept = p + q > 0
    p, q = p[kept] / p.sum(), q[kept] / q.sum()
    if isinstance(claim, PureClaim) and not claim.ordered:
        return _pure(p, q, claim.bound.value)
    return _mixture(p, q, _inequalities(claim))


def law_limit(p: Array, q: Array, claim: tollens.Claim, alpha: float) -> float:
    """The fewest pairs on average: log(1/alpha) / KL*; infinite where the claim holds.

    >>> p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    >>> round(law_limit(p, q, tollens.pure(1), 0.05), 1), law_limit(p, q, tollens.pure(2), 0.05)
    (116.5, inf)
    """
    star = divergence(p, q, claim)
    return math.log(1 / alpha) / star if star > 1e-12 else math.inf


def certifiable(p: Array, q: Array, delta: float, pairs: int, alpha: float) -> float:
    """The largest epsilon at `delta` that any test could certify with so many pairs.

    It is where pairs times KL* is log(1/alpha): below the true epsilon, and finite where that is
    infinite.

    >>> p, q = np.array([0.5, 0.5]), np.array([0.5, 0.5])
    >>> certifiable(p, q, 0.0, 1000, 0.05)
    0.0
    >>> p, q = np.array([0.5, 0.5]), np.array([0.0, 1.0])
    >>> few, many = (certifiable(p, q, 0.0, pairs, 0.05) for pairs in (100, 10_000))
    >>> 2 < few < many < 10
    True
    """
    need = math.log(1 / alpha) / pairs

    def far(epsilon: float) -> bool:
        claim = tollens.approx(epsilon, delta) if delta > 0 else tollens.pure(epsilon)
        return divergence(p, q, claim) >= need

    if not far(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while far(high):
        if high >= _LARGEST_EPSILON:
            return math.inf
        low, high = high, 2 * high
    for _ in range(_STEPS):
        if high - low < 1e-4 * high:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if far(middle) else (low, middle)
    return low


def _pure(p: Array, q: Array, epsilon: float) -> float:
    factors = project_pure(p, q, np.array(epsilon))
    fair = certify(factors, worst_pure(factors, np.array(epsilon)))
    return max(0.0, float(xlogy(p, fair.a).sum() + xlogy(q, fair.b).sum()))


class _Inequality(NamedTuple):
    """P(S) <= ratio Q(S) + delta for all S, or with the roles of P and Q swapped."""

    ratio: float
    delta: float
    swapped: bool


def _inequalities(claim: tollens.Claim) -> list[_Inequality]:
    """Those of the claim itself where it has few, many tangents of a curved claim."""
    if claim.leak_delta is not None:
        points = [(p.epsilon, p.delta) for p in claim.promises()]
    else:
        last = claim.epsilon(_SMALLEST_DELTA)
        points = [(e, claim.delta(e)) for e in np.linspace(0.0, last, _TANGENTS).tolist()]
    orders = (False,) if claim.ordered else (False, True)
    return [
        _Inequality(math.exp(e), d, order) for e, d in dict.fromkeys(points) for order in orders
    ]


def _mixture(p: Array, q: Array, inequalities: list[_Inequality]) -> float:
    """The largest growth of a mixture of events: columns are added while one still gains."""
    order = np.argsort(-(p / (p + q)), kind="stable")
    p, q = p[order], q[order]
    k = len(p)
    weights = np.concatenate([p, q])
    columns = [np.repeat([2.0, 0.0], k), np.repeat([0.0, 2.0], k)]
    shares = np.array([0.5, 0.5])
    for _ in range(_ROUNDS):
        table = np.column_stack(columns)
        shares = _best_shares(table, weights, shares)
        paid = table @ shares
        slope = np.divide(weights, paid, out=np.zeros(2 * k), where=weights > 0)
        worst, column = _best_event(slope[:k], slope[k:], inequalities)
        value = float(xlogy(weights, paid).sum())
        # growth can rise by 2 ln(worst / 2) at most, as each law has mass 1
        if 2 * math.log(max(worst / 2, 1.0)) <= max(GAP * value, 1e-9):
            break
        kept = shares > 1e-9
        kept[:2] = True
        columns = [*(c for c, keep in zip(columns, kept, strict=True) if keep), column]
        shares = np.append(shares[kept] * 0.95, 0.05)
        shares /= shares.sum()
    return max(0.0, value)


def _best_event(
    slope_p: Array, slope_q: Array, inequalities: list[_Inequality]
) -> tuple[float, Array]:
    """The event whose bet gains most at these slopes, and what it pays on the cells of x and x'."""
    k, best, chosen = len(slope_p), 0.0, (inequalities[0], 0)
    upper_p, upper_q = np.cumsum(slope_p), np.cumsum(slope_q)
    lower_q = upper_q[-1] - upper_q
    for each in inequalities:
        size = 2.0 / (each.ratio + each.delta)
        if each.swapped:  # the events are the cells after the first i + 1
            gains = size * (lower_q + each.ratio * upper_p)
        else:
            gains = size * (upper_p + each.ratio * lower_q)
        i = int(gains.argmax())
        if gains[i] > best:
            best, chosen = float(gains[i]), (each, i)
    each, i = chosen
    size, first = 2.0 / (each.ratio + each.delta), np.arange(k) <= i
    if each.swapped:
        pays = (size * each.ratio * first, size * ~first)
    else:
        pays = (size * first, size * each.ratio * ~first)
    return best, np.concatenate(pays)


def _best_shares(table: Array, weights: Array, shares: Array) -> Array:
    """The shares of the columns with the largest growth: Newton's method on the open simplex.

    The barrier `t sum log shares` keeps the shares positive; t falls to almost nothing.
    """
    used = weights > _NEGLIGIBLE  # products of smaller ones are slow and change nothing
    table, weights = table[used], weights[used]
    n = table.shape[1]

    def value(s: Array, t: float) -> float:
        return float(weights @ np.log(table @ s) + t * np.log(s).sum())

    for t in 10.0 ** -np.arange(3, 11):
        for _ in range(30):
            ratio = table / (table @ shares)[:, None]
            gradient = weights @ ratio + t / shares
            hessian = -(ratio.T * weights) @ ratio - np.diag(t / shares**2)
            system = np.block([[hessian, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
            scale = np.append(shares, 1.0)  # steps relative to the shares are well conditioned
            solved = np.linalg.lstsq(
                system * scale * scale[:, None], np.append(-gradient, 0.0) * scale, rcond=None
            )[0]
            step = (solved * scale)[:-1]
            step -= step.sum() * shares
            gain = float(gradient @ step)
            if gain < 1e-3 * t:
                break
            falling = step < 0
            length = min(1.0, 0.99 * float(np.min(-shares[falling] / step[falling], initial=1e9)))
            before = value(shares, t)
            while (
                length > 1e-10 and value(shares + length * step, t) < before + 0.1 * length * gain
            ):
                length /= 2
            shares = shares + length * step
            shares = shares / shares.sum()
    return shares


# Laws


def entry_masses(entry: Entry) -> Masses:
    """The exact masses of an entry of the zoo on its pair.

    >>> from tollens.zoo import get
    >>> [round(float(side.sum()), 9) for side in entry_masses(get("svt6"))]
    [1.0, 1.0]
    """
    return Masses(*(entry.law.probabilities(data) for data in entry.neighbours))


def entry_limit(entry: Entry, alpha: float, claim: tollens.Claim | None = None) -> float:
    """The limit of the full law of an entry on its pair, against its own claim or another.

    >>> from tollens.zoo import get
    >>> 95 < entry_limit(get("svt6"), 0.05) < 105
    True
    """
    return law_limit(*entry_masses(entry), claim or entry.claim, alpha)


def laplace_masses(center: float, scale: float, edges: Array) -> Array:
    """Exact masses of Laplace(center, scale) between the edges, and in both tails."""
    return _between(partial(_laplace_tails, center=center, scale=scale), edges)


def normal_masses(center: float, scale: float, edges: Array) -> Array:
    """Exact masses of a normal law between the edges, and in both tails."""
    return _between(partial(_normal_tails, center=center, scale=scale), edges)


def _between(tails: Callable[[Array], tuple[Array, Array]], edges: Array) -> Array:
    """Differences of the smaller tail on each side, so that small masses keep their digits."""
    below, above = tails(edges)
    inner = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], inner, above[-1:]])


def _laplace_tails(edges: Array, *, center: float, scale: float) -> tuple[Array, Array]:
    z = (edges - center) / scale
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail), np.where(z < 0, 1 - tail, tail)


def _normal_tails(edges: Array, *, center: float, scale: float) -> tuple[Array, Array]:
    z = (edges - center) / scale
    return ndtr(z), ndtr(-z)


def laplace_pair(true: float, cells: int = 2000) -> Masses:
    """A count with Laplace noise of scale 1 / true; also a histogram of which one cell changes."""
    edges = np.linspace(0.0, 1.0, cells)  # the loss is constant outside [0, 1]
    return Masses(*(laplace_masses(center, 1.0 / true, edges) for center in (1.0, 0.0)))


def gaussian_pair(mu: float, cells: int = 800) -> Masses:
    """A count with normal noise of standard deviation 1 / mu, in units of that."""
    edges = mu / 2 + np.linspace(-6.0, 6.0, cells)
    return Masses(*(normal_masses(center, 1.0, edges) for center in (mu, 0.0)))


def two_scales(
    masses: Callable[[float, float, Array], Array],
    x: tuple[float, float],
    x_prime: tuple[float, float],
    cells: int = 400,
) -> Masses:
    """Two laws of one family with (centre, scale) each, on a grid that is fine near the centres."""
    reach = np.geomspace(1e-3, 40.0, cells // 4)
    edges = np.concatenate([c + s * side * reach for c, s in (x, x_prime) for side in (-1.0, 1.0)])
    edges = np.unique(np.concatenate([edges, [x[0], x_prime[0]]]))
    return Masses(*(masses(center, scale, edges) for center, scale in (x, x_prime)))


def laplace_limit(claimed: float, true: float, *, alpha: float, cells: int = 2000) -> float:
    """The limit for a count with sensitivity 1 and Laplace noise of scale 1 / true.

    >>> round(laplace_limit(1.0, 2.0, alpha=0.05), 1)
    33.6
    """
    return law_limit(*laplace_pair(true, cells), tollens.pure(claimed), alpha)
