"""The Brownian monitor: chosen events, a known horizon, and a level that holds for many runs.

Each step runs the current version n times on x and on x'. For an event E with counts X and Y and
an inequality P(E) <= e^eps P'(E) + delta,

    p_t = (X - e^eps Y)/n - delta
    s_t^2 = X/n^2 (1 - X/n) + e^(2 eps) Y/n^2 (1 - Y/n),    s~_t = max(s_t, c_n)
    D(tau) = max over 0 <= l < tau of (l+1)^-beta T^-(1/2-beta) sum_(t=tau-l..tau) p_t/s~_t

and the alarm is the first tau with D(tau) > q(alpha/m; beta, T), m the number of events
("Monitoring Violations of Differential Privacy over Time"). Everything here is a pure function
with an explicit state of O(T) numbers an event.

**The floor.** c_n must be o(n^(-1/2)); here it is 1/n, the standard deviation of a single hit.
Any smaller floor gives the same monitor, for a ratio with no hit at all is 0.

**The level is asymptotic in n.** With rare events the ratio is biased upward and a tight, correct
mechanism is called broken; `small_counts.warnings` says when. `method="exact"` has no such limit.

**Claims that are many inequalities** (Gaussian, zCDP, Rényi) are tested by one statistic an
event: `choose` takes the inequality of step t from steps before t only. Given the past it is
fixed, so the mean of p_t is at most 0 whichever it is, and the ratios, less their means, are
martingale differences whose conditional law tends to N(0, 1) for n to infinity, uniformly over
the finitely many inequalities. The ratios of T steps therefore tend jointly to independent
normals with means of at most 0, D to at most the largest window of a normal walk, and the
level is kept without a union over the inequalities.

**Direction.** Events are tested for being too likely on x, as given. A claim that binds both
orders is not tested in the other one: watch the swapped pair, or the complement, for that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tollens.contract import Json, Promise
from tollens.errors import UsageError
from tollens.monitoring.brownian.quantiles import Quantile, quantile
from tollens.serial import number_from_json, whole_from_json

Array = NDArray[np.float64]
Steps = NDArray[np.intp]

GUESS = 0.1
"""P'(E) before anything was seen: the first inequality is the tightest one there."""


@dataclass(frozen=True, slots=True)
class BrownianState:
    """What the monitor remembers: O(steps so far) numbers an event.

    `sums` are the cumulative sums of ratios of each event, starting with 0; `hits` and
    `hits_prime` the hits on x and x' of all steps so far, `runs` the runs on each side.
    """

    events: tuple[str, ...]
    horizon: int
    beta: float
    sums: tuple[tuple[float, ...], ...]
    hits: tuple[int, ...]
    hits_prime: tuple[int, ...]
    runs: int

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.sums[0]) - 1

    def to_json(self) -> Json:
        """A plain dictionary."""
        return {
            "events": list(self.events),
            "horizon": self.horizon,
            "beta": self.beta,
            "sums": [list(sums) for sums in self.sums],
            "hits": list(self.hits),
            "hits_prime": list(self.hits_prime),
            "runs": self.runs,
        }

    @classmethod
    def from_json(cls, data: object) -> BrownianState:
        """The state of `to_json`; `UsageError` if it is none.

        >>> state = begin(["E"], 100)
        >>> BrownianState.from_json(state.to_json()) == state
        True
        """
        try:
            if not isinstance(data, dict):
                raise TypeError
            whole = {
                key: tuple(whole_from_json(each, f"state.{key}") for each in data[key])
                for key in ("hits", "hits_prime")
            }
            state = cls(
                events=tuple(str(each) for each in data["events"]),
                horizon=whole_from_json(data["horizon"], "state.horizon"),
                beta=number_from_json(data["beta"], "state.beta"),
                sums=tuple(
                    tuple(number_from_json(each, "state.sums") for each in sums)
                    for sums in data["sums"]
                ),
                runs=whole_from_json(data["runs"], "state.runs"),
                **whole,
            )
        except (KeyError, TypeError):
            raise UsageError("this is not the state of a Brownian monitor") from None
        lengths = {len(sums) for sums in state.sums}
        columns = {len(each) for each in (state.events, state.sums, state.hits, state.hits_prime)}
        if len(lengths) != 1 or len(columns) != 1 or not 0 < min(lengths) <= state.horizon + 1:
            raise UsageError("the state of a Brownian monitor has columns of unequal length")
        if not all(math.isfinite(number) for sums in state.sums for number in sums):
            raise UsageError("the state of a Brownian monitor has sums that are not finite")
        return state


