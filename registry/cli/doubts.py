"""What a move of an alias rests on without proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from registry.aliases.alias import AliasMove
    from registry.registry import Registry


def doubts_of(registry: Registry, move: AliasMove) -> list[str]:
    """Sentences on unchecked vectors in the index, and the warnings of the evidence."""
    doubts: list[str] = []
    if move.to_index is not None:
        doubts += registry.unchecked(registry.index(move.to_index).gallery)
    for number in move.evidence_ids:
        warnings = registry.evidence(number).warnings
        doubts += [f"evidence {number}: {warning}" for warning in warnings]
    return doubts
