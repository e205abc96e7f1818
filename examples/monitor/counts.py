"""A mechanism with its promise: what the workflow and the timers of this folder watch."""

import tollens


@tollens.promise("epsilon=1", neighbours=([1, 1, 1], [1, 1]))
@tollens.batched
def noisy_count(rows, n, rng):
    """n noisy counts."""
    return len(rows) + rng.laplace(scale=1.0, size=n)
