"""Lambda-orthogonality: an affine map to the old space, held near a rotation."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keras_bct.adapters.adapter import NewToOld, OldToNew
from keras_bct.adapters.affine_map import AffineMap, Floats
from keras_bct.adapters.closed_form import ClosedForm
from keras_bct.adapters.method import Settings
from keras_bct.adapters.near_rotation import (
    deviation,
    least_squares_within,
    nearest,
)
from keras_bct.adapters.pair_statistics import PairStatistics
from keras_bct.adapters.procrustes import rotation
from keras_bct.adapters.ridge import Ridge
from keras_bct.adapters.scaled_sides import ScaledSides
from keras_bct.checked_labels import Labels, label_array


@dataclass(frozen=True)
class LambdaOrthogonal(ClosedForm):
    """A backward map that is nearly a rotation, and a free forward map.

    `fit_backward` gives B, from new to old: of the maps with `|B'B - I|_F <= lambda`
    the one with the least squared error. With lambda 0 it is a rotation (`Procrustes`
    between equal sizes), which leaves all distances of the new model as they are; the
    larger lambda, the more it may bend to the old space, up to least squares. `fit`
    gives the map for the old gallery, which is not bound: `Ridge`.

    Where labels are given, which the fits with `_blocks` do not take, both are trained
    on by Keras, with a supervised contrastive term: a mapped embedding is drawn to the
    target embeddings of its class and pushed from others; the bound is then the paper's
    penalty on `max(0, |B'B - I|_F - lambda)`.

    B is found for sides that are centred and scaled to the same total variance, so
    that the unit of either does not matter: the stored matrix is B times the ratio of
    their spreads. Where the target has more components it is `B B'` that is near I.

    This is our reading of the paper: its text was at hand only in parts.

    Attributes:
        bound: lambda, zero or more: how far `B'B` may be from I in Frobenius norm.
        contrastive_weight: Of the contrastive term, beside a squared error that is 1
            where everything maps to the mean. Used where labels are given.
        temperature: Of the contrastive term.
        epochs: How often every pair is seen.
        batch_size: Pairs of a step; the contrastive term compares them all.
        learning_rate: Adam's, falling to zero as a cosine.
        seed: Of the order.

    Raises:
        ValueError: A number out of range, or not whole where it should be.

    Example:
        >>> LambdaOrthogonal(bound=0.5).fewest_pairs(8, 8)
        10

    References:
        Ricci et al., Lambda-orthogonality regularization for compatible representation
        learning, NeurIPS 2025. docs/methods.md, section 5. The contrastive term has
        the form of `keras_bct.losses.Contrastive`.
    """

    sample_pairs: ClassVar[int] = Ridge.sample_pairs

    bound: float = 1.0
    contrastive_weight: float = 0.1
    temperature: float = 0.05
    epochs: int = 20
    batch_size: int = 1024
    learning_rate: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        self._check_positive("bound", "contrastive_weight", or_zero=True)
        self._check_positive("temperature", "learning_rate")
        self._check_whole("epochs", "batch_size")
        self._check_whole("seed", least=0)

    def fewest_pairs(self, input_size: int, output_size: int) -> int:
        """Two more than go in, as for least squares."""
        return input_size + 2

    def fit(
        self,
        old: NDArray[Any],
        new: NDArray[Any],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
        labels: Labels | None = None,
    ) -> OldToNew:
        """Fit the forward map, from old to new, which is not held near a rotation.

        Args:
            old: `(n, d_old)` raw embeddings of the old version.
            new: `(n, d_new)` raw embeddings of the new version of the same items.
            old_fingerprint: Of the old version.
            new_fingerprint: Of the new version.
            labels: n class names for the contrastive term, or None: without it.

        Raises:
            ValueError: As `Method.fit`, or another number of labels.
            TypeError: No floating type.
        """
        return self._fit(
            OldToNew,
            old,
            new,
            old_fingerprint,
            new_fingerprint,
            functools.partial(self.learn, labels=labels),
        )

    def fit_backward(
        self,
        old: NDArray[Any],
        new: NDArray[Any],
        *,
        old_fingerprint: str,
        new_fingerprint: str,
        labels: Labels | None = None,
    ) -> NewToOld:
        """Fit B, from new to old, nearly a rotation; arguments and errors as `fit`."""
        return self._fit(
            NewToOld,
            old,
            new,
            old_fingerprint,
            new_fingerprint,
            functools.partial(self.learn, labels=labels, bound=self.bound),
        )

    def learn(
        self,
        source: NDArray[Any],
        target: NDArray[Any],
        names: tuple[str, str],
        labels: Labels | None = None,
        bound: float | None = None,
    ) -> tuple[AffineMap, Settings]:
        """Find the optimum for the squared error, then train where there are labels.

        The settings have the `deviation` of the map from a rotation, `|B'B - I|_F`.

        Args:
            source: `(n, input_size)` rows.
            target: `(n, output_size)` rows of the same items.
            names: What the caller calls both, for messages.
            labels: n class names for the contrastive term, or None: without it.
            bound: lambda, or None: the map may be as far from a rotation as it likes.
        """
        codes = None if labels is None else _codes(labels, len(source))
        statistics = self._gather([(source, target)], names)
        found, sides = self._optimum(statistics, bound)
        if codes is None or not self.contrastive_weight:
            return self._map(found, sides, bound, weight=0.0)
        from keras_bct.adapters.lambda_training import Training, train

        how = Training(
            contrastive_weight=self.contrastive_weight,
            temperature=self.temperature,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            seed=self.seed,
        )
        found, shift = train(how, found, source, target, sides, codes, bound)
        if bound is not None:
            # Training only nears the bound.
            found = nearest(found, bound)
        return self._map(found, sides, bound, self.contrastive_weight, shift)

    def solve(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find the forward map, which is not bound, without labels."""
        return self._map(*self._optimum(statistics, None), None, weight=0.0)

    def solve_backward(self, statistics: PairStatistics) -> tuple[AffineMap, Settings]:
        """Find B, without labels."""
        return self._map(*self._optimum(statistics, self.bound), self.bound, weight=0.0)

    def _optimum(
        self, statistics: PairStatistics, bound: float | None
    ) -> tuple[Floats, ScaledSides]:
        """The matrix of least squared error within the bound, between scaled sides."""
        sides = ScaledSides.of(statistics)
        found = Ridge().solve(statistics)[0].matrix * sides.ratio
        if bound is not None and deviation(found) > bound:
            # The best rotation, or the best free map drawn within the bound.
            starts = (nearest(rotation(statistics), bound), nearest(found, bound))
            found = least_squares_within(
                *sides.moments(statistics),
                bound,
                min(starts, key=functools.partial(sides.error, statistics)),
            )
        return found, sides

    def _map(
        self,
        found: Floats,
        sides: ScaledSides,
        bound: float | None,
        weight: float,
        shift: Floats | float = 0.0,
    ) -> tuple[AffineMap, Settings]:
        matrix = found / sides.ratio
        return (
            AffineMap(
                matrix,
                sides.target_mean
                + sides.target_size * shift
                - sides.source_mean @ matrix,
            ),
            {
                "bound": bound,
                "deviation": deviation(found),
                "contrastive_weight": weight,
            },
        )


def _codes(labels: Labels, pairs: int) -> NDArray[np.int32]:
    names = label_array(labels, pairs)
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int32)
