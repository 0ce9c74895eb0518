"""Adapters: registering, finding and checking them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from sqlalchemy import select

from registry.adapters.adapter import Adapter
from registry.adapters.registration import find_adapter, register_adapter
from registry.metadata.schema import AdapterRow
from registry.names import check_name, parse_adapter
from registry.versions.store import VersionStore


class AdapterStore(VersionStore):
    """The adapters of a registry."""

    def add_adapter(self, directory: str | os.PathLike[str]) -> Adapter:
        """Copies an adapter into the registry.

        Both of its versions have to be registered; it belongs to the model of the new
        one.

        Args:
            directory: Local folder with `adapter.json` directly inside, as
                `keras_bct.adapters` saves it.

        Returns:
            The adapter. Either it is there whole, or nothing is.

        Raises:
            InvalidAdapterError: It is no adapter, or one of its versions is not
                registered.
            AdapterExistsError: The same files are registered.
        """
        from registry.adapters.files import inspect_adapter

        with self._progress("reading", None) as progress:
            candidate = inspect_adapter(Path(directory), progress)
        total = sum(file.size for file in candidate.files.values())
        with self._progress("copying", total) as progress:
            return self._adapter(
                register_adapter(self.database, self.root, candidate, progress)
            )

    def adapters(self, model: str | None = None) -> list[Adapter]:
        """All adapters, or those of one model, by model and number."""
        query = select(AdapterRow).where(AdapterRow.state == "registered")
        if model is not None:
            query = query.where(AdapterRow.model == check_name(model))
        with self.database.reading() as session:
            rows = session.scalars(query.order_by(AdapterRow.model, AdapterRow.number))
            return [self._adapter(row) for row in rows]

    def adapter(self, name: str) -> Adapter:
        """The adapter called `name`, such as `"glyphs:1"`.

        Raises:
            NotFoundError: There is none.
        """
        with self.database.reading() as session:
            return self._adapter(find_adapter(session, *parse_adapter(name)))

    def adapter_with(self, fingerprint: str) -> Adapter | None:
        """The first adapter with these files, None when there is none."""
        with self.database.reading() as session:
            row = session.scalars(
                select(AdapterRow)
                .where(
                    AdapterRow.fingerprint == fingerprint,
                    AdapterRow.state == "registered",
                )
                .order_by(AdapterRow.id)
            ).first()
            return None if row is None else self._adapter(row)

    def local_adapter(
        self, adapter: Adapter
    ) -> contextlib.AbstractContextManager[Path]:
        """A local folder with the files of an adapter: its own, or a passing copy."""
        return self.root.local_copy(*adapter.folder)

    def verify_adapter(self, adapter: Adapter) -> list[str]:
        """Names of the files of an adapter that are missing, changed or too many."""
        from registry.artifacts.integrity import check_stored

        with self._progress(f"verifying {adapter}", None) as progress:
            return check_stored(self.root, adapter, progress)

    def _adapter(self, row: AdapterRow) -> Adapter:
        return Adapter.from_row(row, self.root.location(*row.folder))
