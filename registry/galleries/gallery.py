"""Galleries: stored raw embeddings as memory-mapped, uncompressed Arrow IPC files.

A gallery is a folder of segments, each written once and never changed, and a manifest
that names them. A new generation appears when the manifest is replaced, so a reader
sees the rows before an append or after it, and a writer that dies leaves nothing but
a file that nobody names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import numpy.typing as npt
import pyarrow as pa

from keras_bct.counted import counted
from registry.errors import (
    IntegrityError,
    InvalidGalleryError,
    RegistryError,
    UsageError,
)
from registry.galleries.generation import Generation
from registry.galleries.incoming_rows import check_rows
from registry.galleries.manifest import locked, read_manifest, write_manifest
from registry.galleries.rows import Floats
from registry.galleries.segment import MANIFEST, Segment, batches_of, write_segment


@dataclass(frozen=True)
class Gallery(Generation):
    """The current generation of a gallery; appending returns the next one."""

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
        content = read_manifest(path)
        while bad := (gallery := cls(path, **content)).check_sizes():
            # Rows may have been removed meanwhile, and the files with them.
            read, content = content, read_manifest(path)
            if content == read:
                raise IntegrityError(
                    f"Files of the gallery in {path} are damaged:", bad
                )
        return gallery

    def append(
        self,
        ids: Sequence[str],
        embeddings: npt.ArrayLike,
        fingerprint: str,
        *,
        labels: Sequence[str | None] | None = None,
        cameras: Sequence[str | None] | None = None,
        embedding_size: int | None = None,
        checked: bool = False,
    ) -> Gallery:
        """Adds rows as a new generation, after those that others added meanwhile.

        Args:
            ids: n names; no row of the gallery may have one of them.
            embeddings: (n, d) raw output of the version, finite.
            fingerprint: Of the version that made them.
            labels: n labels, None where they are not known.
            cameras: n cameras, None where they are not known.
            embedding_size: d, for rows of a version that is not compared by the
                gallery's own components; all rows of a version have one size.
            checked: Whether that version was run to see that they are its own; what is
                not checked is shown so wherever the rows count.

        Returns:
            The new generation.

        Raises:
            InvalidGalleryError: No rows, an id twice, another width, NaN or infinity.
            RegistryError: They cannot be written; the message says whether they were
                appended.
        """
        columns, vectors = check_rows(
            embedding_size or self.embedding_size, ids, embeddings, labels, cameras
        )
        if not re.fullmatch(r"[0-9a-f]{64}", fingerprint):
            raise UsageError(
                "`fingerprint` should be that of a version, 64 hexadecimal "
                f"characters. Received: {fingerprint!r}."
            )
        with locked(self.folder):
            now_at = Gallery.open(self.folder)
            size = now_at.sizes.get(fingerprint, vectors.shape[1])
            if size != vectors.shape[1]:
                raise InvalidGalleryError(
                    f"Rows of {fingerprint[:12]} in {self.folder} have {size} "
                    f"components. Received: {vectors.shape[1]}. Nothing was appended."
                )
            held = now_at.ids_held(columns["id"])
            if held:
                raise InvalidGalleryError(
                    f"{len(held):,} of the ids have rows in {self.folder} already, "
                    f"such as {sorted(held)[:3]}. Nothing was appended."
                )
            now_at.remove_unnamed()
            return now_at._write(columns, vectors, fingerprint, checked)

    def remove_unnamed(self) -> None:
        """Removes what writers left that died before their commit."""
        for path in self.unnamed():
            path.unlink(missing_ok=True)

    def unnamed(self) -> list[Path]:
        """What writers left that died before their commit; for who holds the lock."""
        named = {segment.file for segment in self.segments}
        left = [*self.folder.glob("segment-*"), self.folder / f"{MANIFEST}.partial"]
        return [path for path in left if path.name not in named and path.exists()]

    def clear_after_failure(self) -> bool:
        """Removes what a commit that failed left; for who holds the lock.

        The last sync can fail when the manifest is in its place already, so the
        manifest as it is now says what is named.

        Returns:
            Whether this is still the current generation.
        """
        now_at = replace(self, **read_manifest(self.folder))
        now_at.remove_unnamed()
        return now_at.generation == self.generation

    def _write(
        self,
        columns: dict[str, pa.Array],
        vectors: Floats,
        fingerprint: str,
        checked: bool,
    ) -> Gallery:
        generation = self.generation + 1
        path = self.folder / f"segment-{generation:06d}.arrow"
        try:
            segment = write_segment(
                path,
                batches_of(columns, vectors),
                vectors.shape[1],
                fingerprint,
                generation,
            )
            segment = replace(segment, unchecked=not checked)
            return self.following((*self.segments, segment))
        except OSError as error:
            why = error.strerror or error
            rows = counted(len(vectors), "row")
            raise RegistryError(
                f"{rows} ({vectors.nbytes:,} bytes and more) could not "
                f"be appended to {self.folder}: {why}. Nothing was appended."
                if self.clear_after_failure()
                else f"{rows} stored in {self.folder}, but the disk does not "
                f"confirm it: {why}. Until it does a power cut may take them away."
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
