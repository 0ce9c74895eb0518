"""The search indices of a registry: building, publishing and searching them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select

from registry.aliases.moves import ATTEMPTS, find_index
from registry.artifacts.storage import sync_folder
from registry.errors import NotFoundError, RowsRemovedError, UsageError
from registry.galleries.store import GalleryStore, find_gallery
from registry.indices.search_index import SearchIndex
from registry.metadata.schema import IndexRow, ModelRow
from registry.names import INDICES, parse_index

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from registry.adapters.adapter import Adapter
    from registry.galleries.gallery import Gallery
    from registry.indices.manifest import IndexManifest
    from registry.indices.vectors import Transform


class IndexStore(GalleryStore):
    """The search indices of a registry."""

    def build_index(
        self,
        gallery: str,
        model: str | None = None,
        *,
        distance: str | None = None,
        first_components: int | None = None,
        through: Sequence[str] = (),
        leave_out: Sequence[str] = (),
        queries: npt.NDArray[np.float32] | None = None,
    ) -> SearchIndex:
        """Builds a search index of a gallery's stored vectors; embeds nothing.

        The gallery stays as it is: what goes through an adapter does so into the index.

        Args:
            gallery: Name of the gallery.
            model: The model whose versions will search it, by default the one that
                the gallery was made for.
            distance: `"cosine"`, `"l2"` or `"inner_product"`; by default what the
                model's newest version is compared by.
            first_components: K, how many components are compared; all by default.
            through: Adapters such as `"glyphs:1"` that the rows of their old versions
                go through.
            leave_out: Versions such as `"glyphs/2"` whose rows it is not to hold.
            queries: (m, d) embeddings of real queries to measure recall with;
                sampled rows by default.

        Returns:
            The index; no alias serves it yet.

        Raises:
            IntegrityError: Files of the gallery or of an adapter are not what was
                written.
        """
        self.database.refuse_read_only()
        adapters = [self.adapter(name) for name in through]
        model = self.gallery_model(gallery) if model is None else model
        return self._build(
            gallery,
            model,
            adapters,
            distance=distance or self.versions(model)[-1].distance,
            first_components=first_components,
            leave_out=leave_out,
            queries=queries,
        )

    def _build(
        self,
        gallery: str,
        model: str,
        adapters: Sequence[Adapter],
        *,
        distance: str,
        first_components: int | None,
        leave_out: Sequence[str],
        queries: npt.NDArray[np.float32] | None,
    ) -> SearchIndex:
        for _ in range(ATTEMPTS):
            # Rows may be removed meanwhile: the index is to hold those that are left.
            current = self._rows_to_index(gallery, leave_out)
            with contextlib.suppress(RowsRemovedError):
                return self._build_of(
                    current,
                    gallery,
                    model,
                    adapters,
                    distance=distance,
                    first_components=first_components,
                    queries=queries,
                )
        raise RowsRemovedError(
            f"Rows of {gallery} were removed {ATTEMPTS} times while it was being "
            "indexed. Nothing was published; build the index again."
        )

    def _rows_to_index(self, name: str, leave_out: Sequence[str]) -> Gallery:
        """A gallery without the rows of some versions.

        Raises:
            UsageError: It has no rows of one of them.
        """
        gallery = self.gallery(name)
        left_out = []
        for version in leave_out:
            # A version that is not registered is named by its fingerprint.
            start = version.removeprefix("fingerprint:")
            if start == version:
                start = self.resolve(version).fingerprint
            found = [f for f in gallery.fingerprints if f.startswith(start)]
            if len(found) != 1:
                raise UsageError(
                    f"`leave_out` (--leave-out) should name versions of whose rows "
                    f"the gallery {name} has some. Received: {version!r}."
                )
            left_out += found
        return gallery.without(left_out)

    def _build_of(
        self,
        current: Gallery,
        gallery: str,
        model: str,
        adapters: Sequence[Adapter],
        *,
        distance: str,
        first_components: int | None,
        queries: npt.NDArray[np.float32] | None,
    ) -> SearchIndex:
        from registry.indices.building import build_index
        from registry.indices.vectors import components

        with self._progress(f"verifying {gallery}", None) as progress:
            current.check(progress)
        transforms = self._open_adapters(gallery, current, adapters)
        size = components(
            current,
            {made_by: t.adapter.output_size for made_by, t in transforms.items()},
            first_components,
        )
        with _building(self.root.path(INDICES, model)) as building:
            total = sum(4 * s.rows * s.embedding_size for s in current.segments)
            with self._progress(f"indexing {gallery}", total) as progress:
                manifest = build_index(
                    building / "index",
                    current.read(),
                    gallery=gallery,
                    generation=current.generation,
                    fingerprints=current.fingerprints,
                    distance=distance,
                    first_components=size,
                    through=transforms,
                    queries=queries,
                    progress=progress,
                )
            if current.is_gone():
                raise RowsRemovedError(f"Rows of {gallery} were removed meanwhile.")
            return self._add_index(model, building / "index", manifest)

    def _open_adapters(
        self, name: str, gallery: Gallery, adapters: Sequence[Adapter]
    ) -> dict[str, Transform]:
        """Loads adapters, by the version whose rows they map.

        Raises:
            UsageError: Two for the same rows, or one for rows that are not there or not
                stored whole.
            IntegrityError: Files of one are not those that were registered.
        """
        from registry.adapters.files import open_adapter
        from registry.indices.vectors import Transform

        opened: dict[str, Transform] = {}
        for adapter in adapters:
            made_by = adapter.old_fingerprint
            if made_by in opened:
                raise UsageError(
                    f"Rows of one version go through one adapter. Received: {adapter} "
                    f"and {opened[made_by].name} (--through), both for vectors of "
                    f"{self.version_with(made_by) or made_by[:12]}."
                )
            if made_by not in gallery.fingerprints:
                raise UsageError(
                    f"{adapter} (--through) maps vectors of "
                    f"{self.version_with(made_by) or made_by[:12]}, of which the "
                    f"gallery {name} has none."
                )
            self._verify(adapter)
            with self.local_adapter(adapter) as folder:
                opened[made_by] = Transform(
                    adapter.name, adapter.fingerprint, open_adapter(folder, made_by)
                )
            # After it was opened, which refuses one that maps new rows.
            stored = gallery.sizes[made_by]
            if stored != adapter.input_size:
                raise UsageError(
                    f"{adapter} (--through) maps vectors of {adapter.input_size} "
                    f"components. Received: the gallery {name}, which stores the first "
                    f"{stored} of {self.version_with(made_by) or made_by[:12]}; put "
                    "them whole into a gallery of their own."
                )
        return opened

    def _add_index(
        self, model: str, built: Path, manifest: IndexManifest
    ) -> SearchIndex:
        from registry.fingerprint import digest_file

        with self.database.writing() as session:
            if find_gallery(session, manifest.gallery) is None:
                raise NotFoundError(
                    f"The gallery {manifest.gallery} was deleted while it was being "
                    "indexed. Nothing was published."
                )
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
                        "adapters",
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
        query = select(IndexRow).where(IndexRow.state == "registered")
        query = query.order_by(IndexRow.model, IndexRow.number)
        if model is not None:
            query = query.where(IndexRow.model == model)
        with self.database.reading() as session:
            return [self._index(row) for row in session.scalars(query)]


@contextlib.contextmanager
def nobody_builds(folder: Path) -> Iterator[bool]:
    """Whether no process builds an index in a model's folder, and keeps it so."""
    if not folder.is_dir():
        yield False
        return
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


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
