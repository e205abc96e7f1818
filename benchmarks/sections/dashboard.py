"""What a page of the dashboard costs: requests over HTTP to a process of `tollens serve`."""

from __future__ import annotations

import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Text, cast, func, insert, select

import tollens
from benchmarks.harness import Row, Runner
from tollens.store import engines
from tollens.store.tables import SERIES, STEPS

TITLE = "The dashboard"
NOTE = (
    "Milliseconds of a page over HTTP, median of 50 requests: the list of 1000 series of 1000 "
    "steps each, and a series of 100,000 steps with its figure. PostgreSQL where "
    "POSTGRES_FOR_TESTS names a server."
)
RUNS = (1, 1)
SECONDS = 300.0

MANY, STEPS_EACH, LONG, REQUESTS = 1000, 1000, 100_000, 50
MOST_LIST, MOST_LONG = 100.0, 1000.0


@tollens.batched
def count(rows: Sequence[int], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A count that keeps its claim."""
    return len(rows) + rng.laplace(scale=1.0, size=n)


def fill(where: str) -> int:
    """Series of one real step, copied below all checks but the database's; the id of the long one.

    Evidence of the copies swings, so that no stretch of the figure is flat.
    """
    with tollens.Monitor.open("count-0000", "epsilon=1", store=where, seed=1) as monitor:
        monitor.step(count, neighbours=([1, 1, 1], [1, 1]), version="1")
        with engines.writing(monitor.store._engine) as connection:
            one = dict(connection.execute(select(SERIES)).mappings().one())
            step = dict(connection.execute(select(STEPS)).mappings().one())
            del one["id"]
            names = [f"count-{i:04d}" for i in range(1, MANY + 1)]
            connection.execute(
                insert(SERIES), [{**one, "name": name, "digest": name} for name in names]
            )
            ids = list(connection.execute(select(SERIES.c.id).order_by(SERIES.c.id)).scalars())
            connection.execute(insert(STEPS), [{**step, "series_id": i} for i in ids[1:]])
            _multiply(connection, ids[:-1], STEPS_EACH)
            _multiply(connection, ids[-1:], LONG)
    return int(ids[-1])


def _multiply(connection: Any, ids: Sequence[int], wanted: int) -> None:
    """Double the steps of some series until each has as many as are wanted."""
    made = 1
    while made < wanted:
        number = STEPS.c.number + made
        changed = {
            "number": number,
            "version": cast(number, Text),
            "log_e_value": func.abs(number % 997 - 498) / 400.0,
        }
        columns = [changed.get(column.name, column) for column in STEPS.c]
        old = select(*columns).where(
            STEPS.c.series_id.between(min(ids), max(ids)), number <= wanted
        )
        connection.execute(insert(STEPS).from_select([c.name for c in STEPS.c], old))
        made = min(2 * made, wanted)


@contextmanager
def served(where: str) -> Iterator[str]:
    """The address of a process that serves a store."""
    command = [sys.executable, "-m", "tollens", "serve", "--port", "0", "--store", where]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = "" if process.stderr is None else process.stderr.readline()
            found = re.search(r"http://\S+/", line)
            if found is None:
                raise RuntimeError(f"tollens serve did not start: {line}")
            yield found[0]
        finally:
            process.terminate()


def milliseconds(address: str) -> float:
    """The median of some requests, all read to the end."""
    found = []
    for _ in range(REQUESTS):
        started = time.perf_counter()
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own server
            answer.read()
        found.append(1000 * (time.perf_counter() - started))
    return statistics.median(found)


def pages(where: str) -> dict[str, float]:
    """The cost of each page of a store."""
    long = fill(where)
    with served(where) as address:
        return {
            "list": milliseconds(address),
            "series": milliseconds(f"{address}series/{long}"),
            "figure": milliseconds(f"{address}series/{long}/figure.svg"),
        }


@contextmanager
def schema(server: str) -> Iterator[str]:
    """The URL of an empty schema of its own."""
    import psycopg

    name = f"bench_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
        try:
            yield f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{name}"
        finally:
            admin.execute(f"DROP SCHEMA {name} CASCADE")  # type: ignore[arg-type]


def measure(_runner: Runner) -> list[Row]:
    """Rows for each kind of database."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        found["SQLite"] = pages(f"{folder}/monitor.db")
    server = os.environ.get("POSTGRES_FOR_TESTS")
    if server is not None:
        with schema(server) as where:
            found["PostgreSQL"] = pages(where)
    rows = []
    for kind, cost in found.items():
        long = cost["series"] + cost["figure"]
        rows += [
            Row(
                what=f"list of {MANY:,} series of {STEPS_EACH:,} steps, {kind} (ms)",
                target=f"< {MOST_LIST:g}",
                ok=cost["list"] < MOST_LIST,
                median=cost["list"],
            ),
            Row(
                what=f"a series of {LONG:,} steps with its figure, {kind} (ms)",
                target=f"< {MOST_LONG:g}",
                ok=long < MOST_LONG,
                median=long,
                more={"page": cost["series"], "figure": cost["figure"]},
            ),
        ]
    return rows
