"""Galleries: stored raw embeddings as memory-mapped, uncompressed Arrow IPC files.

A gallery is a folder of segments, each written once and never changed, and a manifest
that names them. A new generation appears when the manifest is replaced, so a reader
sees the rows before an append or after it, and a writer that dies leaves nothing but
a file that nobody names.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from registry.errors import (
    IntegrityError,
    InvalidGalleryError,
    NotFoundError,
    RegistryError,
    UsageError,
)
from registry.gallery_manifest import locked, read_manifest, write_manifest
from registry.gallery_rows import Floats, GalleryRows, arrow_schema
from registry.gallery_segment import MANIFEST, Segment, write_segment
from registry.incoming_rows import check_rows


@dataclass(frozen=True)
class Gallery:
    """One generation of a gallery; appending returns the next one.

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

    @classmethod
    def create(cls, folder: str | os.PathLike[str], embedding_size: int) -> Gallery:
        """Makes an empty gallery.

        Raises:
            UsageError: There is one, or the size is not positive.
        """
        if embedding_size < 1:
            raise UsageError(
                f"`embedding_size` should be positive. Received: {embedding_size}."
            )
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with locked(path):
            if (path / MANIFEST).exists():
                raise UsageError(f"There is a gallery in {path} already.")
            # Generation 0 follows none.
            return cls(path, embedding_size, -1, (), "").following(())

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Gallery:
        """The current generation of the gallery in `folder`.

        Raises:
            NotFoundError: There is no gallery.
            IntegrityError: Its manifest cannot be read, or a file has not the size
                that it names; a mapped file that is too short would crash the process.
        """
        path = Path(folder)
        gallery = cls(path, **read_manifest(path))
        bad = gallery.check_sizes()
        if bad:
            raise IntegrityError(f"Files of the gallery in {path} are damaged:", bad)
        return gallery

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

    def at(self, generation: int) -> Gallery:
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
        return GalleryRows(pa.concat_tables(tables))

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

    def append(
        self,
        ids: Sequence[str],
        embeddings: npt.ArrayLike,
        fingerprint: str,
        *,
        labels: Sequence[str | None] | None = None,
        cameras: Sequence[str | None] | None = None,
    ) -> Gallery:
        """Adds rows as a new generation, after those that others added meanwhile.

        Args:
            ids: n names; no row of the gallery may have one of them.
            embeddings: (n, d) raw output of the version, finite.
            fingerprint: Of the version that made them.
            labels: n labels, None where they are not known.
            cameras: n cameras, None where they are not known.

        Returns:
            The new generation.

        Raises:
            InvalidGalleryError: No rows, an id twice, another width, NaN or infinity.
            RegistryError: They cannot be written. Nothing was appended.
        """
        columns, vectors = check_rows(
            self.embedding_size, ids, embeddings, labels, cameras
        )
        if not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
            raise UsageError(
                "`fingerprint` should be that of a version, 64 hexadecimal "
                f"characters. Received: {fingerprint!r}."
            )
        with locked(self.folder):
            now_at = Gallery.open(self.folder)
            held = now_at.ids_held(columns["id"])
            if held:
                raise InvalidGalleryError(
                    f"{len(held):,} of the ids have rows in {self.folder} already, "
                    f"such as {sorted(held)[:3]}. Nothing was appended."
                )
            now_at.remove_unnamed()
            return now_at._write(columns, vectors, fingerprint)

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
        bad = self.verify(progress, fingerprint)
        if bad:
            raise IntegrityError(
                f"Files of the gallery in {self.folder} are damaged:", bad
            )

    def remove_unnamed(self) -> None:
        """Removes what writers left that died before their commit."""
        named = {segment.file for segment in self.segments}
        for path in self.folder.glob("segment-*"):
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _write(
        self, columns: dict[str, pa.Array], vectors: Floats, fingerprint: str
    ) -> Gallery:
        generation = self.generation + 1
        path = self.folder / f"segment-{generation:06d}.arrow"
        try:
            segment = write_segment(path, columns, vectors, fingerprint, generation)
            return self.following((*self.segments, segment))
        except OSError as error:
            path.unlink(missing_ok=True)
            raise RegistryError(
                f"{len(vectors):,} rows could not be appended to {self.folder}: "
                f"{error.strerror or error}. Nothing was appended."
            ) from error

    def following(
        self, segments: tuple[Segment, ...], *, oldest: int | None = None
    ) -> Gallery:
        """Commits the next generation; for who holds the lock.

        Args:
            segments: Its files.
            oldest: The first generation that can still be read; the same by default.
        """
        moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
        gallery = replace(
            self,
            generation=self.generation + 1,
            segments=segments,
            created=moment,
            oldest=self.oldest if oldest is None else oldest,
        )
        gallery._commit()
        return gallery

    def _commit(self) -> None:
        write_manifest(
            self.folder,
            {
                "generation": self.generation,
                "embedding_size": self.embedding_size,
                "rows": self.rows,
                "created": self.created,
                "oldest": self.oldest,
                "segments": [asdict(segment) for segment in self.segments],
            },
        )
