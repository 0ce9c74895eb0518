"""The registry: one root folder, one database, and what can be done with them."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from registry import promotion, registration
from registry.alias import Alias, AliasMove
from registry.database import Database
from registry.edge import Edge
from registry.errors import (
    GateRefusedError,
    IntegrityError,
    NotFoundError,
    UsageError,
)
from registry.evidence import Evidence, measure_evidence
from registry.fingerprint import Progress
from registry.names import (
    check_gallery_name,
    check_name,
    parse_alias,
    parse_version,
)
from registry.schema import (
    AliasMoveRow,
    AliasRow,
    EdgeRow,
    EvidenceMetricRow,
    EvidenceRow,
    GalleryRow,
    IndexRow,
    ModelRow,
    VersionRow,
)
from registry.search_index import SearchIndex
from registry.storage import ArtifactRoot, sync_folder
from registry.version import Version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from keras_bct.data import ImageRecords
    from registry.gallery import Gallery
    from registry.index import Hit, IndexManifest
    from registry.lineage import Lineage
    from registry.progress import Reporter

GALLERIES = "galleries"
INDICES = "indices"


class Registry:
    """Versions, aliases, evidence, galleries and indices of embedding models.

    Example:
        >>> import tempfile
        >>> registry = Registry.init(tempfile.mkdtemp())
        >>> registry.versions()
        []
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        database: str | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        """Opens a registry that `init` made.

        Args:
            root: Local folder or fsspec URL of the files.
            database: SQLAlchemy URL; `registry.db` in the root by default.
            reporter: Shows progress of long work; silent by default.

        Raises:
            UsageError: There is none, or a remote root was named without database.
            SchemaError: It was made by a newer release, or waits for a migration.
        """
        self.root = ArtifactRoot(root)
        self._database_url = database
        self.database = Database(database or self._default_database())
        self._reporter = reporter
        self.database.check()

    @classmethod
    def init(
        cls,
        root: str | os.PathLike[str],
        *,
        database: str | None = None,
        reporter: Reporter | None = None,
    ) -> Registry:
        """Makes a registry, or brings an older one to this release's schema.

        Raises:
            SchemaError: It was made by a newer release.
        """
        registry = cls.__new__(cls)
        registry.root = ArtifactRoot(root)
        registry._database_url = database
        registry.database = Database(database or registry._default_database())
        registry._reporter = reporter
        if registry.root.is_local:
            registry.root.path().mkdir(parents=True, exist_ok=True)
        registry.database.migrate()
        return registry

    def _default_database(self) -> str:
        if not self.root.is_local:
            raise UsageError(
                f"The root {self.root.url!r} is remote, and a database cannot live "
                "there. Name one: `database` (--database on the command line), such "
                "as sqlite:////home/me/registry.db or postgresql+psycopg://host/name."
            )
        return f"sqlite:///{self.root.path('registry.db')}"

    @property
    def command(self) -> str:
        """How a command line for this registry begins."""
        parts = ["registry", "--root", self.root.url]
        if self._database_url is not None:
            parts += ["--database", self._database_url]
        return shlex.join(parts)

    @property
    def galleries_folder(self) -> Path | None:
        """Folder of the galleries, None on a remote root."""
        return self.root.path(GALLERIES) if self.root.is_local else None

    @contextlib.contextmanager
    def _progress(self, title: str, total: int | None) -> Iterator[Progress | None]:
        if self._reporter is None:
            yield None
            return
        with self._reporter(title, total) as progress:
            yield progress

    # Versions

    def register(
        self,
        model: str,
        directory: str | os.PathLike[str],
        *,
        number: int | None = None,
        predecessor: str | None = None,
        embedding_size: int | None = None,
        distance: str | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> Version:
        """Copies a SavedModel into the registry as the next version of `model`.

        Args:
            model: Name of the model; made when it is new.
            directory: Local folder with `saved_model.pb` directly inside.
            number: The number to take, in place of the next one.
            predecessor: The version that it was trained to work with, such as
                `"glyphs/1"` or `"glyphs@production"`.
            embedding_size: For a SavedModel that does not say it.
            distance: For a SavedModel that does not say it in `version.json`.
            training: Training summary, in place of the one in `version.json`.

        Returns:
            The new version. Either it is there whole, or nothing is.

        Raises:
            NameRefusedError: The name is not fit.
            InvalidModelError: It is no SavedModel with an embedding output.
            VersionExistsError: The number is taken, or the same files are registered.
        """
        check_name(model)
        before = None if predecessor is None else self.resolve(predecessor)
        with self._progress("reading", None) as progress:
            candidate = registration.inspect(
                Path(directory),
                size=embedding_size,
                distance=distance,
                training=training,
                progress=progress,
            )
        total = sum(file.size for file in candidate.files.values())
        with self._progress("copying", total) as progress:
            return registration.register(
                self.database,
                self.root,
                model,
                candidate,
                number=number,
                predecessor=None if before is None else (before.model, before.number),
                progress=progress,
            )

    def versions(self, model: str | None = None) -> list[Version]:
        """All versions, or those of one model, by model and number."""
        query = select(VersionRow).where(VersionRow.state == "registered")
        if model is not None:
            query = query.where(VersionRow.model == check_name(model))
        with self.database.reading() as session:
            rows = session.scalars(query.order_by(VersionRow.model, VersionRow.number))
            return [self._version(row) for row in rows]

    def version(self, name: str) -> Version:
        """The version called `name`, such as `"glyphs/3"`.

        Raises:
            NotFoundError: There is none.
        """
        with self.database.reading() as session:
            return self._version(registration.find(session, *parse_version(name)))

    def resolve(self, name: str) -> Version:
        """The version that `"glyphs/3"` or `"glyphs@production"` means now.

        Raises:
            NotFoundError: There is none.
        """
        return self.alias(name).version if "@" in name else self.version(name)

    def version_with(self, fingerprint: str) -> Version | None:
        """The first version with these files, None when there is none."""
        with self.database.reading() as session:
            row = session.scalars(
                select(VersionRow)
                .where(
                    VersionRow.fingerprint == fingerprint,
                    VersionRow.state == "registered",
                )
                .order_by(VersionRow.id)
            ).first()
            return None if row is None else self._version(row)

    def _version(self, row: VersionRow) -> Version:
        return Version.from_row(row, self.root.location(row.model, str(row.number)))

    def local_version(
        self, version: Version
    ) -> contextlib.AbstractContextManager[Path]:
        """A local folder with the files of a version: its own, or a passing copy."""
        return self.root.local_copy(version.model, str(version.number))

    # Aliases

    def aliases(self, model: str | None = None) -> list[Alias]:
        """All aliases, or those of one model, by model and name."""
        query = select(AliasRow)
        if model is not None:
            query = query.where(AliasRow.model == check_name(model))
        with self.database.reading() as session:
            rows = session.scalars(query.order_by(AliasRow.model, AliasRow.name))
            return [self._alias(row) for row in rows]

    def alias(self, name: str) -> Alias:
        """Where an alias such as `"glyphs@production"` stands.

        Raises:
            NotFoundError: There is none.
        """
        model, alias = parse_alias(name)
        with self.database.reading() as session:
            row = session.get(AliasRow, (model, alias))
            if row is None:
                there = session.scalars(
                    select(AliasRow.name).where(AliasRow.model == model)
                ).all()
                raise NotFoundError(
                    f"There is no alias {name}. {model} has: "
                    f"{', '.join(sorted(there)) or 'none'}."
                )
            return self._alias(row)

    def _alias(self, row: AliasRow) -> Alias:
        return Alias(
            model=row.model,
            name=row.name,
            version=self._version(row.version),
            index=None if row.index is None else self._index(row.index),
            protocol=row.protocol,
        )

    def history(self, name: str) -> list[AliasMove]:
        """All moves of an alias such as `"glyphs@production"`, oldest first."""
        model, alias = parse_alias(name)
        with self.database.reading() as session:
            rows = session.scalars(
                select(AliasMoveRow)
                .where(AliasMoveRow.model == model, AliasMoveRow.alias == alias)
                .order_by(AliasMoveRow.id)
            ).all()
            return [self._move(session, row) for row in rows]

    def _move(self, session: Session, row: AliasMoveRow) -> AliasMove:
        def version(key: int | None) -> str | None:
            found = None if key is None else session.get_one(VersionRow, key)
            return None if found is None else f"{found.model}/{found.number}"

        def index(key: int | None) -> str | None:
            found = None if key is None else session.get_one(IndexRow, key)
            return None if found is None else f"{found.model}#{found.number}"

        return AliasMove(
            id=row.id,
            model=row.model,
            alias=row.alias,
            action=row.action,
            from_version=version(row.from_version_id),
            to_version=version(row.to_version_id) or "",
            from_index=index(row.from_index_id),
            to_index=index(row.to_index_id),
            protocol=row.to_protocol,
            reason=row.reason,
            evidence_ids=tuple(row.evidence_ids),
            undoes=row.undoes,
            moved_by=row.moved_by,
            created=row.created,
        )

    def promote(
        self,
        version: str,
        alias: str,
        *,
        require_compatible: bool = False,
        protocol: str | os.PathLike[str] | None = None,
        confidence: float | None = None,
        min_gain: float | None = None,
        index: str | None = None,
        force: bool = False,
        reason: str | None = None,
    ) -> AliasMove | None:
        """Moves an alias to a version, if the gate lets it.

        For the alias's protocol the gate has to pass against every fingerprint in
        the index that the alias serves, and against its current version.

        Args:
            version: Such as `"glyphs/3"`.
            alias: Such as `"production"`; made when it is new.
            require_compatible: Ask the gate. Without it, `force` and `reason`.
            protocol: Protocol file, for a new alias or in place of its own.
            confidence: In place of the protocol's own.
            min_gain: In place of the protocol's own; needs evidence with a paragon.
            index: An index to serve from now on, such as `"glyphs#2"`.
            force: Do not ask the gate; recorded so.
            reason: What the history is to say.

        Returns:
            The move, None when the alias stands there already.

        Raises:
            GateRefusedError: The gate does not pass. Nothing has changed.
            IntegrityError: The version's files are not those that were registered.
        """
        model, number = parse_version(version)
        check_name(alias, "alias")
        _check_terms(require_compatible, force, reason, confidence, min_gain)
        found = self.version(version)
        if protocol is not None:
            from registry.protocol_data import read_protocol

            read_protocol(protocol)
            protocol = str(Path(protocol).absolute())
        self._verify_version(found)
        with self._progress("checking data", None) as progress:
            row = promotion.promote(
                self.database,
                model,
                number,
                alias,
                demand=promotion.Demand(
                    confidence=confidence,
                    min_gain=min_gain,
                    galleries=self.galleries_folder,
                    command=self.command,
                    progress=progress,
                ),
                require_compatible=require_compatible,
                protocol=protocol,
                index=None if index is None else parse_index(index, model),
                reason=reason,
            )
        return None if row is None else self._read_move(row)

    def _read_move(self, row: AliasMoveRow) -> AliasMove:
        with self.database.reading() as session:
            return self._move(session, row)

    def serve_index(
        self, alias: str, index: str, *, reason: str | None = None
    ) -> AliasMove | None:
        """Serves another index with the version that an alias stands for.

        Args:
            alias: Such as `"glyphs@production"`.
            index: Such as `"glyphs#2"`.
            reason: What the history is to say.

        Returns:
            The move, None when that index is served already.

        Raises:
            GateRefusedError: It has vectors that the version has no edge to.
        """
        model, name = parse_alias(alias)
        row = promotion.serve_index(
            self.database, model, name, parse_index(index, model), reason
        )
        return None if row is None else self._read_move(row)

    def rollback(
        self, alias: str, *, force: bool = False, reason: str | None = None
    ) -> AliasMove:
        """Undoes the last move of an alias: version, index and protocol together.

        Args:
            alias: Such as `"glyphs@production"`.
            force: Go back even over vectors that the earlier version cannot search.
            reason: What the history is to say; needed with `force`.

        Raises:
            GateRefusedError: Vectors were added since that the earlier version has
                no edge to.
        """
        model, name = parse_alias(alias)
        if force and not reason:
            raise UsageError("`force` needs a `reason` (--reason TEXT).")
        row = promotion.rollback(
            self.database,
            model,
            name,
            galleries=self.galleries_folder,
            reason=reason,
            force=force,
        )
        return self._read_move(row)

    # Evidence

    def evaluate(
        self,
        new: str,
        against: str,
        protocol_path: str | os.PathLike[str],
        paragon: str | None = None,
    ) -> Evidence:
        """Measures and stores the evidence of one version against another.

        Args:
            new: The version that embeds the queries, such as `"glyphs/3"`.
            against: The version that made the gallery.
            protocol_path: Protocol file.
            paragon: The version at the top of the gain; without it the gain is None.

        Returns:
            The stored evidence. A compatibility edge is written when its protocol's
            gate passes.

        Raises:
            IntegrityError: Files of a version are not those that were registered.
        """
        names = [new, against, *([] if paragon is None else [paragon])]
        versions = [self.resolve(name) for name in names]
        with contextlib.ExitStack() as stack:
            folders = []
            for version in versions:
                self._verify_version(version)
                folders.append(stack.enter_context(self.local_version(version)))
            evidence = measure_evidence(
                folders[0],
                folders[1],
                protocol_path,
                None if paragon is None else folders[2],
                galleries=self.galleries_folder,
            )
        return self.add_evidence(evidence)

    def add_evidence(self, evidence: Evidence) -> Evidence:
        """Stores evidence; writes a compatibility edge when its gate passed.

        Newer evidence replaces an edge of the same pair and protocol, and takes it
        away when the gate no longer passes.

        Returns:
            The evidence with its number.
        """
        with self.database.writing() as session:
            row = EvidenceRow(
                **{
                    name: getattr(evidence, name)
                    for name in (
                        "new_fingerprint",
                        "old_fingerprint",
                        "paragon_fingerprint",
                        "protocol",
                        "protocol_name",
                        "protocol_digest",
                        "data_digest",
                        "first_components",
                        "answer",
                        "seed",
                        "comparison",
                    )
                },
                reasons=list(evidence.reasons),
                metrics=[
                    EvidenceMetricRow(position=position, **asdict(metric))
                    for position, metric in enumerate(evidence.metrics)
                ],
            )
            session.add(row)
            session.flush()
            edge = session.scalars(
                select(EdgeRow).where(
                    EdgeRow.new_fingerprint == evidence.new_fingerprint,
                    EdgeRow.old_fingerprint == evidence.old_fingerprint,
                    EdgeRow.kind == "direct",
                    EdgeRow.protocol_digest == evidence.protocol_digest,
                )
            ).one_or_none()
            if edge is not None:
                session.delete(edge)
                session.flush()
            if evidence.answer == "yes":
                session.add(
                    EdgeRow(
                        new_fingerprint=evidence.new_fingerprint,
                        old_fingerprint=evidence.old_fingerprint,
                        kind="direct",
                        first_components=evidence.first_components,
                        protocol_digest=evidence.protocol_digest,
                        evidence_id=row.id,
                    )
                )
            return replace(evidence, id=row.id, created=row.created)

    def evidence(self, number: int) -> Evidence:
        """Evidence by its number.

        Raises:
            NotFoundError: There is none.
        """
        with self.database.reading() as session:
            row = session.get(EvidenceRow, number)
            if row is None:
                raise NotFoundError(f"There is no evidence {number}.")
            return Evidence.from_row(row)

    def evidence_of(self, version: Version) -> list[Evidence]:
        """All evidence in which this version embeds the queries, oldest first."""
        with self.database.reading() as session:
            rows = session.scalars(
                select(EvidenceRow)
                .where(EvidenceRow.new_fingerprint == version.fingerprint)
                .order_by(EvidenceRow.id)
            )
            return [Evidence.from_row(row) for row in rows]

    def edges(self) -> list[Edge]:
        """All compatibility edges, oldest first."""
        with self.database.reading() as session:
            rows = session.scalars(select(EdgeRow).order_by(EdgeRow.id))
            return [Edge.from_row(row) for row in rows]

    # Galleries and indices

    def create_gallery(self, name: str, model: str, embedding_size: int) -> Gallery:
        """Makes an empty gallery for the embeddings of a model.

        Args:
            name: Its name, such as `"kanji/gallery"`.
            model: The model whose versions fill and search it.
            embedding_size: Components of each embedding.

        Raises:
            NameRefusedError: The name is not fit.
            UsageError: There is one of that name, or one that contains it.
        """
        from registry.gallery import Gallery

        check_gallery_name(name)
        folder = self.root.path(GALLERIES, name)
        with self.database.writing() as session:
            if session.get(ModelRow, model) is None:
                raise NotFoundError(f"There is no model {model!r}. Register a version.")
            for other in session.scalars(select(GalleryRow.name)):
                if f"{other}/".startswith(f"{name}/") or name.startswith(f"{other}/"):
                    raise UsageError(
                        f"There is a gallery {other!r} already; {name!r} would lie in "
                        "its folder. Choose another name."
                    )
            session.add(
                GalleryRow(name=name, model=model, embedding_size=embedding_size)
            )
            session.flush()
            # Not in the database, so left by a process that died before it was.
            shutil.rmtree(folder, ignore_errors=True)
            return Gallery.create(folder, embedding_size)

    def gallery(self, name: str) -> Gallery:
        """The current generation of a gallery.

        Raises:
            NotFoundError: There is none.
        """
        from registry.gallery import Gallery

        with self.database.reading() as session:
            if session.get(GalleryRow, check_gallery_name(name)) is None:
                there = session.scalars(select(GalleryRow.name)).all()
                raise NotFoundError(
                    f"There is no gallery {name!r}. The registry has: "
                    f"{', '.join(sorted(there)) or 'none'}."
                )
        return Gallery.open(self.root.path(GALLERIES, name))

    def galleries(self, model: str | None = None) -> list[str]:
        """Names of all galleries, or of those of one model."""
        query = select(GalleryRow.name).order_by(GalleryRow.name)
        if model is not None:
            query = query.where(GalleryRow.model == model)
        with self.database.reading() as session:
            return list(session.scalars(query))

    def add_pictures(
        self, gallery: str, pictures: ImageRecords, version: Version
    ) -> int:
        """Embeds the pictures that a gallery does not hold yet, and stores them.

        Args:
            gallery: Name of the gallery; made when it is new.
            pictures: Encoded pictures with ids, labels and cameras.
            version: The version that embeds them.

        Returns:
            How many rows were added; what the gallery holds is not embedded again.

        Raises:
            UsageError: Bytes are no picture; the message names them by id.
            IntegrityError: The version's files are not those that were registered.
        """
        from keras_bct.models import load_embedder

        if gallery not in self.galleries():
            self.create_gallery(gallery, version.model, version.embedding_size)
        current = self.gallery(gallery)
        ids = [str(name) for name in pictures.ids]
        held = current.ids_held(ids)
        rows = [row for row, name in enumerate(ids) if name not in held]
        if not rows:
            return 0
        self._verify_version(version)
        new_ids = [ids[row] for row in rows]
        with self.local_version(version) as folder:
            try:
                embedder = load_embedder(folder, expected_size=version.embedding_size)
                vectors = embedder.embed_bytes(
                    [pictures.images[row] for row in rows], new_ids
                )
            except ValueError as error:
                raise UsageError(str(error)) from error
        cameras = pictures.cameras
        current.append(
            new_ids,
            # A wider version's rows are compared by the first components anyway.
            vectors[:, : current.embedding_size],
            version.fingerprint,
            labels=[str(pictures.labels[row]) for row in rows],
            cameras=None if cameras is None else [str(cameras[row]) for row in rows],
        )
        return len(rows)

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
        """
        from registry.index import build_index

        current = self.gallery(gallery)
        size = first_components or current.embedding_size
        if not 1 <= size <= current.embedding_size:
            raise UsageError(
                f"`first_components` should be 1 to {current.embedding_size}. "
                f"Received: {size}."
            )
        self.root.path(INDICES, model).mkdir(parents=True, exist_ok=True)
        building = Path(
            tempfile.mkdtemp(prefix=".building-", dir=self.root.path(INDICES, model))
        )
        try:
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
        finally:
            shutil.rmtree(building, ignore_errors=True)

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

    def publish_index(self, gallery: str, model: str, alias: str) -> SearchIndex:
        """Builds an index of a gallery and serves it with an alias.

        Args:
            gallery: Name of the gallery.
            model: Name of the model.
            alias: The alias, such as `"production"`.

        Raises:
            GateRefusedError: The gallery has vectors that the alias's version has no
                compatibility edge to.
        """
        standing = self.alias(f"{model}@{alias}")
        self._refuse_stranded(standing.version, self.gallery(gallery))
        index = self.build_index(gallery, model, distance=standing.version.distance)
        self.serve_index(str(standing), index.name)
        return index

    def _refuse_stranded(self, version: Version, gallery: Gallery) -> None:
        """Stops before an index is built that could not be served."""
        with self.database.reading() as session:
            missing = [
                promotion.name_of(session, fingerprint)
                for fingerprint in gallery.fingerprints
                if not promotion.has_edge(session, version.fingerprint, fingerprint)
            ]
        if missing:
            raise GateRefusedError(
                f"The gallery in {gallery.folder} is not served with {version}:",
                [
                    f"it has vectors of {name}, and there is no compatibility edge "
                    f"{version} -> {name}"
                    for name in missing
                ],
            )

    def index(self, name: str) -> SearchIndex:
        """The index called `name`, such as `"glyphs#2"`.

        Raises:
            NotFoundError: There is none.
        """
        model = name.partition("#")[0]
        with self.database.reading() as session:
            row = promotion.find_index(session, model, parse_index(name, model))
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
        from registry.search import refuse_without_edge, search_pictures

        found = self.alias(alias)
        if found.index is None:
            raise UsageError(
                f"{alias} serves no index. Publish one with `Registry.publish_index`."
            )
        with self.database.reading() as session:
            missing = {
                promotion.name_of(session, fingerprint): rows
                for fingerprint, rows in found.index.fingerprints.items()
                if not promotion.has_edge(
                    session, found.version.fingerprint, fingerprint
                )
            }
        refuse_without_edge(found.version, found.index, missing)
        self._verify_version(found.version)
        with self.local_version(found.version) as folder:
            return search_pictures(
                folder,
                found.version,
                found.index,
                pictures,
                [str(n) for n in range(len(pictures))] if ids is None else ids,
                k,
            )

    # Everything at once

    def lineage(self, model: str) -> Lineage:
        """The chain of a model's versions, with edges and refused evidence."""
        from registry.lineage import join

        versions = self.versions(model)
        if not versions:
            raise NotFoundError(f"There is no model {model!r}.")
        return join(
            model,
            versions,
            self.aliases(model),
            self.edges(),
            [item for version in versions for item in self.evidence_of(version)],
        )

    def serving_config(self) -> str:
        """Configuration of TensorFlow Serving: the aliases' versions, and no others."""
        from registry.serving_config import serving_config

        models: dict[str, tuple[str, dict[str, int]]] = {}
        for alias in self.aliases():
            folder = self.root.location(alias.model)
            models.setdefault(alias.model, (folder, {}))[1][alias.name] = (
                alias.version.number
            )
        return serving_config(models)

    # Integrity

    def verify(self, model: str | None = None) -> dict[str, list[str]]:
        """Reads all files again and compares them with what was registered.

        Args:
            model: Only versions, galleries and indices of this model.

        Returns:
            For each version, gallery and index the names of its bad files.
        """
        from registry.gallery import Gallery
        from registry.index import verify_index
        from registry.integrity import check_version

        found: dict[str, list[str]] = {}
        for version in self.versions(model):
            with self._progress(f"verifying {version}", None) as progress:
                found[version.name] = check_version(self.root, version, progress)
        for name in self.galleries(model):
            with self._progress(f"verifying {name}", None) as progress:
                try:
                    gallery = Gallery.open(self.root.path(GALLERIES, name))
                    found[f"gallery {name}"] = gallery.verify(progress)
                except IntegrityError as error:
                    found[f"gallery {name}"] = list(error.files)
                except NotFoundError:
                    found[f"gallery {name}"] = ["manifest.json: missing"]
        for index in self.indices(model):
            found[f"index {index}"] = verify_index(
                Path(index.location), index.manifest_sha256
            )
        return found

    def _verify_version(self, version: Version) -> None:
        from registry.integrity import check_version

        manifest_size = 0
        with contextlib.suppress(OSError, ValueError, KeyError):
            with self.root.open(
                version.model, str(version.number), "assets.extra", "manifest.json"
            ) as stream:
                files = json.load(stream)["files"]
            manifest_size = sum(file["size"] for file in files.values())
        with self._progress(f"verifying {version}", manifest_size) as progress:
            bad = check_version(self.root, version, progress)
        if bad:
            raise IntegrityError(
                f"The files of {version} are not those that were registered:", bad
            )

    def _index(self, row: IndexRow) -> SearchIndex:
        location = self.root.location(INDICES, row.model, str(row.number))
        return SearchIndex.from_row(row, location)


def parse_index(text: str, model: str) -> int:
    """Number of an index of `model`, written `MODEL#NUMBER`."""
    owner, mark, number = text.partition("#")
    if not mark or not number.isdecimal() or owner != model:
        raise UsageError(
            f"Expected an index of {model} as MODEL#NUMBER, such as '{model}#1'. "
            f"Received: {text!r}."
        )
    return int(number)


def _check_terms(
    require_compatible: bool,
    force: bool,
    reason: str | None,
    confidence: float | None,
    min_gain: float | None,
) -> None:
    if require_compatible == force:
        raise UsageError(
            "A promotion takes either `require_compatible` (--require-compatible), or "
            "`force` with a `reason` (--force --reason TEXT); not both."
            if force
            else "A promotion needs `require_compatible` (--require-compatible), which "
            "asks the gate; or `force` with a `reason` (--force --reason TEXT), which "
            "does not and is recorded so."
        )
    if force and not (reason and reason.strip()):
        raise UsageError("`force` needs a `reason` (--reason TEXT).")
    if force and (confidence is not None or min_gain is not None):
        raise UsageError(
            "`confidence` and `min_gain` are asked of the gate, which `force` leaves "
            "out."
        )
    if confidence is not None and not 0 < confidence < 1:
        raise UsageError(
            f"`confidence` should lie between 0 and 1. Received: {confidence}."
        )
