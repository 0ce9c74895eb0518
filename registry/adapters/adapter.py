"""An adapter: a map from one version's embedding space to another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from registry.names import ADAPTERS

if TYPE_CHECKING:
    from registry.metadata.schema import AdapterRow


@dataclass(frozen=True)
class Adapter:
    """A registered adapter, stored like a version.

    Attributes:
        model: The model of its new version.
        number: Its number among the model's adapters, counted from 1.
        fingerprint: SHA-256 over its files, in hexadecimal.
        old_fingerprint: Of the version whose embeddings are the old side.
        new_fingerprint: Of the version whose embeddings are the new side.
        direction: `"old-to-new"` or `"new-to-old"`.
        method: What fitted it.
        settings: What the method was told or chose.
        pairs: How many pairs it was fitted to.
        input_size: Components that go in.
        output_size: Components that come out.
        side_size: Components of side information, None where it takes none.
        has_variance: Whether it predicts its own error.
        created: When it was registered.
        location: Folder or URL with `adapter.json` directly inside.
    """

    model: str
    number: int
    fingerprint: str
    old_fingerprint: str
    new_fingerprint: str
    direction: str
    method: str
    settings: Mapping[str, Any] = field(hash=False)
    pairs: int
    input_size: int
    output_size: int
    side_size: int | None
    has_variance: bool
    created: datetime
    location: str

    @classmethod
    def from_row(cls, row: AdapterRow, location: str) -> Adapter:
        """Reads a row of the database."""
        return cls(
            model=row.model,
            number=row.number,
            fingerprint=row.fingerprint,
            old_fingerprint=row.old_fingerprint,
            new_fingerprint=row.new_fingerprint,
            direction=row.direction,
            method=row.method,
            settings=row.settings,
            pairs=row.pairs,
            input_size=row.input_size,
            output_size=row.output_size,
            side_size=row.side_size,
            has_variance=row.has_variance,
            created=row.created,
            location=location,
        )

    @property
    def name(self) -> str:
        """The name that commands take, such as `glyphs:1`."""
        return f"{self.model}:{self.number}"

    @property
    def folder(self) -> tuple[str, ...]:
        """Where its files lie below the root."""
        return (ADAPTERS, self.model, str(self.number))

    def __str__(self) -> str:
        """Its name."""
        return self.name
