"""Quantiles of the Brownian monitor: from a table, from a cache on disk, or simulated once.

The table `quantiles.json` is made by `benchmarks/brownian_quantiles.py`.
"""

from __future__ import annotations

import functools
import json
import math
import os
import tempfile
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np

from tollens.errors import UsageError
from tollens.monitoring.brownian.suprema import (
    GRID,
    Array,
    finite_sample,
    limit_samples,
    sup_abs_quantile,
)

ALPHAS: tuple[float, ...] = tuple(
    sorted(
        {round(0.5 * 2 ** (-k / 4), 8) for k in range(50)} | {0.1, 0.05, 0.025, 0.0125, 0.01, 1e-3},
        reverse=True,
    )
)
"""The levels at which a curve is kept, so dense that lines between them lose less than 0.0005."""

PATHS = 200_000
SEED = 20_260_101

LONGEST = 1000
"""Beyond so many steps the limit is used: it is larger (by 0.03 at beta 0, 0.1 at 0.4), so safe."""

_EXCEEDANCES = 20
_SCHEMA = "tollens/brownian-quantiles/1"
_SECONDS_PER_WINDOW = 2.5e-10
_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Quantile:
    """An estimated (1 - alpha) quantile and its standard error; `upper` keeps the level.

    `horizon` None is the limit of many steps.

    >>> round(Quantile(0.05, 0.25, 100, 2.420, 0.004).upper, 3)
    2.428
    """

    alpha: float
    beta: float
    horizon: int | None
    value: float
    error: float

    @property
    def upper(self) -> float:
        """The estimate and two standard errors."""
        return self.value + 2 * self.error


@dataclass(frozen=True, slots=True)
class Curve:
    """Quantiles at falling levels, with standard errors, of one beta and horizon."""

    beta: float
    horizon: int | None
    alphas: tuple[float, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]

    def at(self, alpha: float) -> Quantile:
        """Interpolate linearly in log(alpha).

        Below the last level the line through the last three octaves goes on: the quantile is
        concave in log(1/alpha), as that of a normal law, so the line lies above it.
        """
        x, values, errors = -np.log(self.alphas), np.array(self.values), np.array(self.errors)
        u = -math.log(alpha)
        if u <= x[-1]:
            value, error = float(np.interp(u, x, values)), float(np.interp(u, x, errors))
        else:
            start = int(np.searchsorted(x, x[-1] - 3 * math.log(2)))
            slope = float((values[-1] - values[start]) / (x[-1] - x[start]))
            further = float(u - x[-1])
            value = float(values[-1]) + slope * further
            error = float(errors[-1]) * (1 + further)
        return Quantile(alpha, self.beta, self.horizon, value, error)

    def to_json(self) -> dict[str, object]:
        """A plain dictionary; numbers are kept to four digits."""
        return {
            "schema": _SCHEMA,
            "beta": self.beta,
            "horizon": self.horizon,
            "alphas": list(self.alphas),
            "values": [round(value, 4) for value in self.values],
            "errors": [round(error, 5) for error in self.errors],
        }


def quantile(
    alpha: float, *, beta: float = 0.25, horizon: int | None = None, cache: Path | None = None
) -> Quantile:
    """The (1 - alpha) quantile of the largest window, for `horizon` steps or in the limit.

    beta in {0, 0.1, 0.25, 0.4} and horizons of 50, 100, 200, 500, 1000 or None are in a table;
    others are simulated once, in at most half a minute, and kept in the folder `cache`
    (`cache_folder()` if not given). Horizons beyond 1000 get the limit. Raises `UsageError`
    naming all settings that are out of range.

    >>> found = quantile(0.05, beta=0.25, horizon=100)
    >>> round(found.value, 1), found.error < 0.005
    (2.4, True)
    >>> round(quantile(0.05, beta=0).value, 4)
    2.2414
    """
    findings = []
    if not 0 < alpha <= 0.5:
        findings.append(f"alpha is {alpha}; it must lie in (0, 0.5]")
    if not 0 <= beta < 0.5:
        findings.append(f"beta is {beta}; it must lie in [0, 0.5)")
    if horizon is not None and horizon < 1:
        findings.append(f"horizon is {horizon}; use at least 1 step")
    if findings:
        raise UsageError(findings)
    if horizon is not None and horizon > LONGEST:
        horizon = None
    if horizon is None and beta == 0:
        return Quantile(alpha, beta, None, sup_abs_quantile(alpha), 0.0)
    curve = _table().get((float(beta), horizon)) or _cached(float(beta), horizon, cache)
    return curve.at(alpha)


