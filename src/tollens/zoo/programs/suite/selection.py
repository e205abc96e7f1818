"""Truths of noisy max."""

from __future__ import annotations

from tollens.claim import pure
from tollens.relations import queries
from tollens.zoo.programs import noisy_max
from tollens.zoo.programs.entry import Program


def _max_value(n: int, *, broken: bool) -> Program:
    return Program(
        id=f"N3-n{n}",
        name=f"n3-max-value-n{n}",
        title=f"Noisy max that returns the maximum, {n} counts",
        function=noisy_max.noisy_max_value,
        claim=pure(1),
        pair=([0] * n, [1] * n),
        relation=queries(n),
        epsilon=n / 2,
        broken=broken,
        tight=not broken,
        source="P(max <= 0) is (1/2)^n and (e^(-1/2)/2)^n, and each count gives at most 1/2",
    )


PROGRAMS = (_max_value(3, broken=True),)
"""Noisy max."""
