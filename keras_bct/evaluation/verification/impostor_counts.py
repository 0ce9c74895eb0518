"""Impostors counted on a grid of scores, with the pairs that a plan tells to keep."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import run_pass
from keras_bct.evaluation.engine.impostor_pass import (
    KEPT,
    ImpostorPass,
    KeptPairs,
    ScoreGrid,
)
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.verification.scored_pairs import ScoredPairs

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """What a pass over all pairs keeps.

    Attributes:
        grid: The buckets in which impostors are counted.
        keep: (buckets,) uint8, what is done with the pairs of each.
        sampled_share: The share of the pairs that the sample holds.
    """

    grid: ScoreGrid
    keep: npt.NDArray[np.uint8]
    sampled_share: float

    def impostor_pass(self, pairs: ScoredPairs) -> ImpostorPass:
        """A consumer that keeps it."""
        return ImpostorPass(
            pairs.scoring, self.grid, self.keep, self.sampled_share, pairs.keys
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ImpostorCounts:
    """Impostors by bucket, and the pairs that were kept.

    Attributes:
        grid: The buckets.
        keep: (buckets,) uint8; `KEPT`: all pairs of a bucket are at hand.
        above: (buckets + 1,) int64, impostors from each bucket's lower end up.
        pairs: The kept pairs.
        scoring: Scores them.
    """

    grid: ScoreGrid
    keep: npt.NDArray[np.uint8]
    above: Integers
    pairs: KeptPairs
    scoring: Scoring

    @classmethod
    def of(cls, done: ImpostorPass, plan: Plan, pairs: ScoredPairs) -> ImpostorCounts:
        """Takes what a finished pass has counted and kept.

        Args:
            done: The pass.
            plan: What it was told to keep.
            pairs: All pairs.
        """
        histogram = done.histogram(pairs.impostors)
        kept = done.kept()
        keep = plan.keep.copy()
        # What is empty is held as well.
        keep[histogram == 0] = KEPT
        # Scores from a bucket's lower end up; behind the last bucket there are none.
        above = np.append(np.cumsum(histogram[::-1])[::-1], 0)
        return cls(plan.grid, keep, above, kept, pairs.scoring)

    @classmethod
    def by(cls, plan: Plan, pairs: ScoredPairs) -> ImpostorCounts:
        """Makes a pass of its own.

        Args:
            plan: What to keep.
            pairs: All pairs.
        """
        one = plan.impostor_pass(pairs)
        run_pass(pairs.scoring, pairs.relevance, (one,), pairs.execution, "thresholds")
        return cls.of(one, plan, pairs)

    def bucket_of_rank(self, rank: int) -> int:
        """The bucket of the score that `rank` others precede."""
        return int(np.flatnonzero(self.above > rank)[-1])

    def holds(self, first: int, last: int) -> bool:
        """Whether all scores of some buckets are at hand."""
        return bool((self.keep[first : last + 1] == KEPT).all())

    def within(self, first: int, last: int) -> Floats:
        """The exact scores of some buckets, descending."""
        chosen = (self.pairs.buckets >= first) & (self.pairs.buckets <= last)
        return -np.sort(-self.exact(chosen))

    def exact(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """The exact scores of chosen kept pairs."""
        rows, columns = self.pairs.rows[chosen], self.pairs.columns[chosen]
        return self.scoring.exact(rows.astype(np.int64), columns.astype(np.int64))
