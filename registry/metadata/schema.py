"""The registry's tables, as SQLAlchemy typed declarative classes.

A change here needs a migration in `registry/metadata/migrations/versions` and a new
`HEAD`; tests compare the three.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from registry.metadata.columns import Base, Key, ReservedNumber, now
from registry.names import ADAPTERS

HEAD = "0003"
"""Revision of the newest migration. Revisions are numbered, so they have an order."""

VERSION_TABLE = "registry_version"
"""The table that holds the revision; Alembic's own name is every program's."""

FIRST_TABLES = frozenset(
    {
        "alias_moves",
        "aliases",
        "edges",
        "evidence",
        "evidence_metrics",
        "galleries",
        "indices",
        "models",
        "versions",
    }
)
"""What every registry has, of whatever release; tells it from other databases."""

LARGEST_INTEGER = 2**31 - 1
"""What an integer column holds on PostgreSQL; on SQLite it would hold more."""

LONGEST_METHOD = 100
"""Characters of the name of an adapter's method."""


class ModelRow(Base):
    """A model's name, and the numbers that its next version and the like will get."""

    __tablename__ = "models"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    next_version: Mapped[int] = mapped_column(default=1)
    next_index: Mapped[int] = mapped_column(default=1)
    next_adapter: Mapped[int] = mapped_column(default=1)
    created: Mapped[datetime] = mapped_column(default=now)


class VersionRow(ReservedNumber, Base):
    """A version of a model."""

    __tablename__ = "versions"
    # A row that is deleted was a reservation; its key must not come to mean another.
    __table_args__ = (
        UniqueConstraint("model", "number"),
        {"sqlite_autoincrement": True},
    )

    embedding_size: Mapped[int]
    distance: Mapped[str] = mapped_column(String(16))
    predecessor_id: Mapped[int | None] = mapped_column(ForeignKey("versions.id"))
    training: Mapped[dict[str, Any]]
    parts: Mapped[dict[str, Any] | None]
    """Names of `signature`, `input` and `output`; NULL from older releases."""

    predecessor: Mapped[VersionRow | None] = relationship(
        remote_side="VersionRow.id", lazy="joined", join_depth=1
    )

    @property
    def name(self) -> str:
        """The name that commands take, such as `glyphs/3`."""
        return f"{self.model}/{self.number}"

    @property
    def folder(self) -> tuple[str, ...]:
        """Where its files lie below the root."""
        return (self.model, str(self.number))


class AdapterRow(ReservedNumber, Base):
    """An adapter: a map between the embedding spaces of two versions."""

    __tablename__ = "adapters"
    __table_args__ = (
        UniqueConstraint("model", "number"),
        {"sqlite_autoincrement": True},
    )

    old_fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    new_fingerprint: Mapped[str] = mapped_column(String(64))
    direction: Mapped[str] = mapped_column(String(16))
    method: Mapped[str] = mapped_column(String(LONGEST_METHOD))
    settings: Mapped[dict[str, Any]]
    pairs: Mapped[int]
    input_size: Mapped[int]
    output_size: Mapped[int]
    side_size: Mapped[int | None]
    has_variance: Mapped[bool]

    @property
    def name(self) -> str:
        """The name that commands take, such as `glyphs:1`."""
        return f"{self.model}:{self.number}"

    @property
    def folder(self) -> tuple[str, ...]:
        """Where its files lie below the root."""
        return (ADAPTERS, self.model, str(self.number))


class IndexRow(Base):
    """A search index, built from the stored vectors of one generation of a gallery."""

    __tablename__ = "indices"
    __table_args__ = (UniqueConstraint("model", "number"),)

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    model: Mapped[str] = mapped_column(ForeignKey("models.name"))
    number: Mapped[int]
    gallery: Mapped[str] = mapped_column(ForeignKey("galleries.name"))
    generation: Mapped[int]
    fingerprints: Mapped[dict[str, Any]]
    """Number of rows by the fingerprint of the version that made them."""
    adapters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """For rows that were transformed the adapter's fingerprint, by the version's."""
    first_components: Mapped[int]
    distance: Mapped[str] = mapped_column(String(16))
    rows: Mapped[int]
    recall_at_10: Mapped[float]
    state: Mapped[str] = mapped_column(
        String(16), default="registered", server_default="registered"
    )
    """`registered` or `deleted`; the history of aliases still names what is deleted."""
    manifest_sha256: Mapped[str] = mapped_column(String(64))
    created: Mapped[datetime] = mapped_column(default=now)


class GalleryRow(Base):
    """A gallery's name; its generations are counted by its own manifest."""

    __tablename__ = "galleries"

    name: Mapped[str] = mapped_column(String(400), primary_key=True)
    model: Mapped[str] = mapped_column(ForeignKey("models.name"), index=True)
    state: Mapped[str] = mapped_column(
        String(16), default="registered", server_default="registered"
    )
    """`registered` or `deleted`; the history of aliases still names what is deleted."""
    embedding_size: Mapped[int]
    created: Mapped[datetime] = mapped_column(default=now)


