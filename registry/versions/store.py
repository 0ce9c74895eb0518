"""Versions: registering, finding and checking them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from keras_bct.embedding_parts import EmbeddingParts
from registry.aliases.moves import no_alias
from registry.artifacts.integrity import Stored, check_stored
from registry.errors import IntegrityError
from registry.fingerprint import MANIFEST
from registry.metadata.schema import AliasRow, VersionRow
from registry.names import check_name, parse_alias, parse_version
from registry.store import Store
from registry.versions import registration
from registry.versions.candidate import inspect
from registry.versions.known_model import known_models, require_model
from registry.versions.version import Version


class VersionStore(Store):
    """The versions of a registry."""

    def register(
        self,
        model: str,
        directory: str | os.PathLike[str],
        *,
        number: int | None = None,
        predecessor: str | None = None,
        signature: str | None = None,
        input: str | None = None,
        output: str | None = None,
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
            signature: The signature that embeds, where it is not clear which; kept with
                the version, as are the next two.
            input: Its input that takes pictures.
            output: Its output that is the embedding.
            embedding_size: Refuse a SavedModel of another one.
            distance: For a SavedModel that does not say it in `version.json`.
            training: Training summary, in place of the one in `version.json`.

        Returns:
            The new version. Either it is there whole, or nothing is.

        Raises:
            NameRefusedError: The name is not fit.
            InvalidModelError: It is no SavedModel, or does not embed pictures.
            VersionExistsError: The number is taken, or the same files are registered.
        """
        check_name(model)
        before = None if predecessor is None else self.resolve(predecessor)
        with self._progress("reading", None) as progress:
            candidate = inspect(
                Path(directory),
                named=EmbeddingParts(signature, input, output),
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

    def models(self) -> list[str]:
        """Names of the models that have versions."""
        with self.database.reading() as session:
            return known_models(session)

    def check_model(self, model: str | None) -> None:
        """Raises when there is no such model; None means all of them.

        Raises:
            NameRefusedError: The name is not fit.
            NotFoundError: No version has this name; the message names those there are.
        """
        if model is not None:
            with self.database.reading() as session:
                require_model(session, check_name(model))

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
        if "@" not in name:
            return self.version(name)
        with self.database.reading() as session:
            return self._version(alias_row(session, name).version)

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

    def local_version(
        self, version: Version
    ) -> contextlib.AbstractContextManager[Path]:
        """A local folder with the files of a version: its own, or a passing copy."""
        return self.root.local_copy(*version.folder)

    def _version(self, row: VersionRow) -> Version:
        return Version.from_row(row, self.root.location(row.model, str(row.number)))

    def _verify(self, stored: Stored) -> None:
        """Raises when files are not those that were registered.

        Raises:
            IntegrityError: It names them.
        """
        manifest_size = 0
        # Whatever it holds; the check below says what is wrong with it.
        with contextlib.suppress(
            OSError, ValueError, KeyError, TypeError, AttributeError
        ):
            with self.root.open(*stored.folder, MANIFEST) as stream:
                files = json.load(stream)["files"]
            manifest_size = sum(file["size"] for file in files.values())
        with self._progress(f"verifying {stored.name}", manifest_size) as progress:
            bad = check_stored(self.root, stored, progress)
        if bad:
            raise IntegrityError(
                f"The files of {stored.name} are not those that were registered:", bad
            )


def alias_row(session: Session, name: str) -> AliasRow:
    """The row of an alias such as `"glyphs@production"`.

    Raises:
        NotFoundError: There is none; the message names those that there are.
    """
    model, alias = parse_alias(name)
    row = session.get(AliasRow, (model, alias))
    if row is None:
        raise no_alias(session, model, alias)
    return row
