"""Tumult Core, the claims of dp_accounting, and Flower."""

from __future__ import annotations

import tollens
from catalogue.entry import Source
from tollens import domains as d

TUMULT = Source("Tumult Core", "tumult_core.py")
ACCOUNTING = Source("dp_accounting", "dp_accounting_claims.py")
FLOWER = Source("Flower", "flower_mods.py")

INT = tollens.numbers(by=1, low=-(2**62), high=2**62, whole=True)
FLOAT = tollens.numbers(by=1.0)
MORE = tollens.add_remove(d.lists(d.reals(-1, 1)))
CHANGED = tollens.substitute(d.lists(d.reals(-1, 1), sizes=[1, 2]))
UPDATE = tollens.any_two(d.vectors(d.reals(0, 1), 1))

ISSUE = "google/differential-privacy issue 378 and PR 464 (open)"

ENTRIES = (
    *TUMULT.each("laplace", FLOAT, sound="tmlt050 tmlt018"),
    *TUMULT.each(
        "laplace", FLOAT, unknown="tmlt050", sound="tmlt018", suffix="bits", outputs="exact",
        pairs=10_000,
    ),
    *TUMULT.each("geometric", INT, sound="tmlt050 tmlt018"),
    *TUMULT.each("discrete_gaussian", INT, sound="tmlt050 tmlt018"),
    *TUMULT.each("gaussian", FLOAT, sound="tmlt018"),
    *TUMULT.each(
        "median", tollens.add_remove(d.lists(d.integers(0, 5))), sound="tmlt050 tmlt018",
        pairs=4000,
    ),
    *ACCOUNTING.each("gaussian_pld", MORE, sound="dpacc043 dpacc", pairs=20_000),
    *ACCOUNTING.each("gaussian_rdp", MORE, sound="dpacc", pairs=20_000),
    *ACCOUNTING.each(
        "gaussian_rdp_replaced", CHANGED, broken="dpacc043 dpacc", pairs=200_000, source=ISSUE
    ),
    *ACCOUNTING.each("gaussian_pld_replaced", CHANGED, sound="dpacc", pairs=20_000),
    *ACCOUNTING.each("gaussian_pld_replaced", CHANGED, unknown="dpacc043", pairs=200_000),
    *ACCOUNTING.each("laplace_pld", MORE, sound="dpacc", pairs=20_000),
    *ACCOUNTING.each("sampled_gaussian_pld", MORE, sound="dpacc", pairs=20_000),
    *ACCOUNTING.each("sampled_gaussian_rdp", MORE, sound="dpacc043", pairs=20_000),
    *FLOWER.each("local_gaussian_small", UPDATE, sound="flwr114", pairs=20_000),
    *FLOWER.each(
        "local_gaussian_large", UPDATE[:1], broken="flwr114", given=True, pairs=450_000,
        source="the classical formula, used above epsilon = 1; too small a violation to be seen "
        "within a billion pairs",
    ),
)  # fmt: skip
