"""Every query with every gallery item, and how many of these pairs may be held."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.engine.block_pass import Execution
from keras_bct.evaluation.engine.scoring import Scoring
from keras_bct.evaluation.inputs.embedding_set import EmbeddingSet
from keras_bct.evaluation.inputs.relevance import Relevance

Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class PairLimits:
    """How many pairs are held, or scored beforehand.

    Attributes:
        tail: Impostors of a tail. A deeper tail is sampled: a million scores place a
            threshold within a thousandth of its rank, which is little beside what the
            draw of identities moves it.
        genuine: Genuine pairs, 20 bytes each. Of more, which only few large classes
            have, a sample is held for the bootstrap, and the asked shares are counted.
        window: Impostors around a threshold whose tail is sampled, on each side.
        sample: Pairs whose scores tell roughly where the thresholds lie.
    """

    tail: int = 2**20
    genuine: int = 2**25
    window: int = 2**21
    sample: int = 2**24


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredPairs:
    """All pairs of queries and gallery items.

    Attributes:
        scoring: Scores the pairs.
        relevance: Tells genuine pairs from impostors.
        keys: (m,) and (n,) int64, a random 32-bit key for each item.
        execution: How the work is done.
        limits: How many pairs are held.
    """

    scoring: Scoring
    relevance: Relevance
    keys: tuple[Integers, Integers]
    execution: Execution
    limits: PairLimits

    @property
    def impostors(self) -> int:
        """How many pairs are of two labels."""
        return self.relevance.impostors()

    @property
    def tolerance(self) -> float:
        """The greatest error of a product, as a score."""
        return self.scoring.slope * float(self.scoring.tolerance.max())

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of scores, with room for their errors."""
        low, high = self.scoring.bounds
        pad = 4 * self.tolerance
        return low - pad, high + pad

    def take_queries(self, rows: Integers) -> ScoredPairs:
        """The pairs of some queries, without a progress bar."""
        return ScoredPairs(
            self.scoring.take_queries(rows),
            self.relevance.take_queries(rows),
            (self.keys[0][rows], self.keys[1]),
            dataclasses.replace(self.execution, progress=False),
            self.limits,
        )


def random_keys(items: EmbeddingSet, seed: int) -> Integers:
    """(n,) int64, a 32-bit key for each item that goes with its id, not its place.

    Args:
        items: n items.
        seed: Of the keys.
    """
    order = np.argsort(items.ids, kind="stable")
    keys = np.empty(len(items), np.int64)
    keys[order] = np.random.default_rng(seed).integers(0, 2**32, len(items))
    return keys
