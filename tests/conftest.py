"""Settings of Hypothesis for all tests, one thread for linear algebra, and equality of verdicts."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

pytest_plugins = ["pytester"]  # runs sessions of pytest in tests of the plugin

settings.register_profile("tollens", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("tollens")


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Tests run in parallel; threads that fight for the same cores make a fit ten times slower."""
    import sklearn.linear_model  # noqa: F401 - its libraries must be loaded to be limited

    with threadpool_limits(1):
        yield


def _alike(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float):
        return other == pytest.approx(one, rel=1e-12, abs=1e-12)
    return one == other


@pytest.fixture(scope="session")
def same():
    """Whether verdicts are equal but for last digits: where arrays lie decides how sums round."""
    return lambda one, other: _alike(json.loads(one.to_json()), json.loads(other.to_json()))