def simulate(beta: float, horizon: int | None, *, paths: int = PATHS, seed: int = SEED) -> Curve:
    """A curve by simulation, with standard errors from the spread of its order statistics.

    Levels with fewer than 20 of the paths above them are left out. In the limit the
    difference between two grids, twice, is added to the standard error.

    >>> simulate(0.25, 4, paths=2000).alphas[-1] >= 0.01
    True
    """
    if horizon is None:
        sample, coarse = limit_samples(beta, paths, seed)
    else:
        sample = coarse = finite_sample(beta, horizon, paths, seed)
    alphas = [alpha for alpha in ALPHAS if alpha * paths >= _EXCEEDANCES]
    values = [_order_statistic(sample, alpha) for alpha in alphas]
    errors = []
    for alpha, value in zip(alphas, values, strict=True):
        spread = math.sqrt(alpha * (1 - alpha) / paths)
        upper, lower = (_order_statistic(sample, alpha + sign * spread) for sign in (-1, 1))
        grid = abs(value - _order_statistic(coarse, alpha))
        errors.append((upper - lower) / 2 + 2 * grid)
    return Curve(beta, horizon, tuple(alphas), tuple(values), tuple(errors))


def cache_folder() -> Path:
    """Where simulated curves are kept by default: `tollens` in the user's folder for caches.

    >>> cache_folder().name
    'tollens'
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tollens"


def _order_statistic(sample: Array, alpha: float) -> float:
    place = min(max(math.ceil((1 - alpha) * len(sample)) - 1, 0), len(sample) - 1)
    return float(sample[place])


def _paths(horizon: int | None, beta: float) -> int:
    """As many paths as a quarter of a minute allows, at most `PATHS`."""
    if horizon is None:
        return PATHS * 250 // GRID
    if beta == 0:
        return PATHS
    return int(min(PATHS, _SECONDS / (_SECONDS_PER_WINDOW * horizon**2)))


@functools.cache
def _table() -> dict[tuple[float, int | None], Curve]:
    place = resources.files("tollens.monitoring.brownian").joinpath("quantiles.json")
    text = place.read_text("utf-8")
    curves = [_curve_from_json(each) for each in json.loads(text)["curves"]]
    return {(curve.beta, curve.horizon): curve for curve in curves}


def _curve_from_json(data: object) -> Curve:
    """Read a curve; ValueError, KeyError or TypeError where it is none."""
    if not isinstance(data, dict) or data["schema"] != _SCHEMA:
        raise ValueError("not a curve of quantiles")
    lists = [tuple(float(number) for number in data[key]) for key in ("alphas", "values", "errors")]
    alphas, values, errors = lists
    horizon = None if data["horizon"] is None else int(data["horizon"])
    falling = all(later < earlier for earlier, later in pairwise(alphas))
    finite = all(math.isfinite(number) for numbers in lists for number in numbers)
    if not (len(alphas) == len(values) == len(errors) >= 2 and falling and finite):
        raise ValueError("not a curve of quantiles")
    return Curve(float(data["beta"]), horizon, alphas, values, errors)


def _cached(beta: float, horizon: int | None, cache: Path | None) -> Curve:
    """The curve in the cache; simulated, and kept there, where it is missing or unreadable."""
    folder = cache_folder() if cache is None else cache
    path = folder / f"brownian-quantiles-1-beta-{beta!r}-steps-{horizon or 'limit'}.json"
    try:
        curve = _curve_from_json(json.loads(path.read_text("utf-8")))
        if (curve.beta, curve.horizon) == (beta, horizon):
            return curve
    except (OSError, ValueError, KeyError, TypeError):
        pass
    curve = simulate(beta, horizon, paths=_paths(horizon, beta))
    _keep(curve, path)
    return curve


def _keep(curve: Curve, path: Path) -> None:
    """Write to a file of its own, then rename: readers and other writers never see a part.

    A folder that cannot be written to costs only the time of another simulation.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(curve.to_json(), file)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
    except OSError:
        pass
