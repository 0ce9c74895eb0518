"""Runs the migrations on the connection that `metadata.database` hands over."""

from alembic import context

from registry.metadata import schema
from registry.metadata.columns import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=schema.VERSION_TABLE,
    # SQLite can undo these statements, which Alembic does not believe by default.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
