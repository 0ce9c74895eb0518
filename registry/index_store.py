"""The search indices of a registry: building, publishing and searching them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select

from registry.alias_moves import find_index
from registry.compatibility import Terms, stranded
from registry.errors import GateRefusedError, UsageError
from registry.gallery_store import GalleryStore
from registry.names import INDICES, parse_index
from registry.schema import IndexRow, ModelRow
from registry.search_index import SearchIndex
from registry.storage import sync_folder
from registry.version import Version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from registry.index_manifest import IndexManifest
    from registry.index_searcher import Hit


class IndexStore(GalleryStore):
    """The search indices of a registry."""

    def build_index(
        self,
        gallery: str,
        model: str,
        *,
        distance: str = "cosine",
        first_components: int | None = None,
        queries: npt.NDArray[np.float32] | None = None,
    ) -> SearchIndex:
        """Builds a search index of a gallery's stored vectors; embeds nothing.

        Args:
            gallery: Name of the gallery.
            model: The model whose versions will search it.
            distance: `"cosine"`, `"l2"` or `"inner_product"`.
            first_components: K, how many components are compared; all by default.
            queries: (m, d) embeddings of real queries to measure recall with;
                sampled rows by default.

        Returns:
            The index; no alias serves it yet.

        Raises:
            IntegrityError: Files of the gallery are not what was written.
        """
        from registry.index_building import build_index

        current = self.gallery(gallery)
        with self._progress(f"verifying {gallery}", None) as progress:
            current.check(progress)
        size = first_components or current.embedding_size
        if not 1 <= size <= current.embedding_size:
            raise UsageError(
                f"`first_components` should be 1 to {current.embedding_size}. "
                f"Received: {size}."
            )
        with _building(self.root.path(INDICES, model)) as building:
            manifest = build_index(
                building / "index",
                current.read(),
                gallery=gallery,
                generation=current.generation,
                fingerprints=current.fingerprints,
                distance=distance,
                first_components=size,
                queries=queries,
            )
            return self._add_index(model, building / "index", manifest)

    def _add_index(
        self, model: str, built: Path, manifest: IndexManifest
    ) -> SearchIndex:
        from registry.fingerprint import digest_file

        with self.database.writing() as session:
            owner = session.get_one(ModelRow, model)
            row = IndexRow(
                model=model,
                number=owner.next_index,
                manifest_sha256=digest_file(built / "manifest.json").sha256,
                **{
                    name: getattr(manifest, name)
                    for name in (
                        "gallery",
                        "generation",
                        "fingerprints",
                        "first_components",
                        "distance",
                        "rows",
                        "recall_at_10",
                    )
                },
            )
            owner.next_index += 1
            session.add(row)
            session.flush()
            folder = self.root.path(INDICES, model, str(row.number))
            # Only a writer renames, and it does so before it commits: what lies there
            # without a row was left by one that died in between.
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(built, folder)
            sync_folder(folder.parent)
            return self._index(row)

    def publish_index(
        self,
        gallery: str,
        model: str,
        alias: str,
        *,
        queries: npt.NDArray[np.float32] | None = None,
    ) -> SearchIndex:
        """Builds an index of a gallery and serves it with an alias.

        Args:
            gallery: Name of the gallery.
            model: Name of the model.
            alias: The alias, such as `"production"`.
            queries: (m, d) embeddings of real queries to measure recall with;
                sampled rows by default.

        Raises:
            GateRefusedError: The gallery has vectors that the alias's version has no
                compatibility edge to.
        """
        standing = self.alias(f"{model}@{alias}")
        version, held = standing.version, self.gallery(gallery)
        # Asked before an index is built that could not be served.
        self._refuse_stranded(
            f"The gallery {gallery}",
            version,
            held.fingerprints,
            Terms(version.distance, held.embedding_size),
        )
        index = self.build_index(
            gallery, model, distance=version.distance, queries=queries
        )
        self.serve_index(str(standing), index.name)
        return index

    def _refuse_stranded(
        self, what: str, version: Version, vectors: Mapping[str, int], terms: Terms
    ) -> None:
        with self.database.reading() as session:
            phrases = stranded(session, version.fingerprint, vectors, terms)
        if phrases:
            raise GateRefusedError(
                f"{what} is not searched with {version}:",
                [f"it has {phrase}" for phrase in phrases],
            )

    def index(self, name: str) -> SearchIndex:
        """The index called `name`, such as `"glyphs#2"`.

        Raises:
            NotFoundError: There is none.
        """
        with self.database.reading() as session:
            row = find_index(session, *parse_index(name))
            return self._index(row)

    def indices(self, model: str | None = None) -> list[SearchIndex]:
        """All indices, or those of one model, by model and number."""
        query = select(IndexRow).order_by(IndexRow.model, IndexRow.number)
        if model is not None:
            query = query.where(IndexRow.model == model)
        with self.database.reading() as session:
            return [self._index(row) for row in session.scalars(query)]

    def search(
        self,
        alias: str,
        pictures: Sequence[bytes],
        *,
        k: int = 5,
        ids: Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """Finds the rows nearest to each picture.

        Args:
            alias: Such as `"glyphs@production"`; its version embeds the pictures and
                its index is searched.
            pictures: PNG or JPEG bytes.
            k: How many rows each.
            ids: What the pictures are called, for messages.

        Returns:
            For each picture its rows, nearest first.

        Raises:
            GateRefusedError: The index has vectors of a version that is neither the
                alias's own nor joined to it by a compatibility edge.
            IntegrityError: Files of the version or the index have changed.
        """
        from registry.search import search_pictures

        found = self.alias(alias)
        if found.index is None:
            raise UsageError(
                f"{alias} serves no index. Publish one: "
                f"{self.command} index GALLERY --serve {alias}"
            )
        index = found.index
        self._refuse_stranded(
            str(index),
            found.version,
            index.fingerprints,
            Terms(index.distance, index.first_components),
        )
        self._verify(found.version)
        with self.local_version(found.version) as folder:
            return search_pictures(
                folder,
                found.version,
                index,
                pictures,
                [str(n) for n in range(len(pictures))] if ids is None else ids,
                k,
            )


@contextlib.contextmanager
def _building(folder: Path) -> Iterator[Path]:
    """A passing folder below `folder`; those of processes that died are removed.

    All that build share one lock, which the kernel takes from a process that dies: who
    gets it alone knows that nobody builds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in folder.glob(".building-*"):
                shutil.rmtree(left, ignore_errors=True)
        fcntl.flock(handle, fcntl.LOCK_SH)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
        try:
            yield building
        finally:
            shutil.rmtree(building, ignore_errors=True)
    finally:
        os.close(handle)
