"""Real diffprivlib mechanisms and tools: promises, outputs, budgets and warnings."""

import functools
import math
import warnings

import numpy as np
import pytest

from tollens.adapters import adapt, promised
from tollens.claim import approx, pure
from tollens.errors import UsageError
from tollens.outputs import Encoder, Raised

pytestmark = pytest.mark.libraries
diffprivlib = pytest.importorskip("diffprivlib")
m = pytest.importorskip("diffprivlib.mechanisms")
tools = pytest.importorskip("diffprivlib.tools")

RNG = np.random.default_rng(0)
ROWS = np.arange(10.0) / 10
BOUNDS = (0.0, 1.0)


def shapes(mechanism, data, n=20):
    encoder = Encoder()
    outputs = mechanism.sample(data, n, RNG)
    assert not any(isinstance(output, Raised) for output in outputs)
    return {encoder.shape_name(number) for number in encoder.encode(outputs).shapes.tolist()}


@pytest.mark.parametrize(
    ("made", "data", "claim", "shape"),
    [
        (m.Laplace(epsilon=0.5, sensitivity=1), 0.0, pure(0.5), "float"),
        (m.Laplace(epsilon=1, delta=0.1, sensitivity=1), 0.0, approx(1, 0.1), "float"),
        (m.LaplaceFolded(epsilon=1, sensitivity=1, lower=0, upper=3), 1.0, pure(1), "float"),
        (m.LaplaceBoundedNoise(epsilon=1, delta=0.1, sensitivity=1), 1.0, approx(1, 0.1), "float"),
        (m.Geometric(epsilon=1), 3, pure(1), "int"),
        (m.GeometricTruncated(epsilon=math.log(2), lower=0, upper=5), 3, pure(math.log(2)), "int"),
        (m.Gaussian(epsilon=0.5, delta=1e-5, sensitivity=1), 0.0, approx(0.5, 1e-5), "float"),
        (m.GaussianAnalytic(epsilon=2, delta=1e-5, sensitivity=1), 0.0, approx(2, 1e-5), "float"),
        (m.GaussianDiscrete(epsilon=1, delta=1e-5), 0, approx(1, 1e-5), "int"),
        (m.Uniform(delta=0.1, sensitivity=1), 0.0, approx(0, 0.1), "float"),
        (m.Staircase(epsilon=1, sensitivity=1), 0.0, pure(1), "float"),
        (m.Snapping(epsilon=1, sensitivity=1, lower=0, upper=10), 3.0, pure(1), "float"),
        (m.Binary(epsilon=1, value0="no", value1="yes"), "no", pure(1), "str"),
        (m.ExponentialCategorical(epsilon=1, utility_list=[("a", "b", 1)]), "a", pure(1), "str"),
        (m.Bingham(epsilon=1), np.eye(3), pure(1), "(3,) float"),
    ],
)  # fmt: skip
def test_mechanisms_promise_their_parameters(made, data, claim, shape):
    mechanism = adapt(made)
    assert mechanism.promise == claim
    assert not mechanism.takes_rng
    assert mechanism.name.startswith(f"diffprivlib {type(made).__name__}(epsilon=") or (
        mechanism.name == "diffprivlib Uniform(delta=0.1, sensitivity=1.0)"
    )
    assert "random_state" not in mechanism.name
    assert shapes(mechanism, data) == {shape}
    assert adapt(made.randomise).promise == claim


@pytest.mark.parametrize(
    ("tool", "claim", "shape", "name"),
    [
        (tools.count_nonzero, pure(1), "int", "count_nonzero()"),
        (functools.partial(tools.count_nonzero), pure(1), "int", "count_nonzero()"),
        (
            functools.partial(tools.mean, epsilon=2.0, bounds=(0, 1)),
            pure(2),
            "float",
            "mean(epsilon=2.0, bounds=(0, 1))",
        ),
        (
            functools.partial(tools.quantile, quant=0.5, bounds=(0, 1)),
            pure(1),
            "float",
            "quantile(quant=0.5, bounds=(0, 1))",
        ),
        (
            functools.partial(tools.histogram, bins=3, range=(0, 1)),
            pure(1),
            "tuple[2] of (3,) int, (4,) float",
            "histogram(bins=3, range=(0, 1))",
        ),
    ],
)
def test_tools_promise_the_epsilon_of_their_call(tool, claim, shape, name):
    mechanism = adapt(tool)
    assert (mechanism.promise, mechanism.takes_rng) == (claim, False)
    assert mechanism.name == f"diffprivlib {name}"
    assert shapes(mechanism, ROWS) == {shape}


