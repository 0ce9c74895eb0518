"""A SQLite file that can only be read: on a read-only mount, or of another user.

In WAL mode SQLite writes even to read: it makes two files beside the database, by which
processes talk to each other. Where none can be made, the database is opened as one that
does not change, without them.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from registry.errors import RegistryError


class ReadOnlyFile:
    """The database in a place where nothing can be written.

    On a medium that is read-only nothing changes. Where another user may write, a
    reader would not be told of it, so who reads compares `state` before and after.
    """

    def __init__(self, path: Path) -> None:
        """Opens nothing yet."""
        self.path = path
        self._log = path.with_name(f"{path.name}-wal")

    @classmethod
    def of(cls, path: Path) -> ReadOnlyFile | None:
        """The file at `path` where it can only be read, None where it can be written.

        One that is not there yet can be written.
        """
        if not path.is_file():
            return None
        places = path, path.absolute().parent
        writable = all(os.access(place, os.W_OK) for place in places)
        return None if writable else cls(path)

    def connect(self) -> sqlite3.Connection:
        """Opens it.

        Raises:
            sqlite3.OperationalError: A writer left changes beside it that SQLite cannot
                read without writing.
        """
        terms = "mode=ro"
        # With changes in its log it is not whole without; SQLite reads them where the
        # writer's other file is still there.
        if not self._log_size():
            terms += "&immutable=1"
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{terms}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA query_only=ON")
        return connection

    def state(self) -> tuple[Any, ...]:
        """What is different when somebody has written."""
        found = self.path.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size, self._log_size()

    def _log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def refuse(self) -> RegistryError:
        """What to raise where it is to be written."""
        return RegistryError(
            f"{self.path} can only be read here: the folder or the file cannot be "
            "written to. Nothing was changed; do it where the registry is mounted for "
            "writing, or as the user who owns it."
        )

    def unread(self) -> RegistryError:
        """What to raise where its log cannot be read."""
        return RegistryError(
            f"{self.path} cannot be read here: its last writer left changes in "
            f"{self._log.name}, which take a folder that can be written to. Read it "
            "once where it can be, as with `registry list`, or copy both files there."
        )
