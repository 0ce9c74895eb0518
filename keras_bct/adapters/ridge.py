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
# Every fourth step is tried first, then the three on either side of the best.
_STRIDE = 4


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
            (summed over pairs), so that the unit of the embeddings does not matter;
            every fourth first, then those beside the best of them.

    Raises:
        ValueError: No strength, or one that is no number above zero.

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
    needs_target_power: ClassVar[bool] = False

    strengths: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the strengths."""
        if self.strengths is None:
            return
        try:
            values = np.asarray(self.strengths)
        except ValueError:
            values = np.empty(0)
        if (
            values.ndim != 1
            or not len(values)
            or values.dtype.kind not in "iuf"
            or not ((values > 0) & np.isfinite(values)).all()
        ):
            raise ValueError(
                "`strengths` should be one or more finite numbers above zero, or None. "
                f"Received: {self.strengths!r}."
            )
        object.__setattr__(self, "strengths", tuple(map(float, values)))

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """Three: one left out of two leaves no variance."""
        return 3

    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Choose the strength and find its map.

        The settings have `strength` and `leave_one_out`, the mean squared error of a
        pair left out, summed over components.

        Raises:
            ValueError: Squares of the target are too large for float64.
        """
        values, vectors = np.linalg.eigh(statistics.source_scatter)
        values = values.clip(0)
        # All in the source's principal directions, where C_xx is diagonal.
        cross = vectors.T @ statistics.cross_scatter
        source = (statistics.sample[0] - statistics.source_mean) @ vectors
        target = statistics.sample[1] - statistics.target_mean
        squares = source**2
        candidates = self._candidates(values)
        residual = np.empty_like(target)
        if not np.isfinite(np.vdot(target, target)):
            raise ValueError(
                "The target should be small enough for float64 to hold its squares. "
                f"Received: components up to {abs(target).max():.1e}; divide by it."
            )

        def error(step: int) -> float:
            shrunk = 1 / (values + candidates[step])
            np.matmul(source, shrunk[:, None] * cross, out=residual)
            np.subtract(target, residual, out=residual)
            return _leave_one_out(residual, 1 / statistics.pairs + squares @ shrunk)

        stride = _STRIDE if self.strengths is None else 1
        errors = {step: error(step) for step in range(0, len(candidates), stride)}
        best = min(errors, key=errors.__getitem__)
        for step in range(best - stride + 1, best + stride):
            if step not in errors and 0 <= step < len(candidates):
                errors[step] = error(step)
        # Of equal errors the stronger: it moves less where there are no pairs.
        best = min(errors, key=lambda step: (errors[step], -candidates[step]))
        strength = candidates[best]
        matrix: Floats = np.asarray(vectors @ (cross / (values + strength)[:, None]))
        return (
            AffineMap.through_means(
                matrix, statistics.source_mean, statistics.target_mean
            ),
            {"strength": strength, "leave_one_out": errors[best]},
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