def test_a_fixed_random_state_is_left_to_whoever_set_it():
    first, second = (
        adapt(m.Laplace(epsilon=1, sensitivity=1, random_state=7)).sample(0.0, 3, RNG)
        for _ in range(2)
    )
    assert list(first) == list(second)


def test_runs_are_charged_to_nobody():
    ours, tight = diffprivlib.BudgetAccountant(), diffprivlib.BudgetAccountant(epsilon=3.0)
    ours.set_default()
    try:
        plain = functools.partial(tools.mean, bounds=BOUNDS)
        assert shapes(adapt(plain), ROWS) == {"float"}
        assert shapes(adapt(functools.partial(plain, accountant=tight)), ROWS) == {"float"}
    finally:
        diffprivlib.BudgetAccountant.pop_default()
    assert ours.spent_budget == tight.spent_budget == []


def test_a_warning_is_shown_once_and_not_once_a_run():
    mechanism = adapt(tools.mean)  # without bounds it takes them from the data, and says so
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mechanism.sample(ROWS, 20, RNG)
        mechanism.sample(ROWS, 20, RNG)
    leaks = [w for w in caught if w.category is diffprivlib.utils.PrivacyLeakWarning]
    assert len(leaks) == 1
    assert "tools" in leaks[0].filename  # the place in the library, not ours


def test_a_crash_is_an_output():
    median = functools.partial(tools.quantile, quant=0.5, bounds=BOUNDS)
    rows = np.append(np.zeros(2983), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        many, one_less = (adapt(median).sample(data, 3, RNG) for data in (rows, rows[1:]))
    assert [output.type for output in many] == ["RuntimeError"] * 3
    assert not any(isinstance(output, Raised) for output in one_less)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (tools.quantile, r"quantile\(\): bind every .* by keyword \(quant missing\)"),
        (tools.histogram2d, "array_y missing"),
        (functools.partial(tools.quantile, ROWS), "by keyword"),
        (functools.partial(tools.mean, array=ROWS), "by keyword"),
        (
            m.Exponential(epsilon=1, sensitivity=1, utility=[0, 1]),
            "holds its data",
        ),
        (
            m.PermuteAndFlip(epsilon=1, sensitivity=1, utility=[0, 1]),
            "makes a fresh PermuteAndFlip",
        ),
        (diffprivlib.BudgetAccountant(), "BudgetAccountant is not sampled by itself"),
    ],
)
def test_what_releases_nothing_of_a_calls_data_is_refused(made, reason):
    with pytest.raises(UsageError, match=reason):
        adapt(made)


@pytest.mark.parametrize(
    ("made", "d_in", "reason"),
    [
        (m.Laplace(epsilon=math.inf, sensitivity=1), 1, "epsilon is inf"),
        (m.Laplace(epsilon=1, sensitivity=1), 2, "for one change of the input"),
        (functools.partial(tools.mean, epsilon="1e-", bounds=BOUNDS), 1, "epsilon is '1e-'"),
    ],
)
def test_a_promise_that_cannot_be_read_is_none_and_has_a_reason(made, d_in, reason):
    assert adapt(made, d_in=d_in).promise is None
    with pytest.raises(UsageError, match=reason):
        promised(made, d_in=d_in)


def test_subclasses_of_mechanisms_are_recognised():
    class Halved(m.Laplace):
        def randomise(self, value):
            return super().randomise(value) / 2

    mechanism = adapt(Halved(epsilon=1, sensitivity=1))
    assert mechanism.promise == pure(1)
    assert "Halved(epsilon=1.0" in mechanism.name
    assert shapes(mechanism, 0.0) == {"float"}
