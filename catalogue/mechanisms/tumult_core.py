"""Tumult Core: its noise for numbers, and its quantile of a list; no Spark is started.

The promise of each is the value of its own privacy function at distance 1.
"""

import warnings

import numpy as np
import pandas

warnings.filterwarnings("ignore")

from tmlt.core.domains.numpy_domains import NumpyFloatDomain, NumpyIntegerDomain  # noqa: E402
from tmlt.core.domains.pandas_domains import PandasSeriesDomain  # noqa: E402
from tmlt.core.measurements import noise_mechanisms as noise  # noqa: E402
from tmlt.core.measurements.pandas_measurements.series import NoisyQuantile  # noqa: E402
from tmlt.core.measures import PureDP  # noqa: E402

CLAIMS = {}
MISSING = {}  # why a release does not have what stands below


def measurement(name):
    """Build a measurement once, if this release has it, and read its promise."""

    def build(make):
        try:
            made, read = make()
            promised = made.privacy_function(1)
        except Exception as error:
            MISSING[make.__name__] = repr(error)
            return None
        CLAIMS[make.__name__] = "%s=%s" % (name, promised)
        return lambda data: plain(made(read(data)))

    return build


def plain(value):
    return value.item() if hasattr(value, "item") else value


@measurement("epsilon")
def laplace():
    return noise.AddLaplaceNoise(scale=1, input_domain=NumpyFloatDomain()), np.float64


@measurement("epsilon")
def geometric():
    return noise.AddGeometricNoise(alpha=1), np.int64


@measurement("rho")
def discrete_gaussian():
    return noise.AddDiscreteGaussianNoise(sigma_squared=1), np.int64


@measurement("rho")
def gaussian():
    return noise.AddGaussianNoise(sigma_squared=1, input_domain=NumpyFloatDomain()), np.float64


@measurement("epsilon")
def median():
    numbers = PandasSeriesDomain(NumpyIntegerDomain())
    made = NoisyQuantile(
        input_domain=numbers, output_measure=PureDP(), quantile=0.5, lower=0, upper=5, epsilon=1
    )
    return made, lambda data: pandas.Series(data, dtype="int64")
