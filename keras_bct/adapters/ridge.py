"""Ridge regression whose strength is chosen by leave-one-out, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keras_bct.adapters.affine_map import AffineMap, Floats
from keras_bct.adapters.closed_form import ClosedForm
from keras_bct.adapters.method import Settings
from keras_bct.adapters.pair_statistics import SAMPLE_PAIRS, PairStatistics

_STEPS = 25
_LOWEST, _HIGHEST = -8.0, 4.0


@dataclass(frozen=True)
class Ridge(ClosedForm):
    """The affine map with least squared error plus `strength` times its squared size.

    `A = (C_xx + strength I)^-1 C_xy` on centred pairs; the offset is not penalised.
    Every learned map must beat it.

    The strength is the one with the least leave-one-out error: pair i is predicted by
    the map fitted to all others, whose error is `e_i / (1 - h_i)` with the residual
    e_i and `h_i = 1/n + x_i' (C_xx + strength I)^-1 x_i` of the one fit to all. Over
    all pairs where there are at most `pair_statistics.SAMPLE_PAIRS`; else over an even
    sample of as many, whose errors are still those of leaving one out of all.

    Attributes:
        strengths: What to choose from, each above zero; one is taken as it is. None:
            25 steps from 1e-8 to 1e4 times the mean variance of a source component
            (summed over pairs), so that the unit of the embeddings does not matter.

    Raises:
        ValueError: No strength, or one that is not above zero.

    Example:
        >>> generator = np.random.default_rng(0)
        >>> old = generator.normal(size=(50, 3))
        >>> adapter = Ridge(strengths=(0.1, 1000.0)).fit(
        ...     old, 2 * old, old_fingerprint="0a", new_fingerprint="1b"
        ... )
        >>> adapter.settings["strength"]
        0.1

    References:
        Hoerl and Kennard, Ridge regression, Technometrics 1970. Golub, Heath and
        Wahba, Generalized cross-validation, Technometrics 1979, section 1: the
        leave-one-out error (Allen's PRESS) from one fit.
    """

    sample_pairs: ClassVar[int] = SAMPLE_PAIRS

    strengths: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the strengths."""
        if self.strengths is None:
            return
        values = np.asarray(self.strengths, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not (values > 0).all():
            raise ValueError(
                "`strengths` should be one or more numbers above zero, or None. "
                f"Received: {self.strengths!r}."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"`strengths` should be finite. Received: {self.strengths!r}."
            )
        object.__setattr__(self, "strengths", tuple(values.tolist()))

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """Three: one left out of two leaves no variance."""
        return 3

    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Choose the strength and find its map.

        The settings have `strength` and `leave_one_out`, the mean squared error of a
        pair left out, summed over components.
        """
        values, vectors = np.linalg.eigh(statistics.source_scatter)
        values = values.clip(0)
        # All in the source's principal directions, where C_xx is diagonal.
        cross = vectors.T @ statistics.cross_scatter
        source = (statistics.sample[0] - statistics.source_mean) @ vectors
        target = statistics.sample[1] - statistics.target_mean
        errors = []
        for strength in self._candidates(values):
            shrunk = 1 / (values + strength)
            residual = target - source @ (shrunk[:, None] * cross)
            leverage = 1 / statistics.pairs + source**2 @ shrunk
            errors.append((_leave_one_out(residual, leverage), strength))
        # Of equal errors the stronger: it moves less where there are no pairs.
        error, strength = min(errors, key=lambda pair: (pair[0], -pair[1]))
        matrix: Floats = np.asarray(vectors @ (cross / (values + strength)[:, None]))
        return (
            AffineMap.through_means(
                matrix, statistics.source_mean, statistics.target_mean
            ),
            {"strength": strength, "leave_one_out": error},
        )

    def _candidates(self, values: Floats) -> list[float]:
        if self.strengths is not None:
            return list(self.strengths)
        steps: list[float] = np.logspace(_LOWEST, _HIGHEST, _STEPS).tolist()
        return [float(values.mean()) * step for step in steps]


def _leave_one_out(residual: Floats, leverage: Floats) -> float:
    """The mean squared error of pairs left out, summed over components."""
    # A pair that alone determines its map has leverage 1, give or take rounding.
    rest = np.maximum(1 - leverage, 1e-9)
    return float((np.einsum("ij,ij->i", residual, residual) / rest**2).mean())
