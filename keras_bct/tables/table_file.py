"""A file of embeddings, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.tables.columns import Columns, chosen
from keras_bct.text_column import text_column

ENDINGS = (".npz", ".npy", ".parquet", ".arrow", ".tfrecord")
"""What the names of files that can be read end in; case does not matter."""

_Reader = Callable[[str, Columns], dict[str, Any]]


def read_table(
    path: str | os.PathLike[str], columns: Columns
) -> dict[str, npt.NDArray[Any]]:
    """Read the embeddings of a file, and what it says of each.

    - `.npz`: one array per column.
    - `.npy`: the vectors, memory-mapped; the other columns in a CSV file beside it,
      `faces.csv` for `faces.npy`, row for row.
    - `.parquet`, `.arrow` (an IPC file or stream): one column each, the vectors as
      lists of floating numbers.
    - `.tfrecord`, or `.tfrecord` within the name: one `tf.train.Example` a row, the
      vector as a list of floats. It takes TensorFlow to read it.

    Args:
        path: The file.
        columns: Those to read.

    Returns:
        By the name of the column: the ids and the further names as (n,) strings, `""`
        where one is missing; the vectors, (n, d) as they are stored; numbers as they
        are stored. An optional column that the file lacks is left out.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file cannot be read, or a column is missing, is there twice, or
            holds what it should not; the message names the file and the row.
    """
    name = os.fspath(path)
    read = _reader(name)
    if not os.path.exists(name):
        raise FileNotFoundError(f"{name}: there is no such file. Check the path.")
    try:
        return _checked(read(name, columns), columns)
    except ValueError as error:
        # Some of what reads it has named it.
        told = str(error).removeprefix(f"{name}: ")
        raise ValueError(f"{name}: {told}") from error


def read_names(
    path: str | os.PathLike[str], names: Sequence[str]
) -> dict[str, npt.NDArray[np.str_]]:
    """Read columns of names from a CSV file; every row has all of them.

    Args:
        path: The file.
        names: The columns.

    Returns:
        (n,) strings by the name of the column.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file cannot be read, or a column is missing, is there twice, or
            has a gap; the message names the file and the row.
    """
    from keras_bct.tables.arrow_file import read_csv

    try:
        found = read_csv(os.fspath(path), lambda there: chosen(names, there))
        return {name: text_column(name, found[name], required=True) for name in names}
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def _checked(found: dict[str, Any], columns: Columns) -> dict[str, npt.NDArray[Any]]:
    rows = found[columns.embedding]
    if rows.ndim != 2:
        raise ValueError(
            f"{columns.embedding!r} should have shape (rows, components). Received: "
            f"shape {rows.shape}."
        )
    table: dict[str, npt.NDArray[Any]] = {}
    for name, values in found.items():
        if name == columns.embedding:
            table[name] = values
        elif name in columns.numbers:
            table[name] = np.asarray(values)
        else:
            table[name] = text_column(name, values, required=name == columns.id)
        if len(table[name]) != len(rows):
            raise ValueError(
                f"{name!r} should have a value for each of the {len(rows):,} rows of "
                f"{columns.embedding!r}. Received: {len(table[name]):,}."
            )
    return table


def _reader(path: str) -> _Reader:
    """The reader of a file; each is imported when it is asked for."""
    name = Path(path).name.lower()
    if name.endswith(".npz"):
        from keras_bct.tables.numpy_file import read_npz

        return read_npz
    if name.endswith(".npy"):
        from keras_bct.tables.numpy_file import read_npy

        return read_npy
    if name.endswith(".parquet"):
        from keras_bct.tables.arrow_file import read_parquet

        return read_parquet
    if name.endswith(".arrow"):
        from keras_bct.tables.arrow_file import read_arrow

        return read_arrow
    if ".tfrecord" in name:
        from keras_bct.tables.record_file import read_tfrecord

        return read_tfrecord
    raise ValueError(
        f"a file of embeddings should end in one of {', '.join(ENDINGS)}. "
        f"Received: {Path(path).name!r}."
    )
