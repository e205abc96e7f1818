"""Run by Alembic: migrates the database of a connection that holds the lock already.

`tollens.store.schema` hands the connection over; its transaction is committed there, so that a
migration happens as a whole or not at all.
"""

from alembic import context

from tollens.store.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