@dataclass(frozen=True, slots=True)
class Reading:
    """What one step showed for each event, in the order of the state's events.

    `statistics` are D(tau), `starts` the steps (from 1) at which the windows that reach them
    begin, `ratios` those of this step, `promises` the inequalities tested in it.
    """

    statistics: tuple[float, ...]
    starts: tuple[int, ...]
    ratios: tuple[float, ...]
    promises: tuple[Promise, ...]

    def exceeding(self, threshold: Quantile) -> tuple[int, ...]:
        """The places of the events whose statistic is above the threshold: an alarm if any."""
        return tuple(i for i, found in enumerate(self.statistics) if found > threshold.upper)


def default_floor(n: int) -> float:
    """c_n = 1/n, the standard deviation of one hit in n runs.

    >>> default_floor(750) < 750**-0.5
    True
    """
    return 1.0 / n


def ratios(
    counts: object,
    counts_prime: object,
    n: int,
    epsilon: float | Array,
    delta: float | Array = 0.0,
    floor: float | None = None,
) -> Array:
    """p/s~ of counts on x and on x', any shapes that broadcast with epsilon and delta.

    >>> ratios([400, 1, 0], [100, 0, 0], 750, 1.0).round(3).tolist()
    [4.457, 1.0, 0.0]
    """
    p = np.asarray(counts, dtype=np.float64) / n
    q = np.asarray(counts_prime, dtype=np.float64) / n
    factor = np.exp(epsilon)
    excess = p - factor * q - delta
    variance = p * (1 - p) / n + factor**2 * q * (1 - q) / n
    deviation = np.maximum(np.sqrt(variance), default_floor(n) if floor is None else floor)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(excess == 0, 0.0, excess / deviation)


def begin(events: Sequence[str], horizon: int, beta: float = 0.25) -> BrownianState:
    """The state before the first of `horizon` steps.

    >>> begin(["first", "second"], 100).steps
    0
    """
    findings = []
    if not events:
        findings.append("no event to watch; name at least one")
    if len(set(events)) != len(events):
        findings.append("two events have the same name")
    if horizon < 1:
        findings.append(f"horizon is {horizon}; use at least 1 step")
    if not 0 <= beta < 0.5:
        findings.append(f"beta is {beta}; it must lie in [0, 0.5)")
    if findings:
        raise UsageError(findings)
    zeros = (0,) * len(events)
    return BrownianState(tuple(events), horizon, beta, ((0.0,),) * len(events), zeros, zeros, 0)


def threshold(
    alpha: float, events: int, *, beta: float, horizon: int, cache: Path | None = None
) -> Quantile:
    """q(alpha/m; beta, T) for m events; compare with its `upper`.

    >>> round(threshold(0.05, 4, beta=0.25, horizon=100).value, 1)
    2.9
    """
    return quantile(alpha / max(events, 1), beta=beta, horizon=horizon, cache=cache)


def advance(state: BrownianState, step: Array) -> tuple[BrownianState, Array, Steps]:
    """Take the ratios of one step, one an event: the new state, D(tau), starts of the windows.

    O(steps so far) an event. The hits of the state are left to `take`.

    >>> state, statistics, starts = advance(begin(["E"], 4), np.array([-1.0]))
    >>> state, statistics, starts = advance(state, np.array([2.0]))
    >>> statistics.round(4).tolist(), starts.tolist()
    ([1.4142], [2])
    """
    if state.steps >= state.horizon:
        raise UsageError(
            f"the horizon of {state.horizon} steps is used up: the false alarm probability was "
            'for these steps. Open a new series, with an alpha of its own, or use method="exact", '
            "which needs no horizon"
        )
    if np.shape(step) != (len(state.events),) or not np.all(np.isfinite(step)):
        raise UsageError(f"expected {len(state.events)} finite ratios, one an event")
    past = np.array(state.sums)
    now = past[:, -1] + step
    lengths = np.arange(past.shape[1], 0, -1)
    windows = (now[:, None] - past) * lengths**-state.beta
    best = windows.argmax(axis=1)
    scale = math.pow(state.horizon, state.beta - 0.5)
    statistics = windows[np.arange(len(best)), best] * scale
    sums = tuple((*old, new) for old, new in zip(state.sums, now.tolist(), strict=True))
    return replace(state, sums=sums), statistics, best + 1


