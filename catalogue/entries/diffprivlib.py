"""diffprivlib from 0.2 to 0.6."""

from __future__ import annotations

import tollens
from catalogue.entry import Source
from tollens import domains as d

NOISE = Source("diffprivlib", "dpl_noise.py")
TOOLS = Source("diffprivlib", "dpl_tools.py")
MODELS = Source("diffprivlib", "dpl_models.py")

INT = tollens.numbers(by=1, whole=True)
FLOAT = tollens.numbers(by=1.0)
TO_THREE = tollens.numbers(by=1.0, low=0.0, high=3.0)
TO_FIVE = tollens.numbers(by=1, low=0, high=5, whole=True)
CHANGED = tollens.substitute(d.lists(d.reals(0, 1), sizes=[4]))
MORE = tollens.add_remove(d.lists(d.reals(0, 1)))
EDGE = 2.0**52
ROUNDED = ([EDGE + 1] * 4, [EDGE, EDGE + 1, EDGE + 1, EDGE + 1])
MANY = ([0.0] * 2983 + [1.0], [0.0] * 2982 + [1.0])

CLASSIFIED = [(0.0, 0), (0.2, 0), (0.4, 0), (0.5, 1), (0.8, 1), (1.0, 1)]
KNOWN_CLASSES = tollens.substitute(CLASSIFIED, values=[(0.0, 1), (1.0, 0), (1.0, 1)])
ANY_CLASSES = tollens.substitute(d.lists(d.tuples(d.reals(0, 1), d.choices([0, 1])), sizes=[4]))
POINTS = tollens.substitute(d.lists(d.tuples(d.reals(0, 1), d.reals(0, 1)), sizes=[4]))
SCALARS = tollens.substitute(d.lists(d.tuples(d.reals(0, 1)), sizes=[4]))
CENTRED = tollens.substitute(d.lists(d.tuples(d.reals(-0.7, 0.7), d.reals(-0.7, 0.7)), sizes=[4]))

BITS = "IBM/differential-privacy-library issues 19 and 94; arXiv 2207.13793"
WISHART = "IBM/differential-privacy-library issues 23 and 42"
LINEAR = "IBM/differential-privacy-library issues 104 and 105 (open)"
CRASH = "IBM/differential-privacy-library issue 107 (open)"

ENTRIES = (
    *NOISE.each("laplace", FLOAT, sound="dpl021 dpl066"),
    *NOISE.each(
        *("laplace", FLOAT),
        broken="dpl021 dpl052 dpl066", suffix="bits", outputs="exact", pairs=50_000, source=BITS,
    ),
    *NOISE.each("laplace_truncated", TO_THREE, sound="dpl030 dpl066"),
    *NOISE.each("laplace_folded", TO_THREE, sound="dpl041 dpl066"),
    *NOISE.each("laplace_bounded_domain", TO_THREE, sound="dpl021 dpl066"),
    *NOISE.each("laplace_bounded_noise", FLOAT, sound="dpl052 dpl066"),
    *NOISE.each("uniform", FLOAT, sound="dpl030 dpl066"),
    *NOISE.each("staircase", FLOAT, sound="dpl021 dpl066"),
    *NOISE.each(
        "snapping", tollens.numbers(by=1.0, low=-10.0, high=10.0), sound="dpl052 dpl066"
    ),
    *NOISE.each("gaussian", FLOAT, sound="dpl041 dpl066"),
    *NOISE.each("gaussian_analytic", FLOAT, sound="dpl021 dpl066"),
    *NOISE.each("gaussian_discrete", INT, sound="dpl030 dpl066"),
    *NOISE.each("geometric", INT, sound="dpl021 dpl066"),
    *NOISE.each("geometric_truncated", TO_FIVE, sound="dpl052 dpl066"),
    *NOISE.each("geometric_folded", TO_FIVE, sound="dpl060 dpl066"),
    *NOISE.each("binary", tollens.any_two(d.choices(["no", "yes"])), sound="dpl021 dpl066"),
    *NOISE.each("exponential", tollens.queries(4), sound="dpl041 dpl066"),
    *NOISE.each("permute_and_flip", tollens.queries(4), sound="dpl052 dpl066"),
    *NOISE.each(
        "exponential_hierarchical", tollens.any_two(d.choices(["a", "b", "c", "d"])),
        sound="dpl021 dpl066",
    ),
    *NOISE.each(
        "wishart", tollens.numbers(by=1.0, low=0.0),
        broken="dpl021 dpl030 dpl041", source=WISHART,
    ),
    *TOOLS.each("mean", CHANGED, sound="dpl021 dpl066"),
    *TOOLS.each(
        "nanmean", tollens.substitute(d.lists(d.reals(0, 1, nan=True), sizes=[4])),
        unknown="dpl021 dpl052 dpl066",
    ),
    *TOOLS.each("var", CHANGED, sound="dpl030 dpl066"),
    *TOOLS.each("std", CHANGED, sound="dpl052 dpl066"),
    *TOOLS.each("sum", CHANGED, sound="dpl030 dpl066"),
    *TOOLS.each(
        "nansum", tollens.substitute(d.lists(d.reals(0, 1, nan=True), sizes=[4])),
        sound="dpl041 dpl066",
    ),
    *TOOLS.each(
        *("large_sum", ROUNDED),
        broken="dpl030 dpl066", given=True, pairs=20_000,
        source="arXiv 2207.10635; the same as google/differential-privacy issue 126",
    ),
    *TOOLS.each("median", CHANGED, sound="dpl041 dpl066"),
    *TOOLS.each("quantile", CHANGED, sound="dpl052"),
    *TOOLS.each(
        "median", MANY, broken="dpl041 dpl052 dpl066", suffix="many-rows", given=True,
        source=CRASH,
    ),
    *TOOLS.each("histogram", MORE, sound="dpl021 dpl066"),
    *TOOLS.each(
        *("count_nonzero", tollens.substitute(d.lists(d.integers(0, 1), sizes=[4]))),
        sound="dpl030 dpl066",
    ),
    *TOOLS.each(
        *("count_nonzero", tollens.add_remove(d.lists(d.integers(0, 1)))),
        unknown="dpl030 dpl066", suffix="one-row-more",
    ),
    *MODELS.each("gaussian_nb", KNOWN_CLASSES, unknown="dpl030 dpl066"),
    *MODELS.each("gaussian_nb", ANY_CLASSES, unknown="dpl066", suffix="any-classes", pairs=2000),
    *MODELS.each("logistic_regression", KNOWN_CLASSES, unknown="dpl021"),
    *MODELS.each("logistic_regression", KNOWN_CLASSES, unknown="dpl066", pairs=500),
    *MODELS.each(
        "linear_regression", POINTS, broken="dpl021 dpl030", pairs=20_000, source=WISHART
    ),
    *MODELS.each("linear_regression", POINTS, broken="dpl041 dpl066", pairs=3000, source=LINEAR),
    *MODELS.each("pca", CENTRED, broken="dpl021", pairs=20_000, source=WISHART),
    *MODELS.each("pca", CENTRED, unknown="dpl066"),
    *MODELS.each("standard_scaler", SCALARS, unknown="dpl030 dpl066"),
    *MODELS.each("k_means", POINTS, unknown="dpl052 dpl066", pairs=2000),
    *MODELS.each("decision_tree", KNOWN_CLASSES, unknown="dpl060 dpl066"),
    *MODELS.each(
        *("decision_tree", tollens.add_remove(CLASSIFIED, values=[(0.0, 1), (1.0, 0)])),
        unknown="dpl066", suffix="one-row-more",
    ),
)  # fmt: skip
