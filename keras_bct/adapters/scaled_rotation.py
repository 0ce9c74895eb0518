"""A rotation followed by a scale for each component of the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.closed_form import ClosedForm
from keras_bct.adapters.method import Settings
from keras_bct.adapters.pair_statistics import PairStatistics
from keras_bct.adapters.procrustes import rotation


@dataclass(frozen=True)
class ScaledRotation(ClosedForm):
    """Turn as `Procrustes` does, then stretch each component by least squares.

    `x -> (x - mean) R diag(s) + mean`, with R of `Procrustes` and
    `s_j = (R'C_xy)_jj / (R'C_xx R)_jj`, which is never negative; 0 where the turned
    source does not vary. For spaces that differ in the length of their embeddings.

    Example:
        >>> old = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        >>> adapter = ScaledRotation().fit(
        ...     old, old * [2.0, 3.0], old_fingerprint="0a", new_fingerprint="1b"
        ... )
        >>> adapter.map.matrix.round(6).tolist()
        [[2.0, 0.0], [0.0, 3.0]]
    """

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """One more than the smaller size, as for `Procrustes`."""
        return min(input_size, output_size) + 1

    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the rotation, then the scales."""
        turn = rotation(statistics)
        along = np.einsum("ij,ij->j", turn, statistics.cross_scatter)
        power = np.einsum("ij,ij->j", turn, statistics.source_scatter @ turn)
        # What rounding leaves of a direction without variance is no variance; errors
        # of its components are independent.
        varies = power > statistics.rounding @ turn**2
        scale = np.divide(along, power, out=np.zeros_like(along), where=varies)
        return (
            AffineMap.through_means(
                turn * scale, statistics.source_mean, statistics.target_mean
            ),
            {},
        )
