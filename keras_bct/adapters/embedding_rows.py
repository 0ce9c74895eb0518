"""What counts as embeddings: finite floating-point rows of one size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 4096
"""Rows that are worked on together; 128 float64 components of them are 4 MiB."""


def embedding_rows(name: str, rows: Any, size: int | None = None) -> NDArray[Any]:
    """Check shape and type; a memory-mapped array stays where it is.

    Args:
        name: The caller's name of the argument, for the message.
        rows: Should be `(n, size)` of a floating type.
        size: How many components there should be; None: any number above zero.

    Raises:
        ValueError: Another shape.
        TypeError: Another type.

    Example:
        >>> embedding_rows("old", np.eye(2, dtype=np.float32), 2).shape
        (2, 2)
    """
    # Of a masked array this is what lies under the mask, too.
    array = np.asarray(rows)
    wanted = "d" if size is None else str(size)
    if (
        array.ndim != 2
        or array.shape[1] == 0
        or (size is not None and array.shape[1] != size)
    ):
        raise ValueError(
            f"`{name}` should have shape (n, {wanted}), one embedding a row. "
            f"Received: shape {array.shape}."
        )
    if array.dtype.kind != "f":
        raise TypeError(
            f"`{name}` should be of a floating type, as the model gave it. "
            f"Received: dtype {array.dtype}."
        )
    return array


def finite_blocks(name: str, rows: NDArray[Any]) -> Iterator[slice]:
    """Cut rows into blocks, each seen to be finite before it is given.

    Args:
        name: The caller's name of the argument, for the message.
        rows: `(n, d)`.

    Raises:
        ValueError: A block holds NaN or infinity; the message names the row.

    Example:
        >>> list(finite_blocks("old", np.ones((5000, 2))))
        [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, len(rows)))
        refuse_not_finite(name, rows[block], start)
        yield block


def refuse_not_finite(name: str, rows: NDArray[Any], start: int = 0) -> None:
    """Refuse NaN and infinity.

    Args:
        name: The caller's name of the argument, for the message.
        rows: `(n, d)`.
        start: The number of the first row, for the message.

    Raises:
        ValueError: A component is not finite; the message names its row.
    """
    bad = _first_not_finite(rows)
    if bad is not None:
        raise ValueError(
            f"`{name}` should be finite. Received: NaN or infinity in row "
            f"{start + bad}; leave such items out."
        )


def float32_rows(name: str, rows: NDArray[Any], start: int = 0) -> NDArray[np.float32]:
    """Cast finite rows to float32, in which a network works.

    Args:
        name: As above.
        rows: As above.
        start: As above.

    Raises:
        ValueError: A component is too large for float32; the message names its row.
    """
    with np.errstate(over="ignore"):
        singles = rows.astype(np.float32, copy=False)
    bad = _first_not_finite(singles) if rows.itemsize > singles.itemsize else None
    if bad is not None:
        raise ValueError(
            f"`{name}` should be within float32, in which this map works. Received: "
            f"{np.abs(rows[bad]).max():.1e} in row {start + bad}."
        )
    return singles


def refuse_overflow(name: str, mapped: NDArray[Any], start: int = 0) -> None:
    """Refuse finite rows that a map takes to NaN or infinity.

    Args:
        name: The caller's name of the rows that were mapped, for the message.
        mapped: `(n, ...)`, what they were mapped to.
        start: As above.

    Raises:
        ValueError: A number is not finite; the message names its row.
    """
    bad = _first_not_finite(mapped)
    if bad is not None:
        raise ValueError(
            f"`{name}` should be small enough for {mapped.dtype} to hold what it is "
            f"mapped to. Received: row {start + bad}, which is mapped to NaN or "
            "infinity."
        )


def _first_not_finite(rows: NDArray[Any]) -> int | None:
    # A sum is not finite when a component is not; only then look closer.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return None
    bad = np.flatnonzero(~np.isfinite(rows).reshape(len(rows), -1).all(axis=1))
    return int(bad[0]) if len(bad) else None
