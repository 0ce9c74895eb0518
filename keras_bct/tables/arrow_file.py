"""Embeddings in Arrow's files: Parquet, IPC files and streams, and CSV beside npy.

Every Arrow and Parquet file that this project reads is read here, behind the guard
that older releases of PyArrow need.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from keras_bct.tables.columns import Columns
from keras_bct.whole_file import whole_file

if int(pa.__version__.split(".")[0]) < 15:
    # Before 14.0.1 a file could name a type that is unpickled as soon as the file is
    # opened, and so run code (CVE-2023-47248).
    import pyarrow_hotfix  # noqa: F401

# The guard raises RuntimeError where it finds such a type.
_DECODER = (pa.ArrowException, RuntimeError)
_MAGIC = b"ARROW1"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def map_arrow(path: str | os.PathLike[str]) -> pa.Table:
    """Map the rows of an Arrow file or stream into memory.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no such file, or not whole.
    """
    with whole_file(".arrow", *_DECODER):
        with pa.memory_map(os.fspath(path), "r") as source:
            if source.read(len(_MAGIC)) == _MAGIC:
                return pa.ipc.open_file(source).read_all()
            # Arrow takes a stream that breaks off between two batches for a whole one.
            source.seek(max(source.size() - len(_END_OF_STREAM), 0))
            if source.read() != _END_OF_STREAM:
                raise ValueError("neither the mark of a file nor the end of a stream")
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()


def read_arrow(path: str, columns: Columns) -> dict[str, Any]:
    """Read the columns of an Arrow file or stream."""
    table = map_arrow(path)
    return _columns(table.select(_places(table.column_names, columns)), columns, set())


def read_parquet(path: str, columns: Columns) -> dict[str, Any]:
    """Read the columns of a Parquet file."""
    with whole_file(".parquet", *_DECODER):
        file = parquet.ParquetFile(path)
        there = file.schema_arrow.names
    wanted = columns.among(there)
    with whole_file(".parquet", *_DECODER):
        table = file.read(columns=wanted)
    # Of a UUID older releases keep no more than its 16 bytes.
    leaves = (file.schema.column(i) for i in range(len(file.schema.names)))
    uuids = {leaf.path for leaf in leaves if str(leaf.logical_type) == "UUID"}
    return _columns(table, columns, uuids)


def read_csv(path: str, choose: Callable[[list[str]], list[str]]) -> dict[str, Any]:
    """Read columns of a CSV file without guessing their types.

    Args:
        path: The file.
        choose: Of the columns that are there, those to read.
    """
    with whole_file(".csv", *_DECODER):
        there = csv.open_csv(path).schema.names
    wanted = choose(there)
    with whole_file(".csv", *_DECODER):
        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                # `007` stays `007`, and `NA` a name.
                column_types=dict.fromkeys(wanted, pa.binary()),
                include_columns=wanted,
                strings_can_be_null=False,
            ),
        )
    return {name: table.column(name) for name in wanted}


def _columns(table: pa.Table, columns: Columns, uuids: set[str]) -> dict[str, Any]:
    with whole_file("Arrow or Parquet", *_DECODER):
        # A damaged file could have us read beyond its end.
        table.validate(full=True)
    found: dict[str, Any] = {}
    for field in table.schema:
        column = table.column(field.name)
        if isinstance(field.type, pa.BaseExtensionType):
            storage = [chunk.storage for chunk in column.chunks]
            column = pa.chunked_array(storage, type=field.type.storage_type)
        if field.name == columns.embedding:
            found[field.name] = _matrix(field.name, column)
        elif pa.types.is_fixed_size_binary(column.type) and (
            field.name in uuids or _extension(field) == "arrow.uuid"
        ):
            found[field.name] = [v and uuid.UUID(bytes=v) for v in column.to_pylist()]
        else:
            found[field.name] = column
    return found


def _extension(field: pa.Field) -> str:
    """The name of its extension type, known to this release or not."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    metadata = field.metadata or {}
    return str(metadata.get(b"ARROW:extension:name", b"").decode())


def _matrix(name: str, column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Vectors of one length, without a copy where they lie in one piece."""
    kind = column.type
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_one(kind) for is_one in lists) or not pa.types.is_floating(
        kind.value_type
    ):
        raise ValueError(
            f"{name!r} should be a column of lists of floating numbers. "
            f"Received: {kind}."
        )
    if not len(column):
        return np.zeros((0, 1), np.float32)
    if column.null_count:
        row = np.flatnonzero(np.asarray(column.is_null()))[0]
        more = f" and {column.null_count - 1:,} more" if column.null_count > 1 else ""
        raise ValueError(
            f"{name!r} should have a vector in every row. Received none in row {row} "
            f"(counted from 0){more}; leave out the rows without."
        )
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
    else:
        lengths = np.asarray(pc.list_value_length(column))
        size = lengths[0]
        other = np.flatnonzero(lengths != size)
        if len(other):
            raise ValueError(
                f"{name!r} should have one length in every row. Received {size} "
                f"components in row 0 and {lengths[other[0]]} in row {other[0]} "
                "(counted from 0)."
            )
    if not size:
        raise ValueError(f"{name!r} should have components. Received empty lists.")
    pieces = []
    before = 0
    for chunk in column.chunks:
        values = chunk.flatten()
        if values.null_count:
            place = np.flatnonzero(np.asarray(values.is_null()))[0]
            raise ValueError(
                f"{name!r} should have a number in every place. Received null in row "
                f"{before + place // size} (counted from 0)."
            )
        pieces.append(values.to_numpy(zero_copy_only=False).reshape(-1, size))
        before += len(chunk)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _places(there: list[str], columns: Columns) -> list[int]:
    """Where the columns lie; others may share a name."""
    return [there.index(name) for name in columns.among(there)]
