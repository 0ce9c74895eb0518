"""The manifest of a gallery: it names the segments of the current generation."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from registry.artifacts.storage import sync_folder
from registry.errors import IntegrityError, NotFoundError, RegistryError
from registry.galleries.segment import MANIFEST, Segment

SCHEMA = 3
LOCK = ".lock"


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a generation is: its number, size, segments and moment.

    Raises:
        NotFoundError: There is no gallery.
        IntegrityError: The manifest cannot be read.
        RegistryError: A newer release wrote it.
    """
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        schema = content["schema"]
        if schema not in (1, 2, SCHEMA):
            raise RegistryError(
                f"The gallery in {folder} has schema {schema!r}; this release reads 1 "
                f"to {SCHEMA}. Upgrade with `pip install --upgrade keras-bct`."
            )
        size = content["embedding_size"]
        return {
            "embedding_size": size,
            "generation": content["generation"],
            # All segments of a gallery of the first release are of its own size.
            "segments": tuple(
                Segment(**{"embedding_size": size, **segment})
                for segment in content["segments"]
            ),
            "created": content["created"],
            "oldest": content.get("oldest", 0),
        }
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"There is no gallery in {folder}.") from None
    except (ValueError, TypeError, KeyError) as error:
        raise IntegrityError(
            f"The manifest of the gallery in {folder} cannot be read: {error}.",
            [f"{MANIFEST}: cannot be read"],
        ) from error


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Puts a new generation in the place of the one before, in one step."""
    partial = folder / f"{MANIFEST}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump({"schema": SCHEMA, **content}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    os.replace(partial, folder / MANIFEST)
    sync_folder(folder)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One writer at a time; the kernel lets go of the lock of a process that dies."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        raise NotFoundError(f"There is no gallery in {folder}.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
