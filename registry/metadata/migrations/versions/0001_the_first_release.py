"""The first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "evidence",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("new_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("old_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("paragon_fingerprint", sa.String(length=64), nullable=True),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("protocol_name", sa.Text(), nullable=False),
        sa.Column("protocol_digest", sa.String(length=64), nullable=False),
        sa.Column("data_digest", sa.String(length=64), nullable=False),
        sa.Column("distance", sa.String(length=16), nullable=False),
        sa.Column("first_components", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=16), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("comparison", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        op.f("ix_evidence_old_fingerprint"),
        "evidence",
        ["old_fingerprint"],
        unique=False,
    )
    op.create_index(
        "ix_evidence_pair",
        "evidence",
        ["new_fingerprint", "old_fingerprint"],
        unique=False,
    )
    op.create_table(
        "models",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("next_version", sa.Integer(), nullable=False),
        sa.Column("next_index", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "edges",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("new_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("old_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("adapter_fingerprint", sa.String(length=64), nullable=True),
        sa.Column("distance", sa.String(length=16), nullable=False),
        sa.Column("first_components", sa.Integer(), nullable=False),
        sa.Column("protocol_digest", sa.String(length=64), nullable=False),
        sa.Column("evidence_id", _KEY, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["evidence_id"], ["evidence.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "new_fingerprint", "old_fingerprint", "kind", "protocol_digest"
        ),
    )
    op.create_index(
        op.f("ix_edges_old_fingerprint"), "edges", ["old_fingerprint"], unique=False
    )
    op.create_table(
        "evidence_metrics",
        sa.Column("evidence_id", _KEY, nullable=False),
        sa.Column("metric", sa.String(length=100), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("old_old", sa.Double(), nullable=False),
        sa.Column("new_old", sa.Double(), nullable=False),
        sa.Column("new_new", sa.Double(), nullable=True),
        sa.Column("gain", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=False),
        sa.Column("high", sa.Double(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("negative_flips", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["evidence_id"], ["evidence.id"]),
        sa.PrimaryKeyConstraint("evidence_id", "metric"),
    )
    op.create_table(
        "galleries",
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("embedding_size", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(op.f("ix_galleries_model"), "galleries", ["model"], unique=False)
    op.create_table(
        "versions",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("writer", sa.String(length=400), nullable=False),
        sa.Column("lease", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("embedding_size", sa.Integer(), nullable=False),
        sa.Column("distance", sa.String(length=16), nullable=False),
        sa.Column("predecessor_id", _KEY, nullable=True),
        sa.Column("training", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.ForeignKeyConstraint(["predecessor_id"], ["versions.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("model", "number"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_versions_fingerprint"), "versions", ["fingerprint"], unique=False
    )
    op.create_table(
        "indices",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("gallery", sa.String(length=400), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("fingerprints", sa.JSON(), nullable=False),
        sa.Column("first_components", sa.Integer(), nullable=False),
        sa.Column("distance", sa.String(length=16), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("recall_at_10", sa.Double(), nullable=False),
        sa.Column("manifest_sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["gallery"], ["galleries.name"]),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("model", "number"),
    )
    op.create_table(
        "alias_moves",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("alias", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("from_version_id", _KEY, nullable=True),
        sa.Column("to_version_id", _KEY, nullable=False),
        sa.Column("from_index_id", _KEY, nullable=True),
        sa.Column("to_index_id", _KEY, nullable=True),
        sa.Column("from_protocol", sa.Text(), nullable=True),
        sa.Column("to_protocol", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("evidence_ids", sa.JSON(), nullable=False),
        sa.Column("undoes", _KEY, nullable=True),
        sa.Column("moved_by", sa.String(length=200), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["from_index_id"], ["indices.id"]),
        sa.ForeignKeyConstraint(["from_version_id"], ["versions.id"]),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.ForeignKeyConstraint(["to_index_id"], ["indices.id"]),
        sa.ForeignKeyConstraint(["to_version_id"], ["versions.id"]),
        sa.ForeignKeyConstraint(["undoes"], ["alias_moves.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_alias_moves_alias", "alias_moves", ["model", "alias"], unique=False
    )
    op.create_table(
        "aliases",
        sa.Column("model", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version_id", _KEY, nullable=False),
        sa.Column("index_id", _KEY, nullable=True),
        sa.Column("protocol", sa.Text(), nullable=True),
        sa.Column("move_id", _KEY, nullable=False),
        sa.ForeignKeyConstraint(["index_id"], ["indices.id"]),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.ForeignKeyConstraint(["move_id"], ["alias_moves.id"]),
        sa.ForeignKeyConstraint(["version_id"], ["versions.id"]),
        sa.PrimaryKeyConstraint("model", "name"),
    )

    # History is only ever added to; the database itself holds that.
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER alias_moves_no_{verb.lower()} "
                f"BEFORE {verb} ON alias_moves BEGIN "
                "SELECT RAISE(ABORT, 'the history of an alias is only added to'); END"
            )
    else:
        op.execute(
            "CREATE FUNCTION alias_moves_append_only() RETURNS trigger AS $$ BEGIN "
            "RAISE EXCEPTION 'the history of an alias is only added to'; END "
            "$$ LANGUAGE plpgsql"
        )
        op.execute(
            "CREATE TRIGGER alias_moves_append_only BEFORE UPDATE OR DELETE "
            "ON alias_moves FOR EACH ROW EXECUTE FUNCTION alias_moves_append_only()"
        )
