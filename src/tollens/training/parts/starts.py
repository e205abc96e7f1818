"""Bets that may start at any step: a fault that appears late is found as well."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class LateStarts:
    """The wealth of bettors of whom a share `1/(t (t + 1))` starts at step t; all in natural logs.

    With e_{t,i} the return of bettor i at step t, of expectation at most 1 given the past, and
    shares v_i that sum to 1, the wealth after T steps is

        sum_{t <= T} 1/(t (t + 1)) sum_i v_i e_{t,i} ... e_{T,i}  +  1/(T + 1),

    the last term being the money of those who have not started. It is a nonnegative
    supermartingale that starts at 1, and it is never lost entirely.

    >>> bets = LateStarts(np.log([0.5, 0.5]))
    >>> bets.pay(np.log([3.0, 1.0]))
    >>> round(math.exp(bets.log_value), 9)          # (3 + 1)/4 + 1/2
    1.5
    """

    def __init__(self, log_shares: Array) -> None:
        self.steps = 0
        self.log_wealth = np.full(len(log_shares), -np.inf)
        self.log_value = 0.0
        """The log of the wealth of all, with what is not yet at stake."""
        self._log_shares = log_shares

    def pay(self, log_returns: Array) -> None:
        """Take the log returns of one step, one for each bettor."""
        self.steps += 1
        start = self._log_shares - math.log(self.steps * (self.steps + 1))
        self.log_wealth = np.logaddexp(self.log_wealth, start) + log_returns
        self.log_value = log_sum(*self.log_wealth.tolist(), -math.log(self.steps + 1))


def log_sum(*logs: float) -> float:
    """log(sum(exp(logs))) of a few numbers, which may be infinite.

    >>> round(math.exp(log_sum(math.log(2.0), -math.inf, math.log(3.0))), 9)
    5.0
    """
    top = max(logs)
    if math.isinf(top):
        return top
    return top + math.log(sum(math.exp(value - top) for value in logs))
