"""Embeddings in files that other tools write, as a set."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.protocol import Protocol, Source
from keras_bct.file_patterns import matching_files
from keras_bct.tables import Columns, read_table

_BYTES_PER_READ = 2**20


def read_embeddings(path: str | os.PathLike[str], columns: Source) -> EmbeddingSet:
    """Reads a set of embeddings from a file that `read_table` can read.

    The names of the id, label, camera, template, medium and quality columns are those
    of the source; the embeddings are in `embedding`.

    Args:
        path: The file, or a glob pattern of several that are read in their order.
        columns: Names of the columns.

    Raises:
        FileNotFoundError: No file matches.
        ValueError: A file that cannot be read, a missing column, or what no set can
            hold; the message names the file, and the row or the id.
    """
    named = {
        "ids": columns.id,
        "labels": columns.label,
        "cameras": columns.camera,
        "templates": columns.template,
        "media": columns.medium,
        "qualities": columns.quality,
    }
    there = {name: column for name, column in named.items() if column is not None}
    quality = there.get("qualities")
    wanted = Columns(
        id=columns.id,
        names=tuple(column for column in there.values() if column != quality),
        numbers=() if quality is None else (quality,),
    )
    files = matching_files(path)
    parts = [read_table(file, wanted) for file in files]
    _refuse_other_sizes(files, [part[wanted.embedding].shape[1] for part in parts])
    merged: dict[str, Any] = {
        # One file's embeddings stay on disk.
        name: parts[0][name]
        if len(parts) == 1
        else np.concatenate([part[name] for part in parts])
        for name in wanted.wanted
    }
    given: dict[str, Any] = {name: merged[column] for name, column in there.items()}
    given.setdefault("cameras", None)
    try:
        return EmbeddingSet(embeddings=merged[wanted.embedding], **given)
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


def _refuse_other_sizes(files: list[str], sizes: list[int]) -> None:
    for file, size in zip(files, sizes, strict=True):
        if size != sizes[0]:
            raise ValueError(
                f"{file}: `embedding` should have the {sizes[0]} components that it "
                f"has in {files[0]}. Received: {size}."
            )
