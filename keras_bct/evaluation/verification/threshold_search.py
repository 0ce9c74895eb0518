"""The exact score at a rank, by further passes where a first one has missed it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import run_pass
from keras_bct.evaluation.engine.impostor_pass import COUNTED, KEPT, ScoreGrid, TiedPass
from keras_bct.evaluation.verification.impostor_counts import ImpostorCounts, Plan
from keras_bct.evaluation.verification.sampled_plan import BUCKETS
from keras_bct.evaluation.verification.scored_pairs import ScoredPairs
from keras_bct.evaluation.verification.verification import equal_error_rate

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class ThresholdSearch:
    """Finds exact thresholds among all pairs."""

    def __init__(self, pairs: ScoredPairs) -> None:
        """Takes all pairs."""
        self._pairs = pairs

    def score_at(self, counted: ImpostorCounts, rank: int) -> float:
        """The exact impostor score that `rank` others precede.

        Args:
            counted: A finished pass.
            rank: How many.

        Returns:
            The score; minus infinity where there are no more impostors.
        """
        if rank >= self._pairs.impostors:
            return -np.inf
        counted, first, last = self._look(counted, lambda c: c.bucket_of_rank(rank))
        if counted.holds(first, last):
            left = rank - int(counted.above[last + 1])
            return float(counted.within(first, last)[left])
        return self._find_tied(counted, first, last, lambda _, n: n > rank)[0]

    def equal_error(
        self, counted: ImpostorCounts, genuine: Floats
    ) -> tuple[float, int]:
        """The exact equal error rate, and how many impostors are accepted there.

        Args:
            counted: A finished pass.
            genuine: (genuine,) float64, descending.
        """
        ascending, total = genuine[::-1], self._pairs.impostors

        def refused(scores: Floats) -> Floats:
            return np.searchsorted(ascending, scores, side="left") / len(genuine)

        def locate(counted: ImpostorCounts) -> int:
            far = counted.above[:-1] / total
            return int(np.flatnonzero(far >= refused(counted.grid.edges))[-1])

        counted, first, last = self._look(counted, locate)
        edges = counted.grid.edges
        if counted.holds(first, last):
            top = edges[last + 1] if last + 1 < len(edges) else np.inf
            bottom = edges[first]
            before = int(counted.above[last + 1])
            impostors = counted.within(first, last)
        else:
            bottom, before, upto, top = self._find_tied(
                counted, first, last, lambda s, n: n / total >= refused(s)
            )
            impostors = np.full(upto - before, bottom)
        near = genuine[(genuine >= bottom) & (genuine < top)]
        scores = np.unique(np.concatenate([impostors, near]))[::-1]
        accepted = before + np.searchsorted(-impostors, -scores, side="right")
        frr = refused(scores)
        start = np.searchsorted(ascending, scores[0], side="right") / len(genuine)
        far = np.append(before, accepted) / total
        error = equal_error_rate(far, np.append(start, frr))
        return error, int(error * total)

    def _margin(self, grid: ScoreGrid) -> int:
        """Buckets that a score's exact place may be away from its product's."""
        return math.ceil(2 * self._pairs.tolerance / grid.width) + 1

    def _look(
        self, counted: ImpostorCounts, locate: Callable[[ImpostorCounts], int]
    ) -> tuple[ImpostorCounts, int, int]:
        """Makes sure that all scores around a place are at hand.

        Args:
            counted: A finished pass.
            locate: Gives the bucket of the place looked for.

        Returns:
            A pass, and the first and last of its buckets that matter: it holds them,
            unless there are too many of them in a range too narrow for float32.
        """
        most, tolerance = self._pairs.limits.tail, self._pairs.tolerance
        while True:
            grid = counted.grid
            margin = self._margin(grid)
            bucket = locate(counted)
            first, last = (
                max(bucket - margin, 0),
                min(bucket + margin, grid.buckets - 1),
            )
            if counted.holds(first, last):
                return counted, first, last
            count = int(counted.above[first] - counted.above[last + 1])
            inside = first > 0 and last + 1 < grid.buckets
            if inside and count > most and grid.width < 4 * tolerance:
                return counted, first, last
            keep = np.full(grid.buckets, COUNTED, np.uint8)
            if inside and count <= most:
                keep[first : last + 1] = KEPT
            else:
                low, high = self._pairs.bounds
                grid = ScoreGrid.over(
                    grid.edges[first] if first > 0 else low,
                    grid.edges[last + 1] if last + 1 < grid.buckets else high,
                    BUCKETS,
                )
            counted = ImpostorCounts.by(Plan(grid, keep, 0.0), self._pairs)

    def _find_tied(
        self,
        counted: ImpostorCounts,
        first: int,
        last: int,
        reached: Callable[[Floats, Integers], npt.NDArray[np.bool_]],
    ) -> tuple[float, int, int, float]:
        """Finds a score among more ties, or near ties, than memory holds.

        Counts exact scores on ever finer grids, until a place is a single score.

        Args:
            counted: A finished pass.
            first: The first of its buckets that matter.
            last: The last of them.
            reached: Of scores, descending, and how many impostors there are from each
                up: whether the score looked for is reached.

        Returns:
            The highest impostor score that is reached, how many impostors lie above
            it and from it up, and the next higher impostor score (infinity: none).
        """
        pairs = self._pairs
        keep = np.full(counted.grid.buckets, COUNTED, np.uint8)
        keep[first : last + 1] = KEPT
        above, higher = int(counted.above[last + 1]), np.inf
        low, high = -np.inf, np.inf
        while True:
            tied = TiedPass(pairs.scoring, counted.grid, keep, pairs.keys, low, high)
            run_pass(
                pairs.scoring, pairs.relevance, (tied,), pairs.execution, "thresholds"
            )
            counts, least, most = tied.places()
            from_here = above + np.cumsum(counts)
            hits = np.flatnonzero(reached(least, from_here))
            place = int(hits[0]) if len(hits) else len(counts) - 1
            if place > 0:
                above, higher = int(from_here[place - 1]), float(least[place - 1])
            low, high = float(least[place]), float(most[place])
            if low == high:
                return low, above, int(from_here[place]), higher
