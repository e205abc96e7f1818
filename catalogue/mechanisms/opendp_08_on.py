"""OpenDP from 0.8 on, where a measurement is built on an input space, by `opendp.prelude`.

Each function here builds a measurement; what stands under its name is the measurement itself, a
function of the data. Its promise is the value of its own map at d_in.
"""

import opendp.prelude as dp

dp.enable_features("contrib")
dp.enable_features("floating-point")  # thresholds of real counts, before 0.14

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def measurement(d_in, claim="epsilon={!r}"):
    """Build a measurement once, if this release has it, and read its promise."""

    def build(make):
        name = make.__name__
        try:
            made = make()
            d_out = made.map(d_in)
        except Exception as error:
            MISSING[name] = repr(error)
            return None
        CLAIMS[name] = claim.format(*d_out if isinstance(d_out, tuple) else (d_out,))
        return lambda data: made(data)

    return build


def whole():
    return dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")


def real():
    return dp.atom_domain(T="f64", **no_nan()), dp.absolute_distance(T="f64")


def no_nan():
    """From 0.13 on NaN is part of an atom domain unless one says otherwise."""
    try:
        dp.atom_domain(T="f64", nan=False)
    except TypeError:
        return {}
    return {"nan": False}


def texts():
    return dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()


def numbers(bounds, size=None):
    atoms = dp.atom_domain(bounds=bounds)
    return dp.vector_domain(atoms, size=size), dp.symmetric_distance()


# Noise


@measurement(1)
def laplace_of_int():
    return dp.m.make_laplace(*whole(), scale=1.0)


@measurement(1)
def geometric():
    return dp.m.make_geometric(*whole(), scale=1.0)


@measurement(1.0)
def laplace_of_float():
    return dp.m.make_laplace(*real(), scale=1.0)


@measurement(1, "rho={!r}")
def gaussian_of_int():
    return dp.m.make_gaussian(*whole(), scale=1.0)


@measurement(1.0, "rho={!r}")
def gaussian_of_float():
    return dp.m.make_gaussian(*real(), scale=1.0)


@measurement(1.0, "epsilon={!r}, delta={!r}")
def gaussian_fixed_delta():
    noise = dp.m.make_gaussian(*real(), scale=1.0)
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta=1e-3)


@measurement(1)
def laplace_of_vector():
    vectors = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    return dp.m.make_laplace(*vectors, scale=1.0)


@measurement(1.0, "epsilon={!r}, delta={!r}")
def canonical_noise():
    return dp.m.make_canonical_noise(*real(), d_in=1.0, d_out=(1.0, 1e-3))


# Selection


@measurement(1)
def noisy_max_gumbel():
    scores = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
    try:
        return dp.m.make_report_noisy_max_gumbel(*scores, scale=1.0)
    except TypeError:  # before 0.14 one says what is best
        return dp.m.make_report_noisy_max_gumbel(*scores, scale=1.0, optimize="max")


@measurement(1)
def noisy_max():
    scores = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
    return dp.m.make_noisy_max(*scores, dp.max_divergence(), scale=1.0)


@measurement(1, "rho={!r}")
def noisy_max_zcdp():
    scores = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
    return dp.m.make_noisy_max(*scores, dp.zero_concentrated_divergence(), scale=1.0)


@measurement(1)
def noisy_top_two():
    scores = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
    return dp.m.make_noisy_top_k(*scores, dp.max_divergence(), k=2, scale=2.0)


@measurement(1)
def private_median():
    rows = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    median = {"candidates": [0, 1, 2, 3, 4, 5], "alpha": 0.5}
    try:
        return dp.m.make_private_quantile(*rows, dp.max_divergence(), **median, scale=1.0)
    except TypeError:  # 0.13 asks for no measure
        return dp.m.make_private_quantile(*rows, **median, scale=1.0)


# Counts, of records that come and go


@measurement(1)
def count():
    return dp.t.make_count(*texts()) >> dp.m.then_laplace(scale=1.0)


@measurement(1)
def count_distinct():
    return dp.t.make_count_distinct(*texts()) >> dp.m.then_laplace(scale=1.0)


@measurement(1)
def count_by_categories():
    counts = dp.t.make_count_by_categories(*texts(), categories=["a", "b"])
    return counts >> dp.m.then_laplace(scale=1.0)


@measurement(1, "epsilon={!r}, delta={!r}")
def count_by_key():
    threshold = getattr(dp.m, "then_laplace_threshold", None) or dp.m.then_base_laplace_threshold
    try:
        counts = dp.t.make_count_by(*texts(), MO=dp.L1Distance["f64"], TV="f64")
    except TypeError:  # from 0.13 on counts are whole
        return dp.t.make_count_by(*texts()) >> threshold(scale=1.0, threshold=5)
    return counts >> threshold(scale=1.0, threshold=5.0)


# Sums and means; where the size is public, one record is changed (a distance of 2)


@measurement(1)
def int_sum():
    return dp.t.make_sum(*numbers((0, 3))) >> dp.m.then_laplace(scale=3.0)


@measurement(2)
def sized_int_sum():
    return dp.t.make_sum(*numbers((0, 1), size=4)) >> dp.m.then_laplace(scale=1.0)


@measurement(2)
def sized_float_sum():
    return dp.t.make_sum(*numbers((0.0, 1.0), size=4)) >> dp.m.then_laplace(scale=1.0)


@measurement(2)
def sized_large_float_sum():
    total = dp.t.make_sum(*numbers((2.0**52, 2.0**52 + 1.0), size=4))
    return total >> dp.m.then_laplace(scale=100.0)


@measurement(2)
def sized_mean():
    return dp.t.make_mean(*numbers((0.0, 1.0), size=4)) >> dp.m.then_laplace(scale=0.25)


@measurement(2)
def sized_variance():
    variance = dp.t.make_variance(*numbers((0.0, 1.0), size=4), ddof=0)
    return variance >> dp.m.then_laplace(scale=0.2)


# Answers of one person


@measurement(1)
def randomized_response_bool():
    return dp.m.make_randomized_response_bool(prob=0.6)


@measurement(1)
def randomized_response():
    return dp.m.make_randomized_response(categories=["a", "b", "c"], prob=0.57)


@measurement(1)
def randomized_response_bits():
    bits = dp.bitvector_domain(max_weight=2), dp.discrete_distance()
    return dp.m.make_randomized_response_bitvec(*bits, f=0.5)
