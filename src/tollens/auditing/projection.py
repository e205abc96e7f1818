"""The projection bet: from an estimated pair of laws to a bet against a promise.

Let `(p, q)` be any two probability vectors on k cells and `(p0, q0)` the point of the null
hypothesis that minimises `KL(p || p') + KL(q || q')`. The null is convex in the pair, so the
first-order condition of that minimum reads

    sum_i p'_i p_i/p0_i + sum_i q'_i q_i/q0_i <= 2        for every (p', q') in the null.   (*)

The factors `a = p/p0` and `b = q/q0` are therefore a fair bet: `a(X) * b(Y)` has expectation at
most 1 under the null for independent X and Y, and it grows by `KL(p||p0) + KL(q||q0)` a pair,
the largest growth there is, where (p, q) are the truth.

Nothing here is trusted. Whatever factors this module proposes, `tollens.auditing.ville.certify`
computes the exact maximum of the left side of (*) and divides by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.ville import Factors

Array = NDArray[np.float64]

_STEPS = 14
_CLOSE = 1e-11
"""The pure projection ends with a step shorter than this."""

_NEWTON_STEPS = 24
_ENOUGH = 1e-4
_BINARY_BISECTIONS = 30


def project_pure(p: Array, q: Array, epsilon: Array, steps: int = _STEPS) -> Factors:
    """Project on the pure promise, both orders at once.

    Shapes: `p` and `q` are `(..., k)` with positive sums, `epsilon` broadcasts against `(...)`.
    Sums other than 1 weigh the sides, for rounds of unequal numbers of runs.

    With `nu = 2 - mu` and `E = e^epsilon` the stationary point is piecewise: cells where
    `p nu > E q mu` are tied as `p0 = E q0`, cells where `q mu > E p nu` as `q0 = E p0`, and the
    others are scaled. The one unknown `mu` in (0, 2) makes both sums equal; their difference is
    nonincreasing in `mu`. Newton's method on it, times `mu nu` so that it stays finite at the ends,
    takes `steps` at most; a step that leaves what is known of the root becomes a bisection.

    >>> import numpy as np
    >>> f = project_pure(np.array([0.9, 0.1]), np.array([0.1, 0.9]), np.array(0.0))
    >>> f.a.round(3).tolist(), f.b.round(3).tolist()
    ([1.8, 0.2], [0.2, 1.8])
    """
    e = np.exp(np.asarray(epsilon, dtype=np.float64))
    sums = _Sums.of(p, q)
    low = np.zeros(np.broadcast_shapes(p.shape[:-1], e.shape))
    high, mu = low + 2.0, low + 1.0
    for _ in range(steps):
        gap, slope = sums.gap(mu, e)
        above = gap > 0
        low, high = np.where(above, mu, low), np.where(above, high, mu)
        both = mu * (2.0 - mu)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = mu + gap * both / (slope * both - 2.0 * gap * (1.0 - mu))
        new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
        new = np.clip(np.where(gap == 0, mu, new), 1e-12, 2.0 - 1e-12)
        moved, mu = np.abs(new - mu), new
        if (moved < _CLOSE).all():
            break
    return _stationary(p, q, e[..., None], mu[..., None])


def _stationary(p: Array, q: Array, e: Array, mu: Array) -> Factors:
    """The factors at the stationary point of mu; shapes (..., k), (..., k), (..., 1), (..., 1)."""
    nu, total = 2.0 - mu, p + q
    upper, lower = p * nu > e * q * mu, q * mu > e * p * nu
    top, bottom = 1.0 / (mu * e + nu), 1.0 / (mu + nu * e)
    p0 = np.where(upper, e * top * total, np.where(lower, bottom * total, p / mu))
    q0 = np.where(upper, top * total, np.where(lower, e * bottom * total, q / nu))
    return Factors(_ratio(p, p0), _ratio(q, q0))


class _Sums(NamedTuple):
    """Sums of p0 - q0 over all cells, as a function of mu.

    Which cells are tied depends on `p/q` alone: those above `E mu/nu` and those below
    `mu/(E nu)`. With the cells in this order (`ratio`, (..., k)) their sums are differences of
    `sums` (rows x (k + 1), 2), which has those of p and q over the first cells of each row;
    `row` says where a row begins and `total` (..., 2) what it comes to.
    """

    ratio: Array
    sums: Array
    row: NDArray[np.intp]
    total: Array

    @staticmethod
    def of(p: Array, q: Array) -> _Sums:
        """Shapes: p and q (..., k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = p / q  # of an empty cell NaN, which comes last and adds nothing
        order = np.argsort(ratio, axis=-1)
        sums = np.zeros((*ratio.shape[:-1], ratio.shape[-1] + 1, 2))
        for side, masses in enumerate((p, q)):
            np.cumsum(np.take_along_axis(masses, order, -1), axis=-1, out=sums[..., 1:, side])
        starts = np.arange(0, sums.size // 2, sums.shape[-2]).reshape(ratio.shape[:-1])
        ordered = np.take_along_axis(ratio, order, -1)
        return _Sums(ordered, sums.reshape(-1, 2), starts, sums[..., -1, :])

    def gap(self, mu: Array, e: Array) -> tuple[Array, Array]:
        """The sum of p0 - q0 at mu, and how fast it falls with mu; shapes (...)."""
        nu = 2.0 - mu
        bounds = np.stack([mu / (nu * e), mu * e / nu])
        first = (self.ratio < bounds[..., None]).sum(axis=-1) + self.row
        lower, reached = self.sums[first]
        free, upper = reached - lower, self.total - reached
        top, bottom = (e - 1.0) / (mu * e + nu), (e - 1.0) / (mu + nu * e)
        more, less = upper.sum(axis=-1) * top, lower.sum(axis=-1) * bottom
        free_p, free_q = free[..., 0] / mu, free[..., 1] / nu
        slope = more * top + less * bottom + free_p / mu + free_q / nu
        return more - less + free_p - free_q, slope


def project_approx(
    p: Array, q: Array, epsilon: Array, delta: Array, steps: int = _NEWTON_STEPS
) -> Factors:
    """Project on the (epsilon, delta) promise in the order P(S) <= e^epsilon Q(S) + delta.

    Shapes as in `project_pure`; `delta` broadcasts like `epsilon`.

    The factors are `a = mu + l` and `b = nu - E l` with
    `l_i = clip((p_i nu - E q_i mu) / (E (p_i + q_i)), 0, kappa)` and
    `mu + nu + kappa delta = 2`. The two unknowns maximise the concave growth rate
    `sum p log a + sum q log b`; a damped Newton iteration finds them.

    >>> import numpy as np
    >>> f = project_approx(
    ...     np.array([0.9, 0.1]), np.array([0.1, 0.9]), np.array(1.0), np.array(0.2))
    >>> bool(0.9 * np.log(f.a[0]) + 0.1 * np.log(f.a[1]) > 0)
    True
    """
    e = np.exp(np.asarray(epsilon, dtype=np.float64))
    delta = np.asarray(delta, dtype=np.float64)
    shape = np.broadcast_shapes(p.shape[:-1], e.shape, delta.shape)
    e, delta = np.broadcast_to(e, shape), np.broadcast_to(delta, shape)
    flat = (int(np.prod(shape)), p.shape[-1])
    state = _Approx(
        np.broadcast_to(p, (*shape, p.shape[-1])).reshape(flat),
        np.broadcast_to(q, (*shape, p.shape[-1])).reshape(flat),
        e.reshape(-1, 1),
        delta.reshape(-1),
    )
    mu = np.ones(flat[0])
    kappa = np.minimum(1.0, 0.5 / np.maximum(state.delta, 1e-300))
    _climb(state, mu, kappa, steps)
    a, b, _ = state.factors(mu, kappa)
    return Factors(a.reshape(*shape, -1), b.reshape(*shape, -1))


def _climb(state: _Approx, mu: Array, kappa: Array, steps: int) -> None:
    """Damped Newton ascent in place; rows that have converged drop out."""
    p = state.p / state.p.sum(axis=-1, keepdims=True)
    q = state.q / state.q.sum(axis=-1, keepdims=True)
    kept = np.maximum(p - state.e * q, 0.0).sum(axis=-1) <= state.delta
    kappa[kept] = 0.0  # the promise allows these laws: no bet
    rows = np.flatnonzero(~kept)
    value = state.growth(mu, kappa)
    damping = np.full(len(mu), 1e-9)
    for _ in range(steps):
        if len(rows) == 0:
            return
        part = state.rows(rows)
        at_mu, at_kappa, at_value = mu[rows], kappa[rows], value[rows]
        d_mu, d_kappa = part.newton(at_mu, at_kappa, damping[rows])
        best_mu, best_kappa, best = at_mu, at_kappa, at_value
        for shrink in (1.0, 0.3, 0.05):
            trial_mu = np.maximum(at_mu + shrink * d_mu, 0.05 * at_mu)
            trial_kappa = np.maximum(at_kappa + shrink * d_kappa, 0.0)
            trial = part.growth(trial_mu, trial_kappa)
            better = trial > best
            best_mu = np.where(better, trial_mu, best_mu)
            best_kappa = np.where(better, trial_kappa, best_kappa)
            best = np.where(better, trial, best)
            if (best > at_value).all():
                break
        gain = best - at_value
        mu[rows], kappa[rows], value[rows] = best_mu, best_kappa, best
        failed = gain <= 0
        damping[rows] = np.where(failed, damping[rows] * 1e3 + 1e-4, damping[rows] * 0.1)
        done = np.where(failed, damping[rows] > 1e3, gain < _ENOUGH * np.maximum(best, 1e-6))
        rows = rows[~done]


class _Approx:
    """The growth rates of (epsilon, delta) bets as functions of (mu, kappa).

    Shapes: `p` and `q` (n, k), `e` (n, 1), `delta`, `mu` and `kappa` (n,).
    """

    def __init__(self, p: Array, q: Array, e: Array, delta: Array) -> None:
        self.p, self.q, self.e, self.delta = p, q, e, delta
        self.total = np.maximum(p + q, 1e-300)

    def rows(self, index: NDArray[np.intp]) -> _Approx:
        """The problems of some rows only."""
        return _Approx(self.p[index], self.q[index], self.e[index], self.delta[index])

    def factors(self, mu: Array, kappa: Array) -> tuple[Array, Array, Array]:
        nu = np.maximum(2.0 - mu - kappa * self.delta, 1e-12)[..., None]
        m, k = mu[..., None], kappa[..., None]
        raw = (self.p * nu - self.e * self.q * m) / (self.e * self.total)
        tie = np.clip(raw, 0.0, k)
        a = m + tie
        b = np.maximum(nu - self.e * tie, 1e-300)
        return a, b, raw

    def growth(self, mu: Array, kappa: Array) -> Array:
        feasible = (mu > 0) & (2.0 - mu - kappa * self.delta > 1e-12)
        a, b, _ = self.factors(np.where(feasible, mu, 1.0), np.where(feasible, kappa, 0.0))
        value = (self.p * np.log(a) + self.q * np.log(b)).sum(axis=-1)
        return np.where(feasible, value, -np.inf)

    def newton(self, mu: Array, kappa: Array, damping: Array) -> tuple[Array, Array]:
        a, b, raw = self.factors(mu, kappa)
        capped = raw >= kappa[..., None]
        inner = (raw > 0) & ~capped
        pa, qb = self.p / a, self.q / b
        paa, qbb = pa / a, qb / b
        d = self.delta
        sq = qb.sum(-1)
        g_mu = pa.sum(-1) - sq
        g_kappa = np.where(capped, pa - self.e * qb, 0.0).sum(-1) - d * sq
        # Second derivatives of  sum p log a + sum q log b; inside ties the best l is eliminated.
        e = self.e
        schur = np.where(inner, paa + e * e * qbb, 1.0)
        # derivatives of (a, b) along mu and kappa with l fixed:  a: 1, 0   b: -1, -d
        cross_mu = np.where(inner, -(paa + e * qbb), 0.0)
        cross_kappa = np.where(inner, -(e * qbb) * d[..., None], 0.0)
        # capped cells: a: 1, 1   b: -1, -d - e
        ak = np.where(capped, 1.0, 0.0)
        bk = -d[..., None] - np.where(capped, e, 0.0)
        h_mm = -(paa + qbb) + cross_mu**2 / schur
        h_mk = -(paa * ak - qbb * bk) + cross_mu * cross_kappa / schur
        h_kk = -(paa * ak**2 + qbb * bk**2) + cross_kappa**2 / schur
        h_mm, h_mk, h_kk = h_mm.sum(-1) - damping, h_mk.sum(-1), h_kk.sum(-1) - damping
        free = (kappa > 0) | (g_kappa > 0)
        det = h_mm * h_kk - h_mk**2
        ok = free & (det > 1e-300)
        det = np.where(ok, det, 1.0)
        d_mu = np.where(ok, -(h_kk * g_mu - h_mk * g_kappa) / det, -g_mu / h_mm)
        d_kappa = np.where(ok, -(h_mm * g_kappa - h_mk * g_mu) / det, 0.0)
        return d_mu, d_kappa


def _ratio(p: Array, p0: Array) -> Array:
    return np.divide(p, p0, out=np.ones(np.broadcast_shapes(p.shape, p0.shape)), where=p0 > 0)


def project_binary(p: Array, q: Array, epsilon: Array, delta: Array) -> Factors:
    """`project_approx` for two cells, in one order: a single root instead of two unknowns.

    `p` and `q` are the probabilities of the first cell, any shape; the factors have a last axis
    of 2. Where the promise is broken the minimum lies on the line p' = E q' + delta of the event
    that breaks it (one cell or the other), at the root of an increasing derivative.

    >>> import numpy as np
    >>> f = project_binary(np.array(0.9), np.array(0.1), np.array(0.0), np.array(0.0))
    >>> f.a.round(3).tolist(), f.b.round(3).tolist()
    ([1.8, 0.2], [0.2, 1.8])
    """
    e = np.exp(epsilon)
    first, second = p > e * q + delta, 1 - p > e * (1 - q) + delta
    event_p, event_q = np.where(second, 1 - p, p), np.where(second, 1 - q, q)
    low, high = np.zeros(first.shape), np.broadcast_to((1 - delta) / e, first.shape)
    for _ in range(_BINARY_BISECTIONS):
        root = (low + high) / 2
        on_line = e * root + delta
        slope = e * ((1 - event_p) / (1 - on_line) - event_p / on_line)
        slope += (1 - event_q) / (1 - root) - event_q / root
        low, high = np.where(slope < 0, root, low), np.where(slope < 0, high, root)
    root = (low + high) / 2
    on_line = e * root + delta
    broken = first | second
    a = [event_p / on_line, (1 - event_p) / (1 - on_line)]
    b = [event_q / root, (1 - event_q) / (1 - root)]
    return Factors(*(_two_cells(pair, broken, second) for pair in (a, b)))


def _two_cells(pair: list[Array], broken: NDArray[np.bool_], swapped: NDArray[np.bool_]) -> Array:
    event, other = (np.where(broken, factor, 1.0) for factor in pair)
    return np.stack([np.where(swapped, other, event), np.where(swapped, event, other)], axis=-1)
