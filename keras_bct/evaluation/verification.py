"""1:1 verification: is this pair of one identity?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keras_bct.evaluation.acceptance import (
    GenuineScores,
    ImpostorTail,
    share_replicates,
)
from keras_bct.evaluation.bootstrap import IdentityDraws

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class PairCounts:
    """How many impostor pairs join each two identities.

    Attributes:
        first: (k,) int64 identities of queries.
        second: (k,) int64 identities of gallery items, never those of `first`.
        count: (k,) int64.
        queries: (identities,) int64 or None: all pairs were taken, this many queries
            an identity, and the three columns above are empty.
        gallery: (identities,) int64 or None: the same for gallery items.
    """

    first: Integers
    second: Integers
    count: Integers
    queries: Integers | None = None
    gallery: Integers | None = None

    @classmethod
    def of_all_pairs(cls, queries: Integers, gallery: Integers) -> PairCounts:
        """Every query with every gallery item of another identity."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, queries, gallery)

    @property
    def total(self) -> int:
        """The number of impostor pairs."""
        if self.queries is not None and self.gallery is not None:
            same = int((self.queries * self.gallery).sum())
            return int(self.queries.sum()) * int(self.gallery.sum()) - same
        return int(self.count.sum())

    def weigh(self, weights: Floats) -> Floats:
        """(block,) the impostor weight for (block, identities) weights."""
        if self.queries is not None and self.gallery is not None:
            everything = (weights @ self.queries) * (weights @ self.gallery)
            return everything - weights**2 @ (self.queries * self.gallery)
        return (weights[:, self.first] * weights[:, self.second]) @ self.count


@dataclasses.dataclass(frozen=True, eq=False)
class VerificationStatistics:
    """What verification keeps of an evaluation.

    Attributes:
        identities: Names of the identities of both sides, sorted.
        genuine: The scores of all genuine pairs.
        tails: For each FAR the impostor scores that its threshold can come from.
        thresholds: For each FAR the score that an accepted pair exceeds, exact.
        pairs: How many impostor pairs join each two identities.
    """

    identities: npt.NDArray[np.str_]
    genuine: GenuineScores
    tails: Mapping[float, ImpostorTail]
    thresholds: Mapping[float, float]
    pairs: PairCounts

    def value(self, rate: float) -> float:
        """The share of genuine pairs accepted at a FAR."""
        return self.genuine.share_above(self.thresholds[rate])

    def accepted(self, rate: float) -> Floats:
        """(genuine,) 1 where the pair is accepted at a FAR, else 0."""
        return (self.genuine.scores > self.thresholds[rate]).astype(np.float64)

    def replicates(self, rate: float, draws: IdentityDraws) -> tuple[Floats, Floats]:
        """(replicates,) the accepted share and the threshold, estimated anew in each."""
        share, threshold = share_replicates(
            self.tails[rate],
            self.genuine,
            (rate,),
            draws.blocks(len(self.identities)),
            self.pairs.weigh,
            draws.replicates,
        )
        return share[:, 0], threshold[:, 0]
