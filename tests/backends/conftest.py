"""A real Dask cluster with two worker processes, one for the whole session."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(scope="session")
def dask_cluster():
    """The cluster; its workers are started anew when they die."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def dask_url(dask_cluster):
    """Its address, as `backend` takes it."""
    return dask_cluster.scheduler_address.replace("tcp://", "dask://")
