"""What the registry knows of a search index without opening it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from registry.metadata.schema import IndexRow


@dataclass(frozen=True)
class SearchIndex:
    """An index over the stored vectors of one generation of a gallery.

    Attributes:
        model: The model whose versions search it.
        number: Its number among the model's indices, counted from 1.
        gallery: Name of the gallery.
        generation: The gallery's generation that it was built from.
        fingerprints: Number of rows by the fingerprint of the version that made
            them.
        adapters: For rows that were transformed the fingerprint of the adapter, by that
            of the version that made them.
        first_components: K, how many components of a query are compared.
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
        rows: Number of vectors.
        recall_at_10: Share of the true ten nearest that it finds, measured.
        manifest_sha256: SHA-256 of its manifest, which names the files' own.
        created: When it was built.
        location: Its folder.
    """

    model: str
    number: int
    gallery: str
    generation: int
    fingerprints: Mapping[str, int] = field(hash=False)
    adapters: Mapping[str, str] = field(hash=False)
    first_components: int
    distance: str
    rows: int
    recall_at_10: float
    manifest_sha256: str
    created: datetime
    location: str

    @classmethod
    def from_row(cls, row: IndexRow, location: str) -> SearchIndex:
        """Reads a row of the database."""
        return cls(
            model=row.model,
            number=row.number,
            gallery=row.gallery,
            generation=row.generation,
            fingerprints=row.fingerprints,
            adapters=row.adapters,
            first_components=row.first_components,
            distance=row.distance,
            rows=row.rows,
            recall_at_10=row.recall_at_10,
            manifest_sha256=row.manifest_sha256,
            created=row.created,
            location=location,
        )

    @property
    def name(self) -> str:
        """The name that commands take, such as `glyphs#2`."""
        return f"{self.model}#{self.number}"

    def __str__(self) -> str:
        """Its name."""
        return self.name
