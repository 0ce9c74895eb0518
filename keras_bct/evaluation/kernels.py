"""The compiled inner loops. Only functions that run one import this module.

Every kernel releases the interpreter's lock, so that one thread a core can run it, and
is compiled once a machine (`cache=True`).
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# The error model of NumPy: what is divided by zero is NaN, as for a replicate without
# any genuine pair.
_compiled = numba.njit(nogil=True, cache=True, error_model="numpy")
# Sums may be reordered, which lets them use vector registers. The order is fixed by the
# compiled code, so equal rows have equal scores to the last bit as long as all scores
# come from the one kernel below.
_reordered = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})


@_reordered
def exact_scores(
    left: Array,
    right: Array,
    left_scale: Array,
    right_scale: Array,
    squared_distance: bool,
    rows: Array,
    columns: Array,
    scores: Array,
) -> None:
    """Scores single pairs in float64.

    Args:
        left: (m, d) float32.
        right: (n, d) float32.
        left_scale: (m,) float64, multiplied with the product.
        right_scale: (n,) float64, multiplied with the product.
        squared_distance: Score minus the squared distance in place of the product.
        rows: (pairs,) int64 rows of `left`.
        columns: (pairs,) int64 rows of `right`.
        scores: (pairs,) float64, written.
    """
    size = left.shape[1]
    for pair in range(len(rows)):
        x = left[rows[pair]]
        y = right[columns[pair]]
        total = np.float64(0)
        if squared_distance:
            for i in range(size):
                difference = np.float64(x[i]) - np.float64(y[i])
                total -= difference * difference
        else:
            for i in range(size):
                total += np.float64(x[i]) * np.float64(y[i])
            total *= left_scale[rows[pair]] * right_scale[columns[pair]]
        scores[pair] = total


@_compiled
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


@_compiled
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


@_compiled
def bucket_of(
    score: np.float32, base: np.float32, scale: np.float32, top: np.float32
) -> int:
    """The bucket of a score: 0 below the base, else rising with the score to the top.

    Rounding is monotone, so a score in a lower bucket is a lower score.
    """
    place = (score - base) * scale + np.float32(1)
    place = min(max(place, np.float32(0)), top)
    return int(place)


@_compiled
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
        low = np.float32(thresholds[first] - tolerance[row])
        high = np.float32(thresholds[end - 1] + tolerance[row])
        base[row] = low
        scale[row] = min(
            np.float32(1e30),
            np.float32(buckets - 3) / max(high - low, np.float32(1e-30)),
        )
        for i in range(first, end):
            left = bucket_of(
                np.float32(thresholds[i] - tolerance[row]), base[row], scale[row], top
            )
            right = bucket_of(
                np.float32(thresholds[i] + tolerance[row]), base[row], scale[row], top
            )
            for bucket in range(left, right + 1):
                hot[row, bucket] = 1


@_compiled
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
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, on the product's scale.
        tolerance: (rows,) float64.
        base: (rows,) float32.
        scale: (rows,) float32.
        hot: (rows, buckets) uint8.
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
            # `bucket_of`, written out: the call costs a tenth of the loop.
            place = (row_scores[column] - row_base) * row_scale + np.float32(1)
            bucket = int(min(place, top))
            row_histogram[bucket] += 1
            found[count] = column
            count += row_hot[bucket]
        for i in range(count):
            score = np.float64(row_scores[found[i]])
            low, high = first, end
            while low < high:
                middle = (low + high) // 2
                if thresholds[middle] + tolerance[row] < score:
                    low = middle + 1
                else:
                    high = middle
            # All thresholds before `low` are surely passed; is the next one surely not?
            if low < end and score >= thresholds[low] - tolerance[row]:
                doubtful_rows[doubtful] = row
                doubtful_columns[doubtful] = found[i]
                doubtful += 1
            else:
                passed[low + row] += 1
    return doubtful


@_compiled
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
        low, high = offsets[row], offsets[row + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if thresholds[middle] < scores[pair]:
                low = middle + 1
            else:
                high = middle
        passed[low + row] += 1
        if low < end and thresholds[low] == scores[pair]:
            tied[low] += 1


@_compiled
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
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, on the product's scale.
        tolerance: (rows,) float64.
        base: (rows,) float32.
        scale: (rows,) float32.
        hot: (rows, buckets) uint8.
        histogram: (rows, buckets) int32.
        passed: As in `scan_ranking`.
        above: (thresholds,) int64, written.
    """
    top = np.float32(hot.shape[1] - 1)
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        total = 0
        bucket = hot.shape[1] - 1
        for i in range(end - 1, first - 1, -1):
            right = bucket_of(
                np.float32(thresholds[i] + tolerance[row]), base[row], scale[row], top
            )
            while bucket > right:
                if hot[row, bucket] == 0:
                    total += histogram[row, bucket]
                bucket -= 1
            total += passed[i + 1 + row]
            above[i] = total


@numba.njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
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


