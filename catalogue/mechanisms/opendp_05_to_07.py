"""OpenDP 0.5 to 0.7, where a measurement has a map but is built without an input space.

Each function here builds a measurement; what stands under its name is the measurement itself, a
function of the data. Its promise is the value of its own map at d_in.
"""

from opendp.mod import enable_features

try:
    from opendp import combinators as comb
    from opendp import measurements as meas
    from opendp import transformations as trans
except ImportError:
    from opendp import comb, meas, trans

enable_features("contrib")
enable_features("floating-point")

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


# Noise


@measurement(1)
def discrete_laplace():
    return meas.make_base_discrete_laplace(scale=1.0, D="AllDomain<i32>")


@measurement(1)
def geometric():
    return meas.make_base_geometric(scale=1.0, D="AllDomain<i32>")


@measurement(1.0)
def laplace():
    return meas.make_base_laplace(scale=1.0)


@measurement(1, "rho={!r}")
def discrete_gaussian():
    return meas.make_base_discrete_gaussian(scale=1.0, D="AllDomain<i32>")


@measurement(1.0, "rho={!r}")
def gaussian():
    return meas.make_base_gaussian(scale=1.0)


@measurement(1.0, "epsilon={!r}, delta={!r}")
def gaussian_fixed_delta():
    noise = meas.make_base_gaussian(scale=1.0)
    return comb.make_fix_delta(comb.make_zCDP_to_approxDP(noise), delta=1e-3)


# Counts, of records that come and go


@measurement(1)
def count():
    return trans.make_count(TIA="String") >> meas.make_base_discrete_laplace(scale=1.0)


@measurement(1)
def count_distinct():
    counted = trans.make_count_distinct(TIA="String")
    return counted >> meas.make_base_discrete_laplace(scale=1.0)


@measurement(1)
def count_by_categories():
    counts = trans.make_count_by_categories(categories=["a", "b"])
    return counts >> meas.make_base_discrete_laplace(scale=1.0, D="VectorDomain<AllDomain<i32>>")


@measurement(1, "epsilon={!r}, delta={!r}")
def count_by_key_ptr():
    counts = trans.make_count_by(MO="L1Distance<f64>", TK="String", TV="f64")
    noise = meas.make_base_ptr(scale=1.0, threshold=8.0, TK="String")
    return comb.make_fix_delta(counts >> noise, delta=1e-3)


# Sums and means; where the size is public, one record is changed (a distance of 2)


@measurement(1)
def int_sum():
    return trans.make_bounded_sum(bounds=(0, 3)) >> meas.make_base_discrete_laplace(scale=3.0)


@measurement(2)
def sized_int_sum():
    total = trans.make_sized_bounded_sum(size=4, bounds=(0, 1))
    return total >> meas.make_base_discrete_laplace(scale=1.0)


@measurement(2)
def sized_float_sum():
    total = trans.make_sized_bounded_sum(size=4, bounds=(0.0, 1.0))
    return total >> meas.make_base_laplace(scale=1.0)


@measurement(2)
def sized_large_float_sum():
    total = trans.make_sized_bounded_sum(size=4, bounds=(2.0**52, 2.0**52 + 1.0))
    return total >> meas.make_base_laplace(scale=100.0)


@measurement(2)
def sized_mean():
    mean = trans.make_sized_bounded_mean(size=4, bounds=(0.0, 1.0))
    return mean >> meas.make_base_laplace(scale=0.25)


@measurement(2)
def sized_variance():
    variance = trans.make_sized_bounded_variance(size=4, bounds=(0.0, 1.0), ddof=0)
    return variance >> meas.make_base_laplace(scale=0.2)


@measurement(1)
def byte_sum():
    total = trans.make_bounded_sum(bounds=(-100, 100), T="i8")
    return total >> meas.make_base_discrete_laplace(scale=100.0, D="AllDomain<i8>")


# Answers of one person


@measurement(1)
def randomized_response_bool():
    return meas.make_randomized_response_bool(0.6)


@measurement(1)
def randomized_response():
    return meas.make_randomized_response(categories=["a", "b", "c"], prob=0.57)
