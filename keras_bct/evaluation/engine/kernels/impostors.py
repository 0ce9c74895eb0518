"""Impostors counted by bucket, and the pairs that are kept of them."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled
from keras_bct.evaluation.engine.kernels.threshold_grid import bucket_of


@compiled
def pair_key(left: int, right: int) -> np.int64:
    """Mixes two 32-bit keys into one that looks random (the finaliser of Murmur3)."""
    key = (np.uint64(left) << np.uint64(32)) | np.uint64(right)
    key ^= key >> np.uint64(33)
    key *= np.uint64(0xFF51AFD7ED558CCD)
    key ^= key >> np.uint64(33)
    key *= np.uint64(0xC4CEB9FE1A85EC53)
    key ^= key >> np.uint64(33)
    return np.int64(key >> np.uint64(32))


@compiled
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


@compiled
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
            bucket = bucket_of(row_scores[column], row_base, row_scale, top)
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


@compiled
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
