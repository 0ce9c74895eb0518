"""Reduced-rank regression: the best affine map through r dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_bct.adapters.affine_map import AffineMap
from keras_bct.adapters.closed_form import ClosedForm
from keras_bct.adapters.method import Settings
from keras_bct.adapters.pair_statistics import PairStatistics


@dataclass(frozen=True)
class LowRank(ClosedForm):
    """The affine map of rank r with the least squared error.

    `A = B P`, B the least-squares map and P the projection on the r first principal
    directions of its fitted values. Where source components depend on each other B is
    the one of least norm, each component measured by its own size. A small rank holds
    back what few pairs cannot tell. Above 8,192 float32 pairs, directions that vary
    some thousand times less than their components are lost in rounding and left out;
    float64 rows keep them.

    Attributes:
        rank: r, at most the smaller of both sizes.

    Raises:
        ValueError: `rank` is no whole number above zero.

    Example:
        >>> old = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        >>> adapter = LowRank(1).fit(
        ...     old, old * [2.0, 3.0], old_fingerprint="0a", new_fingerprint="1b"
        ... )
        >>> abs(adapter.map.matrix).round(6).tolist()
        [[0.0, 0.0], [0.0, 3.0]]

    References:
        Izenman, Reduced-rank regression for the multivariate linear model, Journal of
        Multivariate Analysis 1975, with the identity as weight.
    """

    rank: int

    def __post_init__(self) -> None:
        """Check the rank."""
        self._check_whole("rank")

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """Two more than go in: the offset takes one, and one is left over.

        Raises:
            ValueError: The rank is above the smaller size.
        """
        if self.rank > min(input_size, output_size):
            raise ValueError(
                f"`rank` should be at most {min(input_size, output_size)}, the "
                f"smaller of {input_size} and {output_size} components. Received: "
                f"{self.rank}."
            )
        return input_size + 2

    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the least-squares map, then reduce its rank."""
        # In units of each component's own rounding, so that a large one hides no small
        # one; a component that is always zero has neither.
        unit = np.sqrt(statistics.rounding)
        unit[unit == 0] = np.inf
        values, vectors = np.linalg.eigh(
            statistics.source_scatter / unit / unit[:, None]
        )
        # A symmetric matrix of s x s independent errors of size 1 has norm 2 sqrt(s).
        real = values > 2 * np.sqrt(len(unit))
        directions = vectors[:, real] / unit[:, None]
        full = directions / values[real] @ (directions.T @ statistics.cross_scatter)
        fitted = full.T @ statistics.cross_scatter
        leading = np.linalg.eigh((fitted + fitted.T) / 2)[1][:, -self.rank :]
        return (
            AffineMap.through_means(
                full @ leading @ leading.T,
                statistics.source_mean,
                statistics.target_mean,
            ),
            {"rank": self.rank},
        )
