"""Real OpenDP measurements: the promise is read from the map, the outputs can be compared."""

import functools
import math

import numpy as np
import pytest

import tollens
from tollens.adapters import adapt, promised
from tollens.claim import Claim, approx, gaussian, pure, zcdp
from tollens.errors import UsageError
from tollens.mechanism import Mechanism
from tollens.outputs import Encoder, Outputs, Raised

pytestmark = pytest.mark.libraries
dp = pytest.importorskip("opendp.prelude")


@pytest.fixture(scope="module", autouse=True)
def _features():
    """Features are global: what these tests enable must not reach those of other files."""
    before = set(dp.GLOBAL_FEATURES) if hasattr(dp, "GLOBAL_FEATURES") else set()
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features(*({"contrib", "honest-but-curious"} - before))


RNG = np.random.default_rng(0)
ROWS = (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())


def reals():
    try:
        return dp.atom_domain(T=float, nan=False)
    except TypeError:  # before OpenDP 0.13 the domain of floats had no such choice
        return dp.atom_domain(T=float)


def real_laplace(scale=1.0):
    return dp.m.make_laplace(reals(), dp.absolute_distance(T=float), scale=scale)


def real_gaussian(scale=1.0):
    return dp.m.make_gaussian(reals(), dp.absolute_distance(T=float), scale=scale)


def noisy_count(scale=1.0):
    return ROWS >> dp.t.then_count() >> dp.m.then_laplace(scale=scale)


def noisy_keys():
    strings = dp.vector_domain(dp.atom_domain(T=str))
    counts = dp.t.make_count_by(strings, dp.symmetric_distance())
    return counts >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)


def noisy_max(measure=dp.max_divergence):
    scores = dp.vector_domain(dp.atom_domain(T=int))
    return dp.m.make_noisy_max(scores, dp.linf_distance(T=int), measure(), scale=1.0)


def noisy_max_zcdp():
    return noisy_max(dp.zero_concentrated_divergence)


def noisy_top_two():
    scores = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    return dp.m.make_noisy_top_k(*scores, dp.max_divergence(), k=2, scale=2.0)


def noisy_counts():
    strings = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by_categories(*strings, categories=["a", "b"])
    return counts >> dp.m.then_laplace(scale=1.0)


def vector_gaussian():
    return dp.m.make_gaussian(dp.vector_domain(reals()), dp.l2_distance(T=float), scale=2.0)


def vector_laplace():
    return dp.m.make_laplace(dp.vector_domain(reals()), dp.l1_distance(T=float), scale=2.0)


def bit_vector_response():
    domain = dp.bitvector_domain(max_weight=2)
    return dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=0.5)


def needs(name):
    return pytest.mark.skipif(not hasattr(dp.m, name), reason=f"this OpenDP has no {name}")


def encode(mechanism: Mechanism, data: object, n: int = 30) -> tuple[Encoder, Outputs]:
    encoder = Encoder()
    outputs = mechanism.sample(data, n, RNG)
    assert not any(isinstance(output, Raised) for output in outputs)
    return encoder, encoder.encode(outputs)


@pytest.mark.parametrize(
    ("make", "data", "claim", "shape"),
    [
        (noisy_count, [1, 2, 3], pure(1), "int"),
        (real_laplace, 3.0, pure(1), "float"),
        (vector_laplace, [1.0, 2.0], pure(0.5), "list[2] of float x 2"),
        (real_gaussian, 3.0, zcdp(0.5), "float"),
        (lambda: dp.m.make_randomized_response_bool(prob=0.75), True, pure("ln 3"), "bool"),
        (
            lambda: dp.m.make_randomized_response(["a", "b", "c"], prob=0.5),
            "a",
            pure("ln 2"),
            "str",
        ),
        (bit_vector_response, b"\x03\x00", pure("4 ln 3"), "bytes[2]"),
        (noisy_counts, ["a", "z"], pure(1), "list[3] of int x 3"),
        (vector_gaussian, [1.0, 2.0], zcdp(0.125), "list[2] of float x 2"),
        pytest.param(noisy_max, [0, 1, 2], pure(2), "int", marks=needs("make_noisy_max")),
        pytest.param(noisy_max_zcdp, [0, 1], zcdp(0.5), "int", marks=needs("make_noisy_max")),
        pytest.param(
            *(noisy_top_two, [0, 1, 2], pure(2), "list[2] of int x 2"),
            marks=needs("make_noisy_top_k"),
        ),
    ],
)
def test_each_kind_of_output_is_compared_and_each_promise_read(make, data, claim, shape):
    mechanism = adapt(make())
    assert mechanism.promise is not None
    assert type(mechanism.promise) is type(claim)
    assert mechanism.promise.delta(0.1) == pytest.approx(claim.delta(0.1), rel=1e-9)
    assert not mechanism.takes_rng
    assert mechanism.name.startswith("OpenDP measurement on ")
    assert len(mechanism.name) <= 80
    encoder, outputs = encode(mechanism, data)
    assert {encoder.shape_name(number) for number in outputs.shapes.tolist()} == {shape}
    assert len(outputs) == 30


