"""Embeddings in files that other tools write: npy, npz, Parquet, Arrow."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bct.evaluation.embedding_set import EmbeddingSet
from keras_bct.evaluation.protocol import Protocol, Source
from keras_bct.file_patterns import matching_files

_EMBEDDING = "embedding"
_BYTES_PER_READ = 2**20


def read_embeddings(path: str | os.PathLike[str], columns: Source) -> EmbeddingSet:
    """Reads a set of embeddings from a file.

    The names of the id, label, camera, template, medium and quality columns are those
    of the source; the embeddings are in `embedding`.

    - `.npz`: one array per column.
    - `.npy`: the embeddings, memory-mapped; the other columns in a CSV file beside it,
      `faces.csv` for `faces.npy`, row for row.
    - `.parquet`, `.arrow`: one column each, embeddings as lists of floats.

    Args:
        path: The file, or a glob pattern of several that are read in their order.
        columns: Names of the columns.

    Raises:
        FileNotFoundError: No file matches.
        ValueError: An unknown ending, a missing column, or what no set can hold.
    """
    files = matching_files(path)
    parts = [_read_file(file, columns) for file in files]
    if len(parts) == 1:
        merged = parts[0]
    else:
        merged = {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }
    try:
        return EmbeddingSet(
            ids=merged[columns.id],
            labels=merged[columns.label],
            cameras=_optional(merged, columns.camera),
            embeddings=merged[_EMBEDDING],
            templates=_optional(merged, columns.template),
            media=_optional(merged, columns.medium),
            qualities=_optional(merged, columns.quality),
        )
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def data_digest(protocol: Protocol) -> str:
    """SHA-256 (hex) over the bytes of all files that a protocol names.

    Queries first, then the gallery, then the list of pairs; the files of a pattern in
    the order of their names, each with its name.

    Raises:
        FileNotFoundError: A pattern matches no file.
        ValueError: A side is a gallery of the registry, which digests its own.
    """
    digest = hashlib.sha256()
    patterns = []
    for name, side in (("queries", protocol.queries), ("gallery", protocol.gallery)):
        if side.source == "gallery":
            raise ValueError(
                f"`{name}` should be files to be digested here. Received the gallery "
                f"{side.path!r}: ask the registry for its digest."
            )
        patterns.append(side.path)
    if protocol.pairs is not None:
        patterns.append(protocol.pairs)
    for pattern in patterns:
        for file in matching_files(protocol.locate(pattern)):
            digest.update(f"{Path(file).name}\0{os.path.getsize(file)}\0".encode())
            with open(file, "rb") as stream:
                while block := stream.read(_BYTES_PER_READ):
                    digest.update(block)
    return digest.hexdigest()


def _read_file(path: str, columns: Source) -> Mapping[str, Any]:
    name = Path(path).name
    for ending, read in _READERS.items():
        if name.endswith(ending):
            found = read(path, columns)
            missing = [c for c in _wanted(columns) if c not in found]
            if missing:
                raise ValueError(
                    f"{path} should have the columns {', '.join(_wanted(columns))}. "
                    f"Received no {', '.join(missing)}; it has {', '.join(found)}."
                )
            return found
    raise ValueError(
        f"{path} should end in one of {', '.join(_READERS)} to be read as embeddings."
    )


def _wanted(columns: Source) -> list[str]:
    optional = (columns.camera, columns.template, columns.medium, columns.quality)
    return [columns.id, columns.label, _EMBEDDING, *(c for c in optional if c)]


def _optional(found: Mapping[str, Any], name: str | None) -> Any:
    return None if name is None else found[name]


def _read_npz(path: str, columns: Source) -> Mapping[str, Any]:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _read_npy(path: str, columns: Source) -> Mapping[str, Any]:
    beside = Path(path).with_suffix(".csv")
    if not beside.is_file():
        raise ValueError(
            f"{path} needs its ids and labels in a CSV file beside it. Received none: "
            f"{beside} does not exist."
        )
    from pyarrow import csv

    rows = np.load(path, mmap_mode="r", allow_pickle=False)
    return _of_table(_all_strings(csv, beside)) | {_EMBEDDING: rows}


def _all_strings(csv: Any, path: Path) -> Any:
    """Reads a CSV file without guessing types: `007` stays `007`."""
    names = csv.read_csv(path).column_names
    types = csv.ConvertOptions(
        column_types=dict.fromkeys(names, "string"), strings_can_be_null=False
    )
    return csv.read_csv(path, convert_options=types)


def _read_parquet(path: str, columns: Source) -> Mapping[str, Any]:
    from pyarrow import parquet

    return _of_table(parquet.read_table(path))


def _read_arrow(path: str, columns: Source) -> Mapping[str, Any]:
    import pyarrow

    with pyarrow.memory_map(path) as file:
        return _of_table(pyarrow.ipc.open_file(file).read_all())


def _of_table(table: Any) -> dict[str, Any]:
    found = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        # PyArrow gives a chunked array where there is more or less than one chunk.
        if hasattr(column, "chunks"):
            column = column.chunk(0)
        if name == _EMBEDDING and len(column):
            flat = column.flatten().to_numpy(zero_copy_only=False)
            if len(flat) % len(column):
                raise ValueError(
                    f"`{_EMBEDDING}` should hold lists of one length. Received "
                    f"{len(flat)} numbers in {len(column)} rows."
                )
            found[name] = flat.reshape(len(column), -1)
        else:
            found[name] = column.to_numpy(zero_copy_only=False)
    return found


_Reader = Callable[[str, Source], Mapping[str, Any]]
_READERS: dict[str, _Reader] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
}
