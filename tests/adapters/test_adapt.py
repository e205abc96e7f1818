"""The entry point: what is recognised, what is refused, and what is never imported."""

import functools
import subprocess
import sys

import numpy as np
import pytest

from tollens.adapters import adapt, promised
from tollens.claim import approx, pure
from tollens.errors import UsageError
from tollens.mechanism import Mechanism, batched, from_callable

RNG = np.random.default_rng(0)


def noisy_count(rows, rng):
    return len(rows) + rng.laplace()


class Measurement:
    """Stands for OpenDP's class of that name: recognised by its module, without the library."""

    input_domain = "AtomDomain(T=i32)"
    input_metric = "AbsoluteDistance(i32)"

    def __init__(self, measure, distance):
        self.output_measure = measure
        self.distance = distance

    def __call__(self, arg):
        return arg

    invoke = __call__

    def map(self, d_in):
        if isinstance(self.distance, Exception):
            raise self.distance
        return self.distance


Measurement.__module__ = "opendp.mod"


def test_a_function_is_a_mechanism_as_from_callable_reads_it():
    mechanism = adapt(noisy_count)
    assert (mechanism.name, mechanism.takes_rng, mechanism.promise) == ("noisy_count", True, None)
    assert adapt(batched(lambda data, n, rng: np.zeros(n))).vectorised


def test_a_function_without_a_module_is_a_mechanism_too():
    names = {}
    exec("def made(data, rng):\n    return data + rng.normal()", names)
    assert names["made"].__module__ is None or names["made"].__module__ == "builtins"
    assert adapt(names["made"]).takes_rng


def test_a_mechanism_stays_what_it_is_and_keeps_its_promise():
    own = Mechanism("mine", lambda data, n, rng: [data] * n, takes_rng=False, promise=pure(2))
    assert adapt(own) is own
    assert promised(own) == pure(2)


def test_the_reason_for_a_missing_promise_names_the_mechanism():
    with pytest.raises(UsageError, match="noisy_count makes no promise of its own"):
        promised(noisy_count)
    with pytest.raises(UsageError, match="the mechanism is 3"):
        promised(3)


def test_what_is_no_mechanism_is_refused_as_by_from_callable():
    for nothing in (None, 3, "path.py::name", [noisy_count]):
        with pytest.raises(UsageError) as ours:
            adapt(nothing)
        with pytest.raises(UsageError) as theirs:
            from_callable(nothing)
        assert str(ours.value) == str(theirs.value)


def test_a_partial_that_binds_something_is_a_callable_like_any_other():
    fixed = functools.partial(Measurement("MaxDivergence", 1.0), arg=3)
    assert adapt(functools.partial(noisy_count)).promise is None
    with pytest.raises(UsageError, match="takes no argument"):
        adapt(fixed)


def test_measurements_are_recognised_through_their_methods_and_empty_partials():
    measurement = Measurement("MaxDivergence", 1.0)
    for form in (measurement, measurement.invoke, functools.partial(measurement)):
        mechanism = adapt(form)
        assert mechanism.promise == pure(1.0)
        assert mechanism.sample(7, 2, RNG) == [7, 7]
        assert mechanism.name == "OpenDP measurement on AtomDomain(T=i32)"


@pytest.mark.parametrize(
    ("measure", "distance", "claim"),
    [
        ("MaxDivergence", 0.5, pure(0.5)),
        ("Approximate(MaxDivergence)", (1.0, 1e-6), approx(1.0, 1e-6)),
        ("Approximate(MaxDivergence)", (1.0, 0.0), pure(1.0)),
    ],
)
def test_a_distance_becomes_the_claim_of_its_measure(measure, distance, claim):
    assert adapt(Measurement(measure, distance)).promise == claim


@pytest.mark.parametrize(
    ("measure", "distance", "reason"),
    [
        ("MaxDivergence", float("inf"), "epsilon is inf"),
        ("MaxDivergence", float("nan"), "epsilon is nan"),
        ("Approximate(MaxDivergence)", (1.0, 2.0), "delta is 2"),
        ("MaxDivergence", ValueError("no such\n distance"), "no such distance"),
        ("RenyiDivergence", None, "pick an order"),
        ("MyDivergence", 1.0, "MyDivergence, which no claim can express"),
    ],
)
def test_a_promise_that_cannot_be_read_is_none_and_has_a_reason(measure, distance, reason):
    measurement = Measurement(measure, distance)
    assert adapt(measurement).promise is None
    with pytest.raises(UsageError, match=reason):
        promised(measurement)


def test_no_library_is_imported_on_the_way():
    code = (
        "import sys, functools\n"
        "from tollens.adapters import adapt\n"
        "adapt(lambda data: data); adapt(functools.partial(max, 3)); adapt(sum)\n"
        "print(sorted({'opendp', 'diffprivlib', 'pydp', 'polars', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
