"""OpenDP from 0.2 to 0.16."""

from __future__ import annotations

import tollens
from catalogue.entry import Source
from tollens import domains as d

OLD = Source("OpenDP", "opendp_02_to_04.py")
MIDDLE = Source("OpenDP", "opendp_05_to_07.py")
NEW = Source("OpenDP", "opendp_08_on.py")
POLARS = Source("OpenDP", "opendp_polars.py")

INT = tollens.numbers(by=1, low=-(2**31), high=2**31 - 1, whole=True)
FLOAT = tollens.numbers(by=1.0)
TEXTS = tollens.add_remove(d.lists(d.texts()))
CATEGORIES = tollens.add_remove(d.lists(d.choices(["a", "b", "z"])))
CHANGED = {size: tollens.substitute(d.lists(d.reals(0, 1), sizes=[size])) for size in (4, 16)}
MORE = tollens.add_remove(d.lists(d.integers(0, 3)))
ONE_BOOLEAN = tollens.any_two(d.booleans())
ONE_CATEGORY = tollens.any_two(d.choices(["a", "b", "c"]))
EDGE = 2.0**52
ROUNDED = ([EDGE + 1] * 4, [EDGE, EDGE + 1, EDGE + 1, EDGE + 1])
ORDERED = ([127, 127, -127, -127], [-127, -127, 127, 127])

CHANGES = "OpenDP's list of changes of 0.4.0, under Security"
WIDESPREAD = "arXiv 2207.10635"
BITS = "arXiv 2207.13793"

