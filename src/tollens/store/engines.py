"""Connections: what SQLite and PostgreSQL need so that one exclusive transaction means the same.

A writing transaction waits at most `wait` seconds for the lock of another process. On SQLite it
begins with BEGIN IMMEDIATE, so that it never reads what another is about to change.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from tollens.errors import StoreError
from tollens.store.places import Place

_CONNECT_SECONDS = "10"


def make_engine(place: Place, wait: float) -> Engine:
    """An engine of a place; nothing is connected yet."""
    engine = _sqlite(place, wait) if place.path is not None else _postgres(place, wait)
    _let_go_before_fork(engine)
    return engine


def _let_go_before_fork(engine: Engine) -> None:
    """Close idle connections before this process forks: two processes must not share one.

    SQLite moreover keeps, for each process, which locks it holds; a fork copies that, but not the
    locks. So the child could not even open the file anew while the parent has it open.
    """
    weak = weakref.ref(engine)

    def let_go() -> None:
        alive = weak()
        if alive is not None:
            alive.dispose()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=let_go)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads: one state of the database."""
    with engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: committed at the end, rolled back on any exception."""
    with begun(engine) as connection, connection.begin():
        yield connection


def begun(engine: Engine) -> Connection:
    """A connection whose next transaction takes the lock of writers."""
    return engine.connect().execution_options(writes=True)


def _writes(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("writes"))


def _sqlite(place: Place, wait: float) -> Engine:
    engine = create_engine(place.url, connect_args={"timeout": wait})

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # BEGIN is ours
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        entry.info["file"] = _identity(place)

    @event.listens_for(engine, "checkout")
    def _taken(_connection: object, entry: ConnectionPoolEntry, _proxy: object) -> None:
        if entry.info["file"] != _identity(place):  # moved away, or another put in its place
            raise DisconnectionError

    @event.listens_for(engine, "begin")
    def _begins(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if _writes(connection) else "BEGIN")

    return engine


def _identity(place: Place) -> tuple[int, int] | None:
    assert place.path is not None  # noqa: S101 - only SQLite asks
    try:
        found = place.path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def prefer_wal(engine: Engine) -> None:
    """Readers and the writer of a new file do not wait for each other, where this works.

    The mode stays with the file. A file system that cannot do it, and another process that makes
    the same store at this moment, leave the mode as it is, which is as safe.
    """
    raw = engine.raw_connection()
    try:
        with suppress(sqlite3.OperationalError):
            raw.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        raw.close()


def _postgres(place: Place, wait: float) -> Engine:
    url = place.url
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": _CONNECT_SECONDS})
    try:
        engine = create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED")
    except ImportError:
        raise StoreError(
            f"{place}: PostgreSQL needs psycopg; install it with pip install 'tollens[postgres]'"
        ) from None

    @event.listens_for(engine, "begin")
    def _begins(connection: Connection) -> None:
        if _writes(connection):
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(wait * 1000))}")

    return engine
