"""What every part of a registry works on: files, metadata, progress."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import URL

from registry.artifacts.storage import ArtifactRoot
from registry.errors import UsageError
from registry.fingerprint import Progress
from registry.metadata.database import Database
from registry.metadata.database_url import without_secrets
from registry.names import GALLERIES

if TYPE_CHECKING:
    from registry.progress import Reporter


class Store:
    """A root for files and a database for metadata."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        database: str | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            root: Local folder or fsspec URL of the files.
            database: SQLAlchemy URL; `registry.db` in the root by default.
            reporter: Shows progress of long work; silent by default.

        Raises:
            UsageError: A remote root was named without database.
        """
        self.root = ArtifactRoot(root)
        self._database_url = database
        self.database = Database(database or self._default_database())
        self._reporter = reporter

    def _default_database(self) -> URL:
        if not self.root.is_local:
            raise UsageError(
                f"The root {self.root.url!r} is remote, and a database cannot live "
                "there. Name one: `database` (--database on the command line), such "
                "as sqlite:////home/me/registry.db or postgresql+psycopg://host/name."
            )
        # Put together by parts: a path may have what means something in a URL.
        return URL.create("sqlite", database=str(self.root.path("registry.db")))

    @property
    def command(self) -> str:
        """How a command line for this registry begins."""
        command = shlex.join(["registry", "--root", self.root.url])
        if self._database_url is None:
            return command
        if without_secrets(self._database_url) != self._database_url:
            # What is printed and kept has no password in it.
            return f'{command} --database "$REGISTRY_DATABASE"'
        return f"{command} --database {shlex.quote(self._database_url)}"

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
