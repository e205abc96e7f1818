"""When did it break: prior weights of the steps, by which the error of a whole life is shared."""

from __future__ import annotations

import math

from tollens.errors import UsageError

ARL = "arl"
"""The horizon text of a series that prefers a long average time to a false alarm."""

Horizon = int | str | None
"""A number of steps, None for an unknown one, or `ARL`."""


def log_weight(step: int, horizon: Horizon) -> float:
    """The log of the prior weight of a break at this step, counted from 1.

    * a known horizon T: 1/T each, and nothing after T;
    * no horizon: 1/(t (t + 1)), which sums to 1 over all t;
    * "arl": 1 each. Then the level is no probability: the average number of steps to a false
      alarm is at least 1/alpha, forever (Shiryaev 1963, Roberts 1966; Shin, Ramdas, Rinaldo 2024).

    >>> [round(math.exp(log_weight(3, horizon)), 4) for horizon in (None, 100, "arl")]
    [0.0833, 0.01, 1.0]
    >>> log_weight(101, 100)
    -inf
    """
    if horizon == ARL:
        return 0.0
    if isinstance(horizon, int):
        return -math.log(horizon) if step <= horizon else -math.inf
    return -math.log(step) - math.log(step + 1)


def checked_horizon(horizon: object) -> Horizon:
    """A horizon that can be used, or `UsageError`."""
    if horizon is None or horizon == ARL:
        return horizon
    if isinstance(horizon, int) and horizon >= 2**63:
        raise UsageError("horizon is too large; give none where the number of steps is not known")
    if isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1:
        raise UsageError(
            f'horizon is {horizon!r}; give the number of steps, none if it is not known, or "arl" '
            "for an average time to a false alarm of 1/alpha steps"
        )
    return horizon