class AliasRow(Base):
    """Where an alias stands now: a version, the index served with it, a protocol."""

    __tablename__ = "aliases"

    model: Mapped[str] = mapped_column(ForeignKey("models.name"), primary_key=True)
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    version_id: Mapped[int] = mapped_column(ForeignKey("versions.id"))
    index_id: Mapped[int | None] = mapped_column(ForeignKey("indices.id"))
    protocol: Mapped[str | None] = mapped_column(Text)
    """Absolute path of the protocol file that the gate reads for this alias."""
    move_id: Mapped[int] = mapped_column(ForeignKey("alias_moves.id"))
    """The last row of its history."""

    version: Mapped[VersionRow] = relationship(lazy="joined")
    index: Mapped[IndexRow | None] = relationship(lazy="joined")


class AliasMoveRow(Base):
    """One move of an alias. Rows are only ever added; the database holds that."""

    __tablename__ = "alias_moves"
    __table_args__ = (Index("ix_alias_moves_alias", "model", "alias"),)

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    model: Mapped[str] = mapped_column(ForeignKey("models.name"))
    alias: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(16))
    from_version_id: Mapped[int | None] = mapped_column(ForeignKey("versions.id"))
    to_version_id: Mapped[int] = mapped_column(ForeignKey("versions.id"))
    from_index_id: Mapped[int | None] = mapped_column(ForeignKey("indices.id"))
    to_index_id: Mapped[int | None] = mapped_column(ForeignKey("indices.id"))
    from_protocol: Mapped[str | None] = mapped_column(Text)
    to_protocol: Mapped[str | None] = mapped_column(Text)
    from_protocol_digest: Mapped[str | None] = mapped_column(String(64))
    to_protocol_digest: Mapped[str | None] = mapped_column(String(64))
    """Of its content when the alias moved; files change."""
    reason: Mapped[str | None] = mapped_column(Text)
    evidence_ids: Mapped[list[int]]
    undoes: Mapped[int | None] = mapped_column(ForeignKey("alias_moves.id"))
    moved_by: Mapped[str] = mapped_column(String(200))
    created: Mapped[datetime] = mapped_column(default=now)


class EvidenceRow(Base):
    """What was measured for one (new, predecessor, protocol, data)."""

    __tablename__ = "evidence"
    __table_args__ = (Index("ix_evidence_pair", "new_fingerprint", "old_fingerprint"),)

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    new_fingerprint: Mapped[str] = mapped_column(String(64))
    old_fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    adapter_fingerprint: Mapped[str | None] = mapped_column(String(64))
    """The map that the old version's vectors went through, None for none."""
    paragon_fingerprint: Mapped[str | None] = mapped_column(String(64))
    protocol: Mapped[str] = mapped_column(Text)
    protocol_name: Mapped[str] = mapped_column(Text)
    protocol_digest: Mapped[str] = mapped_column(String(64))
    data_digest: Mapped[str] = mapped_column(String(64))
    distance: Mapped[str] = mapped_column(String(16))
    first_components: Mapped[int]
    answer: Mapped[str] = mapped_column(String(16))
    reasons: Mapped[list[str]]
    seed: Mapped[int]
    comparison: Mapped[str] = mapped_column(Text)
    """JSON of `keras_bct.evaluation.Comparison`, bootstrap replicates included."""
    created: Mapped[datetime] = mapped_column(default=now)

    metrics: Mapped[list[EvidenceMetricRow]] = relationship(
        lazy="selectin", order_by="EvidenceMetricRow.position"
    )


class EvidenceMetricRow(Base):
    """The numbers of one metric, so that showing them needs no NumPy."""

    __tablename__ = "evidence_metrics"

    evidence_id: Mapped[int] = mapped_column(
        ForeignKey("evidence.id"), primary_key=True
    )
    metric: Mapped[str] = mapped_column(String(100), primary_key=True)
    position: Mapped[int]
    old_old: Mapped[float]
    new_old: Mapped[float]
    new_new: Mapped[float | None]
    gain: Mapped[float | None]
    low: Mapped[float]
    high: Mapped[float]
    confidence: Mapped[float]
    negative_flips: Mapped[float | None]


class EdgeRow(Base):
    """A compatibility edge: the new version's queries work on the old one's vectors."""

    __tablename__ = "edges"
    # One a protocol for vectors as they are, and one for each adapter. Two indices,
    # since databases take two absent adapters for different ones.
    __table_args__ = (
        Index(
            "ix_edges_direct",
            "new_fingerprint",
            "old_fingerprint",
            "protocol_digest",
            unique=True,
            sqlite_where=text("adapter_fingerprint IS NULL"),
            postgresql_where=text("adapter_fingerprint IS NULL"),
        ),
        Index(
            "ix_edges_through",
            "new_fingerprint",
            "old_fingerprint",
            "adapter_fingerprint",
            "protocol_digest",
            unique=True,
        ),
    )

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    new_fingerprint: Mapped[str] = mapped_column(String(64))
    old_fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    kind: Mapped[str] = mapped_column(String(16))
    adapter_fingerprint: Mapped[str | None] = mapped_column(String(64))
    distance: Mapped[str] = mapped_column(String(16))
    first_components: Mapped[int]
    protocol_digest: Mapped[str] = mapped_column(String(64))
    evidence_id: Mapped[int] = mapped_column(ForeignKey("evidence.id"))
    created: Mapped[datetime] = mapped_column(default=now)
