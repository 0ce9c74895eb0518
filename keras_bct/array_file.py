"""A NumPy array as a file that is written, and read, to its last byte."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_bct.whole_file import whole_file

# NumPy 1 has no types for it.
_FORMAT: Any = np.lib.format


def write_array(path: Path, array: ArrayLike) -> None:
    """Writes a `.npy` file.

    `np.save` hands a file to C, whose last bytes may be lost without a word where the
    disk is full.

    Args:
        path: Where the file goes.
        array: Of any shape and a plain type; it is held twice while it is written.

    Raises:
        OSError: The file cannot be written whole.
        ValueError: Objects, which NumPy would pickle.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.npy"
        >>> write_array(path, [[1.0, 2.0]])
        >>> np.load(path).tolist()
        [[1.0, 2.0]]
    """
    memory = io.BytesIO()
    np.save(memory, np.asarray(array), allow_pickle=False)
    path.write_bytes(memory.getbuffer())


def read_array(path: str | os.PathLike[str], *, mapped: bool = False) -> NDArray[Any]:
    """Reads a `.npy` file.

    Args:
        path: The file.
        mapped: Leave the array on the disk until it is used.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no such file, not whole, or holds Python objects, which would
            have to be unpickled; the message names it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.npy"
        >>> write_array(path, [[1.0, 2.0]])
        >>> read_array(path).tolist()
        [[1.0, 2.0]]
    """
    try:
        with whole_file(".npy", EOFError, MemoryError):
            with open(path, "rb") as file:
                # Tried first, as NumPy takes another kind of file for a pickled one.
                _FORMAT.read_magic(file)
            array: NDArray[Any] = np.load(
                path, mmap_mode="r" if mapped else None, allow_pickle=False
            )
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error
    return array