def restarted(state: BrownianState) -> BrownianState:
    """The state after an acknowledged alarm: no window gains by beginning before this step.

    All sums are put to their last value. The horizon goes on: the windows that are left are
    some of those that alpha was spent on, so the rest of the horizon needs no more of it.

    >>> state, _, _ = advance(begin(["E"], 4), np.array([5.0]))
    >>> state, statistics, starts = advance(restarted(state), np.array([2.0]))
    >>> statistics.round(4).tolist(), starts.tolist()
    ([1.4142], [2])
    """
    return replace(state, sums=tuple((sums[-1],) * len(sums) for sums in state.sums))


def choose(state: BrownianState, promises: Sequence[Promise]) -> tuple[Promise, ...]:
    """The inequality that the next step tests for each event, from past steps only.

    It is the one with the largest studentised excess on the hits so far; before any, the one
    that is tightest at P'(E) = 0.1. Inequalities of the other order are left out.

    >>> import tollens
    >>> promises = tollens.gaussian(1).promises()
    >>> choose(begin(["E"], 10), promises)[0].order
    1
    """
    usable = [promise for promise in promises if promise.order >= 0]
    if not usable:
        raise UsageError("the claim has no inequality in the order x over x'; swap the pair")
    epsilon = np.array([promise.epsilon for promise in usable])
    delta = np.array([promise.delta for promise in usable])
    if state.runs == 0:
        best = int(np.argmin(np.exp(epsilon) * GUESS + delta))
        return (usable[best],) * len(state.events)
    excess = ratios(
        np.array(state.hits)[:, None],
        np.array(state.hits_prime)[:, None],
        state.runs,
        epsilon,
        delta,
    )
    return tuple(usable[best] for best in excess.argmax(axis=1).tolist())


def take(
    state: BrownianState,
    counts: Mapping[str, tuple[int, int]],
    n: int,
    promises: Sequence[Promise],
    floor: float | None = None,
) -> tuple[BrownianState, Reading]:
    """One step: counts (on x, on x') of n runs for every event; the new state, what it showed.

    Raises `UsageError` with all findings where the counts do not fit.

    >>> import tollens
    >>> state = begin(["E"], 100)
    >>> for _ in range(3):
    ...     state, reading = take(state, {"E": (300, 60)}, 750, tollens.pure(1).promises())
    >>> state.steps, reading.starts, reading.exceeding(threshold(0.05, 1, beta=0.25, horizon=100))
    (3, (1,), (0,))
    """
    _check(state, counts, n)
    tested = choose(state, promises)
    hits = np.array([counts[event][0] for event in state.events])
    hits_prime = np.array([counts[event][1] for event in state.events])
    epsilon = np.array([promise.epsilon for promise in tested])
    delta = np.array([promise.delta for promise in tested])
    step = ratios(hits, hits_prime, n, epsilon, delta, floor)
    state, statistics, starts = advance(state, step)
    state = replace(
        state,
        hits=tuple((np.array(state.hits) + hits).tolist()),
        hits_prime=tuple((np.array(state.hits_prime) + hits_prime).tolist()),
        runs=state.runs + n,
    )
    return state, Reading(
        tuple(statistics.tolist()), tuple(starts.tolist()), tuple(step.tolist()), tested
    )


def _check(state: BrownianState, counts: Mapping[str, tuple[int, int]], n: int) -> None:
    findings = [
        f"no counts for the event {event!r}" for event in state.events if event not in counts
    ]
    findings += [
        f"{event!r} is not one of the events watched" for event in set(counts) - set(state.events)
    ]
    if n < 1:
        findings.append(f"n is {n}; use at least 1 run on each side")
    findings += [
        f"the event {event!r} has {count} hits in {n} runs; a count lies between 0 and n"
        for event, both in counts.items()
        for count in both
        if not 0 <= count <= n
    ]
    if findings:
        raise UsageError(findings)
