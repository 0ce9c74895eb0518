"""How many scores of a row lie above each of its thresholds."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled
from keras_bct.evaluation.engine.kernels.threshold_grid import (
    bucket_of,
    buckets_around,
    first_not_passed,
    grid_over,
)


@compiled
def distinct_scores(
    rows: Array,
    scores: Array,
    offsets: Array,
    distinct: Array,
    counts: Array,
) -> None:
    """Sorts the scores of each row and counts equal ones.

    Args:
        rows: (k,) int64, ascending.
        scores: (k,) float64; sorted within each row.
        offsets: (rows + 1,) int64, written: into the distinct scores.
        distinct: (k,) float64, written: ascending within each row.
        counts: (k,) int64, written: how often each occurs.
    """
    place, found = 0, 0
    for row in range(len(offsets) - 1):
        offsets[row] = found
        end = place
        while end < len(rows) and rows[end] == row:
            end += 1
        scores[place:end].sort()
        for i in range(place, end):
            if i > place and scores[i] == scores[i - 1]:
                counts[found - 1] += 1
            else:
                distinct[found] = scores[i]
                counts[found] = 1
                found += 1
        place = end
    offsets[-1] = found


@compiled
def open_ranking(
    offsets: Array,
    thresholds: Array,
    tolerance: Array,
    base: Array,
    scale: Array,
    hot: Array,
) -> None:
    """Lays a grid of buckets over the thresholds of each row.

    A bucket is hot when a score in it may lie within the tolerance of a threshold.

    Args:
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, on the product's scale.
        tolerance: (rows,) float64, the greatest rounding error of the product.
        base: (rows,) float32, written.
        scale: (rows,) float32, written.
        hot: (rows, buckets) uint8, written.
    """
    buckets = hot.shape[1]
    top = np.float32(buckets - 1)
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        for bucket in range(buckets):
            hot[row, bucket] = 0
        if first == end:
            continue
        base[row], scale[row] = grid_over(
            thresholds, first, end, tolerance[row], buckets
        )
        for i in range(first, end):
            left, right = buckets_around(
                thresholds[i], tolerance[row], base[row], scale[row], top
            )
            for bucket in range(left, right + 1):
                hot[row, bucket] = 1


@compiled
def scan_ranking(
    scores: Array,
    offsets: Array,
    thresholds: Array,
    tolerance: Array,
    base: Array,
    scale: Array,
    hot: Array,
    histogram: Array,
    passed: Array,
    found: Array,
    doubtful_rows: Array,
    doubtful_columns: Array,
) -> int:
    """Counts a tile's scores by bucket, and single ones where a bucket is hot.

    Args:
        scores: (rows, width) float32.
        offsets: As in `open_ranking`.
        thresholds: As in `open_ranking`.
        tolerance: As in `open_ranking`.
        base: As in `open_ranking`.
        scale: As in `open_ranking`.
        hot: As in `open_ranking`.
        histogram: (rows, buckets) int32, added to.
        passed: (thresholds + rows,) int32, added to: at `offsets[row] + row + u` the
            scores above exactly u of the row's thresholds that came from hot buckets.
        found: (width + 1,) int32, working space.
        doubtful_rows: (rows * width,) int64, written: rows of the tile.
        doubtful_columns: (rows * width,) int64, written: columns of the tile.

    Returns:
        How many pairs lie within the tolerance of a threshold: only their exact scores
        can tell on which side.
    """
    rows, width = scores.shape
    top = np.float32(hot.shape[1] - 1)
    doubtful = 0
    for row in range(rows):
        first, end = offsets[row], offsets[row + 1]
        if first == end:
            continue
        row_scores, row_hot, row_histogram = scores[row], hot[row], histogram[row]
        row_base, row_scale = base[row], scale[row]
        # Without branches, since nobody can predict them. Most scores lie below all
        # thresholds and end here.
        reached = 0
        for column in range(width):
            found[reached] = column
            reached += row_scores[column] >= row_base
        count = 0
        for i in range(reached):
            column = found[i]
            bucket = bucket_of(row_scores[column], row_base, row_scale, top)
            row_histogram[bucket] += 1
            found[count] = column
            count += row_hot[bucket]
        for i in range(count):
            score = np.float64(row_scores[found[i]])
            low = first_not_passed(score, thresholds, first, end, tolerance[row])
            # All thresholds before `low` are surely passed; is the next one surely not?
            if low < end and score >= thresholds[low] - tolerance[row]:
                doubtful_rows[doubtful] = row
                doubtful_columns[doubtful] = found[i]
                doubtful += 1
            else:
                passed[low + row] += 1
    return doubtful


@compiled
def settle_ranking(
    offsets: Array,
    thresholds: Array,
    rows: Array,
    scores: Array,
    passed: Array,
    tied: Array,
) -> None:
    """Counts the doubtful pairs by their exact scores.

    Args:
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, exact.
        rows: (pairs,) int64.
        scores: (pairs,) float64, exact.
        passed: As in `scan_ranking`, added to.
        tied: (thresholds,) int64, added to.
    """
    for pair in range(len(rows)):
        row = rows[pair]
        first, end = offsets[row], offsets[row + 1]
        low = first_not_passed(scores[pair], thresholds, first, end, 0.0)
        passed[low + row] += 1
        if low < end and thresholds[low] == scores[pair]:
            tied[low] += 1


@compiled
def close_ranking(
    offsets: Array,
    thresholds: Array,
    tolerance: Array,
    base: Array,
    scale: Array,
    hot: Array,
    histogram: Array,
    passed: Array,
    above: Array,
) -> None:
    """Sums how many scores lie above each threshold.

    Args:
        offsets: As in `open_ranking`.
        thresholds: As in `open_ranking`.
        tolerance: As in `open_ranking`.
        base: As in `open_ranking`.
        scale: As in `open_ranking`.
        hot: As in `open_ranking`.
        histogram: As in `scan_ranking`.
        passed: As in `scan_ranking`.
        above: (thresholds,) int64, written.
    """
    top = np.float32(hot.shape[1] - 1)
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        total = 0
        bucket = hot.shape[1] - 1
        for i in range(end - 1, first - 1, -1):
            _, right = buckets_around(
                thresholds[i], tolerance[row], base[row], scale[row], top
            )
            while bucket > right:
                if hot[row, bucket] == 0:
                    total += histogram[row, bucket]
                bucket -= 1
            total += passed[i + 1 + row]
            above[i] = total
