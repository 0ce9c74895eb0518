"""What a block of queries knows of a backfill, as the compiled loops take it.

A score's place is explained in `kernels.moves`. Importing this imports no compiler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Relevant(NamedTuple):
    """The relevant items of a block's queries, and the thresholds that they make.

    Attributes:
        offsets: (rows + 1,) int64 into `exact`.
        exact: (thresholds,) float64, ascending in a row: the distinct scores.
        items: (rows + 1,) int64 into the relevant items of all queries.
        columns: (relevant,) int64 ascending in a row: when each item moves.
        before: (relevant,) int64 the threshold that is its old score.
        after: (relevant,) int64 the threshold that is its new score.
    """

    offsets: Array
    exact: Array
    items: Array
    columns: Array
    before: Array
    after: Array


class PlaceGrid(NamedTuple):
    """A grid of buckets over the thresholds of each row, which finds a score's place.

    Attributes:
        offsets: (rows + 1,) int64 into `thresholds`.
        thresholds: (thresholds,) float64, ascending in a row, on the product's scale.
        tolerance: (rows,) float64.
        base: (rows,) float32, written by `open_moves`.
        scale: (rows,) float32, written by `open_moves`.
        place_of: (rows, buckets) int32, written by `open_moves`: the place of every
            score in a bucket, -1 where the bucket may hold a threshold.
    """

    offsets: Array
    thresholds: Array
    tolerance: Array
    base: Array
    scale: Array
    place_of: Array


class Moves(NamedTuple):
    """The moves of other items past thresholds, for each query of a block.

    A thread keeps one for all its blocks: fresh memory costs as much as the work.

    Attributes:
        made: (rows,) int64, moves of each row so far.
        columns: (rows, capacity) int32, the item that moves.
        before: (rows, capacity) int32, its old place, -1 where doubtful.
        after: (rows, capacity) int32, its new place, -1 where doubtful.
    """

    made: Array
    columns: Array
    before: Array
    after: Array

    @classmethod
    def none_yet(cls, rows: int, items: int) -> Moves:
        """Make room for the moves of a block among so many items."""
        columns, before, after = np.empty((3, rows, max(64, items // 8)), np.int32)
        return cls(np.zeros(rows, np.int64), columns, before, after)

    def with_room(self, width: int) -> Moves:
        """Give these moves, with room for those of a tile."""
        capacity = self.columns.shape[1]
        needed = int(self.made.max(initial=0)) + width
        if needed <= capacity:
            return self
        larger = np.empty((3, len(self.made), max(needed, 2 * capacity)), np.int32)
        larger[:, :, :capacity] = self.columns, self.before, self.after
        return Moves(self.made, *larger)
