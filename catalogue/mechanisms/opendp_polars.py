"""OpenDP's queries of Polars frames, with one column given as a list of its values.

Each function here makes a private query once and answers it anew each time; its promise is the
value of the query's own map.
"""

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def query(d_in, schema):
    """Make a query on a frame of one column once, if this release has it, and read its promise."""

    def build(make):
        name = make.__name__
        try:
            private = make(pl.LazyFrame(schema=schema))
            CLAIMS[name] = "epsilon=%r" % private.map(d_in)
        except Exception as error:
            MISSING[name] = repr(error)
            return None
        return lambda data: answer(private, pl.LazyFrame({"x": data}, schema=schema))

    return build


def answer(private, frame):
    """What is released: the one number, or the groups in order."""
    released = private(frame).collect()
    if released.shape == (1, 1):
        return released.item()
    return released.sort(released.columns).rows()


def private(domain, lazy, **settings):
    return dp.m.make_private_lazyframe(
        domain, dp.frame_distance(dp.symmetric_distance()), dp.max_divergence(), lazy, **settings
    )


def column(atoms, **margin):
    frames = dp.lazyframe_domain([dp.series_domain("x", atoms)])
    return dp.with_margin(frames, dp.polars.Margin(**margin)) if margin else frames


ONE_CHANGED = [dp.polars.Bound(per_group=2)] if hasattr(dp.polars, "Bound") else 2
ONE_MORE = [dp.polars.Bound(per_group=1)] if hasattr(dp.polars, "Bound") else 1


@query(ONE_MORE, {"x": pl.Int64})
def length(empty):
    return private(column(dp.atom_domain(T="i64")), empty.select(dp.len()), global_scale=1.0)


@query(ONE_MORE, {"x": pl.Int64})
def int_sum(empty):
    total = empty.select(pl.col("x").dp.sum((0, 3), scale=3.0))
    return private(column(dp.atom_domain(T="i64"), max_length=100), total)


@query(ONE_CHANGED, {"x": pl.Float64})
def mean_of_known_length(empty):
    bounded = dp.option_domain(dp.atom_domain(T=float, nan=False))
    mean = empty.select(pl.col("x").fill_null(0.0).dp.mean((0.0, 1.0), scale=1.0))
    return private(column(bounded, max_length=4, invariant="lengths"), mean)


@query(ONE_CHANGED, {"x": pl.Float64})
def sum_of_nulls_as_nan(empty):
    bounded = dp.option_domain(dp.atom_domain(T=float, nan=False))
    filled = pl.col("x").fill_null(float("nan")).clip(0.0, 1.0).sum().dp.noise(scale=2.0)
    return private(column(bounded, max_length=100), empty.select(filled), global_scale=1.0)


@query(ONE_CHANGED, {"x": pl.Float64})
def count_of_cast(empty):
    reals = dp.option_domain(dp.atom_domain(T=float, nan=True))
    cast = pl.col("x").fill_null(0.0).cast(pl.Int64, strict=False).count().dp.noise()
    known = column(reals, max_length=16, invariant="lengths")
    return private(known, empty.select(cast), global_scale=1.0)


def sums_in_groups_of_three():
    """A sum in groups of at most three rows, when three rows are exchanged for three others."""
    schema = {"key": pl.String, "x": pl.Int32}
    domain = dp.lazyframe_domain(
        [
            dp.series_domain("key", dp.atom_domain(T=str)),
            dp.series_domain("x", dp.atom_domain(T="i32")),
        ]
    )
    margin = dp.polars.Margin(by=["key"], max_length=3, max_groups=1, invariant="keys")
    empty = pl.LazyFrame(schema=schema)
    plan = empty.group_by("key").agg(pl.col("x").dp.sum((-10, 10), scale=30.0))
    made = dp.m.make_private_lazyframe(
        dp.with_margin(domain, margin), dp.symmetric_distance(), dp.max_divergence(), plan
    )
    return made, made.map(6), schema


def grouped_sum(data):
    frame = pl.LazyFrame({"key": ["a"] * len(data), "x": data}, schema=_GROUPED[1])
    return _GROUPED[0](frame).collect()["x"].item()


try:
    _MADE, _EPSILON, _SCHEMA = sums_in_groups_of_three()
except Exception as error:
    MISSING["grouped_sum"] = repr(error)
else:
    _GROUPED = _MADE, _SCHEMA
    CLAIMS["grouped_sum"] = "epsilon=%r" % _EPSILON
