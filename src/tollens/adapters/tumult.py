"""Tumult Core: a `Measurement` is called once a run, and its privacy function is its promise.

Numbers and lists become what its input domain takes: numpy scalars, pandas series and, where it
asks Spark, frames of Spark, made once for many runs from pandas frames or lists of dictionaries.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tollens.claim import Claim, approx, pure, zcdp
from tollens.errors import ClaimError, UsageError
from tollens.mechanism import Batch, Mechanism, from_callable

_MEASUREMENT = "tmlt.core.measurements.base.Measurement"


def recognises(mechanism: object) -> bool:
    """Whether an object's type comes from Tumult Core.

    >>> recognises({})
    False
    """
    return any(base.__module__.startswith("tmlt.core.") for base in type(mechanism).__mro__)


def wrap(mechanism: object) -> Mechanism:
    """Make a mechanism of a measurement, with Tumult's own randomness.

    Raises `UsageError` for transformations, and for measurements that answer queries.
    """
    bases = [f"{base.__module__}.{base.__name__}" for base in type(mechanism).__mro__]
    if _MEASUREMENT not in bases:
        raise UsageError(
            f"a Tumult {type(mechanism).__name__} is no measurement; chain one to it, as in "
            "`transformation | measurement`"
        )
    measurement: Any = mechanism
    if measurement.is_interactive:
        raise UsageError(
            f"{_name(measurement)} answers queries instead of releasing one output; give a "
            "function of the data that puts fixed queries to it and returns the answers"
        )
    each = from_callable(functools.partial(_release, measurement), name=_name(measurement))
    sampler = functools.partial(_sample, each, measurement.input_domain)
    return replace(each, sampler=sampler, packages=("tmlt.core",))


def read_promise(mechanism: object, d_in: object) -> Claim:
    """Read the measurement's privacy function at `d_in` as a claim.

    Raises `UsageError` where it refuses `d_in`, bounds nothing, or has another output measure than
    `PureDP`, `ApproxDP` and `RhoZCDP`.
    """
    measurement: Any = mechanism
    name, measure = _name(measurement), type(measurement.output_measure).__name__
    if measure not in _CLAIMS:
        raise UsageError(f"{name} has the output measure {measure}, which no claim can express")
    try:
        return _CLAIMS[measure](measurement.privacy_function(d_in))
    except ClaimError as error:
        raise UsageError(f"{name} promises nothing at d_in={d_in!r}: {error}") from error
    except Exception as error:
        raise UsageError(
            f"{name} promises nothing at d_in={d_in!r} of {measurement.input_metric}: "
            f"{' '.join(str(error).split())[-250:]}"
        ) from error


def _sample(each: Mechanism, domain: Any, data: object, n: int, rng: np.random.Generator) -> Batch:
    return each.sample(_read(domain, data), n, rng)


def _read(domain: Any, data: Any) -> object:
    """The data as the domain takes them; whatever else is given stays as it is."""
    carrier = domain.carrier_type
    if isinstance(data, carrier):
        return data
    if issubclass(carrier, np.generic):
        return carrier(data)
    if carrier.__module__.startswith("pandas.") and carrier.__name__ == "Series":
        return carrier(data, dtype=domain.element_domain.carrier_type)
    if carrier.__module__.startswith("pyspark."):
        return _spark(domain, data)
    return cast(object, data)


def _spark(domain: Any, data: Any) -> object:
    from pyspark.sql import SparkSession  # imported already: the domain has its frames

    rows = data.to_dict("records") if hasattr(data, "to_dict") else data
    names = domain.spark_schema.fieldNames()
    session = SparkSession.builder.getOrCreate()
    lists = [tuple(row[name] for name in names) for row in rows]
    return cast(object, session.createDataFrame(lists, schema=domain.spark_schema).cache())


def _release(measurement: Any, data: object) -> object:
    output = measurement(data)
    if hasattr(output, "toPandas"):  # the order of its rows means nothing
        return sorted(tuple(row) for row in output.collect())
    return cast(object, output)


def _name(measurement: Any) -> str:
    text = f"Tumult {type(measurement).__name__} on {type(measurement.input_domain).__name__}"
    return textwrap.shorten(text, 80, placeholder="...")


def _number(value: Any) -> float:
    """An exact number of Tumult's as a float, rounded up: a looser claim."""
    return cast(float, value.to_float(round_up=True))


def _approximate(value: Any) -> Claim:
    epsilon, delta = (_number(each) for each in value)
    return approx(epsilon, delta) if delta else pure(epsilon)


_CLAIMS: dict[str, Callable[[Any], Claim]] = {
    "PureDP": lambda value: pure(_number(value)),
    "ApproxDP": _approximate,
    "RhoZCDP": lambda value: zcdp(_number(value)),
}
