"""PyDP, a wrapper of Google's C++ library: statistics, noise and selection with epsilon = 1.

Rows are those of one person each, one row a person. Its generator is its own.
"""

import math

from pydp.algorithms import laplacian

try:
    from pydp.algorithms import numerical_mechanisms, partition_selection
except ImportError:  # 1.0 has none
    numerical_mechanisms = partition_selection = None

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def offer(name, claim, make):
    """Put what `make` makes under this name, if this release has it."""
    try:
        release = make()
    except Exception as error:
        MISSING[name] = repr(error)
        return None
    CLAIMS[name] = claim
    return release


def statistic(kind, **settings):
    """The algorithm makes no use of earlier runs: `quick_result` starts from no data."""
    return lambda: getattr(laplacian, kind)(epsilon=1.0, **settings).quick_result


def bounded(kind, upper, dtype, **settings):
    return statistic(kind, lower_bound=0, upper_bound=upper, dtype=dtype, **settings)


count = offer("count", "epsilon=1.0", statistic("Count"))
int_sum = offer("int_sum", "epsilon=1.0", bounded("BoundedSum", 3, "int"))
float_sum = offer("float_sum", "epsilon=1.0", bounded("BoundedSum", 1, "float"))
mean = offer("mean", "epsilon=1.0", bounded("BoundedMean", 1, "float"))
mean_of_int32 = offer("mean_of_int32", "epsilon=1.0", bounded("BoundedMean", 200_000, "int"))
mean_of_int64 = offer("mean_of_int64", "epsilon=1.0", bounded("BoundedMean", 200_000, "int64"))
variance = offer("variance", "epsilon=1.0", bounded("BoundedVariance", 1, "float"))
deviation = offer("deviation", "epsilon=1.0", bounded("BoundedStandardDeviation", 1, "float"))
maximum = offer("maximum", "epsilon=1.0", bounded("Max", 10, "float"))
median = offer("median", "epsilon=1.0", bounded("Median", 10, "float"))

laplace = offer(
    "laplace", "epsilon=1.0", lambda: numerical_mechanisms.LaplaceMechanism(1.0, 1.0).add_noise
)
gaussian = offer(
    *("gaussian", "epsilon=1.0, delta=0.01"),
    lambda: numerical_mechanisms.GaussianMechanism(1.0, 0.01, 1.0).add_noise,
)


def selection(name):
    return lambda: partition_selection.create_partition_strategy(name, 1.0, 0.01, 1).should_keep


select_by_laplace = offer("select_by_laplace", "epsilon=1.0, delta=0.01", selection("laplace"))
select_by_gaussian = offer("select_by_gaussian", "epsilon=1.0, delta=0.01", selection("gaussian"))
select_by_geometric = offer(
    "select_by_geometric", "epsilon=1.0, delta=0.01", selection("truncated_geometric")
)


def geometric_of_ml():
    from pydp.ml.mechanisms.geometric import Geometric  # 1.0.3 lacks a part of it

    made = Geometric().set_epsilon(1.0).set_sensitivity(1)
    return made.set_probability(1.0 - math.exp(-1.0)).randomise


geometric = offer("geometric", "epsilon=1.0", geometric_of_ml)
