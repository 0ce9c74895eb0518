"""Embeddings in NumPy's files: npz, and npy with a CSV file beside it."""

from __future__ import annotations

import dataclasses
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.array_file import read_array
from keras_bct.tables.columns import Columns
from keras_bct.whole_file import whole_file

# NumPy 1 has no types for it.
_FORMAT: Any = np.lib.format
_DECODER = (EOFError, MemoryError, NotImplementedError, RuntimeError, zlib.error)


def read_npz(path: str, columns: Columns) -> dict[str, Any]:
    """Read one array per column."""
    found = {}
    with whole_file(".npz", zipfile.BadZipFile, *_DECODER):
        archive = zipfile.ZipFile(path)
    with archive:
        # What is no array is none of ours.
        members = [n for n in archive.namelist() if n.endswith(".npy")]
        for name in columns.among([member[: -len(".npy")] for member in members]):
            with whole_file(".npz", zipfile.BadZipFile, *_DECODER):
                with archive.open(f"{name}.npy") as file:
                    found[name] = _array(name, file)
    return found


def read_npy(path: str, columns: Columns) -> dict[str, Any]:
    """Read memory-mapped vectors, and the other columns from the CSV file beside."""
    from keras_bct.tables.arrow_file import read_csv

    beside = Path(path).with_suffix(".csv")
    if not beside.is_file():
        raise ValueError(
            "its ids and labels are expected in a CSV file beside it. Received none: "
            f"{beside} does not exist."
        )
    rows = read_array(path, mapped=True)
    # The vectors are none of the CSV file's columns.
    others = dataclasses.replace(columns, embedding=columns.id)
    return {**read_csv(str(beside), others.among), columns.embedding: rows}


def _array(name: str, file: Any) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = _FORMAT.read_array(file, allow_pickle=False)
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        raise ValueError(
            f"{name!r} is an array of Python objects, which nobody should unpickle. "
            "Save it as text or numbers, such as `np.asarray(labels, str)`"
        ) from error
    return array
