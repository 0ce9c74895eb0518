"""A version: a model's name and the number of one SavedModel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from keras_bct.embedding_parts import NOTHING_NAMED, EmbeddingParts

if TYPE_CHECKING:
    from registry.metadata.schema import VersionRow


@dataclass(frozen=True)
class Version:
    """A registered version.

    Attributes:
        model: Name of the model.
        number: Its number, counted from 1.
        fingerprint: SHA-256 over its files, in hexadecimal.
        embedding_size: Components of its embedding.
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
        predecessor: The version that it was trained to work with, such as
            `"glyphs/1"`; what was asked for, not what was proven.
        created: When it was registered.
        training: Summary of its training, as the exporter wrote it.
        location: Folder or URL with `saved_model.pb` directly inside.
        parts: The names of what it embeds by; not kept for versions that older
            releases registered.
    """

    model: str
    number: int
    fingerprint: str
    embedding_size: int
    distance: str
    predecessor: str | None
    created: datetime
    location: str
    training: Mapping[str, Any] = field(default_factory=dict, hash=False)
    parts: EmbeddingParts = NOTHING_NAMED

    @classmethod
    def from_row(cls, row: VersionRow, location: str) -> Version:
        """Reads a row of the database."""
        before = row.predecessor
        return cls(
            model=row.model,
            number=row.number,
            fingerprint=row.fingerprint,
            embedding_size=row.embedding_size,
            distance=row.distance,
            predecessor=f"{before.model}/{before.number}" if before else None,
            created=row.created,
            location=location,
            training=row.training,
            parts=EmbeddingParts(**(row.parts or {})),
        )

    @property
    def name(self) -> str:
        """The name that commands take, such as `glyphs/3`."""
        return f"{self.model}/{self.number}"

    @property
    def folder(self) -> tuple[str, ...]:
        """Where its files lie below the root."""
        return (self.model, str(self.number))

    def __str__(self) -> str:
        """Its name."""
        return self.name
