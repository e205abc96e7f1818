"""Settings of Hypothesis for all tests, and one thread for the linear algebra of each worker."""

from __future__ import annotations

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
