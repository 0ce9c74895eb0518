"""Galleries in the files of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keras_bct.counted import counted
from keras_bct.tables import Columns, read_table
from keras_bct.written_whole import written_whole
from registry.errors import RegistryError, UsageError
from registry.galleries.gallery import Gallery
from registry.galleries.rows import GalleryRows

SUFFIXES = (".parquet", ".arrow", ".npz")
"""What can be written; `keras_bct.tables.ENDINGS` can be read."""

COLUMNS = ("id", "embedding", "label", "camera", "fingerprint")
"""What is read of a file; the first two have to be there."""


def read_file(path: Path, columns: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Reads what a gallery keeps of each row of a file.

    Args:
        path: A file that `keras_bct.tables.read_table` can read.
        columns: Names in the file, by those of `COLUMNS`; one that is not named is
            called as there, and may be absent but for `id` and `embedding`.

    Returns:
        `ids`, `embeddings`, `labels`, `cameras` and `fingerprints`; None where the file
        has none.

    Raises:
        UsageError: The file cannot be read, a column is missing, or a row has no id,
            or no vector like the others.
    """
    given = dict(columns or {})
    if unknown := sorted(set(given) - set(COLUMNS)):
        raise UsageError(
            f"Columns that are kept are {', '.join(COLUMNS)}. Received: "
            f"{', '.join(unknown)}."
        )
    named = {column: given.get(column, column) for column in COLUMNS}
    others = COLUMNS[2:]
    try:
        table = read_table(
            path,
            Columns(
                id=named["id"],
                embedding=named["embedding"],
                names=tuple(named[column] for column in others),
                optional=tuple(named[c] for c in others if c not in given),
            ),
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"{error}") from error
    return {f"{column}s": table.get(name) for column, name in named.items()}


def export_file(gallery: Gallery, path: Path, fingerprint: str | None = None) -> int:
    """Writes all rows to a file, or those that one version made.

    Args:
        gallery: The gallery.
        path: A `.parquet`, `.arrow` (IPC file) or `.npz` file; replaced when it is
            there, once the new one is whole.
        fingerprint: Of that version.

    Returns:
        Number of rows.

    Raises:
        UsageError: Another kind of file, or the version made no row.
        RegistryError: It cannot be written, for one because the disk is full; what was
            there stays.
    """
    _check_suffix(path)
    rows = gallery.read(fingerprint)
    if fingerprint is not None and not len(rows):
        raise UsageError(
            f"{gallery.folder} has no rows of that version ({fingerprint[:12]}). It "
            f"has rows of {', '.join(f[:12] for f in gallery.fingerprints) or 'none'}."
        )
    try:
        with written_whole(path) as unfinished:
            _write(rows, unfinished)
    except OSError as error:
        raise RegistryError(
            f"{counted(len(rows), 'row')} could not be written to {path}: "
            f"{error.strerror or error}. What was there before is unchanged; make "
            "room, or name a place on another disk."
        ) from error
    return len(rows)


def _write(rows: GalleryRows, path: Path) -> None:
    if path.suffix.lower() == ".npz":
        # Given a path, NumPy adds the ending in its own case.
        with open(path, "wb") as file:
            np.savez(file, **_arrays(rows))
    elif path.suffix.lower() == ".parquet":
        pq.write_table(rows.table, path)
    else:
        table = rows.table.unify_dictionaries()
        with pa.OSFile(str(path), "wb") as sink:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"Expected a file that ends in {', '.join(SUFFIXES)}. Received: "
            f"{path.name!r}."
        )


def _arrays(rows: GalleryRows) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        name: np.array([value or "" for value in rows.column(name)], np.str_)
        for name in ("id", "label", "camera", "fingerprint")
    }
    return {**arrays, "embedding": rows.embeddings}
