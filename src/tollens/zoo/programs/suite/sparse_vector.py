"""Truths of the sparse vector technique."""

from __future__ import annotations

import math

from tollens.claim import pure
from tollens.relations import queries
from tollens.zoo.programs import sparse_vector
from tollens.zoo.programs.entry import Program
from tollens.zoo.programs.suite.quadrature import answers_probability


def _no_stop(n: int, *, broken: bool) -> Program:
    """Half the queries one below the threshold, half at it, against the same swapped."""
    half = n // 2
    x, x_prime = [1] * half + [0] * half, [0] * half + [1] * half
    answers = [True] * half + [False] * half
    likely, unlikely = (
        answers_probability(
            data,
            answers,
            threshold=sparse_vector.THRESHOLD,
            threshold_scale=2,
            query_scale=2,
        )
        for data in (x, x_prime)
    )
    return Program(
        id=f"S2-n{n}",
        name=f"s2-no-stop-n{n}",
        title=f"Sparse vector without a stop, {n} queries",
        function=sparse_vector.no_stop,
        claim=pure(1),
        pair=(x, x_prime),
        relation=queries(n),
        epsilon=math.log(likely / unlikely),
        supremum=n / 2,
        broken=broken,
        tight=not broken,
        source="above for the queries at the threshold, below for the others: by quadrature",
    )


PROGRAMS = (_no_stop(4, broken=True),)
"""Sparse vector programs."""
