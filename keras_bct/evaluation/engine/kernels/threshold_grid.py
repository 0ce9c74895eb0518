"""A grid of buckets over a row's thresholds, and the search among thresholds."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled, written_out


@written_out
def bucket_of(
    score: np.float32, base: np.float32, scale: np.float32, top: np.float32
) -> int:
    """The bucket of a score: 0 below the base, else rising with the score to the top.

    Rounding is monotone, so a score in a lower bucket is a lower score.
    """
    place = (score - base) * scale + np.float32(1)
    return int(min(max(place, np.float32(0)), top))


@compiled
def grid_over(
    thresholds: Array, first: int, end: int, tolerance: float, buckets: int
) -> tuple[np.float32, np.float32]:
    """The base and the scale of a grid over some thresholds.

    Args:
        thresholds: (thresholds,) float64, ascending from `first` to `end`.
        first: The first of the row's thresholds.
        end: Behind the last of them.
        tolerance: The greatest rounding error of the product.
        buckets: How many the grid has.
    """
    low = np.float32(thresholds[first] - tolerance)
    high = np.float32(thresholds[end - 1] + tolerance)
    return low, min(
        np.float32(1e30),
        np.float32(buckets - 3) / max(high - low, np.float32(1e-30)),
    )


@compiled
def buckets_around(
    threshold: float,
    tolerance: float,
    base: np.float32,
    scale: np.float32,
    top: np.float32,
) -> tuple[int, int]:
    """The first and the last bucket of scores within the tolerance of a threshold."""
    return (
        bucket_of(np.float32(threshold - tolerance), base, scale, top),
        bucket_of(np.float32(threshold + tolerance), base, scale, top),
    )


@written_out
def first_not_passed(
    score: float, thresholds: Array, first: int, end: int, tolerance: float
) -> int:
    """The first threshold that a score does not surely lie above; `end` if none.

    Args:
        score: The score.
        thresholds: (thresholds,) float64, ascending from `first` to `end`.
        first: The first of the row's thresholds.
        end: Behind the last of them.
        tolerance: The greatest error of the score; zero where it is exact.
    """
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] + tolerance < score:
            low = middle + 1
        else:
            high = middle
    return low
