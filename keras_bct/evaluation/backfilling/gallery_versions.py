"""A gallery before and after a backfill, and the products with both, tile by tile."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution, slices, tile_width
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.relevance import Members, Relevance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Smaller blocks than one evaluation has: two products share the cache.
_BLOCK_ROWS = 192


@dataclasses.dataclass(frozen=True, eq=False)
class GalleryVersions:
    """Queries scored against both versions of a gallery.

    Attributes:
        old: Scores with the items as they are stored.
        new: Scores with the items embedded anew.
        relevance: Tells which pairs are of one label, in both versions.
    """

    old: Scoring
    new: Scoring
    relevance: Relevance

    @property
    def tolerance(self) -> Floats:
        """(m,) float64, the greater error of a row's products."""
        return np.maximum(self.old.tolerance, self.new.tolerance)

    def take_queries(self, rows: Integers) -> GalleryVersions:
        """Some of the queries."""
        return GalleryVersions(
            self.old.take_queries(rows),
            self.new.take_queries(rows),
            self.relevance.take_queries(rows),
        )


class VersionTiles:
    """The products of a block of queries with two galleries, a tile at a time.

    Args:
        old: Scores with one version of the items.
        new: Scores with the other, of as many queries and items.
        execution: Where and in which blocks.
    """

    def __init__(self, old: Scoring, new: Scoring, execution: Execution) -> None:
        """Their products share the cache of a core."""
        from keras_bct.evaluation.engine.product import product_on

        self._sides = (old, new)
        self._multiply = [product_on(execution.device, side) for side in self._sides]
        self._columns = len(old.right)
        self.block_rows = min(execution.block_rows or _BLOCK_ROWS, len(old.left))
        self.width = tile_width(self.block_rows, self._columns)
        self._local = threading.local()

    def of(self, rows: slice, members: Members, stop: threading.Event) -> Any:
        """Yields the columns, and the old and the new scores."""
        from keras_bct.evaluation.engine.kernels.tile import mask

        if not hasattr(self._local, "buffers"):
            self._local.buffers = np.empty(
                (2, self.block_rows * self.width), np.float32
            )
        left = [side.left_operand(rows) for side in self._sides]
        for columns in slices(self._columns, self.width):
            if stop.is_set():
                return
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            pair = []
            for buffer, queries, multiply in zip(
                self._local.buffers, left, self._multiply, strict=True
            ):
                scores = buffer[: shape[0] * shape[1]].reshape(shape)
                multiply(queries, columns, scores)
                mask(scores, members.offsets, members.columns, columns.start)
                pair.append(scores)
            yield columns, *pair