@needs("make_noisy_max")
def test_released_keys_are_part_of_the_shape():
    mechanism = adapt(noisy_keys())
    epsilon, delta = noisy_keys().map(1)
    assert mechanism.promise == approx(epsilon, delta)
    encoder, outputs = encode(mechanism, ["often"] * 40 + ["now and then"] * 5, n=60)
    assert {encoder.shape_name(number) for number in outputs.shapes.tolist()} == {
        "dict{'often': int}",
        "dict{'now and then': int, 'often': int}",
    }


def test_compositions_release_lists():
    both = (
        dp.c.make_composition([noisy_count(), noisy_count(0.5)])
        if hasattr(dp.c, "make_composition")
        else dp.c.make_basic_composition([noisy_count(), noisy_count(0.5)])
    )
    mechanism = adapt(both)
    assert mechanism.promise == pure(3)
    encoder, outputs = encode(mechanism, [1, 2])
    assert encoder.shape_name(int(outputs.shapes[0])) == "list[2] of int x 2"


def test_the_promise_grows_with_the_distance_of_the_inputs():
    assert promised(noisy_count(), d_in=3) == pure(3)
    assert adapt(real_laplace(), d_in=0.5).promise == pure(0.5)
    assert adapt(real_laplace(), d_in=1).promise == pure(1)  # a whole number serves as a float


def test_a_privacy_profile_is_tabulated_on_the_safe_side():
    profiled = dp.c.make_zCDP_to_approxDP(real_gaussian())
    claim = promised(profiled)
    assert claim.kind == "profile"
    theirs = profiled.map(1.0)
    for epsilon in (1.0, 3.0):
        assert claim.delta(epsilon) == pytest.approx(theirs.delta(epsilon), abs=1e-9)
    for epsilon in (1.01, 3.01):  # between the points of the table
        assert claim.delta(epsilon) >= theirs.delta(epsilon)
    for epsilon in (0.0, 0.25):  # points of a larger epsilon imply more than OpenDP states here
        assert gaussian(1).delta(epsilon) < claim.delta(epsilon) <= theirs.delta(epsilon)
    assert promised(dp.c.make_fix_delta(profiled, 1e-6)) == approx(theirs.epsilon(1e-6), 1e-6)


def approximate_zcdp(rho: float, delta: float) -> Claim:
    measure = dp.approximate(dp.zero_concentrated_divergence())
    made = dp.m.make_user_measurement(*ROWS, measure, len, lambda _: (rho, delta))
    return promised(made)


def test_approximate_zcdp_is_read_as_a_profile_that_it_implies():
    if not hasattr(dp, "approximate"):
        pytest.skip("this OpenDP has no approximate measures")
    assert approximate_zcdp(0.5, 0.0) == zcdp(0.5)
    claim = approximate_zcdp(0.5, 0.01)
    for epsilon in (0.0, 1.0, 4.0):
        expected = 0.01 + 0.99 * zcdp(0.5).delta(epsilon)
        assert claim.delta(epsilon) == pytest.approx(expected, rel=1e-6)
    assert claim.delta(40) == pytest.approx(0.01, rel=1e-6)


def user_measurement(measure, privacy_map, function=len):
    return dp.m.make_user_measurement(*ROWS, measure, function, privacy_map)


def unknown(d_in):
    raise ValueError(f"no bound is known at {d_in}")


