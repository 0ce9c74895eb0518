"""A generation of a gallery: what its rows are, read and checked."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from registry.errors import (
    IntegrityError,
    NotFoundError,
    RowsRemovedError,
    UsageError,
)
from registry.galleries.manifest import read_manifest
from registry.galleries.rows import GalleryRows, arrow_schema, together
from registry.galleries.segment import Segment

_G = TypeVar("_G", bound="Generation")


@dataclass(frozen=True)
class Generation:
    """One generation of a gallery, to be read.

    Attributes:
        folder: Where it lies.
        embedding_size: Components of each embedding.
        generation: Counted from 0, the empty one.
        segments: Its files, in the order of their rows.
        created: When this generation was committed.
        oldest: The first generation that can still be read; rows of those before were
            removed.
    """

    folder: Path
    embedding_size: int
    generation: int
    segments: tuple[Segment, ...]
    created: str
    oldest: int = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(segment.rows for segment in self.segments)

    @property
    def fingerprints(self) -> dict[str, int]:
        """Number of rows by the fingerprint of the version that made them."""
        total: Counter[str] = Counter()
        for segment in self.segments:
            total.update(segment.fingerprints)
        return dict(total)

    @property
    def unchecked(self) -> dict[str, int]:
        """Number of rows that are a version's by word alone, by its fingerprint."""
        total: Counter[str] = Counter()
        for segment in self.segments:
            if segment.unchecked:
                total.update(segment.fingerprints)
        return dict(total)

    @property
    def sizes(self) -> dict[str, int]:
        """Components of the rows that each version made, by its fingerprint."""
        return {
            made_by: segment.embedding_size
            for segment in self.segments
            for made_by in segment.fingerprints
        }

    def at(self: _G, generation: int) -> _G:
        """The gallery as it was in an earlier generation.

        Raises:
            NotFoundError: It has not come to that generation, or rows of it were
                removed.
        """
        if not self.oldest <= generation <= self.generation:
            raise NotFoundError(
                f"The gallery in {self.folder} is at generation {self.generation}, and "
                f"the oldest with all its rows is {self.oldest}. "
                f"Received: {generation}."
            )
        segments = tuple(s for s in self.segments if s.added <= generation)
        return replace(self, generation=generation, segments=segments)

    def read(self, fingerprint: str | None = None) -> GalleryRows:
        """All rows, or those that one version made, in the order of their appending.

        Args:
            fingerprint: Of that version.

        Returns:
            Rows whose embeddings stay on disk until they are used.
        """
        tables = []
        for segment in self.segments:
            if fingerprint is None or fingerprint in segment.fingerprints:
                table = segment.map(self.folder)
                if fingerprint is not None and len(segment.fingerprints) > 1:
                    mask = pc.equal(
                        table.column("fingerprint").cast(pa.string()), fingerprint
                    )
                    table = table.filter(mask)
                tables.append(table)
        if not tables:
            return GalleryRows(arrow_schema(self.embedding_size).empty_table())
        return GalleryRows(together(tables))

    def without(self: _G, fingerprints: Collection[str]) -> _G:
        """The rows that other versions made.

        Raises:
            UsageError: Rows of both kinds lie in one file.
        """
        left_out = set(fingerprints)
        stays = []
        for segment in self.segments:
            kept = set(segment.fingerprints) - left_out
            if kept and len(kept) < len(segment.fingerprints):
                raise UsageError(
                    f"{segment.file} of the gallery in {self.folder} has rows of "
                    "several versions, which cannot be left out by version. Remove "
                    "them by their ids."
                )
            if kept:
                stays.append(segment)
        return replace(self, segments=tuple(stays))

    def is_gone(self) -> bool:
        """Whether rows were removed since, and the files of this generation with them.

        Raises:
            NotFoundError: The whole gallery is gone.
        """
        return bool(read_manifest(self.folder)["oldest"] > self.generation)

    def ids_held(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` that the gallery has rows of."""
        wanted = ids if isinstance(ids, pa.Array) else pa.array(ids, pa.string())
        held: set[str] = set()
        for segment in self.segments:
            column = segment.map(self.folder).column("id")
            found = column.filter(pc.is_in(column, value_set=wanted))
            held.update(found.to_pylist())
        return held

    def digest(self, fingerprint: str) -> str:
        """SHA-256 over the segments with rows that `fingerprint` made.

        It stays the same when rows of other versions are appended.
        """
        sha = hashlib.sha256(f"{fingerprint}\n".encode())
        for segment in self.segments:
            if fingerprint in segment.fingerprints:
                sha.update(f"{segment.sha256}\n".encode())
        return sha.hexdigest()

    def check_sizes(self) -> list[str]:
        """Names of segments that are missing or have another size."""
        found = (segment.wrong_size(self.folder) for segment in self.segments)
        return [line for line in found if line is not None]

    def verify(self, progress: Any = None, fingerprint: str | None = None) -> list[str]:
        """Names of files whose content is not what was written.

        Args:
            progress: Told the number of bytes that were read.
            fingerprint: Only segments with rows that this version made.
        """
        bad = self.check_sizes()
        if bad:
            return bad
        for segment in self.segments:
            if fingerprint is not None and fingerprint not in segment.fingerprints:
                continue
            damage = segment.damage(self.folder, progress)
            if damage is not None:
                bad.append(damage)
        return bad

    def check(self, progress: Any = None, fingerprint: str | None = None) -> None:
        """Raises when `verify` finds something.

        Raises:
            IntegrityError: Files of the gallery are not what was written.
        """
        try:
            bad = self.verify(progress, fingerprint)
        except FileNotFoundError as error:
            bad = [f"{error.filename}: missing"]
        if bad and self.is_gone():
            raise RowsRemovedError(
                f"Rows of the gallery in {self.folder} were removed while it was read. "
                "Nothing was changed; do it again."
            )
        if bad:
            raise IntegrityError(
                f"Files of the gallery in {self.folder} are damaged:", bad
            )