@_compiled
def near_maxima(
    scores: Array,
    rows: Array,
    floor: Array,
    pair_rows: Array,
    pair_columns: Array,
) -> int:
    """Finds the pairs of some rows that reach a floor.

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


@_compiled
def pair_key(left: int, right: int) -> np.int64:
    """Mixes two 32-bit keys into one that looks random (the finaliser of Murmur3)."""
    key = (np.uint64(left) << np.uint64(32)) | np.uint64(right)
    key ^= key >> np.uint64(33)
    key *= np.uint64(0xFF51AFD7ED558CCD)
    key ^= key >> np.uint64(33)
    key *= np.uint64(0xC4CEB9FE1A85EC53)
    key ^= key >> np.uint64(33)
    return np.int64(key >> np.uint64(32))


@_compiled
def sample_pairs(
    row_keys: Array, column_keys: Array, rows: Array, columns: Array, share: int
) -> Array:
    """Tells which pairs a sample holds.

    Args:
        row_keys: (m,) int64, 32 bits each.
        column_keys: (n,) int64, 32 bits each.
        rows: (pairs,) int64.
        columns: (pairs,) int64.
        share: The sample holds a pair whose key is below this, of 2 ** 32.

    Returns:
        (pairs,) bool.
    """
    sampled = np.empty(len(rows), np.bool_)
    for pair in range(len(rows)):
        key = pair_key(row_keys[rows[pair]], column_keys[columns[pair]])
        sampled[pair] = key < share
    return sampled


@_compiled
def scan_impostors(
    scores: Array,
    base: Array,
    scale: Array,
    keep: Array,
    sampled_share: int,
    row_keys: Array,
    column_keys: Array,
    histogram: Array,
    found: Array,
    kept_rows: Array,
    kept_columns: Array,
    kept_buckets: Array,
    kept_sampled: Array,
) -> int:
    """Counts a tile's scores by bucket and keeps the pairs that may decide something.

    Args:
        scores: (rows, width) float32.
        base: (rows,) float32, the lower end of bucket 1 on the row's scale.
        scale: (rows,) float32, buckets a unit of product.
        keep: (buckets,) uint8; 0: count only, 1: keep all pairs, 2: keep a sample.
        sampled_share: The sample holds a pair whose key is below this, of 2 ** 32.
        row_keys: (rows,) int64, 32 bits each.
        column_keys: (width,) int64, 32 bits each.
        histogram: (buckets,) int64, added to.
        found: (width + 1,) int32, working space.
        kept_rows: (rows * width,) int32, written.
        kept_columns: (rows * width,) int32, written.
        kept_buckets: (rows * width,) int32, written.
        kept_sampled: (rows * width,) bool, written: whether the sample holds the pair.

    Returns:
        How many pairs were kept.
    """
    rows, width = scores.shape
    top = np.float32(len(keep) - 1)
    kept = 0
    for row in range(rows):
        row_scores = scores[row]
        row_base, row_scale = base[row], scale[row]
        count = 0
        for column in range(width):
            # `bucket_of`, written out: the call costs a tenth of the loop.
            place = (row_scores[column] - row_base) * row_scale + np.float32(1)
            place = min(max(place, np.float32(0)), top)
            bucket = int(place)
            histogram[bucket] += 1
            # Without a branch, since nobody can predict it.
            found[count] = column
            count += keep[bucket] != 0
        for i in range(count):
            column = found[i]
            bucket = bucket_of(row_scores[column], row_base, row_scale, top)
            sampled = pair_key(row_keys[row], column_keys[column]) < sampled_share
            if sampled or keep[bucket] == 1:
                kept_rows[kept] = row
                kept_columns[kept] = column
                kept_buckets[kept] = bucket
                kept_sampled[kept] = sampled
                kept += 1
    return kept


@_compiled
def accepted_share(
    weights: Array,
    first: Array,
    second: Array,
    scores: Array,
    limits: Array,
    floor: float,
    genuine_scores: Array,
    genuine_identity: Array,
    genuine_weight: Array,
    block_size: int,
    accepted_before: Array,
    share: Array,
    thresholds: Array,
) -> None:
    """Estimates thresholds from weighted impostors, then the genuine share above them.

    Args:
        weights: (replicates, identities) float64.
        first: (tail,) int32 identity of each impostor score, from the highest down.
        second: (tail,) int32 the other identity; the two weights are multiplied.
        scores: (tail,) float64, descending.
        limits: (replicates, rates) float64, ascending in a row: the impostor weight
            that may lie above the threshold.
        floor: The threshold where the whole tail weighs no more than the limit.
        genuine_scores: (genuine,) float64, descending.
        genuine_identity: (genuine,) int32.
        genuine_weight: (genuine,) float64, multiplied with the identity's weight.
        block_size: Genuine scores in a block.
        accepted_before: (replicates, blocks + 1) float64, the weight of all genuine
            scores before each block.
        share: (replicates, rates) float64, written.
        thresholds: (replicates, rates) float64, written.
    """
    tail = len(scores)
    rates = limits.shape[1]
    for r in range(len(weights)):
        weight = weights[r]
        total = 0.0
        rate = 0
        for i in range(tail):
            total += weight[first[i]] * weight[second[i]]
            # A threshold lies between distinct scores only.
            if i + 1 < tail and scores[i + 1] == scores[i]:
                continue
            while rate < rates and total > limits[r, rate]:
                thresholds[r, rate] = scores[i]
                rate += 1
            if rate == rates:
                break
        while rate < rates:
            thresholds[r, rate] = floor
            rate += 1
        for rate in range(rates):
            threshold = thresholds[r, rate]
            # The first block that does not start above the threshold ends the search.
            low, high = 0, accepted_before.shape[1] - 1
            while low < high:
                middle = (low + high) // 2
                if genuine_scores[middle * block_size] > threshold:
                    low = middle + 1
                else:
                    high = middle
            block = max(low - 1, 0)
            accepted = accepted_before[r, block]
            g = block * block_size
            while g < len(genuine_scores) and genuine_scores[g] > threshold:
                accepted += weight[genuine_identity[g]] * genuine_weight[g]
                g += 1
            share[r, rate] = accepted


@_compiled
def equal_error(
    weights: Array,
    first: Array,
    second: Array,
    scores: Array,
    impostor_total: Array,
    genuine_scores: Array,
    genuine_identity: Array,
    genuine_total: Array,
    error: Array,
) -> None:
    """Finds where the shares of accepted impostors and refused genuine pairs meet.

    Args:
        weights: (replicates, identities) float64.
        first: (tail,) int32 identity of each impostor score, from the highest down.
        second: (tail,) int32 the other identity; the two weights are multiplied.
        scores: (tail,) float64, descending.
        impostor_total: (replicates,) float64, the weight of all impostors.
        genuine_scores: (genuine,) float64, descending.
        genuine_identity: (genuine,) int32.
        genuine_total: (replicates,) float64.
        error: (replicates,) float64, written; NaN where the tail ends before.
    """
    for r in range(len(weights)):
        weight = weights[r]
        accepted, passed = 0.0, 0.0
        far, frr = 0.0, 1.0
        i, g = 0, 0
        error[r] = math.nan
        while i < len(scores):
            score = scores[i]
            if g < len(genuine_scores):
                score = max(score, genuine_scores[g])
            while i < len(scores) and scores[i] == score:
                passed += weight[first[i]] * weight[second[i]]
                i += 1
            while g < len(genuine_scores) and genuine_scores[g] == score:
                accepted += weight[genuine_identity[g]]
                g += 1
            new_far = passed / impostor_total[r]
            new_frr = 1 - accepted / genuine_total[r]
            if new_far >= new_frr:
                # The straight line between two corners of the ROC.
                rise = new_far - far + frr - new_frr
                part = (frr - far) / rise if rise > 0 else 1.0
                error[r] = far + part * (new_far - far)
                break
            far, frr = new_far, new_frr


@_compiled
def scan_pairs(
    scores: Array,
    first: Array,
    second: Array,
    low: float,
    scale: float,
    cut: float,
    histogram: Array,
    genuine: Array,
    kept: Array,
) -> tuple[int, int]:
    """Tells a block of pairs apart and counts its impostors by bucket.

    Args:
        scores: (pairs,) float64.
        first: (pairs,) int32 identities.
        second: (pairs,) int32 identities.
        low: The lower end of bucket 1.
        scale: Buckets a unit of score.
        cut: Impostors below are counted only.
        histogram: (buckets,) int64, added to.
        genuine: (pairs,) int64, written: the genuine pairs.
        kept: (pairs,) int64, written: the impostor pairs that reach the cut.

    Returns:
        How many genuine pairs there are, and how many impostors are kept.
    """
    top = float(len(histogram) - 1)
    genuine_count, kept_count = 0, 0
    for pair in range(len(scores)):
        if first[pair] == second[pair]:
            genuine[genuine_count] = pair
            genuine_count += 1
            continue
        place = (scores[pair] - low) * scale + 1
        histogram[int(min(max(place, 0.0), top))] += 1
        kept[kept_count] = pair
        kept_count += scores[pair] >= cut
    return genuine_count, kept_count


@_reordered
def weigh_pairs(
    weights: Array, first: Array, second: Array, count: Array, total: Array
) -> None:
    """Sums the weights of impostor pairs for several replicates at once.

    Args:
        weights: (identities, replicates) float64.
        first: (pairs,) int64 identities.
        second: (pairs,) int64 identities.
        count: (pairs,) int64, how many pairs join the two.
        total: (replicates,) float64, added to.
    """
    for pair in range(len(first)):
        left = weights[first[pair]]
        right = weights[second[pair]]
        for replicate in range(len(total)):
            total[replicate] += left[replicate] * right[replicate] * count[pair]
