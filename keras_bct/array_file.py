"""A NumPy array as a file that is written to its last byte."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike


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
