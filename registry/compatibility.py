"""Which stored vectors a version may search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry.schema import EdgeRow, VersionRow


@dataclass(frozen=True)
class Terms:
    """How two embeddings are compared; an edge holds for the terms of its evidence.

    Attributes:
        distance: `"cosine"`, `"l2"` or `"inner_product"`.
        components: K, how many components are compared.
    """

    distance: str
    components: int

    def __str__(self) -> str:
        """As a part of a sentence."""
        return f"{self.distance} over {self.components} components"


def name_of(session: Session, fingerprint: str) -> str:
    """Name of the version with this fingerprint, the fingerprint where it has none."""
    row = session.scalars(
        select(VersionRow)
        .where(VersionRow.fingerprint == fingerprint, VersionRow.state == "registered")
        .order_by(VersionRow.id)
    ).first()
    return f"{row.model}/{row.number}" if row else f"fingerprint:{fingerprint[:12]}"


def stranded(
    session: Session,
    fingerprint: str,
    vectors: Mapping[str, int],
    terms: Terms | None = None,
) -> list[str]:
    """What a version may not search, one phrase for each version that made it.

    Its own vectors it may. Others only along a compatibility edge: equal sizes prove
    nothing, and edges are never composed.

    Args:
        session: The registry's state.
        fingerprint: The version of the queries.
        vectors: Number of vectors by the fingerprint of the version that made them.
        terms: How an index compares them; None where nothing is compared yet.

    Returns:
        Phrases such as `"7 vectors of glyphs/2, and there is no compatibility edge
        glyphs/1 -> glyphs/2"`.
    """
    phrases = []
    for made_by, rows in sorted(vectors.items()):
        if made_by == fingerprint:
            continue
        proven = {
            Terms(edge.distance, edge.first_components)
            for edge in session.scalars(
                select(EdgeRow).where(
                    EdgeRow.new_fingerprint == fingerprint,
                    EdgeRow.old_fingerprint == made_by,
                )
            )
        }
        if proven and (terms is None or terms in proven):
            continue
        name = name_of(session, made_by)
        edge = f"{name_of(session, fingerprint)} -> {name}"
        if proven:
            known = " and ".join(sorted(map(str, proven)))
            why = f"the compatibility edge {edge} is proven for {known}, not {terms}"
        else:
            why = f"there is no compatibility edge {edge}"
        phrases.append(f"{rows:,} vectors of {name}, and {why}")
    return phrases
