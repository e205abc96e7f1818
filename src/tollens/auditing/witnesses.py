"""The witness that a person is shown: the event behind the bettor who earned most."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tollens.auditing.experts import View
from tollens.claim import Promise
from tollens.outputs import Encoder
from tollens.witness import Witness


def event_of(view: View, promise: Promise, encoder: Encoder) -> Witness | None:
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
    return Witness(
        text=view.cells.describe(chosen, encoder),
        likely_under="x" if under_x else "x_prime",
        frequency_x=float(view.counts_x[chosen].sum() / n),
        frequency_x_prime=float(view.counts_y[chosen].sum() / m),
        epsilon=promise.epsilon,
        delta=promise.delta,
    )


def _tidy(chosen: NDArray[np.bool_], view: View) -> NDArray[np.bool_]:
    """Without cells that nothing has fallen into, unless none is left."""
    seen = chosen & (view.counts_x + view.counts_y > 0)
    return seen if seen.any() else chosen
