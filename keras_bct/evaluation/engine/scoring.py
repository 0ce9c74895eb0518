"""Scores: fast ones in float32 with a known error, and exact ones where they decide.

The score of a pair is *defined* as the float64 product (or minus the squared distance)
of its two float32 embeddings. Nearly all comparisons of scores are settled by a float32
matrix product, whose rounding error has a bound; the few that lie within it are settled
by the float64 score. So results depend neither on the order of the gallery, nor on the
block size, nor on the library or device that multiplied.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

# Rows that are normalised or squared at once, in float64.
_ROWS_PER_BLOCK = 16384
# Rounding errors of a sum of d terms grow as the square root of d (Higham and Mary,
# SIAM J. Sci. Comput. 41, 2019); four standard deviations of the worst case, where
# every partial sum is as large as the product of the norms, are never seen.
_DEVIATIONS = 4.0
_UNIT_ROUNDOFF = 2.0**-24
# Of normalising, of squared norms and of the bounds' own rounding.
_OTHER_ROUNDINGS = 8.0


class Rows(Protocol):
    """What is scored: an `EmbeddingSet`, or rows without labels."""

    @property
    def ids(self) -> Any:
        """A name for each row, for messages."""

    @property
    def embeddings(self) -> npt.NDArray[np.float32]:
        """(n, d) float32."""

    @property
    def embedding_size(self) -> int:
        """D."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scoring:
    """Scores between two sets of rows.

    Attributes:
        distance: `cosine`, `l2` or `inner_product`.
        left: (m, d) float32, contiguous.
        right: (n, d) float32, contiguous.
        left_scale: (m,) float64: 1 / norm for cosine, else 1.
        right_scale: (n,) float64, the same.
        slope: An exact score is `slope * product + offset` up to rounding.
        offset: (m,) float64.
        tolerance: (m,) float64, the greatest difference between a row's products and
            their exact values, on the product's scale.
        bounds: The lowest and highest score that there can be.
    """

    distance: str
    left: Singles
    right: Singles
    left_scale: Floats
    right_scale: Floats
    slope: float
    offset: Floats
    tolerance: Floats
    bounds: tuple[float, float]
    _half_norms: Singles

    @classmethod
    def of(
        cls,
        distance: str,
        queries: Rows,
        gallery: Rows,
        first_components: int | None = None,
    ) -> Scoring:
        """Prepares two sets.

        Args:
            distance: `cosine`, `l2` or `inner_product`.
            queries: m items.
            gallery: n items.
            first_components: Cut both to so many components first; None: all.

        Raises:
            ValueError: Sizes that differ or are below the cut, a zero vector with
                cosine, or components too large to be squared in float32.
        """
        left = _cut("queries", queries, first_components)
        right = left
        if gallery is not queries:
            right = _cut("gallery", gallery, first_components)
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                "`queries` and `gallery` should have embeddings of one size, or "
                "`first_components` should say how many to compare. Received: "
                f"{left.shape[1]} and {right.shape[1]} components."
            )
        left_norm = _norms("queries", queries, left, distance)
        right_norm = left_norm
        if gallery is not queries:
            right_norm = _norms("gallery", gallery, right, distance)
        ones_left, ones_right = np.ones(len(left)), np.ones(len(right))
        zeros = np.zeros(len(left))
        # Of no rows, which `nearest` may be asked for, the longest is of length 0.
        longest = float(right_norm.max(initial=0.0))
        rounding = _UNIT_ROUNDOFF * (
            _DEVIATIONS * math.sqrt(left.shape[1] + 1) + _OTHER_ROUNDINGS
        )
        half_norms = np.zeros(0, np.float32)
        scales = (ones_left, ones_right)
        if distance == "cosine":
            scales = (1 / left_norm, 1 / right_norm)
            slope, offset, reach = 1.0, zeros, ones_left
            bounds = (-1.0, 1.0)
        elif distance == "inner_product":
            slope, offset, reach = 1.0, zeros, left_norm * longest
            highest = float(left_norm.max(initial=0.0)) * longest
            bounds = (-highest, highest)
        else:
            # -|q - g|^2 = 2 (<q, g> - |g|^2 / 2) - |q|^2
            slope, offset = 2.0, -(left_norm**2)
            reach = left_norm * longest + longest**2
            bounds = (-((float(left_norm.max(initial=0.0)) + longest) ** 2), 0.0)
            half_norms = (right_norm**2 / 2).astype(np.float32)
        return cls(
            distance,
            left,
            right,
            *scales,
            slope,
            offset,
            # A tolerance of zero would leave no room for a bucket.
            np.maximum(rounding * reach, 1e-30),
            bounds,
            half_norms,
        )

    @property
    def embedding_size(self) -> int:
        """The number of components that are compared."""
        return int(self.left.shape[1])

    def left_operand(self, rows: slice) -> Singles:
        """(block, operand size) float32: queries as the product takes them."""
        block = self.left[rows]
        if self.distance == "cosine":
            return _scaled(block, self.left_scale[rows])
        if self.distance == "l2":
            return np.hstack([block, np.ones((len(block), 1), np.float32)])
        return block

    def right_operand(self, columns: slice) -> Singles:
        """(tile, operand size) float32: gallery items as the product takes them."""
        block = self.right[columns]
        if self.distance == "cosine":
            return _scaled(block, self.right_scale[columns])
        if self.distance == "l2":
            return np.hstack([block, -self._half_norms[columns, None]])
        return block

    def exact(self, rows: Integers, columns: Integers) -> Floats:
        """(pairs,) float64: the exact scores of single pairs."""
        from keras_bct.evaluation.engine.kernels.pair_scores import exact_scores

        scores = np.empty(len(rows))
        exact_scores(
            self.left,
            self.right,
            self.left_scale,
            self.right_scale,
            self.distance == "l2",
            rows,
            columns,
            scores,
        )
        return scores

    def take_queries(self, rows: Integers) -> Scoring:
        """The scoring of some queries against the same gallery."""
        return dataclasses.replace(
            self,
            left=self.left[rows],
            left_scale=self.left_scale[rows],
            offset=self.offset[rows],
            tolerance=self.tolerance[rows],
        )

    def to_product(self, scores: Floats, rows: Any) -> Floats:
        """Exact scores on the scale of the product of their rows."""
        return np.asarray((scores - self.offset[rows]) / self.slope)

    def to_distance(self, score: float) -> float:
        """A score as the user's distance names it: a similarity, or an l2 distance."""
        return math.sqrt(max(-score, 0.0)) if self.distance == "l2" else score


