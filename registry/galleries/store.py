"""The galleries of a registry, by name."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from keras_bct.did_you_mean import did_you_mean
from registry.errors import (
    InvalidGalleryError,
    NotFoundError,
    RegistryError,
    UsageError,
)
from registry.evidence.store import EvidenceStore
from registry.metadata.schema import GalleryRow
from registry.names import GALLERIES, check_gallery_name
from registry.versions.known_model import require_model
from registry.versions.version import Version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from keras_bct.data import ImageRecords
    from registry.galleries.gallery import Gallery


class GalleryStore(EvidenceStore):
    """The galleries of a registry."""

    def create_gallery(self, name: str, model: str, embedding_size: int) -> Gallery:
        """Makes an empty gallery for the embeddings of a model.

        Args:
            name: Its name, such as `"kanji/gallery"`.
            model: The model whose versions fill and search it.
            embedding_size: Components of each embedding.

        Raises:
            NameRefusedError: The name is not fit.
            UsageError: There is one of that name, or one that contains it.
            RegistryError: There are rows in its folder that the database knows not of.
        """
        from registry.galleries.gallery import Gallery

        check_gallery_name(name)
        folder = self.root.path(GALLERIES, name)
        with self.database.writing() as session:
            require_model(session, model)
            _refuse_taken(session, name)
            deleted = session.get(GalleryRow, name)
            if deleted is not None:
                # Nobody is told of what is left of its rows.
                shutil.rmtree(folder, ignore_errors=True)
            session.merge(
                GalleryRow(
                    name=name,
                    model=model,
                    embedding_size=embedding_size,
                    state="registered",
                )
            )
            session.flush()
            # What a process left that died before it was in the database has no rows;
            # what has any belongs to another database, or to a newer copy of this one.
            if any(folder.rglob("segment-*")):
                raise RegistryError(
                    f"{folder} has rows but is not in this registry's database. "
                    "Move it away, or name the database that knows it."
                )
            shutil.rmtree(folder, ignore_errors=True)
            return Gallery.create(folder, embedding_size)

    def gallery(self, name: str) -> Gallery:
        """The current generation of a gallery.

        Raises:
            NotFoundError: There is none.
        """
        from registry.galleries.gallery import Gallery

        self.gallery_model(name)
        return Gallery.open(self.root.path(GALLERIES, name))

    def gallery_model(self, name: str) -> str:
        """The model whose versions fill and search a gallery.

        Raises:
            NotFoundError: There is no such gallery.
        """
        with self.database.reading() as session:
            row = find_gallery(session, check_gallery_name(name))
            if row is None:
                raise no_gallery(session, name)
            return row.model

    def galleries(self, model: str | None = None) -> list[str]:
        """Names of all galleries, or of those of one model."""
        query = _names().order_by(GalleryRow.name)
        if model is not None:
            query = query.where(GalleryRow.model == model)
        with self.database.reading() as session:
            return list(session.scalars(query))

    def add_pictures(
        self,
        gallery: str,
        pictures: ImageRecords,
        version: Version,
        *,
        whole: bool = False,
    ) -> int:
        """Embeds the pictures that a gallery does not hold yet, and stores them.

        Embeddings wider than the gallery's are stored by their first components, as a
        compatible version is compared. In an index of rows that go through an adapter
        into the version's own space they are compared `whole`.

        Args:
            gallery: Name of the gallery; made when it is new.
            pictures: Encoded pictures of any size with ids, labels and cameras.
            version: The version that embeds them.
            whole: Store all components, whatever the gallery's other rows have.

        Returns:
            How many rows were added; what the gallery holds is not embedded again.

        Raises:
            UsageError: Bytes are no picture; the message names them by id.
            IntegrityError: The version's files are not those that were registered.
        """
        from registry.galleries.incoming_rows import refuse_duplicates

        self.database.refuse_read_only()
        ids = [str(name) for name in pictures.ids]
        refuse_duplicates(ids)
        current = self._gallery_if_any(gallery)
        held = set() if current is None else current.ids_held(ids)
        rows = [row for row, name in enumerate(ids) if name not in held]
        if not rows:
            return 0
        size = version.embedding_size
        if current is not None and not whole:
            size = current.embedding_size
        if version.embedding_size < size:
            raise InvalidGalleryError(
                f"Embeddings of {gallery} have {size} components, and {version} gives "
                f"{version.embedding_size}. It needs its own gallery, or `whole` "
                "(--whole) beside rows that go through an adapter."
            )
        new_ids = [ids[row] for row in rows]
        vectors = self._embed(version, [pictures.images[row] for row in rows], new_ids)
        cameras = pictures.cameras
        self._gallery_for(gallery, version).append(
            new_ids,
            vectors[:, :size],
            version.fingerprint,
            labels=[str(pictures.labels[row]) or None for row in rows],
            cameras=None
            if cameras is None
            else [str(cameras[row]) or None for row in rows],
            embedding_size=size,
            checked=True,
        )
        return len(rows)

    def import_rows(
        self,
        gallery: str,
        path: Path,
        version: Version,
        *,
        columns: Mapping[str, str] | None = None,
        pictures: ImageRecords | None = None,
        unchecked: bool = False,
    ) -> int:
        """Appends stored embeddings from a file of another tool.

        Vectors under the name of a version that did not make them prove whatever one
        likes, so the version embeds some of their pictures first.

        Args:
            gallery: Name of the gallery; made when it is new.
            path: A file that `keras_bct.tables.read_table` can read, with `id`,
                `embedding`, and where they are known `label`, `camera` and
                `fingerprint`.
            version: The version that made the embeddings.
            columns: What the file calls those.
            pictures: Pictures of some of the rows, with the same ids.
            unchecked: Take the rows on trust; kept with them, and shown wherever they
                count.

        Returns:
            How many rows were added.

        Raises:
            UsageError: Neither pictures nor `unchecked`, too few pictures, a file that
                cannot be read, or one that says that another version made its rows.
            InvalidGalleryError: NaN, another width, an id that is held, or vectors
                that are not what the version makes of their pictures. Nothing was
                added.
        """
        from registry.galleries.files import read_file
        from registry.galleries.incoming_rows import check_rows

        self.database.refuse_read_only()
        if unchecked == (pictures is not None):
            raise UsageError(
                f"Are the vectors of {path} really what {version} makes? Give pictures "
                "of some of them to compare, `pictures` (--pictures PICTURES), or take "
                "them on trust with `unchecked` (--unchecked), which is shown wherever "
                "they count; not both."
            )
        rows = read_file(path, columns)
        self._refuse_other_makers(path, rows.pop("fingerprints"), version)
        if self._gallery_if_any(gallery) is None:
            # Before it is made, so that rows that cannot be added leave none behind.
            check_rows(version.embedding_size, **rows)
        if pictures is not None:
            self._compare(rows["ids"], rows["embeddings"], pictures, version)
        self._gallery_for(gallery, version).append(
            fingerprint=version.fingerprint, checked=not unchecked, **rows
        )
        return len(rows["ids"])

    def _compare(
        self,
        ids: Sequence[str],
        vectors: Any,
        pictures: ImageRecords,
        version: Version,
    ) -> None:
        """Raises when vectors are not what the version makes of their pictures."""
        from registry.galleries.vector_check import refuse_other_vectors, sample_rows

        names = [str(name) for name in ids]
        rows, shown = sample_rows(names, [str(name) for name in pictures.ids])
        sampled = [names[row] for row in rows]
        refuse_other_vectors(
            sampled,
            vectors[rows],
            self._embed(version, [pictures.images[row] for row in shown], sampled),
            version=str(version),
            distance=version.distance,
        )

    def _embed(
        self, version: Version, images: Sequence[bytes], ids: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        """What a version makes of pictures, brought to its size.

        Raises:
            UsageError: Bytes are no picture; the message names them by id.
            IntegrityError: The version's files are not those that were registered.
        """
        self._verify(version)
        from keras_bct.models import load_embedder
        from registry.versions.fitted_pictures import fitted_pictures

        with self.local_version(version) as folder:
            try:
                embedder = load_embedder(folder, expected_size=version.embedding_size)
                fitted = fitted_pictures(images, ids, embedder.image_shape)
                return embedder.embed_bytes(fitted, ids)
            except ValueError as error:
                raise UsageError(str(error)) from error

    def unchecked(self, gallery: str) -> list[str]:
        """Sentences on the rows of a gallery that are a version's by word alone.

        None where the gallery cannot be read; who reads its rows is told so.
        """
        try:
            found = self.gallery(gallery)
        except RegistryError:
            return []
        return [
            f"{rows:,} of {found.fingerprints[made_by]:,} vectors of "
            f"{self.version_with(made_by) or made_by[:12]} in {gallery} are unchecked: "
            "nobody compared them with what it makes of pictures"
            for made_by, rows in found.unchecked.items()
        ]

    def _refuse_other_makers(
        self, path: Path, fingerprints: Any, version: Version
    ) -> None:
        """Raises when a file says that its rows are of another version."""
        for made_by in sorted(set(() if fingerprints is None else fingerprints)):
            if made_by in ("", version.fingerprint):
                continue
            maker = self.version_with(made_by) or "a version that is not registered"
            raise UsageError(
                f"Rows of {path} are said to be made by {version} "
                f"({version.fingerprint[:12]}), but the file's own fingerprints name "
                f"{maker} ({str(made_by)[:12]}). Name that version; where the file has "
                "rows of several, export those of each by itself (--export-file with "
                "--version). Nothing was added."
            )

    def remove_rows(self, gallery: str, ids: Sequence[str]) -> int:
        """Removes rows by their ids; they cannot be read any more.

        Indices hold them until they are built anew.

        Args:
            gallery: Name of the gallery.
            ids: Names of the rows.

        Returns:
            How many rows were removed.

        Raises:
            NotFoundError: There is no row of one of them. Nothing was removed.
        """
        from registry.galleries.removal import remove_rows

        self.database.refuse_read_only()
        remove_rows(self.gallery(gallery), ids)
        return len(set(ids))

    def export_rows(
        self, gallery: str, path: Path, version: Version | None = None
    ) -> int:
        """Writes rows of a gallery to a `.parquet`, `.arrow` or `.npz` file.

        Args:
            gallery: Name of the gallery.
            path: The file.
            version: Only the rows that it made; None for all.

        Returns:
            How many rows were written.

        Raises:
            UsageError: Another kind of file, or the version made no row.
            RegistryError: It cannot be written; what was there stays.
        """
        from registry.galleries.files import export_file

        return export_file(
            self.gallery(gallery),
            path,
            None if version is None else version.fingerprint,
        )

    def _gallery_if_any(self, name: str) -> Gallery | None:
        """The gallery, or None where one of that name could be made."""
        check_gallery_name(name)
        with self.database.reading() as session:
            if find_gallery(session, name) is None:
                _refuse_taken(session, name)
                return None
        return self.gallery(name)

    def _gallery_for(self, name: str, version: Version) -> Gallery:
        if name not in self.galleries():
            try:
                self.create_gallery(name, version.model, version.embedding_size)
            except UsageError:
                # By another process meanwhile, as long as it is there now.
                if name not in self.galleries():
                    raise
        return self.gallery(name)


def find_gallery(session: Session, name: str) -> GalleryRow | None:
    """The row of a gallery, None where there is none or it was deleted."""
    row = session.get(GalleryRow, name)
    return row if row is not None and row.state == "registered" else None


def no_gallery(session: Session, name: str) -> NotFoundError:
    """What to raise when there is no gallery of that name."""
    there = session.scalars(_names()).all()
    return NotFoundError(
        f"There is no gallery {name!r}.{did_you_mean(name, there)} The registry has: "
        f"{', '.join(sorted(there)) or 'none'}."
    )


def is_nobodys(session: Session, folder: Sequence[str]) -> bool:
    """Whether no gallery has its rows in a folder of the root, or below it.

    A gallery that was deleted may have been made anew, or another inside its folder.
    """
    place = "/".join(folder) + "/"
    names = session.scalars(_names())
    return not any(f"{GALLERIES}/{name}/".startswith(place) for name in names)


def _names() -> Select[tuple[str]]:
    return select(GalleryRow.name).where(GalleryRow.state == "registered")


def _refuse_taken(session: Session, name: str) -> None:
    for other in session.scalars(_names()):
        if f"{other}/".startswith(f"{name}/") or name.startswith(f"{other}/"):
            raise UsageError(
                f"There is a gallery {other!r} already; {name!r} would lie in its "
                "folder. Choose another name."
            )
