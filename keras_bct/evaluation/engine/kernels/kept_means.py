"""The means of groups of rows, some of their members left out."""

from __future__ import annotations

import numpy as np

from keras_bct.evaluation.engine.kernels.compilation import Array, compiled


@compiled
def kept_means(
    rows: Array, offsets: Array, members: Array, kept: Array, means: Array
) -> None:
    """Averages the kept members of each group in float64.

    Args:
        rows: (n, d) float32.
        offsets: (groups + 1,) int64 into `members`.
        members: (members,) int64 into `rows`.
        kept: (members,) bool.
        means: (groups, d) float32, written; NaN where no member is kept.
    """
    total = np.empty(rows.shape[1])
    for group in range(len(offsets) - 1):
        total[:] = 0
        count = 0
        for place in range(offsets[group], offsets[group + 1]):
            if kept[place]:
                count += 1
                row = rows[members[place]]
                for i in range(len(total)):
                    total[i] += row[i]
        for i in range(len(total)):
            means[group, i] = total[i] / count if count else np.nan