def _cut(name: str, items: Rows, first: int | None) -> Singles:
    if first is not None and first > items.embedding_size:
        raise ValueError(
            f"`first_components` should be at most the {items.embedding_size} "
            f"components of `{name}`. Received: {first}."
        )
    # As a plain array, which compiled code takes; a memory map stays one underneath.
    return np.asarray(np.ascontiguousarray(items.embeddings[:, :first]))


def _norms(name: str, items: Rows, rows: Singles, distance: str) -> Floats:
    norms = np.empty(len(rows))
    for start in range(0, len(rows), _ROWS_PER_BLOCK):
        block = rows[start : start + _ROWS_PER_BLOCK].astype(np.float64)
        norms[start : start + len(block)] = np.sqrt(np.einsum("ij,ij->i", block, block))
    if distance == "cosine" and not norms.all():
        zeros = np.flatnonzero(norms == 0)
        raise ValueError(
            f"`{name}` should hold no zero vector, which has no cosine. Received one "
            f"for id {str(items.ids[zeros[0]])!r} and {len(zeros) - 1} more."
        )
    if distance != "cosine" and norms.max(initial=0.0) > 1e15:
        raise ValueError(
            f"`{name}` should hold vectors shorter than 1e15. Received one of length "
            f"{norms.max():.3g} for id {str(items.ids[norms.argmax()])!r}."
        )
    return norms


def _scaled(block: Singles, scale: Floats) -> Singles:
    # In float64, so that neither long nor short vectors leave float32's range.
    return (block * scale[:, None]).astype(np.float32)
