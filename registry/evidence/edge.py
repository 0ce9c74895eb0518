"""Compatibility edges: which version's queries work on which version's vectors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from registry.metadata.schema import EdgeRow

EdgeKind = Literal["direct", "through adapter"]


@dataclass(frozen=True)
class Edge:
    """Queries of the new version can search vectors of the old one.

    Written only when the gate passes, and never composed: an edge 3 -> 2 and one
    2 -> 1 make none 3 -> 1.

    Attributes:
        new_fingerprint: Version of the queries.
        old_fingerprint: Version of the stored vectors.
        kind: `"direct"`, vectors as they are stored, or `"through adapter"`.
        adapter_fingerprint: The map that the vectors go through, for the second
            kind.
        distance: What the embeddings are compared with.
        first_components: K, how many components are compared.
        protocol_digest: What the gate measured by.
        evidence_id: The evidence that it read.
        created: When the gate passed.
    """

    new_fingerprint: str
    old_fingerprint: str
    kind: str
    adapter_fingerprint: str | None
    distance: str
    first_components: int
    protocol_digest: str
    evidence_id: int
    created: datetime

    @classmethod
    def from_row(cls, row: EdgeRow) -> Edge:
        """Reads a row of the database."""
        return cls(
            new_fingerprint=row.new_fingerprint,
            old_fingerprint=row.old_fingerprint,
            kind=row.kind,
            adapter_fingerprint=row.adapter_fingerprint,
            distance=row.distance,
            first_components=row.first_components,
            protocol_digest=row.protocol_digest,
            evidence_id=row.evidence_id,
            created=row.created,
        )
