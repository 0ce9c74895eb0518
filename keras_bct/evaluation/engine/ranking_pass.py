"""Ranks every query's gallery without sorting it: the counts around relevant scores."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Block
from keras_bct.evaluation.engine.rank_counts import RankCounts

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

_MOST_BUCKETS = 4096
_FEWEST_BUCKETS = 256


@dataclasses.dataclass(eq=False)
class _State:
    block: Block
    offsets: Integers
    exact: Floats
    relevant: Integers
    thresholds: Floats
    tolerance: Floats
    base: Singles
    scale: Singles
    hot: npt.NDArray[np.uint8]
    histogram: npt.NDArray[np.int32]
    passed: npt.NDArray[np.int32]
    tied: Integers
    lonely: Integers
    top: Floats


class Scores(Protocol):
    """What a ranking asks of a scoring."""

    @property
    def left(self) -> Singles:
        """The m queries."""

    @property
    def right(self) -> Singles:
        """The n gallery items."""

    @property
    def tolerance(self) -> Floats:
        """(m,) the greatest error of a row's products."""

    def exact(self, rows: Integers, columns: Integers) -> Floats:
        """(pairs,) the exact scores of single pairs."""

    def to_product(self, scores: Floats, rows: Any) -> Floats:
        """Exact scores on the scale of the product of their rows."""


class RankingPass:
    """Counts, for each distinct score of a relevant item, what stands above it.

    Each row of scores is laid on a grid of buckets, and only scores in a bucket with a
    relevant item are looked at one by one. So the cost of a score does not depend on
    how many relevant items there are, and nothing is sorted but those.

    A query whose label the gallery lacks gets its highest score instead.

    Attributes:
        best_scores: (m,) float64: the exact score of the best relevant item, or of the
            best item where the label is unknown; minus infinity where all relevant
            items are excluded.
    """

    def __init__(
        self, scoring: Scores, consume: Callable[[slice, RankCounts], None]
    ) -> None:
        """Takes the scoring, and what is done with the counts of each block."""
        self._scoring = scoring
        self._consume = consume
        self._local = threading.local()
        self.best_scores = np.full(len(scoring.left), -np.inf)
        items = len(scoring.right)
        self._buckets = int(np.clip(items // 8, _FEWEST_BUCKETS, _MOST_BUCKETS))

    def open(self, block: Block) -> _State:
        """Finds the distinct scores of each query's relevant items."""
        from keras_bct.evaluation.engine.kernels.ranking import (
            distinct_scores,
            open_ranking,
        )

        members = block.members
        rows = len(members.offsets) - 1
        score = block.scores[members.kept]
        offsets = np.empty(rows + 1, np.int64)
        exact = np.empty(len(score))
        relevant = np.empty(len(score), np.int64)
        distinct_scores(members.rows[members.kept], score, offsets, exact, relevant)
        exact, relevant = exact[: offsets[-1]], relevant[: offsets[-1]]
        row = np.repeat(np.arange(rows), np.diff(offsets))
        tolerance = self._scoring.tolerance[block.rows]
        thresholds = self._scoring.to_product(exact, row + block.rows.start)
        grid = self._grid(rows)
        state = _State(
            block,
            offsets,
            exact,
            relevant,
            thresholds,
            tolerance,
            np.zeros(rows, np.float32),
            np.zeros(rows, np.float32),
            grid[0][:rows],
            grid[1][:rows],
            np.zeros(len(exact) + rows, np.int32),
            np.zeros(len(exact), np.int64),
            np.flatnonzero(np.diff(members.offsets) == 0),
            np.full(rows, -np.inf),
        )
        state.histogram[:] = 0
        open_ranking(offsets, thresholds, tolerance, state.base, state.scale, state.hot)
        return state

    def take(self, state: _State, scores: Singles, columns: slice) -> None:
        """Counts a tile."""
        from keras_bct.evaluation.engine.kernels.ranking import (
            scan_ranking,
            settle_ranking,
        )

        found, rows, places = self._working_space(scores.shape)
        doubtful = scan_ranking(
            scores,
            state.offsets,
            state.thresholds,
            state.tolerance,
            state.base,
            state.scale,
            state.hot,
            state.histogram,
            state.passed,
            found,
            rows,
            places,
        )
        if doubtful:
            exact = self._scoring.exact(
                rows[:doubtful] + state.block.rows.start,
                places[:doubtful] + columns.start,
            )
            settle_ranking(
                state.offsets,
                state.exact,
                rows[:doubtful],
                exact,
                state.passed,
                state.tied,
            )
        if len(state.lonely):
            self._take_top(state, scores, columns)

    def close(self, state: _State) -> None:
        """Sums the counts and hands them on, best score first."""
        from keras_bct.evaluation.engine.kernels.ranking import close_ranking

        above = np.empty(len(state.exact), np.int64)
        close_ranking(
            state.offsets,
            state.thresholds,
            state.tolerance,
            state.base,
            state.scale,
            state.hot,
            state.histogram,
            state.passed,
            above,
        )
        rows = np.repeat(np.arange(len(state.offsets) - 1), np.diff(state.offsets))
        # Entries of a row from its end: the highest score comes first.
        backwards = (
            state.offsets[rows] + state.offsets[rows + 1] - 1 - np.arange(len(rows))
        )
        has = np.flatnonzero(np.diff(state.offsets))
        best = state.top
        best[has] = state.exact[state.offsets[has + 1] - 1]
        self.best_scores[state.block.rows] = best
        self._consume(
            state.block.rows,
            RankCounts(
                state.offsets,
                state.relevant[backwards],
                state.tied[backwards],
                above[backwards],
            ),
        )

    def _take_top(self, state: _State, scores: Singles, columns: slice) -> None:
        """Keeps the exact highest score of queries without any relevant item."""
        from keras_bct.evaluation.engine.kernels.tile import pairs_above, row_maxima

        rows = state.lonely
        queries = rows + state.block.rows.start
        maxima = np.empty(len(rows), np.float32)
        row_maxima(scores, rows, maxima)
        so_far = self._scoring.to_product(state.top[rows], queries)
        # Within two tolerances of the highest product, the exact order may differ.
        floor = np.maximum(maxima, so_far) - 2 * state.tolerance[rows]
        _, which, places = self._working_space(scores.shape)
        count = pairs_above(scores, rows, floor.astype(np.float32), which, places)
        exact = self._scoring.exact(
            queries[which[:count]], places[:count] + columns.start
        )
        np.maximum.at(state.top, rows[which[:count]], exact)

    def _grid(self, rows: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        grid = getattr(self._local, "grid", None)
        if grid is None or len(grid[0]) < rows:
            grid = (
                np.empty((rows, self._buckets), np.uint8),
                np.empty((rows, self._buckets), np.int32),
            )
            self._local.grid = grid
        return grid

    def _working_space(
        self, shape: tuple[int, ...]
    ) -> tuple[npt.NDArray[np.int32], Integers, Integers]:
        size = shape[0] * shape[1]
        space = getattr(self._local, "space", None)
        if space is None or len(space[1]) < size or len(space[0]) <= shape[1]:
            space = (
                np.empty(shape[1] + 1, np.int32),
                np.empty(size, np.int64),
                np.empty(size, np.int64),
            )
            self._local.space = space
        return space
