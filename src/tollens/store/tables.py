"""The schema, one for SQLite and PostgreSQL.

    series       what is watched: (name, digest) once each, settings as JSON text
    steps        append-only: primary key (series_id, number), (series_id, version, run_id) once;
                 triggers refuse UPDATE and DELETE
    checkpoints  the running state of a series after its step `step`: one row a series, replaced
    alarms       raised by a step; at most one of a series is open (acknowledged_at is NULL)
    outputs      the raw outputs of both sides of a step, where they are kept

Conventions: JSON is text, infinities and NaN in it are written as `tollens.serial` does. In
columns of numbers NaN is NULL, because SQLite knows no NaN, and -0.0 is 0.0. Moments are UTC. The
revision of the schema is in the table `tollens_version`, which Alembic keeps.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION_TABLE = "tollens_version"

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

SERIES = Table(
    "series",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("stale_after", Double),
    Column("opened_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("name", "digest"),
    sqlite_autoincrement=True,
)

STEPS = Table(
    "steps",
    METADATA,
    Column("series_id", ForeignKey(SERIES.c.id), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("version", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("pairs", BigInteger, nullable=False),
    Column("recorded_at", DateTime(timezone=True), nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("log_e_value", Double),
    Column("epsilon_lower", Double),
    Column("summary", Text, nullable=False),
    Column("experts", LargeBinary, nullable=False),
    UniqueConstraint("series_id", "version", "run_id"),
    CheckConstraint("number >= 1", name="number"),
    CheckConstraint("outcome IN ('scored', 'failed')", name="outcome"),
)

CHECKPOINTS = Table(
    "checkpoints",
    METADATA,
    Column("series_id", ForeignKey(SERIES.c.id), primary_key=True, autoincrement=False),
    Column("step", Integer, nullable=False),
    Column("state", LargeBinary, nullable=False),
)

ALARMS = Table(
    "alarms",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("series_id", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("raised_at", DateTime(timezone=True), nullable=False),
    Column("details", Text, nullable=False),
    Column("acknowledged_at", DateTime(timezone=True)),
    Column("reason", Text),
    ForeignKeyConstraint(["series_id", "step"], [STEPS.c.series_id, STEPS.c.number]),
    Index(None, "series_id"),
    Index(
        "uq_alarms_open",
        "series_id",
        unique=True,
        sqlite_where=text("acknowledged_at IS NULL"),
        postgresql_where=text("acknowledged_at IS NULL"),
    ),
    sqlite_autoincrement=True,
)

OUTPUTS = Table(
    "outputs",
    METADATA,
    Column("series_id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("x", LargeBinary, nullable=False),
    Column("x_prime", LargeBinary, nullable=False),
    ForeignKeyConstraint(["series_id", "number"], [STEPS.c.series_id, STEPS.c.number]),
)
