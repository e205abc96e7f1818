"""A store with series in each state, and clients of its dashboard."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

import tollens
from tollens.server.access import Access, Attempts
from tollens.server.settings import ServeSettings
from tollens.store import Store

PAIR = ([1, 1, 1], [1, 1])
HTML = {"accept": "text/html"}
READ, CLOSE = "r" * 40, "a" * 40
HOSTILE = "<script>alert(1)</script>\u202e'\"&{{7*7}}"


@tollens.batched
def good(rows, n, rng):
    return len(rows) + rng.laplace(scale=1.0, size=n)


@tollens.batched
def broken(rows, n, rng):
    return len(rows) + rng.laplace(scale=0.25, size=n)


def fill(where):
    """Series: alarmed, hostile, failing, quiet, stale."""
    for seed, (name, versions, stale) in enumerate((
        ("alarmed", [good, broken], None),
        (HOSTILE, [broken], None),
        ("failing", [good, "nowhere.py::f"], None),
        ("quiet", [good] * 3, None),
        ("stale", [good], 1e-6),
    )):  # fmt: skip
        with tollens.Monitor.open(
            name, "epsilon=1", store=where, seed=seed, stale_after=stale
        ) as monitor:
            for i, mechanism in enumerate(versions, 1):
                monitor.step(mechanism, neighbours=PAIR, version=f"v{i}")


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """The path of a store that must not be changed."""
    path = tmp_path_factory.mktemp("store") / "monitor.db"
    fill(path)
    return path


@pytest.fixture
def store_path(filled, tmp_path):
    """The path of a copy of it."""
    with Store.open(filled):  # what is in the log goes to the file at the last close
        pass
    path = tmp_path / "monitor.db"
    path.write_bytes(filled.read_bytes())
    for ending in ("-wal", "-shm"):
        beside = filled.with_name(filled.name + ending)
        if beside.exists():
            path.with_name(path.name + ending).write_bytes(beside.read_bytes())
    return path


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def serve(store_path, clock):
    """Make a client of the dashboard with some settings."""
    from starlette.testclient import TestClient

    from tollens.server.app import make_app

    opened = []

    def make(settings=None, *, where=store_path, client=("127.0.0.1", 50000), **changes):
        settings = settings or ServeSettings(**changes)
        store = Store.open(where, create=False)
        opened.append(store)
        access = Access(settings, clock=clock, attempts=Attempts(most=3, clock=clock))
        made = TestClient(
            make_app(store, settings, access=access), base_url="http://127.0.0.1:8317",
            client=client, follow_redirects=False, raise_server_exceptions=False,
        )  # fmt: skip
        made.ids = {series.name: series.id for series in store.series()}
        return made

    yield make
    for store in opened:
        store.close()


def csrf_of(page):
    """The token in the form of a page."""
    return re.search(r'name="csrf" value="([0-9a-f]{64})"', page.text)[1]


SAME = {"origin": "http://127.0.0.1:8317"}


@pytest.fixture
def soon():
    return datetime.now(UTC) + timedelta(minutes=1)
