"""The data that a protocol names: pictures in files, vectors in the galleries."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bct.file_patterns import matching_files
from registry.errors import UsageError
from registry.fingerprint import Progress, digest_file

if TYPE_CHECKING:
    from keras_bct.data import ImageRecords
    from keras_bct.data.protocol_pictures import SideName
    from keras_bct.evaluation import EmbeddingSet, Protocol
    from registry.galleries.gallery import Gallery


def read_protocol(path: str | os.PathLike[str]) -> Protocol:
    """Reads a protocol file.

    Raises:
        UsageError: There is no such file, or it is no protocol.
    """
    from keras_bct.evaluation import Protocol

    try:
        return Protocol.from_yaml(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"The protocol {path} cannot be used: {error}") from error


class ProtocolData:
    """The two sides of a protocol, as they are now.

    Paths of files are relative to the protocol's own folder; those of galleries are
    names in the registry.
    """

    def __init__(
        self,
        protocol: Protocol,
        galleries: str | os.PathLike[str] | None,
        progress: Progress | None = None,
    ) -> None:
        """Opens nothing yet."""
        self._protocol = protocol
        self._galleries = galleries
        self._progress = progress
        self._digests: dict[tuple[str, str], str] = {}
        self._opened: dict[str, Gallery] = {}

    def check_sides(self) -> None:
        """Raises when a side cannot be what the protocol says.

        Raises:
            UsageError: The queries are not pictures, the gallery is neither pictures
                nor stored vectors, or it names what stored vectors do not have.
        """
        from keras_bct.data.protocol_pictures import check_pictures

        side = self._protocol.gallery
        try:
            check_pictures(self._protocol, "queries")
            if side.source != "gallery":
                check_pictures(self._protocol, "gallery")
        except ValueError as error:
            raise UsageError(str(error)) from error
        if side.source == "gallery" and (side.template, side.medium, side.quality) != (
            None,
            None,
            None,
        ):
            raise UsageError(
                f"The gallery {side.path!r} stores ids, labels and cameras, but no "
                "`template`, `medium` or `quality`. Leave them out of the protocol."
            )

    def check_files(self) -> None:
        """Raises when a file that the protocol names is not there.

        Raises:
            UsageError: It names the pattern.
        """
        for side in (self._protocol.queries, self._protocol.gallery):
            if side.source != "gallery":
                self._files(side.path)
        if self._protocol.pairs is not None:
            self._files(self._protocol.pairs)

    def query_pictures(self) -> ImageRecords:
        """The queries; the new and the old version both have to embed them."""
        return self._pictures("queries")

    def gallery_pictures(self) -> ImageRecords:
        """The gallery side, where it has pictures."""
        return self._pictures("gallery")

    def stored_gallery(self, fingerprint: str) -> EmbeddingSet | None:
        """The gallery side's vectors that `fingerprint` made; None for pictures."""
        side = self._protocol.gallery
        if side.source != "gallery":
            return None
        rows = self._gallery(side.path).read(fingerprint=fingerprint)
        if not len(rows):
            raise UsageError(
                f"The gallery {side.path!r} has no vectors of fingerprint "
                f"{fingerprint[:12]}; its versions: "
                f"{', '.join(f[:12] for f in self._gallery(side.path).fingerprints)}."
            )
        vectors: EmbeddingSet = rows.embedding_set()
        return vectors

    def doubts(self, fingerprint: str) -> list[str]:
        """Sentences on vectors that are those of `fingerprint` by word alone."""
        side = self._protocol.gallery
        if side.source != "gallery":
            return []
        gallery = self._gallery(side.path)
        unchecked = gallery.unchecked.get(fingerprint, 0)
        if not unchecked:
            return []
        return [
            f"{unchecked:,} of {gallery.fingerprints[fingerprint]:,} vectors of the "
            f"gallery {side.path!r} are unchecked: nobody compared them with what the "
            "old version makes of pictures, and all numbers rest on it"
        ]

    def digest(self, old_fingerprint: str) -> str:
        """SHA-256 over the data of both sides.

        For stored vectors those of `old_fingerprint` count, so that a gallery can
        grow without making the evidence on its older vectors void.

        Raises:
            IntegrityError: The vectors are not those that were written.
        """
        digests = []
        for side in (self._protocol.queries, self._protocol.gallery):
            if side.source == "gallery":
                key = (side.path, old_fingerprint)
                if key not in self._digests:
                    gallery = self._gallery(side.path)
                    # Its digest is of what was written, which has to be there still.
                    gallery.check(self._progress, old_fingerprint)
                    self._digests[key] = gallery.digest(old_fingerprint)
            else:
                key = (side.path, "")
                if key not in self._digests:
                    self._digests[key] = self._digest_files(side.path)
            digests.append(self._digests[key])
        if self._protocol.pairs is not None:
            digests.append(self._digest_files(self._protocol.pairs))
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()

    def _files(self, pattern: str) -> list[Path]:
        try:
            return list(map(Path, matching_files(self._protocol.locate(pattern))))
        except FileNotFoundError as error:
            raise UsageError(
                f"The protocol {self._protocol.name!r} names what is not there: {error}"
            ) from error

    def _digest_files(self, pattern: str) -> str:
        lines = [
            f"{digest_file(path, self._progress).sha256}  {path.name}\n"
            for path in self._files(pattern)
        ]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def _pictures(self, side: SideName) -> ImageRecords:
        from keras_bct.data.protocol_pictures import read_protocol_pictures

        try:
            return read_protocol_pictures(self._protocol, side)
        except (ValueError, OSError) as error:
            raise UsageError(str(error)) from error

    def _gallery(self, name: str) -> Gallery:
        from registry.galleries.gallery import Gallery

        if self._galleries is None:
            raise UsageError(
                f"The protocol {self._protocol.name!r} names the gallery {name!r}, "
                "but no folder of galleries was given (`galleries`)."
            )
        # Once, so that what is read and what is digested are one generation.
        if name not in self._opened:
            self._opened[name] = Gallery.open(Path(self._galleries, name))
        return self._opened[name]
