"""The schema: migrations make what the tables say, steps stay as they are, indexes are used."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
import tracemalloc
from statistics import median

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, insert, text
from sqlalchemy.exc import DBAPIError

from tollens.store import Store, StoreError, engines, rows, schema
from tollens.store.tables import METADATA, STEPS, VERSION_TABLE

ADD_A_COLUMN = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None


def upgrade():
    op.add_column("series", sa.Column("comment", sa.Text))
"""

FAILS_HALFWAY = ADD_A_COLUMN + '    op.execute("SELECT nonsense FROM nowhere")\n'


def migrated_like_metadata(store):
    with engines.reading(store._engine) as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)


def test_migrations_make_the_tables(store):
    assert migrated_like_metadata(store) == []


def test_the_comparison_would_see_a_difference(store):
    with engines.writing(store._engine) as connection:
        connection.execute(text("DROP INDEX uq_alarms_open"))
    assert [change[0] for change in migrated_like_metadata(store)] == ["add_index"]


def test_revisions_are_those_of_the_scripts():
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(one.revision for one in scripts)[::-1] == schema.REVISIONS


@pytest.mark.parametrize("change", ["UPDATE steps SET pairs = 1", "DELETE FROM steps"])
def test_steps_cannot_be_changed(store, series, step, change):
    with store.turn(series.id) as turn:
        turn.record(step(), checkpoint=None)
    refused = pytest.raises(DBAPIError, match="append-only")
    with refused, engines.writing(store._engine) as connection:
        connection.execute(text(change))
    assert list(store.steps(series.id)) == [step()]


@pytest.mark.postgres
def test_steps_cannot_be_truncated(postgres):
    refused = pytest.raises(DBAPIError, match="append-only")
    with (
        Store.open(postgres) as store,
        refused,
        engines.writing(store._engine) as connection,
    ):
        connection.execute(text("TRUNCATE steps CASCADE"))


@pytest.fixture
def a_newer_tollens(tmp_path, monkeypatch):
    """Make this tollens one that knows a second revision, written here."""

    def arrive(script):
        folder = tmp_path / "100% migrations"
        shutil.copytree(schema.MIGRATIONS, folder)
        (folder / "versions" / "r0002.py").write_text(script, encoding="utf-8")
        monkeypatch.setattr(schema, "MIGRATIONS", folder)
        monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))

    return arrive


def filled(where, step):
    with Store.open(where) as store:
        series = store.enter("counts", "d", {})
        with store.turn(series.id) as turn:
            turn.record(step(), checkpoint=b"state")


def test_an_older_store_is_migrated_only_when_asked(where, step, a_newer_tollens, monkeypatch):
    filled(where, step)
    a_newer_tollens(ADD_A_COLUMN)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"older tollens .* run: tollens monitor migrate"):
            Store.open(where)
    for migrate in (True, True, False):
        with Store.open(where, migrate=migrate) as store:
            assert list(store.steps(1)) == [step()]
            with engines.reading(store._engine) as connection:
                connection.execute(text("SELECT comment FROM series"))
    monkeypatch.setattr(schema, "REVISIONS", ("0001",))
    with pytest.raises(StoreError, match=r"made by a newer tollens .* update tollens"):
        Store.open(where, migrate=True)


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    where, step, a_newer_tollens, monkeypatch
):
    filled(where, step)
    a_newer_tollens(FAILS_HALFWAY)
    with pytest.raises(StoreError, match="nowhere"):
        Store.open(where, migrate=True)
    monkeypatch.setattr(schema, "REVISIONS", ("0001",))
    with Store.open(where) as store:
        assert list(store.steps(1)) == [step()]
        assert migrated_like_metadata(store) == []


def test_a_new_store_has_wal_and_full_durability(sqlite):
    with Store.open(sqlite) as store, engines.reading(store._engine) as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    assert found == ["wal", 2, 1, 30000]


def test_a_turn_uses_indexes_only(sqlite, step):
    """The plan of every statement of a turn: searches by an index, no scan, no count."""
    seen = []
    with Store.open(sqlite) as store:
        series = store.enter("counts", "d", {})

        @event.listens_for(store._engine, "before_cursor_execute")
        def note(_connection, _cursor, statement, parameters, _context, _many):
            if re.match("SELECT|UPDATE|INSERT", statement):
                seen.append((statement, parameters))

        with store.turn(series.id) as turn:
            assert turn.find("v", "r") is None
            turn.record(step(), checkpoint=b"1", alarm={}, raw=(b"", b""))
        with store.turn(series.id) as turn:
            turn.acknowledge("fixed", checkpoint=b"2")
        list(store.steps(series.id, last=5))
    with sqlite3.connect(sqlite) as connection:
        plans = [
            line[-1]
            for statement, parameters in seen
            for line in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        ]
    assert len(seen) > 15
    assert [plan for plan in plans if "SCAN" in plan] == []
    assert any("steps USING INDEX sqlite_autoindex_steps_2" in plan for plan in plans)
    assert not any("count(" in statement.lower() for statement, _ in seen)


def seconds_of_turns(store, series, step, turns=40):
    seconds = []
    for _ in range(turns):
        begin = time.perf_counter()
        with store.turn(series.id) as turn:
            turn.find("new", "r")
            turn.record(step(turn.number), checkpoint=b"c" * 2000)
        seconds.append(time.perf_counter() - begin)
    return median(seconds)


def test_a_long_series_costs_no_more(where, step):
    """A turn after 100 000 steps takes about as long as one after 100; reading takes no memory."""
    with Store.open(where) as store:
        short, long = (store.enter(name, "d", {}) for name in ("short", "long"))
        with engines.writing(store._engine) as connection:
            for series, length in ((short, 100), (long, 100_000)):
                values = {"series_id": series.id, **rows.step_values(step(experts=b"e" * 100))}
                for first in range(1, length + 1, 5000):
                    numbers = range(first, min(first + 5000, length + 1))
                    batch = [values | {"number": n, "version": f"v{n}"} for n in numbers]
                    connection.execute(insert(STEPS), batch)
        seconds_of_turns(store, short, step)
        times = [seconds_of_turns(store, series, step) for series in (short, long)]
        assert times[1] < 3 * times[0]
        steps = store.steps(long.id, after=50_000)
        for _ in range(500):
            next(steps)
        tracemalloc.start()
        try:
            seen = sum(1 for _, _ in zip(range(5000), steps, strict=False))
            assert seen == 5000
            assert tracemalloc.get_traced_memory()[1] < 3e6
        finally:
            tracemalloc.stop()
