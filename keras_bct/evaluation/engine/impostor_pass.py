"""Counts impostor scores on a grid and keeps the pairs that may decide a threshold."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Block
from keras_bct.evaluation.engine.scoring import Scoring

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

COUNTED, KEPT, SAMPLED = 0, 1, 2
"""What is done with the scores of a bucket."""


@dataclasses.dataclass(frozen=True, eq=False)
class ScoreGrid:
    """Buckets over a range of scores.

    Bucket 0 holds what lies below `low`, and with it the masked pairs; the last one is
    open upwards.

    Attributes:
        low: The lower end of bucket 1.
        width: Of a bucket.
        buckets: How many there are.
    """

    low: float
    width: float
    buckets: int

    @classmethod
    def over(cls, low: float, high: float, buckets: int) -> ScoreGrid:
        """Lays all buckets but the two outer ones over a range."""
        return cls(low, max(high - low, 1e-30) / (buckets - 2), buckets)

    @property
    def edges(self) -> Floats:
        """(buckets,) float64, the lower end of each bucket; the first is infinite."""
        edges = self.low + self.width * (np.arange(self.buckets, dtype=np.float64) - 1)
        edges[0] = -np.inf
        return edges


@dataclasses.dataclass(frozen=True, eq=False)
class KeptPairs:
    """Pairs whose scores may decide something.

    Attributes:
        rows: (k,) int32 queries.
        columns: (k,) int32 gallery items.
        buckets: (k,) int32.
        sampled: (k,) bool, whether the seeded sample holds the pair.
    """

    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    buckets: npt.NDArray[np.int32]
    sampled: npt.NDArray[np.bool_]


class ImpostorPass:
    """A consumer of a pass that fills a histogram and keeps some pairs."""

    def __init__(
        self,
        scoring: Scoring,
        grid: ScoreGrid,
        keep: npt.NDArray[np.uint8],
        sampled_share: float,
        keys: tuple[Integers, Integers],
    ) -> None:
        """Takes the grid, what to do in each bucket, and a 32-bit key for each item."""
        self._scoring = scoring
        self._keep = keep
        self._share = round(sampled_share * 2**32)
        self._keys = keys
        # Buckets in units of the product: score = slope * product + offset.
        self._scale = np.full(len(scoring.left), scoring.slope / grid.width, np.float32)
        self._base = ((grid.low - scoring.offset) / scoring.slope).astype(np.float32)
        self._grid = grid
        self._local = threading.local()
        self._histograms: list[Integers] = []
        self._kept: list[tuple[npt.NDArray[Any], ...]] = []

    def open(self, block: Block) -> Block:
        """A block needs no preparation."""
        return block

    def take(self, state: Block, scores: Singles, columns: slice) -> None:
        """Counts a tile."""
        from keras_bct.evaluation.engine.kernels.impostors import scan_impostors

        histogram, found, outputs = self._working_space(scores.shape)
        rows = state.rows
        count = scan_impostors(
            scores,
            self._base[rows],
            self._scale[rows],
            self._keep,
            self._share,
            self._keys[0][rows],
            self._keys[1][columns],
            histogram,
            found,
            *outputs,
        )
        if count:
            kept_rows, kept_columns, buckets, sampled = (o[:count] for o in outputs)
            self._keep_pairs(
                kept_rows + np.int32(rows.start),
                kept_columns + np.int32(columns.start),
                buckets,
                sampled,
            )

    def _keep_pairs(
        self,
        rows: npt.NDArray[np.int32],
        columns: npt.NDArray[np.int32],
        buckets: npt.NDArray[np.int32],
        sampled: npt.NDArray[np.bool_],
    ) -> None:
        self._kept.append((rows, columns, buckets.copy(), sampled.copy()))

    def close(self, state: Block) -> None:
        """A block leaves nothing open."""

    def histogram(self, impostors: int) -> Integers:
        """(buckets,) int64: impostors by bucket, the masked pairs taken out again."""
        total = np.asarray(np.sum(self._histograms, axis=0, dtype=np.int64))
        total[0] = impostors - int(total[1:].sum())
        return total

    def kept(self) -> KeptPairs:
        """The pairs that were kept, in a fixed order."""
        if not self._kept:
            empty = np.zeros(0, np.int32)
            return KeptPairs(empty, empty, empty, np.zeros(0, bool))
        rows, columns, buckets, sampled = (
            np.concatenate(parts) for parts in zip(*self._kept, strict=True)
        )
        self._kept.clear()
        return KeptPairs(rows, columns, buckets, sampled)

    def _working_space(
        self, shape: tuple[int, ...]
    ) -> tuple[Integers, npt.NDArray[np.int32], tuple[npt.NDArray[Any], ...]]:
        size = shape[0] * shape[1]
        space = getattr(self._local, "space", None)
        if space is None or len(space[2][0]) < size or len(space[1]) <= shape[1]:
            histogram = np.zeros(self._grid.buckets, np.int64)
            self._histograms.append(histogram)
            space = (
                histogram,
                np.empty(shape[1] + 1, np.int32),
                (
                    np.empty(size, np.int32),
                    np.empty(size, np.int32),
                    np.empty(size, np.int32),
                    np.empty(size, np.bool_),
                ),
            )
            self._local.space = space
        return space


class TiedPass(ImpostorPass):
    """Counts the exact scores of the kept pairs in place of holding the pairs."""

    _PLACES = 8192

    def __init__(
        self,
        scoring: Scoring,
        grid: ScoreGrid,
        keep: npt.NDArray[np.uint8],
        keys: tuple[Integers, Integers],
        low: float,
        high: float,
    ) -> None:
        """Takes what `ImpostorPass` takes, and the range that is looked at closely."""
        super().__init__(scoring, grid, keep, 0.0, keys)
        edges = np.append(grid.edges, np.inf)
        kept = np.flatnonzero(keep)
        # Infinite ends mean: the range of the kept buckets, with room for rounding.
        self._low = max(low, edges[kept[0]] - grid.width)
        self._high = min(high, edges[kept[-1] + 1] + grid.width)
        self._counts = np.zeros(self._PLACES, np.int64)
        self._least = np.full(self._PLACES, np.inf)
        self._most = np.full(self._PLACES, -np.inf)
        self._lock = threading.Lock()

    def _keep_pairs(
        self,
        rows: npt.NDArray[np.int32],
        columns: npt.NDArray[np.int32],
        buckets: npt.NDArray[np.int32],
        sampled: npt.NDArray[np.bool_],
    ) -> None:
        scores = self._scoring.exact(rows.astype(np.int64), columns.astype(np.int64))
        scores = scores[(scores >= self._low) & (scores <= self._high)]
        span = max(self._high - self._low, np.finfo(np.float64).tiny)
        place = (scores - self._low) / span * (self._PLACES - 1)
        place = place.astype(np.int64)
        with self._lock:
            self._counts += np.bincount(place, minlength=self._PLACES)
            np.minimum.at(self._least, place, scores)
            np.maximum.at(self._most, place, scores)

    def places(self) -> tuple[Integers, Floats, Floats]:
        """What was counted, from the highest place down, empty places left out.

        Returns:
            How many scores there are in each place, and the lowest and the highest.
        """
        seen = np.flatnonzero(self._counts)[::-1]
        return self._counts[seen], self._least[seen], self._most[seen]


class GenuinePass:
    """A consumer of a pass that keeps the exact scores of genuine pairs."""

    def __init__(
        self, keys: tuple[Integers, Integers], sampled_share: float = 1.0
    ) -> None:
        """Takes a 32-bit key for each item, and the share of the pairs to keep."""
        self._keys = keys
        self._share = round(sampled_share * 2**32)
        self._scores: dict[int, tuple[Floats, Integers]] = {}

    def open(self, block: Block) -> None:
        """Keeps the block's genuine pairs, which were scored before any product."""
        from keras_bct.evaluation.engine.kernels.impostors import sample_pairs

        members, kept = block.members, block.members.kept
        if self._share < 2**32:
            kept = kept & sample_pairs(
                self._keys[0][block.rows],
                self._keys[1],
                members.rows,
                members.columns,
                self._share,
            )
        self._scores[block.rows.start] = (
            block.scores[kept],
            members.rows[kept] + block.rows.start,
        )

    def take(self, state: None, scores: Singles, columns: slice) -> None:
        """Genuine pairs are masked in a tile."""

    def close(self, state: None) -> None:
        """A block leaves nothing open."""

    def pairs(self) -> tuple[Floats, Integers]:
        """(genuine,) float64 scores and int64 queries, in the order of the queries."""
        parts = [self._scores[start] for start in sorted(self._scores)]
        scores, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
        return scores, rows
