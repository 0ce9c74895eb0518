"""The data that a protocol names: pictures in files, vectors in the galleries."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bct.file_patterns import matching_files
from registry.errors import UsageError
from registry.fingerprint import Progress, digest_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from keras_bct.evaluation import EmbeddingSet, Protocol, Source
    from registry.gallery import Gallery


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


@dataclass(frozen=True)
class Pictures:
    """A side of a protocol that a version embeds.

    Attributes:
        ids: (n,) names.
        labels: (n,) classes by name.
        cameras: (n,) or None.
        templates: (n,) or None: pictures of one template are pooled.
        media: (n,) or None: frames of one video carry one medium.
        images: n encoded pictures.
    """

    ids: npt.NDArray[np.str_]
    labels: npt.NDArray[np.str_]
    cameras: npt.NDArray[np.str_] | None
    templates: npt.NDArray[np.str_] | None
    media: npt.NDArray[np.str_] | None
    images: list[bytes]

    def embedding_set(self, embeddings: npt.NDArray[np.float32]) -> EmbeddingSet:
        """The side with its embeddings, (n, d) float32."""
        from keras_bct.evaluation import EmbeddingSet

        return EmbeddingSet(
            self.ids,
            self.labels,
            self.cameras,
            embeddings,
            templates=self.templates,
            media=self.media,
        )


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

    def check_queries(self) -> None:
        """Raises when the queries cannot be embedded.

        Raises:
            UsageError: They are not pictures.
        """
        self._check_pictures("queries", self._protocol.queries)

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

    def query_pictures(self) -> Pictures:
        """The queries; the new and the old version both have to embed them."""
        side = self._protocol.queries
        return self._pictures("queries", side)

    def gallery_pictures(self) -> Pictures:
        """The gallery side, where it has pictures."""
        return self._pictures("gallery", self._protocol.gallery)

    def stored_gallery(self, fingerprint: str) -> EmbeddingSet | None:
        """The gallery side's vectors that `fingerprint` made; None for pictures."""
        side = self._protocol.gallery
        if side.source != "gallery":
            return None
        if (side.template, side.medium, side.quality) != (None, None, None):
            raise UsageError(
                f"The gallery {side.path!r} stores ids, labels and cameras, but no "
                "`template`, `medium` or `quality`. Leave them out of the protocol."
            )
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

    def _check_pictures(self, name: str, side: Source) -> None:
        if side.source != "tfrecord":
            raise UsageError(
                f"Both versions have to embed the side `{name}` of the protocol "
                f"{self._protocol.name!r}, so it should name pictures "
                f"(`source: tfrecord`). Received: `source: {side.source}`."
            )
        if side.quality is not None:
            raise UsageError(
                f"The side `{name}` of the protocol {self._protocol.name!r} weighs by "
                f"`quality: {side.quality}`, which pictures in TFRecords do not have. "
                "Leave it out."
            )

    def _pictures(self, name: str, side: Source) -> Pictures:
        from keras_bct.data import read_records

        self._check_pictures(name, side)
        # The files that are digested, and no others.
        files = self._files(side.path)

        try:
            records = read_records(
                files,
                id=side.id,
                label=side.label,
                camera=side.camera,
                template=side.template,
                medium=side.medium,
            )
        except (ValueError, OSError) as error:
            raise UsageError(
                f"The side `{name}` of the protocol {self._protocol.name!r} cannot be "
                f"read: {error}"
            ) from error
        for feature, asked, column in (
            ("template", side.template, records.templates),
            ("medium", side.medium, records.media),
        ):
            if asked is not None and column is None:
                raise UsageError(
                    f"The side `{name}` of the protocol {self._protocol.name!r} pools "
                    f"by `{feature}: {asked}`, which no record has. Name the feature "
                    "that the files have, or leave it out."
                )
        return Pictures(
            ids=records.ids,
            labels=records.labels,
            cameras=records.cameras,
            templates=records.templates,
            media=records.media,
            images=records.images,
        )

    def _gallery(self, name: str) -> Gallery:
        from registry.gallery import Gallery

        if self._galleries is None:
            raise UsageError(
                f"The protocol {self._protocol.name!r} names the gallery {name!r}, "
                "but no folder of galleries was given (`galleries`)."
            )
        # Once, so that what is read and what is digested are one generation.
        if name not in self._opened:
            self._opened[name] = Gallery.open(Path(self._galleries, name))
        return self._opened[name]
