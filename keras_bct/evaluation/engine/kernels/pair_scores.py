"""Exact scores of single pairs."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, reordered


@reordered
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
