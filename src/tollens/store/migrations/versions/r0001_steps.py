"""Series, steps, checkpoints, alarms and outputs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables, and the triggers that keep steps as they were recorded."""
    op.create_table(
        "series",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("stale_after", sa.Double),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint("name", "digest", name="uq_series_name_digest"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "steps",
        sa.Column("series_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("pairs", sa.BigInteger, nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("log_e_value", sa.Double),
        sa.Column("epsilon_lower", sa.Double),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("experts", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("series_id", "number", name="pk_steps"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_steps_series"),
        sa.UniqueConstraint(
            "series_id", "version", "run_id", name="uq_steps_series_id_version_run_id"
        ),
        sa.CheckConstraint("number >= 1", name=op.f("ck_steps_number")),
        sa.CheckConstraint("outcome IN ('scored', 'failed')", name=op.f("ck_steps_outcome")),
    )
    op.create_table(
        "checkpoints",
        sa.Column("series_id", sa.Integer, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("series_id", name="pk_checkpoints"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_checkpoints_series"),
    )
    op.create_table(
        "alarms",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("series_id", sa.Integer, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("raised_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True)),
        sa.Column("reason", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_alarms"),
        sa.ForeignKeyConstraint(
            ["series_id", "step"], ["steps.series_id", "steps.number"], name="fk_alarms_steps"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_alarms_series_id", "alarms", ["series_id"])
    op.create_index(
        "uq_alarms_open",
        "alarms",
        ["series_id"],
        unique=True,
        sqlite_where=sa.text("acknowledged_at IS NULL"),
        postgresql_where=sa.text("acknowledged_at IS NULL"),
    )
    op.create_table(
        "outputs",
        sa.Column("series_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("x", sa.LargeBinary, nullable=False),
        sa.Column("x_prime", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("series_id", "number", name="pk_outputs"),
        sa.ForeignKeyConstraint(
            ["series_id", "number"], ["steps.series_id", "steps.number"], name="fk_outputs_steps"
        ),
    )
    _keep_steps()


def _keep_steps() -> None:
    """Refuse every change of a recorded step, whoever asks for it."""
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER steps_refuse_{change.lower()} BEFORE {change} ON steps "
                "BEGIN SELECT RAISE(ABORT, 'steps are append-only'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION tollens_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'steps are append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER steps_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON steps "
        "FOR EACH STATEMENT EXECUTE FUNCTION tollens_refuse_change()"
    )
