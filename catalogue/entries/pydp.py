"""PyDP from 1.0 to 1.1."""

from __future__ import annotations

import tollens
from catalogue.entry import Source
from tollens import domains as d

PYDP = Source("PyDP", "pydp_algorithms.py")

INTS = tollens.add_remove(d.lists(d.integers(0, 3)))
REALS = tollens.add_remove(d.lists(d.reals(0, 1)))
TO_TEN = tollens.add_remove(d.lists(d.reals(0, 10)))
FLOAT = tollens.numbers(by=1.0)
USERS = tollens.numbers(by=1, low=0, high=50, whole=True)
SALARIES = [200_000] * 10_738  # together a little more than 2^31
RICH = (SALARIES, SALARIES[:-1])

ENTRIES = (
    *PYDP.each("count", INTS, sound="pydp103 pydp111 pydp115"),
    *PYDP.each("int_sum", INTS, sound="pydp111 pydp115"),
    *PYDP.each("float_sum", REALS, sound="pydp103 pydp115"),
    *PYDP.each("mean", REALS, sound="pydp103 pydp114 pydp115"),
    *PYDP.each("variance", REALS, sound="pydp111 pydp115"),
    *PYDP.each("deviation", REALS, sound="pydp114"),
    *PYDP.each("maximum", TO_TEN, sound="pydp114 pydp115", pairs=4000),
    *PYDP.each("median", TO_TEN, sound="pydp103 pydp115", pairs=4000),
    *PYDP.each(
        "mean_of_int32", RICH, broken="pydp103 pydp111 pydp114 pydp115", given=True, pairs=2000,
        source="google/differential-privacy issue 40 (sums of 32 bits wrap around)",
    ),
    *PYDP.each("mean_of_int64", RICH, sound="pydp115", given=True, pairs=1000),
    *PYDP.each("laplace", FLOAT, sound="pydp111 pydp115"),
    *PYDP.each("laplace", FLOAT, sound="pydp115", suffix="bits", outputs="exact", pairs=20_000),
    *PYDP.each("gaussian", FLOAT, sound="pydp114 pydp115"),
    *PYDP.each("select_by_laplace", USERS, sound="pydp111 pydp115"),
    *PYDP.each("select_by_gaussian", USERS, sound="pydp114 pydp115"),
    *PYDP.each("select_by_geometric", USERS, sound="pydp111 pydp115"),
    *PYDP.each(
        "geometric", tollens.numbers(by=1, whole=True), broken="pydp111 pydp114 pydp115",
        source="found by tollens: the noise is never negative",
    ),
)  # fmt: skip
