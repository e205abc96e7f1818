"""Truths of sparse vector techniques that answer with numbers."""

from __future__ import annotations

import itertools
import math

from tollens.claim import pure
from tollens.zoo.law import Array
from tollens.zoo.programs import sparse_values
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.noises import Noise, integral
from tollens.zoo.programs.suite.pairs import all_change, all_raised, last_swapped
from tollens.zoo.programs.suite.thresholds import Comparison

_PROOF = "private by proof; the largest loss of an output, by quadrature"
_GAPS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_RHO, _CLOSER, _CHEAP = Noise("laplace", 2), Noise("laplace", 4), Noise("laplace", 8)


def _adaptive_density(data: list[int], k: int, noise: Noise | None, g: float) -> float:
    """k zeros, then nothing more, or the gap g after a look with the noise of scale 8 or 4."""

    def integrand(r: Array) -> Array:
        value = _RHO.density(r)
        for query in data[:k]:
            value = value * _CHEAP.cdf(r + sparse_values.FAR - query) * _CLOSER.cdf(r - query)
        if noise is not None:
            value = value * noise.density(g + r - data[k])
        if noise is _CLOSER:
            value = value * _CHEAP.cdf(r + sparse_values.FAR - data[k])
        return value

    far = [query - sparse_values.FAR for query in data]
    return integral(integrand, _RHO.reach, [*data, *far, *(query - g for query in data)])


def _adaptive_loss(x: list[int], x_prime: list[int]) -> float:
    n = len(x)
    outputs: list[tuple[int, Noise | None, float]] = [(n, None, 0.0)]
    for k, g in itertools.product(range(n), _GAPS):
        outputs.append((k, _CLOSER, g))
        if g >= sparse_values.FAR:
            outputs.append((k, _CHEAP, g))
    return max(
        abs(math.log(_adaptive_density(x, *output) / _adaptive_density(x_prime, *output)))
        for output in outputs
    )


PROGRAMS = (
    *(
        Program(
            id=f"S4-n{n}",
            name=f"s4-noisy-query-n{n}",
            title=f"Sparse vector that shows the noisy query, {n} queries",
            function=sparse_values.noisy_query,
            claim=pure(1),
            pair=all_raised(n),
            relation=all_change(n),
            epsilon=n / 4,
            broken=n > 4,
            tight=n == 4,
            source="zeros, then a number <= 0: each query gives 1/4, and no output more",
        )
        for n in (4, 5, 10)
    ),
    Program(
        id="S5-n4",
        name="s5-gap-n4",
        title="Sparse vector with the gap",
        function=sparse_values.gap,
        claim=pure(1),
        pair=last_swapped(4),
        relation=all_change(4),
        epsilon=Comparison(0, _RHO, _CLOSER).largest_gap_loss(*last_swapped(4)),
        broken=False,
        source=_PROOF,
    ),
    Program(
        id="S6-n4",
        name="s6-fresh-value-n4",
        title="Sparse vector with a fresh noisy value",
        function=sparse_values.fresh_value,
        claim=pure(1),
        pair=last_swapped(4),
        relation=all_change(4),
        epsilon=Comparison(0, Noise("laplace", 3), Noise("laplace", 6)).largest_fresh_loss(
            *last_swapped(4), scale=3
        ),
        broken=False,
        source=_PROOF,
    ),
    Program(
        id="S7-n4",
        name="s7-adaptive-n4",
        title="Adaptive sparse vector with gaps",
        function=sparse_values.adaptive,
        claim=pure(1),
        pair=last_swapped(4),
        relation=all_change(4),
        epsilon=_adaptive_loss(*last_swapped(4)),
        broken=False,
        source=_PROOF,
    ),
    *(
        Program(
            id=f"S7-bug-n{n}",
            name=f"s7-adaptive-noisy-query-n{n}",
            title=f"Adaptive sparse vector with the noisy query, {n} queries",
            function=sparse_values.adaptive_noisy_query,
            claim=pure(1),
            pair=all_raised(n),
            relation=all_change(n),
            epsilon=3 * (n - 1) / 8 + 1 / 8,
            broken=True,
            source="zeros cost 1/8 + 1/4 each, then the cheap noisy query <= 0 costs 1/8",
        )
        for n in (5, 6, 8)
    ),
)
"""Sparse vectors with values."""
