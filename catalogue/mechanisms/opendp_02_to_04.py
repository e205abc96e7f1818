"""OpenDP 0.2 to 0.4, where a relation is asked whether it holds: `check(d_in, d_out)`.

Each function here builds a measurement; what stands under its name is the measurement itself, a
function of the data. Its promise is the d_out that its own relation accepted at d_in.
"""

from opendp import meas, trans

try:
    from opendp.mod import enable_features
except ImportError:  # 0.2 has no features
    pass
else:
    enable_features("contrib")
    enable_features("floating-point")

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def measurement(d_in, epsilon, delta=0.0):
    """Build a measurement once, if this release has it and accepts the promise."""

    def build(make):
        name = make.__name__
        try:
            made = make()
            holds = made.check(d_in, (epsilon, delta) if delta else epsilon)
        except Exception as error:
            MISSING[name] = repr(error)
            return None
        if not holds:
            MISSING[name] = "its relation refuses epsilon=%r, delta=%r" % (epsilon, delta)
            return None
        CLAIMS[name] = "epsilon=%r" % epsilon + (", delta=%r" % delta if delta else "")
        return lambda data: made(data)

    return build


# Noise


@measurement(1, 1.0)
def geometric():
    return meas.make_base_geometric(scale=1.0)


@measurement(1, 1.0)
def geometric_within_bounds():
    return meas.make_base_geometric(scale=1.0, bounds=(0, 10))


@measurement(1.0, 1.0)
def laplace():
    return meas.make_base_laplace(scale=1.0)


@measurement(1.0, 0.5, 1e-3)
def gaussian():
    return meas.make_base_gaussian(scale=8.0)


@measurement(1.0, 0.5, 1e-3)
def analytic_gaussian():
    return meas.make_base_analytic_gaussian(scale=5.0)


# Counts, of records that come and go


@measurement(1, 1.0)
def count():
    return trans.make_count(TIA="String") >> meas.make_base_geometric(scale=1.0)


@measurement(1, 1.0)
def count_distinct():
    return trans.make_count_distinct(TIA="String") >> meas.make_base_geometric(scale=1.0)


@measurement(1, 1.0)
def count_by_categories():
    counts = trans.make_count_by_categories(categories=["a", "b"])
    return counts >> meas.make_base_geometric(scale=1.0, D="VectorDomain<AllDomain<i32>>")


@measurement(1, 1.0, 1e-3)
def count_by_key_ptr():
    counts = trans.make_count_by(MO="L1Distance<f64>", TK="String", TV="f64")
    return counts >> meas.make_base_ptr(scale=1.0, threshold=8.0, TK="String")


@measurement(2, 1.0, 1e-6)
def stability_histogram():
    counts = trans.make_count_by(size=20, MO="L1Distance<f64>", TIA="String")
    noise = meas.make_base_stability(
        size=20, scale=0.5, threshold=2.0, MI="L1Distance<f64>", TIK="String"
    )
    return counts >> noise


# Sums and means; the size is public, and one record is changed (a distance of 2)


@measurement(2, 0.5)
def sized_int_sum():
    total = trans.make_sized_bounded_sum(size=10, bounds=(0, 1))
    return total >> meas.make_base_geometric(scale=1.0)


@measurement(1, 1.0)
def int_sum():
    return trans.make_bounded_sum(bounds=(0, 3)) >> meas.make_base_geometric(scale=3.0)


@measurement(2, 1.0)
def sized_float_sum():
    total = trans.make_sized_bounded_sum(size=4, bounds=(0.0, 1.0))
    return total >> meas.make_base_laplace(scale=1.001)


@measurement(2, 0.251)
def sized_large_float_sum():
    total = trans.make_sized_bounded_sum(size=4, bounds=(2.0**52, 2.0**52 + 1.0))
    return total >> meas.make_base_laplace(scale=4.0)


@measurement(2, 1.0)
def sized_mean():
    mean = trans.make_sized_bounded_mean(size=4, bounds=(0.0, 1.0))
    return mean >> meas.make_base_laplace(scale=0.251)


@measurement(2, 1.0)
def sized_variance():
    variance = trans.make_sized_bounded_variance(size=4, bounds=(0.0, 1.0), ddof=0)
    return variance >> meas.make_base_laplace(scale=0.2001)


@measurement(2, 1.0)
def resized_sum():
    clamped = trans.make_clamp(bounds=(0.0, 1.0))
    resized = trans.make_bounded_resize(size=4, bounds=(0.0, 1.0), constant=0.0)
    total = trans.make_sized_bounded_sum(size=4, bounds=(0.0, 1.0))
    return clamped >> resized >> total >> meas.make_base_laplace(scale=1.001)


@measurement(1, 1.0)
def byte_sum():
    total = trans.make_bounded_sum(bounds=(-127, 127), T="i8")
    return total >> meas.make_base_geometric(scale=127.0, D="AllDomain<i8>")


# Answers of one person


@measurement(1, 0.405466)
def randomized_response_bool():
    return meas.make_randomized_response_bool(0.6)


@measurement(1, 1.0)
def randomized_response():
    return meas.make_randomized_response(categories=["a", "b", "c"], prob=0.57)
