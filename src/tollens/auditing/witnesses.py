"""The witness that a person is shown: the event behind the bettor who earned most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import View
from tollens.auditing.paired import EVENTS, STRENGTHS, Events, LinearBets
from tollens.auditing.product import ProductBets
from tollens.auditing.score import Score
from tollens.claim import Promise
from tollens.outputs import Encoder, Outputs
from tollens.witness import Witness

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    """A witness, the test of outputs behind it, and the score that this cuts, if it cuts one."""

    witness: Witness
    holds: Callable[[Outputs], NDArray[np.bool_]]
    score: Score | None


def event_of(view: View, promise: Promise, encoder: Encoder) -> Shown | None:
    """The cells whose estimated probabilities break `promise`, in the order where they do most.

    None where no cell does.
    """
    p, q = view.laws()
    factor = math.exp(promise.epsilon)
    forward, backward = p > factor * q, q > factor * p
    gains = (
        float((p - factor * q)[forward].sum()) if promise.order >= 0 else -1.0,
        float((q - factor * p)[backward].sum()) if promise.order <= 0 else -1.0,
    )
    if max(gains) <= promise.delta:
        return None
    under_x = gains[0] >= gains[1]
    chosen = _tidy(forward if under_x else backward, view)
    n, m = view.counts_x.sum(), view.counts_y.sum()
    witness = Witness(
        text=view.cells.describe(chosen, encoder),
        likely_under="x" if under_x else "x_prime",
        frequency_x=float(view.counts_x[chosen].sum() / n),
        frequency_x_prime=float(view.counts_y[chosen].sum() / m),
        epsilon=promise.epsilon,
        delta=promise.delta,
    )
    return Shown(witness, lambda outputs: chosen[view.cells.index(outputs)], view.cells.score)


def _tidy(chosen: NDArray[np.bool_], view: View) -> NDArray[np.bool_]:
    """Without cells that nothing has fallen into, unless none is left."""
    seen = chosen & (view.counts_x + view.counts_y > 0)
    return seen if seen.any() else chosen


def product_witness(product: ProductBets, log_shares: Array, encoder: Encoder) -> Shown | None:
    """The event of the richest product bettor, among those whose cells a person can read."""
    experts = product.experts
    if experts is None:
        return None
    smooth = np.array(
        [experts.views[v].smoothing.style != "counted" for v in experts.slots.tolist()]
    )
    order = np.lexsort((-log_shares[:-1], smooth.repeat(len(product.promises))))
    for bettor in order.tolist():
        slot, promise = divmod(bettor, len(product.promises))
        view = experts.views[int(experts.slots[slot])]
        found = event_of(view, product.promises[promise], encoder)
        if found is not None:
            return found
    return None


def linear_witness(linear: LinearBets, log_shares: Array, encoder: Encoder) -> Shown | None:
    """The event of the richest linear bettor of a fixed strength."""
    events = linear.events
    if events is None:
        return None
    grid = log_shares[: linear.assets * len(STRENGTHS)].reshape(linear.assets, len(STRENGTHS))
    for asset in np.argsort(-grid.max(axis=1), kind="stable").tolist():
        which, event = divmod(asset, EVENTS)
        direction = linear.directions[which]
        p, q = linear.frequencies(event)
        likely, other = (q, p) if direction.swapped else (p, q)
        if likely > direction.ratio * other + direction.delta:
            witness = Witness(
                text=events.describe(event, encoder),
                likely_under="x_prime" if direction.swapped else "x",
                frequency_x=p,
                frequency_x_prime=q,
                epsilon=math.log(direction.ratio),
                delta=direction.delta,
            )
            holds = partial(_in_event, events, event)
            return Shown(witness, holds, events.score_of(event))
    return None


def _in_event(events: Events, event: int, outputs: Outputs) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = events.of(outputs)[event]
    return inside
