"""Distances that tell which items to embed first: between two rows of each item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.embedding_rows import (
    embedding_rows,
    finite_blocks,
    refuse_not_finite,
    refuse_overflow,
)

Floats = NDArray[np.float64]

DISTANCES = ("l2", "cosine")
"""`l2` is |x - y|; `cosine` is 1 - cos(x, y)."""


def distance_to_new(
    mapped: NDArray[Any], new: NDArray[Any], *, distance: str = "l2"
) -> Floats:
    """Oracle: how far a mapped old embedding is from the item's new embedding.

    It needs what the backfill is to save, so it serves to judge other orders.

    Args:
        mapped: `(n, d)` old embeddings in the new space.
        new: `(n, d)` new embeddings of the same items.
        distance: `l2` or `cosine`.

    Returns:
        `(n,)` float64.

    Raises:
        ValueError: Shapes that do not fit, NaN or infinity, an unknown distance, a
            distance that float64 cannot hold, or a zero row with `cosine`.
        TypeError: No floating type.

    Example:
        >>> distance_to_new(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).tolist()
        [5.0]

    References:
        Jaeckle et al., FastFill, ICLR 2023, section 4: the orders that are not
        available in practice.
    """
    return rowwise_distance("mapped", mapped, "new", new, distance)


def rowwise_distance(
    left_name: str,
    left: NDArray[Any],
    right_name: str,
    right: NDArray[Any],
    distance: str,
    rows: NDArray[Any] | None = None,
) -> Floats:
    """The distance of each row of one array to a row of another.

    Args:
        left_name: What the caller calls `left`.
        left: `(n, d)`.
        right_name: What the caller calls `right`.
        right: `(m, d)`.
        distance: `l2` or `cosine`.
        rows: `(n,)` integers: the row of `right` for each of `left`; None: its own.

    Returns:
        `(n,)` float64.

    Raises:
        ValueError: As `distance_to_new`.
        TypeError: No floating type.
    """
    if distance not in DISTANCES:
        raise ValueError(
            f"`distance` should be one of {', '.join(DISTANCES)}. "
            f"Received: {distance!r}."
        )
    left = embedding_rows(left_name, left)
    right = embedding_rows(right_name, right, left.shape[1])
    if rows is None and len(left) != len(right):
        raise ValueError(
            f"`{left_name}` and `{right_name}` should hold the same items in the same "
            f"order. Received: {len(left)} and {len(right)} rows."
        )
    result = np.empty(len(left))
    for block in finite_blocks(left_name, left):
        # In C's order whatever the caller's: in another, sums along a row depend on
        # how many rows there are.
        one = left[block].astype(np.float64, order="C")
        other = right[block if rows is None else rows[block]]
        other = other.astype(np.float64, order="C")
        refuse_not_finite(right_name, other, block.start)
        if distance == "cosine":
            one = unit_rows(left_name, one, block.start)
            other = unit_rows(right_name, other, block.start)
            # Of unit vectors |x - y|^2 = 2 - 2 cos, exact where they nearly agree.
            result[block] = _squares(one - other) / 2
        else:
            with np.errstate(over="ignore"):
                difference, exponents = _squarable(one - other)
                lengths = np.sqrt(_squares(difference))
                result[block] = np.ldexp(lengths, exponents[:, 0])
            refuse_overflow(left_name, result[block], block.start)
    return result


def unit_rows(name: str, rows: Floats, start: int = 0) -> Floats:
    """Bring rows to length 1.

    Args:
        name: What the caller calls them.
        rows: `(n, d)` float64.
        start: The number of the first row, for the message.

    Raises:
        ValueError: A row is zero.
    """
    rows, _ = _squarable(rows)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        row = start + int(np.flatnonzero(lengths[:, 0] == 0)[0])
        raise ValueError(
            f"`{name}` should have no zero row with distance cosine. Received: row "
            f"{row} is zero."
        )
    return np.asarray(rows / lengths)


def _squares(rows: Floats) -> Floats:
    # Not einsum, which adds up long rows otherwise in a block of one.
    return np.asarray(np.square(rows).sum(axis=1))


def _squarable(rows: Floats) -> tuple[Floats, NDArray[Any]]:
    """Bring the components of each row below 1, so that float64 holds their squares.

    By a power of two, which rounds nothing; the exponents, `(n, 1)`, undo it.
    """
    exponents = np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]
    return np.ldexp(rows, -exponents), exponents
