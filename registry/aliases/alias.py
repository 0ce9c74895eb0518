"""An alias: a movable name for a version and the index that it is served with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from registry.indices.search_index import SearchIndex
from registry.versions.version import Version

Action = Literal["bootstrap", "promote", "force", "rollback", "index", "delete"]
"""Why an alias moved: first promotion, through the gate, past it, back, only its index,
or because it was deleted; it stays where it stood then."""


@dataclass(frozen=True)
class Alias:
    """Where an alias stands.

    Attributes:
        model: Name of the model.
        name: Its own name, such as `"production"`.
        version: What it stands for.
        index: The index that is searched with that version, if any.
        protocol: Absolute path of the protocol file that its gate reads.
    """

    model: str
    name: str
    version: Version
    index: SearchIndex | None
    protocol: str | None

    def __str__(self) -> str:
        """The name that commands take, such as `glyphs@production`."""
        return f"{self.model}@{self.name}"


@dataclass(frozen=True)
class AliasMove:
    """One row of an alias's history.

    Attributes:
        id: Number of the row; later moves have higher ones.
        model: Name of the model.
        alias: Name of the alias.
        action: Why it moved.
        from_version: Where it stood, None for the first move.
        to_version: Where it stands after the move.
        from_index: The index served before, such as `"glyphs#1"`.
        to_index: The index served after.
        protocol: The protocol file of the alias after the move.
        protocol_digest: SHA-256 of its content when the alias moved; None where
            nothing read it.
        from_protocol: The protocol file before the move.
        from_protocol_digest: SHA-256 of that one's content as it was then.
        reason: What the person who moved it said.
        evidence_ids: The evidence that the gate read.
        undoes: The move that a rollback undid.
        moved_by: User and host.
        created: When.
    """

    id: int
    model: str
    alias: str
    action: str
    from_version: str | None
    to_version: str
    from_index: str | None
    to_index: str | None
    protocol: str | None
    protocol_digest: str | None
    from_protocol: str | None
    from_protocol_digest: str | None
    reason: str | None
    evidence_ids: tuple[int, ...]
    undoes: int | None
    moved_by: str
    created: datetime

    @property
    def protocol_change(self) -> str | None:
        """A sentence where the alias is gated by another protocol since this move.

        Promotions before and after it were not measured by one rule.
        """
        if self.from_protocol is None or self.from_protocol_digest is None:
            return None
        if self.protocol_digest == self.from_protocol_digest:
            return None
        return (
            f"move {self.id} is by {_protocol(self.protocol, self.protocol_digest)}, "
            f"not by {_protocol(self.from_protocol, self.from_protocol_digest)} as "
            "the alias before"
        )


def _protocol(path: str | None, digest: str | None) -> str:
    return f"{path} ({(digest or 'unread')[:12]})"