@pytest.mark.parametrize(
    ("make", "d_in", "reason"),
    [
        (noisy_count, "one", "expected u32"),
        (noisy_count, -1, "-1 is not representable"),
        (lambda: noisy_count(scale=0.0), 1, "epsilon is inf"),
        (
            lambda: user_measurement(dp.renyi_divergence(), lambda d: lambda order: order * d),
            1,
            "pick an order",
        ),
        (lambda: user_measurement(dp.user_divergence("mine"), float), 1, "output measure .*mine"),
        (lambda: user_measurement(dp.max_divergence(), unknown), 1, "no bound is known at 1"),
    ],
)
def test_without_a_readable_promise_it_is_sampled_all_the_same(make, d_in, reason):
    mechanism = adapt(make(), d_in=d_in)
    assert mechanism.promise is None
    assert len(encode(mechanism, [1, 2])[1]) == 30
    with pytest.raises(UsageError, match=reason):
        promised(make(), d_in=d_in)


def test_a_run_that_raises_is_an_output():
    mechanism = adapt(noisy_count())
    wrong = mechanism.sample("not rows", 3, RNG)
    assert [output.type for output in wrong] == ["TypeError"] * 3
    assert "i32" in wrong[0].message


def interactive():
    make = getattr(dp.c, "make_adaptive_composition", None) or dp.c.make_sequential_composition
    return make(*ROWS, dp.max_divergence(), d_in=1, d_mids=[1.0])


def test_a_compositor_is_refused_once_it_answers_with_a_queryable():
    mechanism = adapt(interactive())
    with pytest.raises(UsageError, match="answers queries instead of releasing one output"):
        mechanism.sample([1, 2], 2, RNG)


def context():
    return dp.Context.compositor(
        data=[1, 2],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: dp.t.make_count(*ROWS), "Transformation adds no noise"),
        (lambda: dp.m.then_laplace(1.0), "PartialConstructor has no input space yet"),
        (lambda: interactive()([1, 2]), "Queryable answers queries"),
        (context, "Context holds its data"),
        (lambda: context().query().count().laplace(), "Query holds its data"),
        (lambda: ROWS[0], "Domain is not a measurement"),
    ],
)
def test_what_makes_no_single_release_is_refused(make, reason):
    with pytest.raises(UsageError, match=reason):
        adapt(make())


def test_odometers_are_refused():
    if not hasattr(dp.c, "make_fully_adaptive_composition"):
        pytest.skip("this OpenDP has no odometers")
    odometer = dp.c.make_fully_adaptive_composition(*ROWS, dp.max_divergence())
    for refused in (odometer, odometer.invoke, odometer([1, 2])):
        with pytest.raises(UsageError, match="answers queries instead of releasing"):
            adapt(refused)


def test_methods_and_empty_partials_are_the_measurement_itself():
    measurement = noisy_count()
    for form in (measurement.invoke, measurement.__call__, functools.partial(measurement)):
        assert adapt(form).promise == pure(1)


def test_the_known_law_of_a_measurement_arrives_unchanged():
    outputs = adapt(noisy_count()).sample([0] * 100, 4000, RNG)
    at_most = np.mean(np.asarray(outputs) <= 100)  # 1 / (1 + 1/e) for the discrete Laplace law
    assert abs(at_most - 1 / (1 + math.exp(-1))) < 0.04


def test_polars_measurements_release_columns_with_sorted_rows():
    pl = pytest.importorskip("polars")
    schema = {"key": pl.String, "value": pl.Int32}
    query = pl.LazyFrame(schema=schema).group_by("key").agg(dp.len(scale=1.0))
    columns = [
        dp.series_domain("key", dp.atom_domain(T=str)),
        dp.series_domain("value", dp.atom_domain(T="i32")),
    ]
    margin = dp.polars.Margin(by=["key"], invariant="keys")
    domain = dp.with_margin(dp.lazyframe_domain(columns), margin)
    data = pl.DataFrame({"key": ["b", "a", "b"], "value": [1, 2, 3]}, schema=schema)
    for metric in (dp.symmetric_distance(), dp.frame_distance(dp.symmetric_distance())):
        made = dp.m.make_private_lazyframe(domain, metric, dp.max_divergence(), query)
        mechanism = adapt(made)
        assert mechanism.promise == pure(1)
        for frame in (data, data.lazy()):
            for output in mechanism.sample(frame, 10, RNG):
                assert list(output) == ["key", "len"]
                assert output["key"] == ["a", "b"]
                assert [type(count) for count in output["len"]] == [int, int]


@needs("make_noisy_max")
def test_noisy_max_keeps_its_zcdp_and_not_a_fifth_of_it():
    relation = tollens.queries(2)
    assert not tollens.audit(noisy_max_zcdp(), neighbours=relation, budget=5_000).refuted
    assert tollens.audit(noisy_max_zcdp(), "rho=0.1", neighbours=relation, budget=20_000).refuted
