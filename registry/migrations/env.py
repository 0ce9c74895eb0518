"""Runs the migrations on the connection that `registry.database` hands over."""

from alembic import context

from registry import schema
from registry.columns import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=schema.VERSION_TABLE,
    # SQLite can undo these statements, which Alembic does not believe by default.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
