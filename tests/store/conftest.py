"""Stores to test: a fresh file, and a fresh schema of the PostgreSQL that CI starts."""

from __future__ import annotations

import multiprocessing
import os
import secrets
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tollens.store import StepRecord, Store

NOW = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)


@pytest.fixture
def server():
    """The URL of the server for tests; CI must have one."""
    url = os.environ.get("POSTGRES_FOR_TESTS")
    if url is None:
        missing = "POSTGRES_FOR_TESTS is not set; eval what .ci/postgres.sh start prints"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return url


@contextmanager
def connected(url):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def postgres(server):
    """The URL of an empty schema of its own."""
    name = f"test_{secrets.token_hex(8)}"
    with connected(server) as admin:
        admin.execute(f"CREATE SCHEMA {name}")
    joint = "&" if "?" in server else "?"
    yield f"{server}{joint}options=-csearch_path%3D{name}&application_name={name}"
    with connected(server) as admin:
        admin.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def sqlite(tmp_path):
    return str(tmp_path / "monitor.db")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request):
    """An empty place, once for each kind of database."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def store(where):
    with Store.open(where) as opened:
        yield opened


@pytest.fixture
def series(store):
    return store.enter("counts", "d1", {"alpha": 0.05})


@pytest.fixture
def step():
    """Make a step; names of fields change it."""

    def make(number=1, version=None, run_id="r", **changes):
        fields = {
            "outcome": "scored",
            "pairs": 750,
            "recorded_at": NOW,
            "fingerprint": "f",
            "log_e_value": 0.5,
            "epsilon_lower": 0.0,
            "summary": {"n": 750},
            "experts": b"",
        }
        named = version if version is not None else f"v{number}"
        return StepRecord(number=number, version=named, run_id=run_id, **(fields | changes))

    return make


@pytest.fixture
def tell(server):
    """Run SQL on the server as somebody else would."""

    def run(sql, *values):
        with connected(server) as connection:
            answer = connection.execute(sql, values)
            return answer.fetchall() if answer.description else []

    return run


def end_connections(tell, url):
    """End what a store has open to the server, as `postgres` gave its URL."""
    name = url.rsplit("=", 1)[1]
    ended = tell(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s",
        name,
    )
    assert ended


@pytest.fixture
def at_once():
    """Run a function of a number in so many forked processes at once; their answers, in order."""
    fork = multiprocessing.get_context("fork")

    def run(function, count):
        gate = fork.Barrier(count)

        def child(number, pipe):
            try:
                gate.wait(30)
                pipe.send(function(number))
            except BaseException as error:
                pipe.send(error)

        pipes, children = [], []
        for number in range(count):
            mine, theirs = fork.Pipe(duplex=False)
            children.append(fork.Process(target=child, args=(number, theirs)))
            children[-1].start()
            theirs.close()
            pipes.append(mine)
        answers = [pipe.recv() for pipe in pipes]
        for one in children:
            one.join(30)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    return run
