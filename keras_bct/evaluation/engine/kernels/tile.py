"""What is done with a whole tile of products."""

from __future__ import annotations

import math

from keras_bct.evaluation.engine.kernels.compilation import (
    Array,
    compiled,
    kept_on_disk,
)


@compiled
def mask(scores: Array, offsets: Array, columns: Array, first_column: int) -> None:
    """Sets a tile's pairs of one label to minus infinity, where nothing counts them.

    Args:
        scores: (rows, width) float32, written.
        offsets: (rows + 1,) int64 into `columns`.
        columns: (members,) int64, the gallery items of each row's label.
        first_column: The gallery item of the tile's first column.
    """
    width = scores.shape[1]
    for row in range(scores.shape[0]):
        for member in range(offsets[row], offsets[row + 1]):
            column = columns[member] - first_column
            if 0 <= column < width:
                scores[row, column] = -math.inf


# Without regard to NaN, which no score is, the maximum uses vector registers.
@kept_on_disk(fastmath={"nnan", "nsz"})
def row_maxima(scores: Array, rows: Array, maxima: Array) -> None:
    """The highest score of some rows of a tile.

    Args:
        scores: (rows, width) float32.
        rows: (k,) int64, the rows wanted.
        maxima: (k,) float32, written.
    """
    for i in range(len(rows)):
        row = scores[rows[i]]
        best = row[0]
        for column in range(len(row)):
            best = max(best, row[column])
        maxima[i] = best


@compiled
def pairs_above(
    scores: Array, rows: Array, floor: Array, pair_rows: Array, pair_columns: Array
) -> int:
    """Finds the pairs of some rows that reach a floor, which should be few.

    Args:
        scores: (rows, width) float32.
        rows: (k,) int64, the rows wanted.
        floor: (k,) float32.
        pair_rows: (capacity,) int64, written: indices into `rows`.
        pair_columns: (capacity,) int64, written.

    Returns:
        How many there are.
    """
    count = 0
    for i in range(len(rows)):
        row = scores[rows[i]]
        for column in range(len(row)):
            if row[column] >= floor[i]:
                pair_rows[count] = i
                pair_columns[count] = column
                count += 1
    return count
