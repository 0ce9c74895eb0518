"""The moves of a backfill, from old scores past thresholds to new ones.

A gallery item that is embedded anew moves from its old score to its new one. Against
the scores of a query's relevant items, old and new ones alike (the thresholds), a
score is reduced to its *place*: `2 u` when it lies above exactly u thresholds, and
`2 u + 1` when it ties with the next one. An item whose place stays the same changes
no metric, and that is nearly every item.
"""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled
from keras_bct.evaluation.engine.kernels.threshold_grid import (
    bucket_of,
    buckets_around,
    first_not_passed,
    grid_over,
)
from keras_bct.evaluation.engine.moves import Moves, PlaceGrid


@compiled
def _place(
    score: float, thresholds: Array, first: int, end: int, tolerance: float
) -> int:
    """The place of a product's score, or -1 where only the exact score can tell."""
    low: int = first_not_passed(score, thresholds, first, end, tolerance)
    if low < end and score >= thresholds[low] - tolerance:
        return -1
    return 2 * (low - first)


@compiled
def _exact_place(score: float, thresholds: Array, first: int, end: int) -> int:
    """The place of an exact score."""
    low: int = first_not_passed(score, thresholds, first, end, 0.0)
    tied = low < end and thresholds[low] == score
    return 2 * (low - first) + int(tied)


@compiled
def open_moves(grid: PlaceGrid) -> None:
    """Lays the grid over the thresholds of each row.

    Args:
        grid: Its `base`, `scale` and `place_of` are written.
    """
    offsets, thresholds, tolerance, base, scale, place_of = grid
    buckets = place_of.shape[1]
    top = np.float32(buckets - 1)
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        base[row], scale[row] = grid_over(
            thresholds, first, end, tolerance[row], buckets
        )
        done = 0
        for i in range(first, end):
            left, right = buckets_around(
                thresholds[i], tolerance[row], base[row], scale[row], top
            )
            for bucket in range(done, left):
                place_of[row, bucket] = 2 * (i - first)
            for bucket in range(max(left, done), right + 1):
                place_of[row, bucket] = -1
            done = max(done, right + 1)
        for bucket in range(done, buckets):
            place_of[row, bucket] = 2 * (end - first)


@compiled
def scan_moves(
    old: Array,
    new: Array,
    grid: PlaceGrid,
    first_column: int,
    found: Array,
    counts: Array,
    written: Moves,
    doubtful_moves: Array,
) -> int:
    """Finds the places of a tile's scores before and after.

    Args:
        old: (rows, width) float32.
        new: (rows, width) float32.
        grid: As `open_moves` made it.
        first_column: The gallery item of the tile's first column.
        found: (width + 1,) int32, working space.
        counts: (2 thresholds + 2 rows,) int32, added to: at
            `2 offsets[row] + 2 row + p + 1` the items whose old score has place p.
        written: The moves so far, added to.
        doubtful_moves: (rows * width, 2) int32, written: rows and numbers of moves.

    Returns:
        How many moves are doubtful.
    """
    offsets, thresholds, tolerance, base, scale, place_of = grid
    move_count, move_columns, move_old, move_new = written
    rows, width = old.shape
    top = np.float32(place_of.shape[1] - 1)
    doubtful = 0
    for row in range(rows):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        floor = np.float32(thresholds[first] - tolerance[row])
        old_row, new_row = old[row], new[row]
        count = 0
        for column in range(width):
            # Without a branch. What is below every threshold before and after is not
            # even counted.
            found[count] = column
            count += (old_row[column] >= floor) | (new_row[column] >= floor)
        row_places = place_of[row]
        row_base, row_scale = base[row], scale[row]
        columns, befores, afters = move_columns[row], move_old[row], move_new[row]
        # One more than the place, so that the doubtful ones are counted at 0.
        row_counts = counts[2 * first + 2 * row : 2 * end + 2 * row + 2]
        moves = move_count[row]
        unclear = 0
        for i in range(count):
            column = found[i]
            before = row_places[bucket_of(old_row[column], row_base, row_scale, top)]
            after = row_places[bucket_of(new_row[column], row_base, row_scale, top)]
            row_counts[before + 1] += 1
            columns[moves] = first_column + column
            befores[moves] = before
            afters[moves] = after
            # No more columns than have been read are written over.
            found[unclear] = moves
            unclear += (before < 0) | (after < 0)
            moves += (before != after) | (before < 0)
        row_counts[0] = 0
        for i in range(unclear):
            move = found[i]
            column = columns[move] - first_column
            if befores[move] < 0:
                place = _place(old_row[column], thresholds, first, end, tolerance[row])
                befores[move] = place
                row_counts[place + 1] += place >= 0
            if afters[move] < 0:
                afters[move] = _place(
                    new_row[column], thresholds, first, end, tolerance[row]
                )
            if befores[move] < 0 or afters[move] < 0:
                doubtful_moves[doubtful, 0] = row
                doubtful_moves[doubtful, 1] = move
                doubtful += 1
        move_count[row] = moves
    return doubtful


@compiled
def settle_moves(
    doubtful_moves: Array,
    old_scores: Array,
    new_scores: Array,
    offsets: Array,
    thresholds: Array,
    counts: Array,
    written: Moves,
) -> None:
    """Finds the doubtful places from exact scores.

    Args:
        doubtful_moves: (k, 2) int32, rows and numbers of moves.
        old_scores: (k,) float64, exact.
        new_scores: (k,) float64, exact.
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, exact.
        counts: As in `scan_moves`, added to.
        written: As in `scan_moves`; the doubtful places are written.
    """
    move_old, move_new = written.before, written.after
    for i in range(len(doubtful_moves)):
        row, move = doubtful_moves[i, 0], doubtful_moves[i, 1]
        first, end = offsets[row], offsets[row + 1]
        if move_old[row, move] < 0:
            place = _exact_place(old_scores[i], thresholds, first, end)
            move_old[row, move] = place
            counts[2 * first + 2 * row + place + 1] += 1
        if move_new[row, move] < 0:
            move_new[row, move] = _exact_place(new_scores[i], thresholds, first, end)
