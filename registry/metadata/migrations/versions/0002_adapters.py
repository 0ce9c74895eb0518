"""Adapters, evidence through them, and the digests of an alias's protocols."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_DIGEST = sa.String(length=64)
_EDGE = (
    "new_fingerprint, old_fingerprint, kind, adapter_fingerprint, distance, "
    "first_components, protocol_digest, evidence_id, created"
)


def upgrade() -> None:
    """Adds the tables and columns; what is stored stays as it is."""
    op.add_column(
        "models",
        sa.Column("next_adapter", sa.Integer(), nullable=False, server_default="1"),
    )
    op.add_column("evidence", sa.Column("adapter_fingerprint", _DIGEST))
    op.add_column(
        "indices", sa.Column("adapters", sa.JSON(), nullable=False, server_default="{}")
    )
    op.add_column("alias_moves", sa.Column("from_protocol_digest", _DIGEST))
    op.add_column("alias_moves", sa.Column("to_protocol_digest", _DIGEST))
    op.create_table(
        "adapters",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("writer", sa.String(length=400), nullable=False),
        sa.Column("lease", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fingerprint", _DIGEST, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("old_fingerprint", _DIGEST, nullable=False),
        sa.Column("new_fingerprint", _DIGEST, nullable=False),
        sa.Column("direction", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=100), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("input_size", sa.Integer(), nullable=False),
        sa.Column("output_size", sa.Integer(), nullable=False),
        sa.Column("side_size", sa.Integer(), nullable=True),
        sa.Column("has_variance", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("model", "number"),
        sqlite_autoincrement=True,
    )
    for column in ("fingerprint", "old_fingerprint"):
        op.create_index(op.f(f"ix_adapters_{column}"), "adapters", [column])
    _let_edges_differ_by_adapter()


def _let_edges_differ_by_adapter() -> None:
    """Their constraint was one a kind; SQLite changes one only with its table."""
    op.drop_index("ix_edges_old_fingerprint", "edges")
    op.rename_table("edges", "edges_before")
    op.create_table(
        "edges",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("new_fingerprint", _DIGEST, nullable=False),
        sa.Column("old_fingerprint", _DIGEST, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("adapter_fingerprint", _DIGEST, nullable=True),
        sa.Column("distance", sa.String(length=16), nullable=False),
        sa.Column("first_components", sa.Integer(), nullable=False),
        sa.Column("protocol_digest", _DIGEST, nullable=False),
        sa.Column("evidence_id", _KEY, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["evidence_id"], ["evidence.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute(
        f"INSERT INTO edges ({_EDGE}) SELECT {_EDGE} FROM edges_before ORDER BY id"
    )
    op.drop_table("edges_before")
    op.create_index(op.f("ix_edges_old_fingerprint"), "edges", ["old_fingerprint"])
    pair = ["new_fingerprint", "old_fingerprint"]
    absent = sa.text("adapter_fingerprint IS NULL")
    op.create_index(
        "ix_edges_direct",
        "edges",
        [*pair, "protocol_digest"],
        unique=True,
        sqlite_where=absent,
        postgresql_where=absent,
    )
    op.create_index(
        "ix_edges_through",
        "edges",
        [
            "new_fingerprint",
            "old_fingerprint",
            "adapter_fingerprint",
            "protocol_digest",
        ],
        unique=True,
    )
