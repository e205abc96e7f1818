"""Tumult Core: its measurements, their promises, and its frames of Spark.

It pins an old numpy, so these tests also run in the environment `tmlt018` of the catalogue
(`python -m catalogue.environments tmlt018`), where there is one.
"""

import importlib.util
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import tollens
from tollens.adapters import adapt, promised
from tollens.claim import pure, zcdp
from tollens.errors import UsageError
from tollens.outputs import Raised

pytestmark = pytest.mark.libraries

THERE = (
    importlib.util.find_spec("tmlt") is not None
    and importlib.util.find_spec("tmlt.core") is not None
)
needs_tumult = pytest.mark.skipif(not THERE, reason="Tumult Core is not installed here")
RNG = np.random.default_rng(0)


@pytest.mark.skipif(THERE, reason="Tumult Core is installed here")
def test_it_holds_in_an_environment_of_its_own(run_in_environment):
    assert " passed" in run_in_environment("tmlt018", __file__)


def geometric(alpha=1):
    from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise

    return AddGeometricNoise(alpha=alpha)


def gaussian():
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements.noise_mechanisms import AddGaussianNoise

    return AddGaussianNoise(sigma_squared=2, input_domain=NumpyFloatDomain())


def median():
    from tmlt.core.domains.numpy_domains import NumpyIntegerDomain
    from tmlt.core.domains.pandas_domains import PandasSeriesDomain
    from tmlt.core.measurements.pandas_measurements.series import NoisyQuantile
    from tmlt.core.measures import PureDP

    numbers = PandasSeriesDomain(NumpyIntegerDomain())
    return NoisyQuantile(numbers, PureDP(), quantile=0.5, lower=0, upper=5, epsilon=2)


@needs_tumult
@pytest.mark.parametrize(
    ("make", "data", "claim"),
    [(geometric, 3, pure(1)), (gaussian, 0.5, zcdp(0.25)), (median, [1, 2, 3], pure(2))],
)
def test_plain_data_are_read_and_promises_too(make, data, claim):
    mechanism = adapt(make())
    outputs = mechanism.sample(data, 5, RNG)
    assert not any(isinstance(output, Raised) for output in outputs), outputs
    assert mechanism.promise == claim == promised(make())
    assert mechanism.packages == ("tmlt.core",) and mechanism.name.startswith("Tumult ")


@needs_tumult
def test_the_promise_grows_with_the_distance():
    assert promised(geometric(), d_in=2) == pure(2)


@needs_tumult
@pytest.mark.parametrize("alpha", [0])
def test_without_noise_nothing_is_promised(alpha):
    assert adapt(geometric(alpha)).promise is None
    with pytest.raises(UsageError, match="promises nothing at d_in=1"):
        promised(geometric(alpha))


@needs_tumult
def test_a_right_measurement_is_spared_and_a_smaller_claim_refuted():
    pairs = tollens.numbers(by=1, low=0, high=10, whole=True)
    assert not tollens.audit(geometric(), neighbours=pairs, budget=3_000).refuted
    verdict = tollens.audit(geometric(), "epsilon=0.5", neighbours=(0, 1))
    assert verdict.refuted and verdict.versions["tmlt.core"]


@needs_tumult
def test_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "libraries" / "tumult.md"
    text = page.read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)), {})


@needs_tumult
def test_transformations_are_refused():
    from tmlt.core.domains.numpy_domains import NumpyIntegerDomain
    from tmlt.core.metrics import AbsoluteDifference
    from tmlt.core.transformations.identity import Identity

    made = Identity(AbsoluteDifference(), NumpyIntegerDomain())
    with pytest.raises(UsageError, match="Identity is no measurement"):
        adapt(made)


@needs_tumult
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_frames_of_spark_are_made_once_for_many_runs():
    from pyspark.sql import SparkSession
    from tmlt.core.domains.spark_domains import SparkDataFrameDomain, SparkIntegerColumnDescriptor
    from tmlt.core.measurements.aggregations import NoiseMechanism, create_count_measurement
    from tmlt.core.measures import PureDP
    from tmlt.core.metrics import SymmetricDifference

    local = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = local.getOrCreate()
    try:
        count = create_count_measurement(
            input_domain=SparkDataFrameDomain({"age": SparkIntegerColumnDescriptor()}),
            input_metric=SymmetricDifference(),
            output_measure=PureDP(),
            d_out=1,
            noise_mechanism=NoiseMechanism.GEOMETRIC,
        )
        mechanism = adapt(count)
        assert mechanism.promise == pure(1)
        outputs = mechanism.sample([{"age": 3}, {"age": 4}], 2, RNG)
        assert all(type(output) is int for output in outputs), outputs
    finally:
        session.stop()
