"""Galleries in the files of other tools: Parquet, Arrow, NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keras_bct.written_whole import written_whole
from registry.errors import InvalidGalleryError, RegistryError, UsageError
from registry.gallery import Gallery
from registry.gallery_rows import GalleryRows

SUFFIXES = (".parquet", ".arrow", ".npz")


def import_file(gallery: Gallery, path: Path, fingerprint: str) -> Gallery:
    """Appends the rows of a file that a version made.

    Columns (or arrays of an npz): `id`, `embedding`, and where they are known
    `label` and `camera`; others are left out.

    Args:
        gallery: The gallery.
        path: A `.parquet`, `.arrow` (IPC file) or `.npz` file.
        fingerprint: Of the version that made the embeddings.

    Returns:
        The new generation.

    Raises:
        UsageError: Another kind of file, or a column is missing.
        InvalidGalleryError: Rows that the gallery does not accept.
    """
    return gallery.append(fingerprint=fingerprint, **read_file(path))


def read_file(path: Path) -> dict[str, Any]:
    """Reads `ids`, `embeddings`, `labels` and `cameras`; None where not known.

    Raises:
        UsageError: Another kind of file, or a column is missing.
    """
    columns = _read(path)
    for name in ("id", "embedding"):
        if name not in columns:
            raise UsageError(
                f"{path} should have `id` and `embedding`. Received: "
                f"{', '.join(columns) or 'nothing'}."
            )
    return {
        "ids": columns["id"],
        "embeddings": columns["embedding"],
        "labels": columns.get("label"),
        "cameras": columns.get("camera"),
    }


def export_file(gallery: Gallery, path: Path) -> int:
    """Writes all rows to a file.

    Args:
        gallery: The gallery.
        path: A `.parquet`, `.arrow` (IPC file) or `.npz` file; replaced when it is
            there, once the new one is whole.

    Returns:
        Number of rows.

    Raises:
        RegistryError: It cannot be written, for one because the disk is full; what was
            there stays.
    """
    _check_suffix(path)
    rows = gallery.read()
    try:
        with written_whole(path) as unfinished:
            _write(rows, unfinished)
    except OSError as error:
        raise RegistryError(
            f"{len(rows):,} rows could not be written to {path}: "
            f"{error.strerror or error}. What was there before is unchanged; make "
            "room, or name a place on another disk."
        ) from error
    return len(rows)


def _write(rows: GalleryRows, path: Path) -> None:
    if path.suffix == ".npz":
        np.savez(path, **_arrays(rows))
    elif path.suffix == ".parquet":
        pq.write_table(rows.table, path)
    else:
        table = rows.table.unify_dictionaries()
        with pa.OSFile(str(path), "wb") as sink:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise UsageError(
            f"Expected a file that ends in {', '.join(SUFFIXES)}. Received: "
            f"{path.name!r}."
        )


def _read(path: Path) -> Mapping[str, Any]:
    _check_suffix(path)
    try:
        if path.suffix == ".npz":
            # Arrays of objects would have to be unpickled, which runs foreign code.
            with np.load(path, allow_pickle=False) as arrays:
                return {
                    name: values.tolist() if name != "embedding" else values
                    for name, values in arrays.items()
                }
        if path.suffix == ".parquet":
            table = pq.read_table(path)
        else:
            with pa.memory_map(str(path)) as source:
                table = pa.ipc.open_file(source).read_all()
    except (OSError, ValueError, pa.ArrowInvalid) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return {
        name: _matrix(table.column(name), path)
        if name == "embedding"
        else table.column(name).cast(pa.string()).to_pylist()
        for name in ("id", "label", "camera", "embedding")
        if name in table.column_names
    }


def _matrix(column: pa.ChunkedArray, path: Path) -> np.ndarray[Any, Any]:
    """Lists of one length as an array; Parquet keeps no fixed sizes by itself."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise InvalidGalleryError(
            f"`embedding` in {path} should be a list column. Received: {kind}."
        )
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    flat = values.flatten().to_numpy(zero_copy_only=False)
    if not len(column) or len(flat) % len(column) or column.null_count:
        raise InvalidGalleryError(
            f"`embedding` in {path} should have one length in every row. Received: "
            f"{len(flat)} numbers in {len(column)} rows."
        )
    size = len(flat) // len(column)
    if pa.types.is_list(kind):
        lengths = np.diff(values.offsets.to_numpy())
        if (lengths != size).any():
            raise InvalidGalleryError(
                f"`embedding` in {path} should have one length in every row. Received: "
                f"{lengths.min()} to {lengths.max()}."
            )
    matrix: np.ndarray[Any, Any] = flat.reshape(-1, size)
    return matrix


def _arrays(rows: GalleryRows) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        name: np.array([value or "" for value in rows.column(name)], np.str_)
        for name in ("id", "label", "camera", "fingerprint")
    }
    return {**arrays, "embedding": rows.embeddings}
