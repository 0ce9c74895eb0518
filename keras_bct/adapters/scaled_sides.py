"""Pairs centred and brought to the same total variance, as a rotation compares them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_bct.adapters.pair_statistics import Floats, PairStatistics


@dataclass(frozen=True, eq=False)
class ScaledSides:
    """The means of both sides, and the length of their spread.

    Attributes:
        source_mean: `(input_size,)`.
        target_mean: `(output_size,)`.
        source_size: The root of the source's total variance.
        target_size: The root of the target's.
    """

    source_mean: Floats
    target_mean: Floats
    source_size: float
    target_size: float

    @classmethod
    def of(cls, statistics: PairStatistics) -> ScaledSides:
        """Take them from statistics."""
        source = np.trace(statistics.source_scatter) / statistics.pairs
        target = statistics.target_power / statistics.pairs
        return cls(
            statistics.source_mean,
            statistics.target_mean,
            float(np.sqrt(source)),
            float(np.sqrt(target)),
        )

    @property
    def ratio(self) -> float:
        """A matrix of raw rows times this is the one between scaled rows."""
        return self.source_size / self.target_size

    def error(self, statistics: PairStatistics, matrix: Floats) -> float:
        """The squared error of a matrix between scaled sides; 1 for that of zeros.

        Args:
            statistics: What they were taken from.
            matrix: `(input_size, output_size)`.
        """
        raw = matrix / self.ratio
        power = np.vdot(statistics.source_scatter @ raw, raw)
        along = np.vdot(statistics.cross_scatter, raw)
        total = statistics.target_power
        return float((power - 2 * along + total) / total)

    def moments(self, statistics: PairStatistics) -> tuple[Floats, Floats]:
        """The covariance of the scaled source, and that of it with the target."""
        total = statistics.target_power
        power = statistics.source_scatter / np.trace(statistics.source_scatter)
        return power, statistics.cross_scatter / (total * self.ratio)
