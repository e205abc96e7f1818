"""When it broke: the likely step, and a set of steps around it.

**From counts.** Where the same cells were counted over many steps, the counts from step j on have
a largest log likelihood ratio against the claim, N_j (KL(p_j || p0) + KL(q_j || q0)) with the
projection (p0, q0) of their frequencies on the claim. Steps before the break dilute it and steps
left out are missing from it: the likely step has the largest.

**From evidence**, where cells changed too often or do not see the break. Evidence that starts at
step j is S_j = log of the average over tracks of prod_{s >= j} E_s. Before the break the mean of
its increments is at most 0 and after it some g > 0, so the likely step is that of a shift of the
mean (Page 1954; Siegmund 1985): the one with the largest

    L_j = S_j^2 / (4 g m_j),    m_j steps from j to the last, S_j > 0, g = S_j/m_j at the largest,

the log likelihood ratio of a shift in increments of mean g and variance 2 g, which is what the log
of a likelihood ratio has.

In both cases the set holds every j within log(1/alpha) of the largest. That the break was no
later than the alarm is certified with error alpha; the rest is a likelihood statement, no
certificate: a break may begin too small to be seen, and bets need time to learn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import SMOOTHING, bets
from tollens.claim import Promise
from tollens.monitoring.detectors import Location

Array = NDArray[np.float64]


def locate(tracks: Array, *, alpha: float) -> Location:
    """Where evidence begins; `tracks` (steps, tracks) holds the log e-values of every step.

    >>> quiet, loud = np.full((6, 1), 0.1), np.full((3, 1), 9.0)
    >>> locate(np.concatenate([quiet, loud]), alpha=0.05)
    Location(likely=6, earliest=4, latest=7)
    """
    from_j = np.cumsum(tracks[::-1], axis=0)[::-1]
    top = from_j.max(axis=1, keepdims=True)
    evidence = np.maximum(top[:, 0] + np.log(np.exp(from_j - top).mean(axis=1)), 0.0)
    steps = np.arange(len(evidence), 0, -1.0)
    shift = evidence**2 / steps
    likely = int(np.flatnonzero(shift >= shift.max() * (1 - 1e-12))[-1])
    rate = max(evidence[likely] / steps[likely], 1e-9)
    inside = np.flatnonzero(shift / (4 * rate) >= shift[likely] / (4 * rate) + math.log(alpha))
    return Location(likely, int(inside[0]), int(inside[-1]))


class Found(NamedTuple):
    """A location and the log likelihood ratio behind it, less its number of free parameters."""

    location: Location
    worth: float


def locate_counts(x: Array, y: Array, promises: Sequence[Promise], *, alpha: float) -> Found:
    """Where counts (steps, cells) of both sides begin to break the promises.

    >>> x = np.array([[300.0, 700.0]] * 5 + [[700.0, 300.0]] * 3)
    >>> y = np.full((8, 2), 300.0) + [0.0, 400.0]
    >>> from tollens.claim import pure
    >>> locate_counts(x, y, pure(0.5).promises(), alpha=0.05).location
    Location(likely=5, earliest=5, latest=5)
    """
    from_x, from_y = (np.cumsum(side[::-1], axis=0)[::-1] for side in (x, y))
    p, q = from_x + SMOOTHING, from_y + SMOOTHING
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    made = bets(p, q, np.ones(p.shape, dtype=bool), promises, quick=True)
    gained = (np.log(made.a) @ from_x[:, :, None] + np.log(made.b) @ from_y[:, :, None])[..., 0]
    ratio = gained.max(axis=1)
    likely = int(np.flatnonzero(ratio >= ratio.max() - 1e-9)[-1])
    inside = np.flatnonzero(ratio >= ratio[likely] + math.log(alpha))
    used = int(np.count_nonzero((from_x + from_y)[likely]))
    place = Location(likely, int(inside[0]), int(inside[-1]))
    return Found(place, float(ratio[likely]) - (used - 1))
