"""The nearest gallery items of each query, exactly, without a matrix of all scores."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.distances import DISTANCES
from keras_bct.evaluation.engine.block_pass import (
    BLOCK_ROWS,
    Execution,
    run_blocks,
    slices,
    tile_width,
)
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import float32_rows, refuse_not_finite

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

# Candidates of a query that are kept before the lowest are thrown out, in units of k.
_SPARE = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Nearest:
    """The k nearest items of each query, nearest first, equal ones by row.

    Attributes:
        items: (m, k) int64, rows of the gallery.
        distances: (m, k) float64, rising: 1 - cosine, l2, or minus the inner product.
    """

    items: Integers
    distances: Floats


def nearest(
    queries: npt.NDArray[Any],
    gallery: npt.NDArray[Any],
    neighbours: int,
    *,
    distance: str = "cosine",
    execution: Execution | None = None,
) -> Nearest:
    """Search the gallery for the nearest items of each query.

    Distances are those of float64, whatever multiplied; so neither the result nor the
    order within ties depends on block size or device. Memory is a tile a thread, and a
    few times k candidates a query of its block.

    Args:
        queries: (m, d) of a floating type; none is answered by no lists.
        gallery: (n, d), memory-mapped or not.
        neighbours: k, at most n.
        distance: `cosine`, `l2` or `inner_product`.
        execution: How the work is done.

    Raises:
        ValueError: k out of range, an unknown distance, or what `Scoring.of` refuses.

    Example:
        >>> found = nearest(np.array([[0.0]]), np.array([[3.0], [-1.0]]), 1,
        ...     distance="l2")
        >>> found.items.tolist(), found.distances.tolist()
        ([[1]], [[1.0]])
    """
    execution = execution or Execution()
    if distance not in DISTANCES:
        raise ValueError(
            f"`distance` should be one of {', '.join(DISTANCES)}. "
            f"Received: {distance!r}."
        )
    sides = [
        _Unlabelled(float32_rows(name, rows))
        for name, rows in (("queries", queries), ("gallery", gallery))
    ]
    for name, side in zip(("queries", "gallery"), sides, strict=True):
        refuse_not_finite(name, side.embeddings, side.ids)
    if not 1 <= neighbours <= len(sides[1].embeddings):
        raise ValueError(
            "`neighbours` should be at least 1 and at most the number of gallery "
            f"items. Received: {neighbours} of {len(sides[1].embeddings)}."
        )
    scoring = Scoring.of(distance, sides[0], sides[1])
    found = Nearest(
        np.empty((len(scoring.left), neighbours), np.int64),
        np.empty((len(scoring.left), neighbours)),
    )
    if not len(scoring.left):
        return found
    search = _Search(scoring, execution, found)
    run_blocks(len(scoring.left), search.block_rows, search.work, execution, "nearest")
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class _Unlabelled:
    """Rows whose names are their numbers."""

    embeddings: Singles

    @property
    def ids(self) -> range:
        return range(len(self.embeddings))

    @property
    def embedding_size(self) -> int:
        return int(self.embeddings.shape[1])


class _Search:
    """Keeps, for the queries of a block, what may be among the k highest scores."""

    def __init__(self, scoring: Scoring, execution: Execution, found: Nearest) -> None:
        from keras_bct.evaluation.engine.product import product_on

        self._scoring, self._found = scoring, found
        self._neighbours = found.items.shape[1]
        self._multiply = product_on(execution.device, scoring)
        self.block_rows = min(execution.block_rows or BLOCK_ROWS, len(scoring.left))
        self._width = tile_width(self.block_rows, len(scoring.right))
        self._local = threading.local()

    def work(self, rows: slice, stop: threading.Event) -> None:
        """Search for a block."""
        if not hasattr(self._local, "buffer"):
            self._local.buffer = np.empty(self.block_rows * self._width, np.float32)
        left = self._scoring.left_operand(rows)
        room = 2 * self._scoring.tolerance[rows]
        # A product below the floor cannot belong to one of the k nearest.
        floor = np.full(len(left), -np.inf)
        kept = _Candidates.none()
        for columns in slices(len(self._scoring.right), self._width):
            if stop.is_set():
                return
            shape = (len(left), columns.stop - columns.start)
            scores = self._local.buffer[: shape[0] * shape[1]].reshape(shape)
            self._multiply(left, columns, scores)
            if columns.start == 0 and shape[1] >= self._neighbours:
                highest = np.partition(scores, -self._neighbours, axis=1)
                floor = highest[:, -self._neighbours] - room
            # Rounded down, so that rounding throws nothing out.
            least = np.nextafter(floor.astype(np.float32), np.float32(-np.inf))
            row, column = np.nonzero(scores >= least[:, None])
            kept = kept.with_more(row, column + columns.start, scores[row, column])
            if kept.size > _SPARE * self._neighbours * len(left):
                kept, floor = kept.pruned(self._neighbours, room, floor)
        self._settle(rows, kept.pruned(self._neighbours, room, floor)[0])

    def _settle(self, rows: slice, kept: _Candidates) -> None:
        """Take the k best by exact score."""
        exact = self._scoring.exact(kept.rows + rows.start, kept.columns)
        order = np.lexsort((kept.columns, -exact, kept.rows))
        starts = np.searchsorted(kept.rows[order], np.arange(rows.stop - rows.start))
        chosen = order[starts[:, None] + np.arange(self._neighbours)]
        self._found.items[rows] = kept.columns[chosen]
        score = exact[chosen]
        distance = self._scoring.distance
        if distance == "cosine":
            self._found.distances[rows] = 1 - score
        elif distance == "l2":
            self._found.distances[rows] = np.sqrt(np.maximum(-score, 0))
        else:
            self._found.distances[rows] = -score


@dataclasses.dataclass(frozen=True, eq=False)
class _Candidates:
    rows: Integers
    columns: Integers
    products: Singles

    @classmethod
    def none(cls) -> _Candidates:
        return cls(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        )

    @property
    def size(self) -> int:
        return len(self.rows)

    def with_more(
        self, rows: Integers, columns: Integers, products: Singles
    ) -> _Candidates:
        return _Candidates(
            np.concatenate([self.rows, rows]),
            np.concatenate([self.columns, columns]),
            np.concatenate([self.products, products]),
        )

    def pruned(
        self, neighbours: int, room: Floats, floor: Floats
    ) -> tuple[_Candidates, Floats]:
        """What is within the tolerance of each row's k-th highest, and that floor."""
        order = np.lexsort((-self.products, self.rows))
        starts = np.searchsorted(self.rows[order], np.arange(len(room) + 1))
        has = np.diff(starts) >= neighbours
        last = order[starts[:-1][has] + neighbours - 1]
        floor = floor.copy()
        floor[has] = np.maximum(floor[has], self.products[last] - room[has])
        stays = self.products >= floor[self.rows]
        return (
            _Candidates(self.rows[stays], self.columns[stays], self.products[stays]),
            floor,
        )
