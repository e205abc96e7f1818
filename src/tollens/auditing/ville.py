"""The trusted core of the audit: why a large wealth refutes a claim.

A bet on one pair of runs is a pair of nonnegative factors, `a` on the cells of X = A(x) and `b`
on the cells of Y = A(x'). A promise is a convex set of pairs (P, Q) of output laws. If

    sum_i P_i a_i + sum_i Q_i b_i <= 2      for every (P, Q) that keeps the promise,        (*)

then `a(X) b(Y)` has expectation at most 1 for independent X and Y (the arithmetic mean bounds
the geometric one). A product of such bets, each fixed before the runs that it scores, is a
nonnegative supermartingale, and so is an average of such products. By Ville's inequality
(1939) the wealth of a gambler against a promise that is kept ever reaches 1/alpha with
probability at most alpha, however often one looks.

Rounds of n independent runs on x and m on x' are scored by `a(X_1)...a(X_n) b(Y_1)...b(Y_m)`,
which is fair where `n sum_i P_i a_i + m sum_i Q_i b_i <= n + m` holds in place of (*), by the
weighted form of the same inequality between means.

`certify` enforces (*): it computes the exact maximum of its left side, by linear-programming
duality, and divides the factors by half of it. Factors from any source become a valid bet here,
so only this module has to be right for the error probability to hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative allowance for floating-point error; certified factors are shrunk by it."""


class Factors(NamedTuple):
    """The two tables of a bet: `a` for the cell of X, `b` for the cell of Y, shapes (..., k)."""

    a: Array
    b: Array


def worst_pure(factors: Factors, epsilon: Array) -> Array:
    """The largest `sum P a + sum Q b` over pairs with P <= e^eps Q and Q <= e^eps P.

    Dual: minimise mu + nu subject to `E a_i + b_i <= E mu + nu` and `a_i + E b_i <= mu + E nu`
    (the rays (E, 1) and (1, E) span the cone of a cell), so with A and B the largest left sides
    the value is (A + B) / (1 + E).

    >>> import numpy as np
    >>> f = Factors(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    >>> worst_pure(f, np.log(3.0)).round(6).item()     # P = (3/4, 1/4), Q = (1/4, 3/4)
    1.5
    """
    e = np.exp(epsilon)[..., None]
    upper = (e * factors.a + factors.b).max(axis=-1)
    lower = (factors.a + e * factors.b).max(axis=-1)
    return np.asarray((upper + lower) / (1.0 + e[..., 0]))


def worst_approx(factors: Factors, epsilon: Array, delta: Array) -> Array:
    """The largest `sum P a + sum Q b` over pairs with P(S) <= e^eps Q(S) + delta for all S.

    Dual: minimise `mu + nu + delta kappa` subject to `a_i - mu <= kappa`, `b_i <= nu` and
    `E a_i + b_i <= E mu + nu`. For a fixed mu the others are explicit; the objective is convex
    and piecewise linear in mu, so its minimum is at one of the two breakpoints.

    >>> import numpy as np
    >>> f = Factors(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    >>> worst_approx(f, np.log(3.0), np.array(0.1)).round(6).item()   # P = (1, 0), Q = (.3, .7)
    1.7
    """
    e = np.exp(epsilon)
    a_max, b_max = factors.a.max(axis=-1), factors.b.max(axis=-1)
    joint = (e[..., None] * factors.a + factors.b).max(axis=-1)

    def dual(mu: Array) -> Array:
        nu = np.maximum(b_max, joint - e * mu)
        return np.asarray(mu + nu + delta * np.maximum(a_max - mu, 0.0))

    return np.minimum(dual((joint - b_max) / e), dual(a_max))


def certify(factors: Factors, worst: Array, total: float = 2.0) -> Factors:
    """Scale factors so that (*) holds, given the exact maximum `worst` of its left side.

    For rounds of n and m runs, `factors` are (n a, m b), `worst` is of those, `total` is n + m.

    >>> import numpy as np
    >>> f = Factors(np.array([4.0, 0.0]), np.array([0.0, 4.0]))
    >>> certify(f, worst_pure(f, np.array(0.0))).a.round(6).tolist()
    [2.0, 0.0]
    """
    scale = total * (1.0 - ROUNDING) / worst[..., None]
    return Factors(factors.a * scale, factors.b * scale)


class Bankroll:
    """The capital of groups of bettors, each group starting with 1; all in natural logs.

    `pay` takes what each bettor of one group earned, pair by pair. The wealth of a group is the
    average over its bettors, weighed by their starting shares; the wealth is the product over
    groups, of which only one bets on any pair, with all of the wealth. It is a nonnegative
    supermartingale under the null. Once it has reached the threshold the claim is refuted.

    >>> import numpy as np
    >>> wealth = Bankroll(np.log([0.5, 0.5]), threshold=np.log(20.0))
    >>> path = wealth.pay(np.log(np.array([[4.0, 4.0, 4.0], [1.0, 1.0, 1.0]])))
    >>> np.exp(path).round(2).tolist(), wealth.crossed_at
    ([2.5, 8.5, 32.5], 3)
    """

    def __init__(self, *groups: Array, threshold: float) -> None:
        """Each group is given by the logs of its bettors' starting shares, which sum to 1."""
        self.threshold = threshold
        self.pairs = 0
        self.crossed_at: int | None = None
        self.crossed_value = -np.inf
        self._paid = False
        self._logs = [np.array(shares, dtype=np.float64) for shares in groups]

    def share_out(self, group: int, log_shares: Array) -> None:
        """Give the bettors of a group other starting shares; only before anything was bet."""
        if self._paid:
            raise AssertionError("shares are fixed before the first bet")
        self._logs[group] = np.array(log_shares, dtype=np.float64)

    @property
    def log_value(self) -> float:
        """The natural logarithm of the wealth now."""
        return sum(self.log_of_group(group) for group in range(len(self._logs)))

    def log_of_group(self, group: int) -> float:
        """The natural logarithm of what one group has made of 1."""
        return float(_log_sum(self._logs[group][:, None])[0])

    def log_shares(self, group: int = 0) -> Array:
        """The log of each bettor's share of the group's wealth now; the shares sum to 1."""
        return self._logs[group] - self.log_of_group(group)

    def pay(self, log_returns: Array, group: int = 0, pairs_a_round: int = 1) -> Array:
        """Add the log returns `(bettors, rounds)` of a block; returns the log wealth after each.

        A round is a pair of runs, or as many runs as `pairs_a_round` pairs have.

        The caller vouches that the bets, and the group that makes them, were fixed before the
        pairs were seen.
        """
        if log_returns.shape[1] == 0:
            return np.zeros(0)
        self._paid = True
        others = self.log_value - self.log_of_group(group)
        steps = self._logs[group][:, None] + np.cumsum(log_returns, axis=1)
        path = others + _log_sum(steps)
        if self.crossed_at is None:
            above = np.flatnonzero(path >= self.threshold)
            if len(above):
                self.crossed_at = self.pairs + (int(above[0]) + 1) * pairs_a_round
                self.crossed_value = float(path[above[0]])
        self.pairs += log_returns.shape[1] * pairs_a_round
        self._logs[group] = steps[:, -1]
        return np.asarray(path)

    def sit_out(self, pairs: int) -> None:
        """Count pairs on which nothing was bet (the burn-in)."""
        self.pairs += pairs


def _log_sum(values: Array) -> Array:
    """log(sum(exp(values))) over the first axis, without overflow."""
    top = values.max(axis=0)
    return np.asarray(top + np.log(np.exp(values - top).sum(axis=0)))
