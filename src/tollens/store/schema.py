"""Is this database ours, and of which revision? Made where it is empty, migrated where asked."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Connection, Engine, MetaData, Table, Text, inspect, select, text

from tollens.errors import StoreError
from tollens.store.engines import prefer_wal, reading, writing
from tollens.store.faults import translated
from tollens.store.places import Place
from tollens.store.tables import VERSION_TABLE

REVISIONS = ("0001",)
"""All revisions of the schema, oldest first; a test holds them against Alembic's scripts."""

MIGRATIONS = Path(__file__).parent / "migrations"

_LOCK = 0x746F6C6C656E73  # "tollens": who makes or migrates a schema of PostgreSQL holds it

_VERSION = Table(VERSION_TABLE, MetaData(), Column("version_num", Text))


def prepare(engine: Engine, place: Place, *, create: bool, migrate: bool) -> None:
    """Leave the database with the newest schema, or say why it is not touched."""
    with translated(place):
        with reading(engine) as connection:
            found = _examine(connection, place)
        if found == REVISIONS[-1]:
            return
        _permit(place, found, create=create, migrate=migrate)
        if place.path is not None:
            prefer_wal(engine)
        with writing(engine) as connection:
            if place.path is None:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            found = _examine(connection, place)  # another process may have been faster
            if found != REVISIONS[-1]:
                _permit(place, found, create=create, migrate=migrate)
                _upgrade(connection)


def _examine(connection: Connection, place: Place) -> str | None:
    """The revision of our database, None for an empty one; refuses one that is not ours."""
    inspector = inspect(connection)
    names = {*inspector.get_table_names(), *inspector.get_view_names()}
    if not names:
        return None
    if VERSION_TABLE not in names:
        example = min(names)
        raise StoreError(
            f"{place} is a database of something else (it has a table {example}, and none of "
            "tollens); it was left as it is: give another file, or another database or schema"
        )
    found = connection.execute(select(_VERSION.c.version_num)).scalars().all()
    if len(found) != 1 or found[0] not in REVISIONS:
        shown = " and ".join(str(one) for one in found) or "none"
        raise StoreError(
            f"{place} was made by a newer tollens (its schema is {shown}, the newest known here "
            f"is {REVISIONS[-1]}); update tollens, or take another store"
        )
    return str(found[0])


def _permit(place: Place, found: str | None, *, create: bool, migrate: bool) -> None:
    if found is None and not create:
        raise StoreError(f"there is no store at {place}; the first step of a monitor makes it")
    if found is not None and not migrate:
        raise StoreError(
            f"{place} was made by an older tollens (its schema is {found}, this tollens needs "
            f"{REVISIONS[-1]}); make a copy of it, then run: tollens monitor migrate (in Python: "
            "Store.open(..., migrate=True))"
        )


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
