"""The registry: one root folder, one database, and what can be done with them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from registry.deletion.store import DeletionStore
from registry.errors import IntegrityError, NotFoundError, RowsRemovedError
from registry.names import GALLERIES
from registry.store import Store

if TYPE_CHECKING:
    from registry.aliases.alias import Alias
    from registry.evidence.lineage import Lineage
    from registry.fingerprint import Progress
    from registry.progress import Reporter


class Registry(DeletionStore):
    """Versions, adapters, aliases, evidence, galleries and indices.

    Each part stands in its own file: `VersionStore`, `AdapterStore`, `AliasStore`,
    `EvidenceStore`, `GalleryStore`, `IndexStore`, `ServingStore`, `DeletionStore`.

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
        super().__init__(root, database=database, reporter=reporter)
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

        Args:
            root: Local folder or fsspec URL of the files.
            database: SQLAlchemy URL; `registry.db` in the root by default.
            reporter: Shows progress of long work; silent by default.

        Raises:
            UsageError: A remote root was named without database.
            SchemaError: It was made by a newer release.
        """
        store = Store(root, database=database)
        if store.root.is_local:
            store.root.path().mkdir(parents=True, exist_ok=True)
        store.database.migrate()
        store.database.close()
        return cls(root, database=database, reporter=reporter)

    def lineage(self, model: str) -> Lineage:
        """The chain of a model's versions, with edges and refused evidence."""
        from registry.evidence.lineage import join

        self.check_model(model)
        versions = self.versions(model)
        return join(
            model,
            versions,
            self.aliases(model),
            self.edges(),
            [item for version in versions for item in self.evidence_of(version)],
            self.adapters(),
        )

    def serving_config(self) -> str:
        """Configuration of TensorFlow Serving: the aliases' versions, and no others.

        It names no version whose files are gone, which would stop the server; a
        comment says so, and `aliases_without_files` names them.
        """
        from registry.serving.config import serving_config

        gone = self.aliases_without_files()
        models: dict[str, tuple[str, dict[str, int]]] = {}
        for alias in self.aliases():
            if alias not in gone:
                folder = self.root.location(alias.model)
                models.setdefault(alias.model, (folder, {}))[1][alias.name] = (
                    alias.version.number
                )
        return serving_config(
            models,
            [
                f"{alias} is left out: the files of {alias.version} are gone."
                for alias in gone
            ],
        )

    def aliases_without_files(self) -> list[Alias]:
        """The aliases at versions that cannot be served, since their files are gone."""
        return [
            alias
            for alias in self.aliases()
            if not self.root.exists(*alias.version.folder, "saved_model.pb")
        ]

    def verify(self, model: str | None = None) -> dict[str, list[str]]:
        """Reads all files again and compares them with what was registered.

        Args:
            model: Only what belongs to this model.

        Returns:
            For each version, adapter, gallery and index the names of its bad files.

        Raises:
            NotFoundError: Nothing belongs to that model.
        """
        from registry.artifacts.integrity import check_stored
        from registry.indices.manifest import verify_index

        found: dict[str, list[str]] = {}
        for version in self.versions(model):
            with self._progress(f"verifying {version}", None) as progress:
                found[version.name] = check_stored(self.root, version, progress)
        for adapter in self.adapters(model):
            found[f"adapter {adapter}"] = self.verify_adapter(adapter)
        for name in self.galleries(model):
            with self._progress(f"verifying {name}", None) as progress:
                found[f"gallery {name}"] = _verify_gallery(
                    self.root.path(GALLERIES, name), progress
                )
        for index in self.indices(model):
            with self._progress(f"verifying {index}", None) as progress:
                found[f"index {index}"] = verify_index(
                    Path(index.location), index.manifest_sha256, progress
                )
        if not found:
            self.check_model(model)
        return found


def _verify_gallery(folder: Path, progress: Progress | None) -> list[str]:
    from registry.galleries.gallery import Gallery

    try:
        while True:
            # Rows that are removed meanwhile are no damage.
            with contextlib.suppress(RowsRemovedError):
                Gallery.open(folder).check(progress)
                return []
    except IntegrityError as error:
        return list(error.files)
    except NotFoundError:
        return ["manifest.json: missing"]
