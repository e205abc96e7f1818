"""OpenDP: a `Measurement` is called once a run, and its privacy map is its promise.

The map sends an input distance to a distance of the output measure, which is read as a claim:
`MaxDivergence` as pure, `Approximate(MaxDivergence)` as (epsilon, delta),
`ZeroConcentratedDivergence` as zCDP and `SmoothedMaxDivergence` as a privacy profile.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tollens.claim import Claim, approx, profile, pure, zcdp
from tollens.errors import ClaimError, UsageError
from tollens.mechanism import Batch, Mechanism, from_callable

_REFUSALS = {
    "Transformation": "adds no noise; chain a measurement to it, as in `>> dp.m.then_laplace(1.0)`",
    "_PartialConstructor": "has no input space yet; write `(domain, metric) >> ...` before it",
}
_BOUND = "holds its data; give a function of the data that makes the query and releases it"
_INTERACTIVE = (
    "answers queries instead of releasing one output; give a function of the data that puts "
    "fixed queries to it and returns the answers"
)


def recognises(mechanism: object) -> bool:
    """Whether an object's type comes from OpenDP.

    >>> recognises(len)
    False
    """
    return any(base.__module__.partition(".")[0] == "opendp" for base in type(mechanism).__mro__)


def wrap(mechanism: object) -> Mechanism:
    """Make a mechanism of a measurement: each run is one call, with OpenDP's own randomness.

    A Polars measurement takes data frames or lazy frames; its result is collected and becomes a
    dictionary of columns with sorted rows (OpenDP does not count the order of rows as released).
    Raises `UsageError` for odometers, queryables, transformations and everything else that makes
    no single release.
    """
    kind = type(mechanism).__name__
    if kind != "Measurement":
        why = _REFUSALS.get(kind, "is not a measurement")
        if kind.endswith(("Odometer", "Queryable")):
            why = _INTERACTIVE
        elif kind.endswith(("Query", "Context")):
            why = _BOUND
        raise UsageError(f"an OpenDP {kind.strip('_')} {why}")
    each = from_callable(functools.partial(_release, mechanism), name=_name(mechanism))
    return replace(
        each,
        sampler=functools.partial(_sample, each),
        packages=("opendp",),
        own_entropy=not _may_hold_functions(),
    )


def read_promise(mechanism: object, d_in: object) -> Claim:
    """Read the measurement's map at `d_in` as a claim.

    Where the metric is on frames, a number `d_in` is read as a bound on the rows that differ.
    Raises `UsageError` where the map refuses `d_in`, where its value bounds nothing (an infinite
    epsilon), and where the output measure is none of those that a claim can express.
    """
    measurement: Any = mechanism
    name, measure = _name(mechanism), str(measurement.output_measure)
    if measure == "RenyiDivergence":
        raise UsageError(
            f"{name} promises a curve of Rényi divergences; pick an order and state it, for "
            "example tollens.renyi(8, measurement.map(d_in)(8.0))"
        )
    if measure not in _CLAIMS:
        raise UsageError(f"{name} has the output measure {measure}, which no claim can express")
    try:
        distance = measurement.map(_input_distance(measurement, d_in))
    except Exception as error:
        raise UsageError(
            f"{name} promises nothing at d_in={d_in!r} of {measurement.input_metric}: "
            f"{' '.join(str(error).split())[-250:]}"  # the end of a Python traceback tells most
        ) from error
    try:
        return _CLAIMS[measure](distance)
    except ClaimError as error:
        raise UsageError(f"{name} promises nothing at d_in={d_in!r}: {error}") from error


def _release(measurement: Any, data: object) -> object:
    lazy = getattr(data, "lazy", None)  # OpenDP takes a Polars frame only as a LazyFrame
    output = measurement(data if lazy is None else lazy())
    if type(output).__name__ != "OnceFrame":
        return cast(object, output)
    frame = output.collect()
    return cast(object, frame.sort(frame.columns).to_dict(as_series=False))


def _may_hold_functions() -> bool:
    """Whether measurements may call Python functions, whose randomness nobody knows.

    OpenDP builds such measurements only after `enable_features("honest-but-curious")`.
    """
    import opendp.mod  # imported already: the measurement comes from it

    return "honest-but-curious" in getattr(opendp.mod, "GLOBAL_FEATURES", {"honest-but-curious"})


def _input_distance(measurement: Any, d_in: object) -> object:
    if isinstance(d_in, int) and str(measurement.input_metric).startswith("FrameDistance"):
        from opendp.extras.polars import Bound  # imported already: the metric comes from it

        return [Bound(per_group=d_in)]
    return d_in


def _sample(each: Mechanism, data: object, n: int, rng: np.random.Generator) -> Batch:
    outputs = each.sample(data, n, rng)
    if any(type(output).__name__ == "Queryable" and recognises(output) for output in outputs):
        raise UsageError(f"{each.name} {_INTERACTIVE}")
    return outputs


def _name(measurement: Any) -> str:
    text = f"OpenDP measurement on {measurement.input_domain}"
    return textwrap.shorten(text, 80, placeholder="...")


def _approximate(distance: tuple[float, float]) -> Claim:
    epsilon, delta = distance
    return approx(epsilon, delta) if delta else pure(epsilon)


def _approximate_zcdp(distance: tuple[float, float]) -> Claim:
    """delta-approximate rho-zCDP through the profile delta + (1 - delta) delta_rho(epsilon).

    Both output laws are mixtures of weight 1 - delta on laws that keep rho-zCDP (Bun, Steinke
    2016, section 8), so every (epsilon, delta) point of this profile is implied.
    """
    rho, delta = distance
    inner = zcdp(rho)
    if not delta:
        return inner
    return profile(lambda epsilon: min(1.0, delta + (1.0 - delta) * inner.delta(epsilon)))


def _profile(distance: Any) -> Claim:
    return profile(distance.delta)


_CLAIMS: dict[str, Callable[[Any], Claim]] = {
    "MaxDivergence": pure,
    "ZeroConcentratedDivergence": zcdp,
    "SmoothedMaxDivergence": _profile,
    "Approximate(MaxDivergence)": _approximate,
    "Approximate(ZeroConcentratedDivergence)": _approximate_zcdp,
}