ENTRIES = (
    # 0.2 to 0.4
    *OLD.each("geometric", INT, sound="opendp024 opendp040"),
    *OLD.each("geometric_within_bounds", INT, sound="opendp030"),
    *OLD.each("laplace", FLOAT, sound="opendp040"),
    *OLD.each(
        *("laplace", FLOAT),
        broken="opendp024 opendp040", suffix="bits", outputs="exact", pairs=50_000, source=BITS,
    ),
    *OLD.each("gaussian", FLOAT, sound="opendp040"),
    *OLD.each("analytic_gaussian", FLOAT, sound="opendp040"),
    *OLD.each("count", TEXTS, sound="opendp030"),
    *OLD.each("count_distinct", TEXTS, sound="opendp040"),
    *OLD.each("count_by_categories", CATEGORIES, sound="opendp040"),
    *OLD.each("count_by_key_ptr", TEXTS, unknown="opendp040"),
    *OLD.each(
        *("stability_histogram", tollens.substitute(d.lists(d.texts(), sizes=[20]))),
        broken="opendp024 opendp030", pairs=20_000, source=f"opendp/opendp issue 369; {CHANGES}",
    ),
    *OLD.each(
        *("sized_int_sum", tollens.substitute(d.lists(d.integers(0, 1), sizes=[10]))),
        broken="opendp024 opendp030", pairs=20_000, source=f"opendp/opendp issue 314; {CHANGES}",
    ),
    *OLD.each("int_sum", MORE, sound="opendp040"),
    *OLD.each("sized_float_sum", CHANGED[4], sound="opendp040"),
    *OLD.each(
        *("sized_large_float_sum", ROUNDED),
        broken="opendp024 opendp040", given=True, pairs=20_000, source=WIDESPREAD,
    ),
    *OLD.each(
        "byte_sum", ORDERED, broken="opendp024 opendp040", given=True, pairs=20_000,
        source=WIDESPREAD,
    ),
    *OLD.each("sized_mean", CHANGED[4], sound="opendp040"),
    *OLD.each("sized_variance", CHANGED[4], sound="opendp040"),
    *OLD.each(
        *("resized_sum", tollens.add_remove(d.lists(d.reals(0, 1)), records=2)),
        broken="opendp024 opendp030", pairs=20_000, source=CHANGES,
    ),
    *OLD.each("randomized_response", ONE_CATEGORY, sound="opendp040"),
    *OLD.each(
        *("randomized_response_bool", ONE_BOOLEAN),
        broken="opendp040", source="opendp/opendp PR 481; OpenDP's list of changes of 0.5.0",
    ),
    # 0.5 to 0.7
    *MIDDLE.each("discrete_laplace", INT, sound="opendp050 opendp070"),
    *MIDDLE.each("laplace", FLOAT, sound="opendp050"),
    *MIDDLE.each(
        "laplace", FLOAT, sound="opendp062", suffix="bits", outputs="exact", pairs=20_000
    ),
    *MIDDLE.each("gaussian", FLOAT, sound="opendp062"),
    *MIDDLE.each("gaussian_fixed_delta", FLOAT, sound="opendp070"),
    *MIDDLE.each("discrete_gaussian", INT, sound="opendp062"),
    *MIDDLE.each("count", TEXTS, sound="opendp050"),
    *MIDDLE.each("count_distinct", TEXTS, sound="opendp062"),
    *MIDDLE.each("count_by_categories", CATEGORIES, sound="opendp070"),
    *MIDDLE.each("count_by_key_ptr", TEXTS, unknown="opendp050 opendp070"),
    *MIDDLE.each("int_sum", MORE, sound="opendp062"),
    *MIDDLE.each("sized_float_sum", CHANGED[4], sound="opendp062"),
    *MIDDLE.each("sized_large_float_sum", ROUNDED, sound="opendp070", given=True),
    *MIDDLE.each("sized_mean", CHANGED[4], sound="opendp050"),
    *MIDDLE.each("sized_variance", CHANGED[4], sound="opendp070"),
    *MIDDLE.each("randomized_response_bool", ONE_BOOLEAN, sound="opendp050"),
    *MIDDLE.each("randomized_response", ONE_CATEGORY, sound="opendp070"),
    # 0.8 and later
    *NEW.each("laplace_of_int", INT, sound="opendp080 opendp0121 opendp016"),
    *NEW.each("geometric", INT, sound="opendp0130 opendp016"),
    *NEW.each("laplace_of_float", FLOAT, sound="opendp092 opendp016"),
    *NEW.each(
        "laplace_of_float", FLOAT, sound="opendp016", suffix="bits", outputs="exact", pairs=20_000
    ),
    *NEW.each("gaussian_of_int", INT, sound="opendp0100 opendp016"),
    *NEW.each("gaussian_of_float", FLOAT, sound="opendp0111 opendp016"),
    *NEW.each("gaussian_fixed_delta", FLOAT, sound="opendp080"),
    *NEW.each("laplace_of_vector", tollens.queries(3, change="sum"), sound="opendp014 opendp016"),
    *NEW.each("canonical_noise", FLOAT, sound="opendp014 opendp016"),
    *NEW.each("noisy_max_gumbel", tollens.queries(5), sound="opendp092 opendp0130"),
    *NEW.each("noisy_max", tollens.queries(5), sound="opendp014 opendp016"),
    *NEW.each(
        *("noisy_max_zcdp", tollens.queries(2)), sound="opendp0151 opendp016", pairs=20_000,
        source="opendp/opendp issue 2911 (closed): reported as broken, but the exponential "
        "mechanism is what is run",
    ),
    *NEW.each("noisy_top_two", tollens.queries(4), unknown="opendp014 opendp016"),
    *NEW.each(
        "private_median", tollens.add_remove(d.lists(d.integers(0, 5))),
        sound="opendp0130 opendp016",
    ),
    *NEW.each("count", TEXTS, sound="opendp0111 opendp016"),
    *NEW.each("count_distinct", TEXTS, sound="opendp016"),
    *NEW.each("count_by_categories", CATEGORIES, sound="opendp092 opendp016"),
    *NEW.each("count_by_key", TEXTS, unknown="opendp0100"),
    *NEW.each(
        *("count_by_key", TEXTS),
        broken="opendp014 opendp0151 opendp016", pairs=100_000,
        source="opendp/opendp issue 2922 (open)",
    ),
    *NEW.each("int_sum", MORE, sound="opendp092 opendp016"),
    *NEW.each("sized_float_sum", CHANGED[4], sound="opendp016"),
    *NEW.each("sized_large_float_sum", ROUNDED, sound="opendp080 opendp016", given=True),
    *NEW.each("sized_mean", CHANGED[4], sound="opendp0121 opendp016"),
    *NEW.each("sized_variance", CHANGED[4], sound="opendp016"),
    *NEW.each("randomized_response_bool", ONE_BOOLEAN, sound="opendp080 opendp016"),
    *NEW.each("randomized_response", ONE_CATEGORY, sound="opendp0130 opendp016"),
    *NEW.each(
        *("randomized_response_bits", tollens.any_two(d.bit_vectors([1], most_ones=2))),
        broken="opendp0111 opendp014", sound="opendp0151", pairs=20_000,
        source="opendp/opendp issue 2707, mended in 0.15.0 by PR 2708",
    ),
    *NEW.each(
        *("randomized_response_bits", tollens.any_two(d.bit_vectors([1, 2], most_ones=2))),
        broken="opendp0151 opendp016", suffix="any-length", pairs=20_000,
        source="opendp/opendp issue 2930 (open)",
    ),
    # Polars
    *POLARS.each(
        "length", tollens.add_remove(d.lists(d.integers(0, 9))), sound="opl016", pairs=3000
    ),
    *POLARS.each("int_sum", MORE, sound="opl016", pairs=3000),
    *POLARS.each(
        "mean_of_known_length",
        tollens.substitute(d.lists(d.reals(0, 1, missing=True), sizes=[4])),
        sound="opl016", pairs=3000,
    ),
    *POLARS.each(
        "sum_of_nulls_as_nan",
        tollens.substitute(d.lists(d.reals(0, 1, missing=True), sizes=[16])),
        broken="opl0142 opl016", source="opendp/opendp issues 2935 and 2936 (open)",
    ),
    *POLARS.each(
        "count_of_cast",
        tollens.substitute(d.lists(d.reals(nan=True), sizes=[16])),
        broken="opl0142 opl016", source="opendp/opendp issues 2938 and 2939 (open)",
    ),
    *POLARS.each(
        "grouped_sum",
        tollens.substitute(d.lists(d.integers(-10, 10), sizes=[3]), records=3),
        broken="opl0151 opl016", source="opendp/opendp issue 2945 (open)",
    ),
)  # fmt: skip
