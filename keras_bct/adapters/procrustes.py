"""Centred orthogonal Procrustes: the rotation between two clouds of embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keras_bct.adapters.affine_map import AffineMap, Floats
from keras_bct.adapters.closed_form import ClosedForm
from keras_bct.adapters.method import Settings
from keras_bct.adapters.pair_statistics import PairStatistics


@dataclass(frozen=True)
class Procrustes(ClosedForm):
    """Turn the source about its mean so that it varies with the target.

    `R = U V'` of the singular value decomposition `U S V'` of the cross-covariance: of
    all R with orthonormal rows or columns the one of greatest covariance
    `tr(R'C_xy)`. R keeps all distances where the target has as many components or more
    (`R R' = I`), and is then the one of least squared error as well.

    Where the target has fewer, `R'R = I`: the source is turned, and the components that
    the target lacks are dropped. R is not the one of least error then: how much of the
    source's variance it keeps depends on R, and of a large component that covaries with
    the target by chance it keeps more than least squares would.

    Example:
        >>> old = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
        >>> new = np.array([[5.0, 5.0], [5.0, 7.0], [4.0, 5.0]])
        >>> adapter = Procrustes().fit(
        ...     old, new, old_fingerprint="0a", new_fingerprint="1b"
        ... )
        >>> adapter.transform(np.array([[3.0, 0.0]])).round(6).tolist()
        [[5.0, 8.0]]

    References:
        Schönemann, A generalized solution of the orthogonal Procrustes problem,
        Psychometrika 1966.
    """

    needs_own_scatter: ClassVar[bool] = False
    needs_target_power: ClassVar[bool] = False

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """One more than the smaller size; with fewer R is not unique."""
        return min(input_size, output_size) + 1

    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the rotation."""
        matrix = rotation(statistics)
        return (
            AffineMap.through_means(
                matrix, statistics.source_mean, statistics.target_mean
            ),
            {},
        )


def rotation(statistics: PairStatistics) -> Floats:
    """R, (source, target) float64, the polar factor of the cross-covariance."""
    left, _, right = np.linalg.svd(statistics.cross_scatter, full_matrices=False)
    return np.asarray(left @ right)
