"""TAR along a backfill."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled


@compiled
def thresholds_along(
    scores: Array,
    start: Array,
    stop: Array,
    by_start: Array,
    by_stop: Array,
    cutoffs: Array,
    rank: int,
    thresholds: Array,
) -> bool:
    """Finds the score of one rank at each cut-off, among scores that come and go.

    Args:
        scores: (k,) float64, descending.
        start: (k,) int64: a score counts from this cut-off on.
        stop: (k,) int64: and below this one.
        by_start: (k,) int64, the order of `start`.
        by_stop: (k,) int64, the order of `stop`.
        cutoffs: (points,) int64 ascending.
        rank: How many counting scores precede the one looked for.
        thresholds: (points,) float64, written.

    Returns:
        Whether there were enough scores at every cut-off.
    """
    block = 4096
    active = np.zeros(len(scores), np.bool_)
    in_block = np.zeros(len(scores) // block + 1, np.int64)
    coming, going = 0, 0
    for point in range(len(cutoffs)):
        while coming < len(scores) and start[by_start[coming]] <= cutoffs[point]:
            i = by_start[coming]
            active[i] = True
            in_block[i // block] += 1
            coming += 1
        while going < len(scores) and stop[by_stop[going]] <= cutoffs[point]:
            i = by_stop[going]
            if active[i]:
                active[i] = False
                in_block[i // block] -= 1
            going += 1
        left = rank
        b = 0
        while b < len(in_block) and in_block[b] <= left:
            left -= in_block[b]
            b += 1
        if b == len(in_block):
            return False
        i = b * block
        while True:
            if active[i]:
                if left == 0:
                    break
                left -= 1
            i += 1
        thresholds[point] = scores[i]
    return True


@compiled
def count_along(
    old: Array,
    new: Array,
    columns: Array,
    cutoffs: Array,
    thresholds: Array,
    accepted: Array,
) -> None:
    """Counts the genuine pairs above the threshold of each cut-off.

    Args:
        old: (pairs,) float64, exact.
        new: (pairs,) float64, exact.
        columns: (pairs,) int64, the gallery item of each pair.
        cutoffs: (points,) int64.
        thresholds: (points,) float64.
        accepted: (points,) int64, added to.
    """
    for pair in range(len(columns)):
        for point in range(len(cutoffs)):
            moved = columns[pair] < cutoffs[point]
            score = new[pair] if moved else old[pair]
            accepted[point] += score > thresholds[point]
